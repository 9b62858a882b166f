"""A ledger's file and its marker: created together, and used only while they match and the file is the newest.

Every transaction that writes increments the ledger's sequence number, and the marker is updated after the commit. Every
read also reads that number; if it is lower than one seen before, nothing that was read is used.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

from incrowd.errors import BadInputError
from incrowd.generalizer.ledger.clock import LedgerClock
from incrowd.generalizer.ledger.file import (
    LedgerError,
    Meta,
    Stamp,
    commits_in_log,
    create_file,
    file_error,
    file_errors,
    meta_in_file,
    meta_with_log,
    open_file,
    private_stamp,
    run,
    secret_check,
)
from incrowd.generalizer.ledger.marker import Mark, Marker, create_marker

__all__ = ["SHORTEST_SECRET", "LedgerEvents", "LedgerStore", "check_secret", "create_ledger", "trust_ledger"]

CHECKPOINT_AFTER = 250
"""Writes after which a checkpoint moves the write-ahead log into the file: some thousand pages."""
ADVANCE = "UPDATE meta SET sequence = ?, wall = ?, time = ?"


class LedgerEvents(NamedTuple):
    """What happened to a ledger and should be logged.

    Parameters
    ----------
    created
        Whether a new ledger was written for the first time.
    jump
        By how many seconds the wall clock jumped, which the ledger's time ignored; 0 if it did not.
    """

    created: bool
    jump: float


class LedgerStore:
    """The opened file, for one thread at a time in a ``with`` block, which checks that the file matches its marker.

    Parameters
    ----------
    path, marker
        The ledger and its marker.
    secret
        The secret that the ledger must have been created with.
    clock
        Returns the ledger's clock for its metadata.
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
        self._sequence = 0  # the highest number that this process or the marker has seen
        self._checkpointed = 0
        self._unreadable: Stamp | None = None  # a file that was waited for once already
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

    def take_events(self) -> LedgerEvents:
        """Return what happened since the last call."""
        with self:
            created, self._created = self._created, False
            return LedgerEvents(created, self._time.take_jump())

    def run(self, statement: str, *parameters: object) -> list[Any]:
        """Execute one statement; in a ``with`` block or a `transaction`."""
        return run(self._connection, self._path, statement, *parameters)

    def mark_write(self) -> float:
        """Make the transaction a write; return the ledger's time from the last `check_progress`."""
        self._writing = True
        return self._now

    def begin_write(self) -> float:
        """Make the transaction a write, even if it changes nothing else; return the ledger's time."""
        self._writing = True
        return self.check_progress(self.run("SELECT sequence, time FROM meta"))

    def check_progress(self, rows: list[Any]) -> float:
        """Return the ledger's time; refuse rows from a ledger with fewer writes than were seen before."""
        if not rows:
            raise LedgerError(f"the ledger {self._path} is damaged: restore it from a backup")
        sequence, last_time = rows[0][:2]
        if sequence < self._sequence:
            raise self._too_old(sequence, self._sequence)
        self._sequence = sequence
        self._now = self._time.now(last_time)
        return self._now

    def checkpoint(self, how: str) -> None:
        """Move the write-ahead log into the file, and record in the marker how many writes the file contains."""
        with self:
            self._move_log(how)

    def _move_log(self, how: str) -> None:
        [(busy, pages, moved)] = self.run(f"PRAGMA wal_checkpoint({how})")
        self._checkpointed = self._sequence
        if not busy and pages == moved:  # so the file on disk contains all writes
            self._marker.advance(sequence=self._sequence, in_file=self._sequence)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Lock the file for one writer; the end commits and updates the marker, an exception rolls back."""
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
        """Update the marker: after the commit, so that after a crash it may be behind but never ahead."""
        self._created = self._created or not self._sequence
        self._sequence += 1
        self._marker.advance(sequence=self._sequence, last=self._now)
        if self._sequence - self._checkpointed >= CHECKPOINT_AFTER:
            with contextlib.suppress(LedgerError):  # the writes are safe in the log
                self._move_log("PASSIVE")

    def roll_back(self) -> None:
        """Roll the transaction back."""
        if self._connection.in_transaction:  # some failures roll back by themselves
            with contextlib.suppress(LedgerError):
                self.run("ROLLBACK")

    def __enter__(self) -> Self:
        if os.getpid() != self._process:
            raise LedgerError(f"the ledger {self._path} was opened before a fork: open it in each process")
        if not self._turn.acquire(timeout=self._timeout):
            raise LedgerError(f"the ledger {self._path} is locked by another thread: try again")
        try:
            self._check_files()
        except BaseException:
            self._turn.release()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self._turn.release()

    def _check_files(self) -> None:
        """Check that the file is still the same; if it was changed (by a checkpoint or from outside), open it again."""
        try:
            stamp = private_stamp(self._name)
        except OSError as error:
            raise file_error(self._path, error) from None
        if stamp != self._stamp:
            if stamp[:2] != self._stamp[:2]:
                raise LedgerError(
                    f"the ledger {self._path} was replaced while in use: restart to use the new file"
                )
            before = self._connection
            patience = 0.0 if stamp == self._unreadable else self._timeout
            self._unreadable = stamp
            self._open(patience=patience)
            before.close()  # with its cached pages of the file
        # The marker is read first, so that a commit in between cannot make the ledger look old.
        mark = self._marker.read()
        if mark.id != self._id:
            raise self._not_its_own()
        self._sequence = max(self._sequence, mark.sequence)

    def _open(self, *, patience: float, try_to_write: bool = False) -> Meta:
        """Connect to the file, if it is the marker's ledger, is not older, and has our secret."""
        stamp, mark = private_stamp(self._path), self._marker.read()
        self._check_file_meta(meta_in_file(self._path, patience), mark)
        meta = meta_with_log(self._path, self._timeout)
        self._check_meta(meta, max(mark.sequence, self._sequence))
        self._connection = open_file(self._path, self._timeout, try_to_write=try_to_write)
        self._stamp, self._id = stamp, meta.id
        return meta

    def _check_meta(self, meta: Meta, seen: int) -> None:
        """Compare the file with its log to the secret and the marker."""
        if meta.secret_check != self._secret_check:
            raise LedgerError(
                f"the ledger {self._path} was created with another secret: give that secret, or move "
                "it and its marker away and start over"
            )
        if meta.sequence < seen:
            raise self._too_old(meta.sequence, seen)

    def _check_file_meta(self, kept: Meta, mark: Mark) -> None:
        """Compare the file alone, without its log, to the marker."""
        if kept.id != mark.id:
            raise self._not_its_own()
        if kept.sequence < mark.in_file:
            raise self._too_old(kept.sequence, mark.in_file)

    def _not_its_own(self) -> LedgerError:
        return LedgerError(
            f"the ledger {self._path} is not the one that its marker {self._marker.path} belongs to: restore that one"
        )

    def _too_old(self, sequence: int, seen: int) -> LedgerError:
        return LedgerError(
            f"the ledger {self._path} is older than its marker {self._marker.path} (write {sequence} of {seen}): "
            "restore the newest one, with its -wal file"
        )


