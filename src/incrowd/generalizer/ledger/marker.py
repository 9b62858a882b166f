"""The ledger's marker: a small file in another place that identifies the ledger and counts its writes.

A ledger that was lost and replaced, or restored from an old copy, looks like any other. The marker shows the difference:
it holds the ledger's id, its creation time, the highest sequence number seen, the sequence number in the file itself (the
rest is in the write-ahead log) and the time of the last write. It contains nothing about persons.

It is written after the commit, so after a crash it may be behind the ledger but never ahead. It has two slots, each on
its own sector and with a checksum; the older one is overwritten, so one of them is always complete. Numbers only grow:
processes exclude each other by a lock of the operating system. A write takes some microseconds; it is synced to disk once
a second, so after a power cut the marker may be one second behind.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import NamedTuple, Self

from incrowd.generalizer.ledger.file import LedgerError, sync_directory

if sys.platform != "win32":
    import fcntl

__all__ = ["Mark", "Marker", "create_marker"]

SLOT = 512  # bytes: a sector, which disks write atomically
SYNC_INTERVAL = 1.0
STAT_INTERVAL = 0.05
"""Seconds after which a missing marker is noticed."""
PAUSE = 0.001


class Mark(NamedTuple):
    """The content of a marker.

    Parameters
    ----------
    id, created
        Which ledger it belongs to.
    sequence
        The highest number of writes seen.
    in_file
        How many of them the file itself contains, without its write-ahead log.
    last
        The ledger's time of the last write.
    """

    id: str
    created: float
    sequence: int
    in_file: int
    last: float

    def slot(self) -> bytes:
        """Return the bytes of a slot: a checksum and the fields as text, padded with spaces."""
        text = b"%s %r %d %d %r" % (self.id.encode(), self.created, self.sequence, self.in_file, self.last)
        rest = text.ljust(SLOT - 10) + b"\n"
        return b"%08x %s" % (zlib.crc32(rest), rest)

    @classmethod
    def of_slot(cls, slot: bytes) -> Self | None:
        """Return the content of a slot, or None if it is incomplete."""
        if slot[:9] != b"%08x " % zlib.crc32(slot[9:]):
            return None
        _, name, created, sequence, in_file, last = slot.split()
        return cls(name.decode(), float(created), int(sequence), int(in_file), float(last))


def create_marker(path: Path, mark: Mark) -> None:
    """Create a marker atomically; FileExistsError if there is one."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as draft:
            os.fchmod(descriptor, 0o600)
            draft.write(2 * mark.slot())
            draft.flush()
            os.fsync(descriptor)
        path.hardlink_to(name)
    finally:
        Path(name).unlink()
    sync_directory(path.parent)


class Marker:
    """An opened marker, for one thread at a time, which its ledger guarantees.

    Parameters
    ----------
    path
        The file, which must exist.
    timeout
        Seconds to wait for other processes that write.
    """

    def __init__(self, path: Path, timeout: float) -> None:
        self.path = path
        self._name = str(path)
        self._timeout = timeout
        self._descriptor = -1
        self._identity = (0, 0)
        self._found = b"nothing yet"
        self._slots = [b"", b""]
        self._marks: list[Mark | None] = [None, None]
        self._newest = 0
        self._mark = Mark("", 0.0, 0, 0, 0.0)
        self._stat_again = self._sync_again = 0.0
        self.read()

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._identity, self._stat_again = -1, (0, 0), 0.0

    def read(self) -> Mark:
        """Return the marker's content now; raise a `LedgerError` if it is missing, damaged or not private."""
        try:
            now = time.monotonic()
            if now >= self._stat_again:
                self._find()
                self._stat_again = now + STAT_INTERVAL
            found = os.pread(self._descriptor, 2 * SLOT, 0)
        except OSError as error:
            raise self._unusable(error) from None
        if found != self._found:
            self._take(found)
        return self._mark

    def advance(self, *, sequence: int, in_file: int = 0, last: float = 0.0) -> None:
        """Record how many writes the ledger has; call it after the commit."""
        try:
            self._lock()
            try:
                self._write(sequence, in_file, last)
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            now = time.monotonic()
            if now >= self._sync_again:
                os.fsync(self._descriptor)
                self._sync_again = now + SYNC_INTERVAL
        except OSError as error:
            raise self._unusable(error) from None

    def _find(self) -> None:
        """Open the file at the path, unless it is already open."""
        status = os.stat(self._name)  # noqa: PTH116 - runs for every query, in half the time of Path.stat
        if status.st_mode & 0o077:
            raise LedgerError(f"the ledger's marker {self.path} may be read by others: chmod 600 it")
        if (status.st_dev, status.st_ino) != self._identity:
            self.close()
            self._descriptor = os.open(self._name, os.O_RDWR | os.O_CLOEXEC)
            self._identity = (status.st_dev, status.st_ino)

    def _write(self, sequence: int, in_file: int, last: float) -> None:
        """Overwrite the older slot, unless nothing has grown; the marker must be locked."""
        found = os.pread(self._descriptor, 2 * SLOT, 0)
        if found != self._found:
            self._take(found)
        before = self._mark
        after = before._replace(
            sequence=max(before.sequence, sequence),
            in_file=max(before.in_file, in_file),
            last=max(before.last, last),
        )
        if after == before:
            return
        slot, place = after.slot(), 1 - self._newest
        if os.pwrite(self._descriptor, slot, place * SLOT) < SLOT:
            raise LedgerError(f"the ledger's marker {self.path} cannot be written: check the disk")
        self._slots[place], self._marks[place] = slot, after
        self._found, self._newest, self._mark = self._slots[0] + self._slots[1], place, after

    def _take(self, found: bytes) -> None:
        """Use the newest complete slot."""
        for place, slot in enumerate((found[:SLOT], found[SLOT:])):
            if slot != self._slots[place]:
                self._slots[place], self._marks[place] = slot, Mark.of_slot(slot)
        whole = [(mark[2:], place, mark) for place, mark in enumerate(self._marks) if mark]
        if not whole:
            raise LedgerError(
                f"the ledger's marker {self.path} is damaged: restore it, or move it away and use --trust-ledger"
            )
        _, self._newest, self._mark = max(whole)
        self._found = found

    def _lock(self) -> None:
        """Lock the marker against other processes."""
        end = time.monotonic() + self._timeout
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise LedgerError(f"the ledger's marker {self.path} is locked: try again") from None
                time.sleep(PAUSE)
            else:
                return

    def _unusable(self, error: OSError) -> LedgerError:
        if isinstance(error, FileNotFoundError):
            self._stat_again = 0.0
            return LedgerError(
                f"the ledger's marker {self.path} is missing: restore it; or, if the ledger is certainly the newest, create one "
                "with: incrowd gateway --config FILE --trust-ledger"
            )
        return LedgerError(
            f"the ledger's marker {self.path} cannot be used: {error.strerror}; check its permissions and its disk"
        )
