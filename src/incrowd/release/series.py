"""The series ledger: the secret seed of one source, and what was released of it before. Private, like the map.

Two releases that overlap say more together than each does alone, so one that overlaps an earlier one is refused. The ledger is a
file of lines that is only ever appended to, under a lock of the operating system. What is about to be published is
recorded before it gets its name: a run that is killed in between leaves a line that speaks of a release that may be out, and
overlaps with it are refused as with any other. What may be published of it, ``index.json``, is derived from the ledger whenever that
changes.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from incrowd.core.atomic import atomic_write
from incrowd.core.ledger_file import append_line, whole_content
from incrowd.core.window import BEGINNING, Window
from incrowd.errors import BadInputError, ClaimError, option
from incrowd.release.files.manifest import read_manifest
from incrowd.release.files.series_index import (
    INDEX_FORMAT,
    INDEX_NAME,
    Index,
    IndexedCounts,
    IndexedRelease,
    counts_of,
    files_of,
    is_index,
    read_index,
)
from incrowd.release.files.tiles import TileManifest
from incrowd.release.files.window import SpelledWindow
from incrowd.release.series_place import LEDGER_NAME, alone, check_series, ledger_opened, make_place

__all__ = ["FEWEST_ROWS", "Entry", "Recorded", "Released", "Seen", "Series", "check_series"]

FORMAT = "incrowd-series/1"
SEED_BITS = 63
FEWEST_ROWS = 100  # long rows, fewer of which do not tell one file of baskets from another
_BEGINNING = f'{{"format":"{FORMAT}","seed":'.encode()

State = Literal["begun", "published", "withdrawn"]


class Seen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By what a release's data is recognised: the time of its events, else keyed hashes of its people or of its long rows."""

    by: Literal["times", "people", "rows"]
    first: int = 0
    last: int = 0
    hashes: bytes = b""

    @property
    def known(self) -> Any:
        """The hashes as numbers, ascending and distinct."""
        return np.frombuffer(self.hashes, "<u8")

    def overlap(self, other: Seen) -> str | None:
        """Say what two releases have in common, or why that cannot be told; None if nothing."""
        if self.by != other.by:
            return "cannot be compared with it, for only one of the two has times (or people)"
        if self.by == "times":
            apart = self.first > other.last or other.first > self.last
            return (
                None if apart else f"has events of the same time ({_day(other.first)} to {_day(other.last)})"
            )
        if self.by == "rows" and min(len(self.known), len(other.known)) < FEWEST_ROWS:
            return "cannot be told from it, for baskets have no times and too few of these are long"
        shared = len(np.intersect1d(self.known, other.known, assume_unique=True))
        what = "people, and no times to tell their queries apart" if self.by == "people" else "long baskets"
        return f"shares {shared:,} {what}" if shared else None


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A release of the series: its directory's name, a keyed hash of the job and of all it was given, and what it is of.

    `window` and `events` are there where a window was asked for: what was taken, and how many events that were.
    """

    name: str
    job: str
    seen: Seen
    window: Window | None = None
    events: int | None = None


class Released(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of a release once it has its name."""

    files: dict[str, str]
    counts: IndexedCounts | None

    @classmethod
    def at(cls, directory: Path) -> Released:
        """Look at a release."""
        return cls(files_of(directory), counts_of(directory))


class _Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line."""

    format: Literal["incrowd-series/1"]
    seed: int


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Any other line: a release is begun (and where), or one that was begun is published (and what) or withdrawn."""

    id: str
    state: State
    entry: Entry | None = None
    place: str | None = None
    released: Released | None = None


class Recorded(NamedTuple):
    """What a ledger says of a release."""

    entry: Entry
    state: State
    place: str | None
    released: Released | None = None


class _Past(NamedTuple):
    """What a ledger says: the seed, and releases by their numbers."""

    seed: int
    releases: dict[str, Recorded]