def _open_marker(path: Path, marker: Path, timeout: float) -> Marker:
    """Open the marker of an existing ledger."""
    if path.parent.is_dir() and not path.exists():
        if marker.exists():
            raise LedgerError(
                f"the ledger {path} is missing, but its marker {marker} exists: restore the newest ledger, with its -wal "
                "file; or move the marker away and start over"
            )
        raise LedgerError(
            f"there is no ledger {path}: create one with: incrowd gateway --config FILE --init-ledger; "
            "it has no past disclosures of any person"
        )
    path.stat()
    meta_in_file(path, timeout)  # a file that is not a ledger is reported first
    return Marker(marker, timeout)


SHORTEST_SECRET = 16


def check_secret(secret: bytes) -> None:
    """Refuse a secret that is short enough to guess."""
    if len(secret) < SHORTEST_SECRET:
        raise BadInputError(f"secret must have at least {SHORTEST_SECRET} bytes (got {len(secret)})")


def create_ledger(
    path: str | os.PathLike[str],
    *,
    marker: str | os.PathLike[str],
    secret: bytes,
    clock: Callable[[], float] = time.time,
) -> None:
    """Create an empty ledger and its marker. It has no past disclosures of any person.

    Parameters
    ----------
    path, marker
        Their paths, in two places that are not lost or restored together. If either exists, nothing is created.
    secret
        The key of the persons' HMACs, at least 16 bytes; the ledger can be used with no other secret.
    clock
        The wall clock, in seconds.
    """
    check_secret(secret)
    file, mark_file, now = Path(path).absolute(), Path(marker).absolute(), clock()
    for there in (file, mark_file):
        if os.path.lexists(there):
            raise LedgerError(
                f"{there} already exists and is not replaced: to start over, without any past disclosures, move "
                f"{file} (with its -wal and -shm) and {mark_file} away first"
            )
    meta = Meta(secrets.token_hex(16), now, secret_check(secret), 0, now, now)
    with file_errors(file):
        _make_marker(mark_file, Mark(meta.id, now, 0, 0, now))
        try:
            create_file(file, meta)
        except BaseException:
            mark_file.unlink()
            raise


def trust_ledger(path: str | os.PathLike[str], *, marker: str | os.PathLike[str], secret: bytes) -> None:
    """Create a marker for a ledger that has lost its own; the ledger counts as the newest from then on.

    Parameters
    ----------
    path, marker
        The ledger, and the path of the marker; if a marker exists, nothing is created.
    secret
        The ledger's secret.
    """
    file, mark_file = Path(path).absolute(), Path(marker).absolute()
    with file_errors(file):
        private_stamp(file)
        kept = meta_in_file(file)
        meta, commits = meta_with_log(file, timeout=1.0), commits_in_log(file)
        if meta.secret_check != secret_check(secret):
            raise LedgerError(f"the ledger {file} was created with another secret: give that secret")
        if meta.id != kept.id or kept.sequence < meta.sequence - commits:
            raise LedgerError(
                f"the ledger {file} and its -wal file do not belong together: restore both from the same backup, or move "
                "away a -wal file that is not the restored ledger's"
            )
        open_file(file, timeout=1.0).close()
        _make_marker(mark_file, Mark(meta.id, meta.created, meta.sequence, kept.sequence, meta.time))


def _make_marker(file: Path, mark: Mark) -> None:
    try:
        create_marker(file, mark)
    except FileExistsError:
        raise LedgerError(
            f"the marker {file} already exists and is not replaced: move it away first"
        ) from None
    except OSError as error:
        raise LedgerError(
            f"the ledger's marker {file} cannot be created: {error.strerror}; give ledger.marker a directory that the "
            "gateway may write to"
        ) from None
