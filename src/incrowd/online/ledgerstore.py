"""A ledger's file and its marker, used only while they are each other's and the file is the newest.

Every transaction that writes raises the ledger's sequence number; the marker hears of it after the commit. Everything that
is read comes with that number, and if it is lower than one seen before, nothing of it is used.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

from incrowd.online.ledgerclock import LedgerClock
from incrowd.online.ledgerfile import (
    LedgerError,
    Meta,
    Stamp,
    file_error,
    file_errors,
    kept_in_file,
    kept_with_log,
    open_file,
    private_stamp,
    run,
    secret_check,
)
from incrowd.online.ledgermarker import Mark, Marker

__all__ = ["LedgerStore", "News"]

CHECKPOINT_AFTER = 250
"""Writes after which the write-ahead log is moved into the file: some thousand pages."""
ADVANCE = "UPDATE meta SET sequence = ?, wall = ?, time = ?"


class News(NamedTuple):
    """What is worth a line in a log.

    Parameters
    ----------
    created
        Whether this was the first write to a ledger that was made anew.
    jump
        By how many seconds the clock was set, which was not counted; 0 if it was not.
    """

    created: bool
    jump: float


class LedgerStore:
    """The opened file, for one thread at a time: in a ``with`` block, if the file at the path is ours and not older.

    Parameters
    ----------
    path, marker
        The ledger and its marker.
    secret
        The secret that the ledger must have been made with.
    clock
        Makes the ledger's clock from what the ledger says of itself.
    timeout
        Seconds to wait for others to release the file.
    """

    def __init__(
        self,
        path: Path,
        marker: Path,
        secret: bytes,
        clock: Callable[[Meta], LedgerClock],
        timeout: float,
    ) -> None:
        self._path = path
        self._name = str(path)
        self._secret_check = secret_check(secret)
        self._timeout = timeout
        self._turn = threading.Lock()
        self._process = os.getpid()
        self._sequence = 0  # the most that this process or the marker has seen
        self._checkpointed = 0
        self._senseless: Stamp | None = (
            None  # what was last looked at in vain, and need not be waited for again
        )
        self._created = False
        self._writing = False
        self._now = 0.0
        with file_errors(path):
            self._marker = _open_marker(path, marker, timeout)
            try:
                self._time = clock(self._open(try_to_write=True, patience=timeout))
            except BaseException:
                self._marker.close()
                raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        self._marker.close()

    def news(self) -> News:
        """Return what has happened since this was last called."""
        with self:
            created, self._created = self._created, False
            return News(created, self._time.take_jump())

    def run(self, statement: str, *parameters: object) -> list[Any]:
        """Execute one statement; in a ``with`` block or a `transaction`."""
        return run(self._connection, self._path, statement, *parameters)

    def will_write(self) -> float:
        """Make the transaction a write; return the ledger's time, as it was last `noticed`."""
        self._writing = True
        return self._now

    def look(self) -> float:
        """Make the transaction a write, also if nothing else is written; return the ledger's time."""
        self._writing = True
        return self.noticed(self.run("SELECT sequence, time FROM meta"))

    def noticed(self, rows: list[Any]) -> float:
        """Return the ledger's time, if what was read comes from a ledger that is as far as it was seen before."""
        if not rows:
            raise LedgerError(f"the ledger {self._path} is damaged: restore it from a backup")
        sequence, last_time = rows[0][:2]
        if sequence < self._sequence:
            raise self._too_old(sequence, self._sequence)
        self._sequence = sequence
        self._now = self._time.now(last_time)
        return self._now

    def checkpoint(self, how: str) -> None:
        """Move the write-ahead log into the file, and let the marker know how far the file has come by itself."""
        with self:
            self._move_log(how)

    def _move_log(self, how: str) -> None:
        [(busy, pages, moved)] = self.run(f"PRAGMA wal_checkpoint({how})")
        self._checkpointed = self._sequence
        if not busy and pages == moved:  # and it is on the disk
            self._marker.advance(sequence=self._sequence, in_file=self._sequence)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Have the file for one writer; the end commits and lets the marker know, an exception takes all back."""
        with self:
            self.run("BEGIN IMMEDIATE")
            self._writing = False
            try:
                yield
                if self._writing:
                    self.run(ADVANCE, self._sequence + 1, self._time.wall(), self._now)
                self.run("COMMIT")
            except BaseException:
                self.roll_back()
                raise
            if self._writing:
                self._committed()

    def _committed(self) -> None:
        """Let the marker know: after the commit, so that a crash leaves it behind and never ahead."""
        self._created = self._created or not self._sequence
        self._sequence += 1
        self._marker.advance(sequence=self._sequence, last=self._now)
        if self._sequence - self._checkpointed >= CHECKPOINT_AFTER:
            with contextlib.suppress(LedgerError):  # what was written is safe in the log
                self._move_log("PASSIVE")

    def roll_back(self) -> None:
        """Take back what the transaction has written."""
        if self._connection.in_transaction:  # some failures have rolled back by themselves
            with contextlib.suppress(LedgerError):
                self.run("ROLLBACK")

    def __enter__(self) -> Self:
        if os.getpid() != self._process:
            raise LedgerError(f"the ledger {self._path} was opened before a fork: open it in each process")
        if not self._turn.acquire(timeout=self._timeout):
            raise LedgerError(f"the ledger {self._path} is locked by another thread: try again")
        try:
            self._look_at_files()
        except BaseException:
            self._turn.release()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self._turn.release()

    def _look_at_files(self) -> None:
        """See that the file is ours still; if it was changed (by a checkpoint or a stranger), look at it anew."""
        try:
            stamp = private_stamp(self._name)
        except OSError as error:
            raise file_error(self._path, error) from None
        if stamp != self._stamp:
            if stamp[:2] != self._stamp[:2]:
                raise LedgerError(f"the ledger {self._path} was replaced while in use: restart to use it")
            before = self._connection
            patience = 0.0 if stamp == self._senseless else self._timeout
            self._senseless = stamp
            self._open(patience=patience)
            before.close()  # with all that it remembered of the file
        # Before anything is read: what is committed meanwhile cannot make the ledger look old.
        mark = self._marker.read()
        if mark.id != self._id:
            raise self._not_its_own()
        self._sequence = max(self._sequence, mark.sequence)

    def _open(self, *, patience: float, try_to_write: bool = False) -> Meta:
        """Connect to the file, if it is the marker's ledger, no older, and of our secret."""
        stamp, mark = private_stamp(self._path), self._marker.read()
        self._check_kept(kept_in_file(self._path, patience), mark)
        meta = kept_with_log(self._path, self._timeout)
        self._check_meta(meta, max(mark.sequence, self._sequence))
        self._connection = open_file(self._path, self._timeout, try_to_write=try_to_write)
        self._stamp, self._id = stamp, meta.id
        return meta

    def _check_meta(self, meta: Meta, seen: int) -> None:
        """Hold the file with its log against the secret and the marker."""
        if meta.secret_check != self._secret_check:
            raise LedgerError(
                f"the ledger {self._path} was made with another secret: give it the one it was made with, or move "
                "it and its marker away and begin anew"
            )
        if meta.sequence < seen:
            raise self._too_old(meta.sequence, seen)

    def _check_kept(self, kept: Meta, mark: Mark) -> None:
        """Hold the file alone, without its log, against the marker."""
        if kept.id != mark.id:
            raise self._not_its_own()
        if kept.sequence < mark.in_file:
            raise self._too_old(kept.sequence, mark.in_file)

    def _not_its_own(self) -> LedgerError:
        return LedgerError(
            f"the ledger {self._path} is not the one that its marker {self._marker.path} knows: restore that one"
        )

    def _too_old(self, sequence: int, seen: int) -> LedgerError:
        return LedgerError(
            f"the ledger {self._path} is older than its marker {self._marker.path} (write {sequence} of {seen}): "
            "restore the newest one, with its -wal file"
        )


def _open_marker(path: Path, marker: Path, timeout: float) -> Marker:
    """Open the marker of a ledger that is there."""
    if path.parent.is_dir() and not path.exists():
        if marker.exists():
            raise LedgerError(
                f"the ledger {path} is gone, though its marker {marker} is there: restore the newest one, with its -wal "
                "file; or move the marker away and begin anew"
            )
        raise LedgerError(
            f"there is no ledger {path}: make one with: incrowd gateway --config FILE --init-ledger; "
            "everybody counts as new then"
        )
    path.stat()
    kept_in_file(path, timeout)  # what is no ledger at all is said first
    return Marker(marker, timeout)
