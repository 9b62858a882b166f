"""The series ledger: the secret seed of one source, and what was released of it before. Private, like the map.

Two releases that overlap say more together than each does alone, so one that overlaps an earlier one is refused. The ledger is a
file of lines that is only ever appended to, under a lock of the operating system. What is about to be published is
recorded before it gets its name: a run that is killed in between leaves a line that speaks of a release that may be out, and
overlaps with it are refused as with any other.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from incrowd.core.atomic import check_free
from incrowd.errors import BadInputError, option

if sys.platform != "win32":
    import fcntl

__all__ = ["FEWEST_ROWS", "Entry", "Seen", "Series", "check_series"]

FORMAT = "incrowd-series/1"
SEED_BITS = 63
FEWEST_ROWS = 100  # long rows, fewer of which do not tell one file of baskets from another
LONGEST_WAIT = 60.0  # seconds; a line takes a few thousandths
_PAUSE = 0.01
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
    """A release of the series: its directory's name, a keyed hash of the job and of all it was given, and what it is of."""

    name: str
    job: str
    seen: Seen


class _Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line."""

    format: Literal["incrowd-series/1"]
    seed: int


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Any other line: a release is begun, or one that was begun is published or withdrawn."""

    id: str
    state: State
    entry: Entry | None = None


class _Past(NamedTuple):
    """What a ledger says."""

    seed: int
    entries: dict[str, Entry]
    state: dict[str, State]


class Series:
    """A ledger in a file, which is made with a new seed if it is not there.

    Parameters
    ----------
    path
        The file; mode 0600.
    read_only
        Look at the file and leave it as it is; one that is not there says nothing.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        if read_only and not os.path.lexists(path):
            self.seed = secrets.randbits(SEED_BITS)
            return
        with self._locked() as handle:
            self.seed = self._read(handle).seed

    def check(self, entry: Entry, *, repeatable: bool = True) -> None:
        """Refuse a release that overlaps another, as `begin` does, and record nothing."""
        if os.path.lexists(self.path):
            with self._locked() as handle:
                self._refuse_overlap(self._read(handle), entry, repeatable=repeatable)

    def begin(self, entry: Entry, *, repeatable: bool = True) -> str:
        """Record that a release is about to be published, and return its number; refuse one that overlaps another.

        The same job on the same data gives the same bytes, if it is `repeatable`, and so no overlap. It is recorded anew, so that
        what becomes of one run says nothing of another.
        """
        with self._locked() as handle:
            self._refuse_overlap(self._read(handle), entry, repeatable=repeatable)
            number = secrets.token_hex(8)
            self._append(handle, _Line(number, "begun", entry))
            return number

    def note(self, number: str, state: State) -> None:
        """Record what became of a release that was begun."""
        with self._locked() as handle:
            self._read(handle)
            self._append(handle, _Line(number, state))

    def _refuse_overlap(self, past: _Past, entry: Entry, *, repeatable: bool) -> None:
        for number, other in past.entries.items():
            if past.state[number] == "withdrawn" or (repeatable and other.job == entry.job):
                continue
            if (what := entry.seen.overlap(other.seen)) is not None:
                raise BadInputError(self._refusal(other.name, past.state[number], what))

    def _refusal(self, name: str, state: State, what: str) -> str:
        was = "was released" if state == "published" else "was begun, and may have been released,"
        return (
            f"this input overlaps '{name}', which {was} in the series {self.path}: it {what}; nothing was published. "
            "Publish data that no release of the series has"
        )

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Open the file, alone."""
        try:
            handle = _open(self.path, read_only=self._read_only)
        except OSError as error:
            raise BadInputError(f"series ledger {self.path} cannot be opened: {error.strerror}") from None
        try:
            _check_private(self.path, handle)
            _lock(self.path, handle)
            yield handle
        finally:
            os.close(handle)

    def _read(self, handle: int) -> _Past:
        """Read all lines; a last one that was not completed is removed, for nothing was done after it."""
        content = _content(handle)
        whole = content.rfind(b"\n") + 1
        lines = content[:whole].splitlines()
        try:
            if not lines:
                return self._new(handle, content)
            head = msgspec.json.decode(lines[0], type=_Head)
            past = _past(head.seed, [msgspec.json.decode(line, type=_Line) for line in lines[1:]])
        except (ValueError, KeyError, RecursionError):
            raise BadInputError(
                f"{self.path} is no series ledger, or a damaged one: give the file that {option('series')} made, or a copy of it"
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
        return _Past(head.seed, {}, {})

    def _append(self, handle: int, line: _Head | _Line) -> None:
        try:
            os.lseek(handle, 0, os.SEEK_END)
            text = msgspec.json.encode(line) + b"\n"
            while text:
                text = text[os.write(handle, text) :]
            os.fsync(handle)
        except OSError as error:
            raise BadInputError(f"series ledger {self.path} cannot be written: {error.strerror}") from None


def check_series(path: Path, out: Path) -> None:
    """Refuse a ledger that would be published, or that cannot be made."""
    if path.resolve().is_relative_to(out.resolve()):
        raise BadInputError(f"series ledger {path} must not lie inside the release: it holds the secret seed")
    if not path.exists():
        check_free(path, force=False, ours=lambda _: False, what="series ledger")


def _past(seed: int, lines: Sequence[_Line]) -> _Past:
    """Return what lines say in all."""
    past = _Past(seed, {}, {})
    for line in lines:
        if line.entry is not None:
            past.entries[line.id] = line.entry
        elif past.state[line.id] != "begun":
            raise ValueError(line.state)
        past.state[line.id] = line.state
    return past


def _open(path: Path, *, read_only: bool) -> int:
    """Open the ledger, or make it."""
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    if read_only:
        return os.open(path, flags | os.O_RDONLY)
    flags |= os.O_RDWR
    try:
        return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(path, flags)


def _check_private(path: Path, handle: int) -> None:
    """Refuse a file that others may read."""
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        raise BadInputError(f"series ledger {path} is no regular file")
    if os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o077:
        raise BadInputError(
            f"series ledger {path} can be read by others and holds a secret: chmod 600 {path}"
        )


def _lock(path: Path, handle: int) -> None:
    """Take the lock that others hold only for a moment; without one, two runs could both pass."""
    end = time.monotonic() + LONGEST_WAIT
    while sys.platform != "win32":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise BadInputError(f"series ledger {path} is in use by another run: try again") from None
            time.sleep(_PAUSE)
        except OSError:
            break
        else:
            return
    raise BadInputError(f"series ledger {path} cannot be locked there: keep it on another file system")


def _content(handle: int) -> bytes:
    os.lseek(handle, 0, os.SEEK_SET)
    parts = []
    while part := os.read(handle, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _day(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s"
