"""The ledger's file: a SQLite database, created atomically, private to its owner, and checked before use.

Its table `meta` has one row: the ledger's id, the check value of its secret, the number of writes, and its time. Every
commit updates that row, so the row in the file itself (without the write-ahead log) shows how many writes the file
contains: `meta_in_file`.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from incrowd.errors import IncrowdError

__all__ = [
    "LedgerError",
    "Meta",
    "Stamp",
    "commits_in_log",
    "create_file",
    "file_error",
    "file_errors",
    "meta_in_file",
    "meta_with_log",
    "open_file",
    "private_stamp",
    "read_meta",
    "run",
    "secret_check",
    "sync_directory",
]

APPLICATION_ID = 0x696E6372  # "incr", in the file's header: distinguishes a ledger from any other database
SCHEMA_VERSION = 2
# Without row ids the rows are stored in key order, so the file does not show in which order persons came.
SCHEMA = f"""
BEGIN;
CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, created REAL NOT NULL, secret_check BLOB NOT NULL,
    sequence INTEGER NOT NULL, wall REAL NOT NULL, time REAL NOT NULL
);
CREATE TABLE providers (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE disclosures (
    who BLOB NOT NULL, attribute TEXT NOT NULL, value TEXT NOT NULL, disclosed_at REAL NOT NULL,
    PRIMARY KEY (who, attribute, value)
) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""
REMEDIES = {
    sqlite3.SQLITE_BUSY: "is locked by another process: try again, or find that process",
    sqlite3.SQLITE_FULL: "cannot grow, the disk is full: free some space",
    sqlite3.SQLITE_IOERR: "cannot be read or written: check the disk, its space and its limits",
    sqlite3.SQLITE_READONLY: "cannot be written: check the permissions of the file and its directory",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check the permissions of the file and its directory",
    sqlite3.SQLITE_CORRUPT: "is damaged: restore it from a backup, or move it away to start over",
    sqlite3.SQLITE_NOTADB: "is damaged or not a ledger: restore it from a backup, or move it away to start over",
}


READ_META = "SELECT id, created, secret_check, sequence, wall, time FROM meta"
PAUSE = 0.001
MOST_PATIENCE = 0.05  # seconds for a file that cannot be read
LOG_HEADER, FRAME_HEADER = 32, 24  # bytes, see SQLite's file format


class LedgerError(IncrowdError):
    """The ledger cannot be read or written, so nothing may be sent (exit code 2)."""


class DamagedError(LedgerError):
    """The ledger's file cannot be read as a ledger, at least not at this moment."""


class Meta(NamedTuple):
    """The row of table `meta`.

    Parameters
    ----------
    id, created
        The ledger's random id, and when it was created.
    secret_check
        The check value of its secret, see `secret_check`.
    sequence
        How many writes were committed.
    wall, time
        The wall clock and the ledger's own time at the last write.
    """

    id: str
    created: float
    secret_check: bytes
    sequence: int
    wall: float
    time: float


Stamp = tuple[int, int, int, int]
"""A file's identity (device and inode), change time and size."""


def secret_check(secret: bytes) -> bytes:
    """Return a value that differs between secrets and does not reveal them."""
    return hmac.digest(secret, b"incrowd ledger: which secret", hashlib.sha256)


def run(connection: sqlite3.Connection, path: Path, statement: str, *parameters: object) -> list[Any]:
    """Execute one statement; SQLite's own message is dropped, since it may quote a value."""
    try:
        return connection.execute(statement, parameters).fetchall()
    except sqlite3.Error as error:
        problem = _problem(error)
        damaged = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT
    raise (DamagedError if damaged else LedgerError)(f"the ledger {path} {problem}")


def _problem(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return "cannot be used: it was closed, or a value in it is not text"
    name = getattr(error, "sqlite_errorname", "")
    return f"{REMEDIES.get(code & 0xFF, 'cannot be used')} ({name})"


def open_file(path: Path, timeout: float, *, try_to_write: bool = True) -> sqlite3.Connection:
    """Connect to an existing ledger; refuse a file that is not a ledger or cannot be written."""
    connection = _connect(path, timeout, "mode=rw")
    try:
        _check_header(connection, path)
        run(connection, path, "PRAGMA synchronous = FULL")
        run(connection, path, "PRAGMA secure_delete = ON")
        # The marker must be updated with every checkpoint, so the ledger runs them itself.
        run(connection, path, "PRAGMA wal_autocheckpoint = 0")
        if try_to_write:  # so that a file that cannot be written is found at start, not at the first query
            run(connection, path, "BEGIN IMMEDIATE")
            run(connection, path, "ROLLBACK")
    except BaseException:
        connection.close()
        raise
    return connection


def read_meta(connection: sqlite3.Connection, path: Path) -> Meta:
    """Return the row of table `meta`."""
    rows = run(connection, path, READ_META)
    if len(rows) != 1:
        raise DamagedError(f"the ledger {path} is damaged: restore it from a backup")
    return Meta(*rows[0])


def meta_with_log(path: Path, timeout: float) -> Meta:
    """Return the row of `meta` from the file with its write-ahead log, without changing either.

    A connection in write mode would move the log into the file when it is closed, even the log of another file.
    """
    if not _log(path).exists():
        return meta_in_file(path)
    with contextlib.closing(_connect(path, timeout, "mode=ro")) as connection:
        return read_meta(connection, path)


def commits_in_log(path: Path) -> int:
    """Return how many commits the write-ahead log holds; the file must contain all commits before them."""
    try:
        log = _log(path).read_bytes()
    except FileNotFoundError:
        return 0
    frame = FRAME_HEADER + int.from_bytes(log[8:12], "big")
    salts, commits = log[16:24], 0
    for start in range(LOG_HEADER, len(log) - frame + 1, frame):
        if log[start + 8 : start + 16] != salts:  # a frame of an older log
            break
        commits += any(log[start + 4 : start + 8])
    return commits


def _log(path: Path) -> Path:
    """Return the path of SQLite's write-ahead log: next to the file itself, not next to a symbolic link to it."""
    return Path(f"{path.resolve()}-wal")


def meta_in_file(path: Path, patience: float = 0.0) -> Meta:
    """Return the row of `meta` from the file without its write-ahead log.

    SQLite applies a log to any file that has the right name. The file alone shows whether the log was written for it.
    This locks and changes nothing.

    Parameters
    ----------
    path
        The ledger.
    patience
        Seconds to retry while the file cannot be read, 0.05 at most: a checkpoint may be writing that page.
    """
    end = time.monotonic() + min(patience, MOST_PATIENCE)
    while True:
        try:
            with contextlib.closing(_connect(path, 0, "mode=ro&immutable=1")) as connection:
                # After an incomplete checkpoint the header counts pages that are still in the log. This setting makes
                # SQLite ignore that; the pages of `meta` exist from the start, and nothing is written.
                run(connection, path, "PRAGMA writable_schema = ON")
                _check_header(connection, path)
                return read_meta(connection, path)
        except DamagedError:
            if time.monotonic() >= end:
                raise
        time.sleep(PAUSE)


def _check_header(connection: sqlite3.Connection, path: Path) -> None:
    [(application,)] = run(connection, path, "PRAGMA application_id")
    [(version,)] = run(connection, path, "PRAGMA user_version")
    if application != APPLICATION_ID:
        raise LedgerError(f"{path} is not a ledger: move it away, or name another file")
    if version != SCHEMA_VERSION:
        raise LedgerError(
            f"the ledger {path} has schema version {version}, not {SCHEMA_VERSION}: use the version of incrowd that created it, "
            "or move it away and start over"
        )


def _connect(path: Path, timeout: float, how: str) -> sqlite3.Connection:
    """Connect to an existing file; several threads may use the connection, one at a time under our lock."""
    try:
        return sqlite3.connect(
            f"{path.as_uri()}?{how}", timeout, isolation_level=None, check_same_thread=False, uri=True
        )
    except sqlite3.Error as error:
        problem = _problem(error)
    raise LedgerError(f"the ledger {path} {problem}")


def create_file(path: Path, meta: Meta) -> None:
    """Create an empty ledger under a temporary name and link it to the path, so that it appears complete or not at all.

    Raises FileExistsError if a file exists. No descriptor of the final file is closed here, since that would release
    the locks that SQLite holds on it for the whole process.
    """
    if Path(f"{path}-wal").exists():
        # SQLite would replay the old log into the new file.
        raise LedgerError(
            f"the ledger {path} is missing but its -wal file exists: restore the ledger, or move the -wal file away"
        )
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    draft = Path(name)
    try:
        os.fchmod(descriptor, 0o600)  # the umask may have taken bits away
        os.close(descriptor)
        with contextlib.closing(_connect(draft, 0, "mode=rw")) as connection:
            run(connection, path, "PRAGMA journal_mode = WAL")
            for statement in SCHEMA.split(";"):
                run(connection, path, statement)
            run(connection, path, "INSERT INTO meta VALUES (1, ?, ?, ?, ?, ?, ?)", *meta)
        path.hardlink_to(draft)
    finally:
        for remains in (draft, Path(f"{name}-wal"), Path(f"{name}-shm")):
            remains.unlink(missing_ok=True)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make the file's name durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def private_stamp(path: Path | str) -> Stamp:
    """Return the stamp of the file at the path; refuse a file that other users may read."""
    status = os.stat(path)  # noqa: PTH116 - runs for every query, in half the time of Path.stat
    if status.st_mode & 0o077:
        raise LedgerError(f"the ledger {path} may be read or written by others: chmod 600 it")
    return status.st_dev, status.st_ino, status.st_ctime_ns, status.st_size


@contextlib.contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file system into a `LedgerError` of one line."""
    try:
        yield
    except OSError as error:
        raise file_error(path, error) from None


def file_error(path: Path, error: OSError) -> LedgerError:
    """Return an error of the file system as a `LedgerError` of one line."""
    return LedgerError(
        f"the ledger {path} cannot be used: {error.strerror}; check the permissions of the file and its directory"
    )