class Series:
    """A series in its private directory, which is made with a new seed if it is not there.

    Parameters
    ----------
    path
        The directory; mode 0700.
    read_only
        Look at the series and leave it as it is; one that is not there says nothing.
    check_index
        Refuse a ledger that does not know of a release that the index names.
    """

    def __init__(self, path: Path, *, read_only: bool = False, check_index: bool = True) -> None:
        self.path = path
        self._read_only = read_only
        if read_only and not os.path.lexists(path / LEDGER_NAME):
            self.seed = secrets.randbits(SEED_BITS)
            return
        make_place(path)
        with self._locked() as handle:
            past = self._read(handle)
            self.seed = past.seed
            if check_index:
                self._check_index(past)
            if not read_only:
                self._write_index(past)

    @property
    def releases(self) -> list[Recorded]:
        """All that was recorded, in the order in which it was begun."""
        if not os.path.lexists(self.path / LEDGER_NAME):
            return []
        with self._locked() as handle:
            return [*self._read(handle).releases.values()]

    @property
    def index(self) -> Index:
        """What may be published of the series."""
        return _index(self.releases)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be the only run that publishes windows of the series. What earlier runs had published when they were killed is recorded."""
        if self._read_only:
            yield
            return
        with alone(self.path):
            self._find_published()
            yield

    def check(self, entry: Entry, *, repeatable: bool = True) -> None:
        """Refuse a release that overlaps another, as `begin` does, and record nothing."""
        if os.path.lexists(self.path / LEDGER_NAME):
            with self._locked() as handle:
                self._refuse_overlap(self._read(handle), entry, repeatable=repeatable)

    def begin(self, entry: Entry, *, place: Path | None = None, repeatable: bool = True) -> str:
        """Record that a release is about to be published, and return its number; refuse one that overlaps another.

        The same job on the same data gives the same bytes, if it is `repeatable`, and so no overlap. It is recorded anew, so that
        what becomes of one run says nothing of another.
        """
        with self._locked() as handle:
            self._refuse_overlap(self._read(handle), entry, repeatable=repeatable)
            number = secrets.token_hex(8)
            where = None if place is None else str(place.absolute())
            self._append(handle, _Line(number, "begun", entry, where))
            try:
                self._write_index(self._read(handle))
            except BaseException:
                self._append(handle, _Line(number, "withdrawn"))
                raise
            return number

    def note(self, number: str, state: State, released: Released | None = None) -> None:
        """Record what became of a release that was begun."""
        with self._locked() as handle:
            self._read(handle)
            self._append(handle, _Line(number, state, released=released))
            self._write_index(self._read(handle))

    def _find_published(self) -> None:
        """Record as published what is at the name of a release that was begun: nothing gets there before it is whole and audited."""
        with self._locked() as handle:
            found = {
                number: Released.at(Path(one.place))
                for number, one in self._read(handle).releases.items()
                if one.state == "begun" and one.place is not None and _is_at(Path(one.place), one.entry)
            }
            for number, released in found.items():
                self._append(handle, _Line(number, "published", released=released))
            if found:
                self._write_index(self._read(handle))

    def _check_index(self, past: _Past) -> None:
        """Refuse a ledger that does not know of a release that the index names: it is an older copy, or the index was changed."""
        file = self.path / INDEX_NAME
        if not os.path.lexists(file):
            return
        known = {(one.entry.name, _key(one.released)) for one in past.releases.values()}
        known |= {(name, ()) for name, _ in known}  # the index may be older
        unknown = [one for one in read_index(file).releases if (one.name, _key(one)) not in known]
        if unknown:
            raise BadInputError(
                f"{file} names {len(unknown):,} releases that the {LEDGER_NAME} beside it does not: nothing was published. "
                f"Put the latest {LEDGER_NAME} back; if it is the latest, remove {INDEX_NAME}, which is then made again"
            )

    def _write_index(self, past: _Past) -> None:
        """Write the index, if it says something else."""
        file, text = self.path / INDEX_NAME, _index([*past.releases.values()]).text()
        if file.is_file() and file.read_bytes() == text.encode():
            return
        with atomic_write(file, replaces=is_index) as draft:
            draft.write_text(text, encoding="utf-8")

    def _refuse_overlap(self, past: _Past, entry: Entry, *, repeatable: bool) -> None:
        for other in past.releases.values():
            if other.state == "withdrawn" or (repeatable and other.entry.job == entry.job):
                continue
            if other.entry.name == entry.name and entry.window is not None:
                raise BadInputError(
                    f"the series {self.path} has a release '{entry.name}' already: choose another name with {option('out')}"
                )
            if (what := entry.seen.overlap(other.entry.seen)) is not None:
                raise BadInputError(self._refusal(other, what))

    def _refusal(self, other: Recorded, what: str) -> str:
        was = "was released" if other.state == "published" else "was begun, and may have been released,"
        window = other.entry.window
        more = (
            "Publish data that no release of the series has"
            if window is None or other.state == "published"
            else f"Run the same job on the same data again ({option('window', str(window))}), or go on after it"
        )
        return (
            f"this input overlaps '{other.entry.name}', which {was} in the series {self.path}: it {what}; nothing was published. "
            f"{more}"
        )

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Open the ledger, alone."""
        with ledger_opened(self.path, read_only=self._read_only) as handle:
            yield handle

    def _read(self, handle: int) -> _Past:
        """Read all lines; a last one that was not completed is removed, for nothing was done after it."""
        content = whole_content(handle)
        whole = content.rfind(b"\n") + 1
        lines = content[:whole].splitlines()
        try:
            if not lines:
                return self._new(handle, content)
            head = msgspec.json.decode(lines[0], type=_Head)
            past = _past(head.seed, [msgspec.json.decode(line, type=_Line) for line in lines[1:]])
        except (ValueError, KeyError, RecursionError):
            raise BadInputError(
                f"{self.path / LEDGER_NAME} is no series ledger, or a damaged one: give the directory that {option('series')} made, or a copy of it"
            ) from None
        if whole < len(content) and not self._read_only:
            os.ftruncate(handle, whole)
        return past

    def _new(self, handle: int, content: bytes) -> _Past:
        """Write the first line of a file that is empty, or holds the beginning of one and nothing else."""
        if not _BEGINNING.startswith(content[: len(_BEGINNING)]):
            raise ValueError
        head = _Head("incrowd-series/1", secrets.randbits(SEED_BITS))
        if not self._read_only:
            os.ftruncate(handle, 0)
            self._append(handle, head)
        return _Past(head.seed, {})

    def _append(self, handle: int, line: _Head | _Line) -> None:
        append_line(handle, msgspec.json.encode(line), f"series ledger {self.path / LEDGER_NAME}")


