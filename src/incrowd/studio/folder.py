"""The studio's folder: all of its state, as plain files.

    projects/ID/project.json   an input, how it is written, what was chosen
    projects/ID/moves.tsv      words that were moved, as --moves takes them
    jobs/NUMBER/               a run of the command line: job.json, state.json, progress.jsonl, result.json, log.txt
    releases/NAME/             the releases, with their pages beside them; other folders can be copied from here
    private/                   private maps: who is in which record. Never publish them
    inputs/                    files that were dropped on the page, and the sample
    door/                      who may come in

All of it is for its owner alone (mode 0700). Nothing is kept in memory that is not here.
"""

from __future__ import annotations

import os
import re
import stat
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from incrowd.core.atomic import atomic_write
from incrowd.errors import BadInputError

__all__ = ["Folder", "read_struct", "slug_of", "write_struct"]

ROOMS = ("projects", "jobs", "releases", "private", "inputs", "door")
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
LONGEST_SLUG = 40
REMEMBERED = 1 << 15
OTHERS, OTHERS_WRITE = 0o077, 0o022
Struct = TypeVar("Struct", bound=msgspec.Struct)


class Folder:
    """The folder, made if it is not there.

    Parameters
    ----------
    path
        Where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.projects, self.jobs, self.releases, self.private, self.inputs, self.door = (
            self.path / room for room in ROOMS
        )
        if self.path.exists() and not self.path.is_dir():
            raise BadInputError(f"FOLDER {path} is a file: name a folder for the studio, or a new name")
        if not self.path.exists() and not self.path.parent.is_dir():
            raise BadInputError(
                f"FOLDER {path}: the directory above it does not exist; create it first, or name another"
            )
        for place in (self.path, *(self.path / room for room in ROOMS)):
            try:
                place.mkdir(mode=0o700, exist_ok=True)
                _keep_others_out(place, OTHERS_WRITE if place == self.path else OTHERS)
            except OSError as error:
                raise BadInputError(
                    f"FOLDER {path} cannot be written ({error.strerror}): name another folder"
                ) from None

    def take_name(self, room: str, wanted: str) -> str:
        """Make a directory in a room, called as wanted with the first number that is free, and return its name."""
        number = 1
        while True:
            name = f"{wanted}-{number}"
            try:
                (self.path / room / name).mkdir(mode=0o700)
            except FileExistsError:
                number += 1
            else:
                return name

    def named(self, room: str, name: str) -> Path | None:
        """Return a directory in a room by its name; None if there is none, or it is no name of ours."""
        place = self.path / room / name
        return place if NAME.fullmatch(name) and place.is_dir() else None


def _keep_others_out(place: Path, modes: int) -> None:
    """Take modes away from other users; refuse a directory that belongs to one, who could come in by what lies there."""
    status = place.stat()
    if status.st_uid != os.geteuid():
        raise BadInputError(
            f"FOLDER: {place} belongs to another user, who could come in: name another folder"
        )
    if status.st_mode & modes:
        place.chmod(stat.S_IMODE(status.st_mode) & ~modes)
        if place.stat().st_mode & modes:
            raise BadInputError(
                f"FOLDER: other users can open {place}, and its file system keeps none out: name another folder"
            )


def slug_of(text: str) -> str:
    """Return a text as a part of an address and of a file's name."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:LONGEST_SLUG].strip("-")
    return plain or "data"


def write_struct(path: Path, value: msgspec.Struct) -> None:
    """Write a value as JSON: whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    with atomic_write(path, replaces=lambda _: True) as draft:
        draft.write_bytes(text + b"\n")


def read_struct(path: Path, kind: type[Struct]) -> Struct | None:
    """Read a value; None if it is not there, or was damaged by others."""
    try:
        status = path.stat()
        value = _read(path, kind, (status.st_ino, status.st_mtime_ns, status.st_size))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, kind) else None


@lru_cache(REMEMBERED)
def _read(path: Path, kind: type[msgspec.Struct], mark: tuple[int, ...]) -> Any:  # noqa: ARG001 - a file that was written anew is another call
    """Read a value, once: a folder with thousands of jobs is read for every page."""
    return msgspec.json.decode(path.read_bytes(), type=kind)
