"""A project: one input, how it is written, and what was chosen for its release."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from incrowd.studio.folder import Folder, read_struct, slug_of, write_struct

__all__ = [
    "FILE",
    "MOVES",
    "Project",
    "all_projects",
    "change_project",
    "make_project",
    "moves_file",
    "read_project",
]

FILE, MOVES = "project.json", "moves.tsv"


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A project as it is kept.

    Parameters
    ----------
    id, name, created
        Its name in addresses, for people, and when it was made (seconds since 1970).
    source
        The input: an absolute path, a folder or a pattern.
    origin
        How the input came: by its ``path``, as a file that was ``dropped`` on the page, or as the ``sample``.
    reading
        How the input is written, as far as it was said: values by the names of :class:`incrowd.logs.InputForm`.
    choices
        What was chosen: values by the names of the dials in :mod:`incrowd.studio.dials`.
    decided
        Whether choices were saved; until then they are the defaults.
    moves
        The file of words that were moved, where there are any: it is there, or not, and so is not written here.
    """

    id: str
    name: str
    created: float
    source: str
    origin: str = "path"
    reading: dict[str, str] = {}
    choices: dict[str, str] = {}
    decided: bool = False
    moves: str = ""


def make_project(folder: Folder, source: str, *, name: str, origin: str = "path") -> Project:
    """Make a project of an input."""
    identity = folder.take_name("projects", slug_of(name.partition(".")[0]))
    name = "".join(
        one if one.isprintable() else "\ufffd" for one in name
    )  # a mark of direction would turn the page around
    project = Project(id=identity, name=name, created=time.time(), source=source, origin=origin)
    write_struct(_file(folder, identity), project)
    return project


def read_project(folder: Folder, identity: str) -> Project | None:
    """Return a project; None if there is none."""
    place = folder.named("projects", identity)
    return None if place is None else _project_in(place)


def moves_file(folder: Folder, identity: str) -> Path:
    """Return where the words are kept that were moved in a project."""
    return folder.projects / identity / MOVES


def all_projects(folder: Folder) -> list[Project]:
    """Return all projects, the newest first."""
    found = [_project_in(place) for place in folder.projects.iterdir()]
    return sorted((one for one in found if one is not None), key=lambda one: -one.created)


def _project_in(place: Path) -> Project | None:
    """Return the project in a directory; one that names another was put there by others, and is none."""
    project, moves = read_struct(place / FILE, Project), place / MOVES
    if project is None or project.id != place.name:
        return None
    return msgspec.structs.replace(project, moves=str(moves) if moves.is_file() else "")


def change_project(
    folder: Folder,
    project: Project,
    *,
    reading: Mapping[str, str] | None = None,
    choices: Mapping[str, str] | None = None,
) -> Project:
    """Write a project with another way of reading its input, or other choices."""
    changed = msgspec.structs.replace(
        project,
        reading=dict(project.reading if reading is None else reading),
        choices=dict(project.choices if choices is None else choices),
        decided=project.decided or choices is not None,
        moves="",
    )
    write_struct(_file(folder, project.id), changed)
    return msgspec.structs.replace(changed, moves=project.moves)


def _file(folder: Folder, identity: str) -> Path:
    return folder.projects / identity / FILE