def _past(seed: int, lines: Sequence[_Line]) -> _Past:
    """Return what lines say in all."""
    past = _Past(seed, {})
    for line in lines:
        if line.entry is not None:
            past.releases[line.id] = Recorded(line.entry, line.state, line.place)
        elif past.releases[line.id].state != "begun":
            raise ValueError(line.state)
        else:
            past.releases[line.id] = past.releases[line.id]._replace(state=line.state, released=line.released)
    return past


def _index(releases: Sequence[Recorded]) -> Index:
    """Return what may be published of releases.

    One that was begun is left out where the same job was published since: that has the same bytes.
    """
    published = {one.entry.job for one in releases if one.state == "published"}
    shown = [
        _indexed(one)
        for one in releases
        if one.state == "published" or (one.state == "begun" and one.entry.job not in published)
    ]
    once = {(one.name, one.state, _key(one)): one for one in shown}  # the same job again has the same bytes
    return Index(INDEX_FORMAT, [*once.values()])


def _indexed(one: Recorded) -> IndexedRelease:
    window = one.entry.window
    return IndexedRelease(
        one.entry.name,
        "published" if one.state == "published" else "begun",
        None if window is None else SpelledWindow.of(window),
        None if one.released is None else one.released.files,
        None if one.released is None else one.released.counts,
    )


def _key(one: Released | IndexedRelease | None) -> tuple[tuple[str, str], ...]:
    """Return the hashes of a release's files, if they are known."""
    return () if one is None or one.files is None else tuple(sorted(one.files.items()))


def _is_at(place: Path, entry: Entry) -> bool:
    """Tell whether a release of an entry's window is at a place."""
    try:
        manifest: TileManifest = read_manifest(place, TileManifest)
        said = manifest.of_window
    except (BadInputError, ClaimError, ValueError):
        return False
    return said is not None and said == entry.window


def _day(seconds: int) -> str:
    if seconds <= BEGINNING:
        return "the beginning"
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s"
