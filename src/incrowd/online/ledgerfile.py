"""The ledger's file: a SQLite database that is whole or not there, private, and checked before it is used.

Its table `meta` has one row: who it is, which secret it belongs to, how often it was written, and its time. Every commit
writes that row, so the row in the file itself (without the write-ahead log) says how far the file has come: `kept_in_file`.
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
    "kept_in_file",
    "kept_with_log",
    "open_file",
    "private_stamp",
    "read_meta",
    "run",
    "secret_check",
    "sync_directory",
]

APPLICATION_ID = 0x696E6372  # "incr", in the file's header: tells a ledger from any other database
SCHEMA_VERSION = 2
# Without row ids the rows lie in key order, so the file does not tell who came after whom.
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
    sqlite3.SQLITE_BUSY: "is locked by another process: try again, or find who holds it",
    sqlite3.SQLITE_FULL: "cannot grow, the disk is full: make room",
    sqlite3.SQLITE_IOERR: "cannot be read or written: check the disk, its space and its limits",
    sqlite3.SQLITE_READONLY: "cannot be written: check the permissions of the file and its directory",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check the permissions of the file and its directory",
    sqlite3.SQLITE_CORRUPT: "is damaged: restore it from a backup, or move it away to begin anew",
    sqlite3.SQLITE_NOTADB: "is damaged or not a ledger: restore it from a backup, or move it away to begin anew",
}


READ_META = "SELECT id, created, secret_check, sequence, wall, time FROM meta"
PAUSE = 0.001
MOST_PATIENCE = 0.05  # seconds for a file that makes no sense
LOG_HEADER, FRAME_HEADER = 32, 24  # bytes, see SQLite's file format


class LedgerError(IncrowdError):
    """The ledger cannot be read or written, so nothing may be sent (exit code 2)."""


class DamagedError(LedgerError):
    """The ledger's file makes no sense, or not at this moment."""


class Meta(NamedTuple):
    """What a ledger says of itself.

    Parameters
    ----------
    id, created
        Made at random with the ledger, and when.
    secret_check
        What `secret_check` makes of its secret.
    sequence
        How many writes were committed.
    wall, time
        What the clock on the wall said at the last write, and the ledger's own time then.
    """

    id: str
    created: float
    secret_check: bytes
    sequence: int
    wall: float
    time: float


Stamp = tuple[int, int, int, int]
"""Which file it is (device and inode), and what changes when anybody writes to it (change time and size)."""


def secret_check(secret: bytes) -> bytes:
    """Return what tells two secrets apart and gives neither away."""
    return hmac.digest(secret, b"incrowd ledger: which secret", hashlib.sha256)


def run(connection: sqlite3.Connection, path: Path, statement: str, *parameters: object) -> list[Any]:
    """Execute one statement; SQLite's own message is dropped, for it may quote a value."""
    try:
        return connection.execute(statement, parameters).fetchall()
    except sqlite3.Error as error:
        problem = _problem(error)
        damaged = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT
    raise (DamagedError if damaged else LedgerError)(f"the ledger {path} {problem}")


def _problem(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return "cannot be used: it was closed, or holds what is not text"
    name = getattr(error, "sqlite_errorname", "")
    return f"{REMEDIES.get(code & 0xFF, 'cannot be used')} ({name})"


def open_file(path: Path, timeout: float, *, try_to_write: bool = True) -> sqlite3.Connection:
    """Connect to a ledger that exists, and refuse what is not one or cannot be written."""
    connection = _connect(path, timeout, "mode=rw")
    try:
        _check_header(connection, path)
        run(connection, path, "PRAGMA synchronous = FULL")
        run(connection, path, "PRAGMA secure_delete = ON")
        # The marker must hear of every checkpoint, so the ledger makes them itself.
        run(connection, path, "PRAGMA wal_autocheckpoint = 0")
        if try_to_write:  # so that a file that cannot be written is found now, not at the first query
            run(connection, path, "BEGIN IMMEDIATE")
            run(connection, path, "ROLLBACK")
    except BaseException:
        connection.close()
        raise
    return connection


def read_meta(connection: sqlite3.Connection, path: Path) -> Meta:
    """Return what the ledger says of itself."""
    rows = run(connection, path, READ_META)
    if len(rows) != 1:
        raise DamagedError(f"the ledger {path} is damaged: restore it from a backup")
    return Meta(*rows[0])


def kept_with_log(path: Path, timeout: float) -> Meta:
    """Return what the file says of itself with its write-ahead log, and leave both as they are.

    A connection that may write moves the log into the file when it is closed, also a log that is not the file's own.
    """
    if not _log(path).exists():
        return kept_in_file(path)
    with contextlib.closing(_connect(path, timeout, "mode=ro")) as connection:
        return read_meta(connection, path)


def commits_in_log(path: Path) -> int:
    """Return how many writes the write-ahead log holds; the file must have come at least to where they begin."""
    try:
        log = _log(path).read_bytes()
    except FileNotFoundError:
        return 0
    frame = FRAME_HEADER + int.from_bytes(log[8:12], "big")
    salts, commits = log[16:24], 0
    for start in range(LOG_HEADER, len(log) - frame + 1, frame):
        if log[start + 8 : start + 16] != salts:  # of a log that was written over
            break
        commits += any(log[start + 4 : start + 8])
    return commits


def _log(path: Path) -> Path:
    """Return where SQLite has the write-ahead log: beside the file itself, not beside a link to it."""
    return Path(f"{path.resolve()}-wal")


def kept_in_file(path: Path, patience: float = 0.0) -> Meta:
    """Return what the file says of itself without its write-ahead log.

    SQLite would apply a log to whatever file lies beside it. What the file alone says shows whether it is the one
    that the log was written for. Nothing is locked or changed by this.

    Parameters
    ----------
    path
        The ledger.
    patience
        Seconds to try again while the file makes no sense, 0.05 at most: a checkpoint may be writing the very page.
    """
    end = time.monotonic() + min(patience, MOST_PATIENCE)
    while True:
        try:
            with contextlib.closing(_connect(path, 0, "mode=ro&immutable=1")) as connection:
                # A checkpoint that had to leave pages in the log makes the header speak of pages that are not there yet.
                # This lets SQLite look past that; the pages of `meta` are there from the start, and nothing is written.
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
            f"the ledger {path} has schema version {version}, not {SCHEMA_VERSION}: use the incrowd that made it, "
            "or move it away and begin anew"
        )


def _connect(path: Path, timeout: float, how: str) -> sqlite3.Connection:
    """Connect to a file that exists; a lock of ours lets several threads take turns."""
    try:
        return sqlite3.connect(
            f"{path.as_uri()}?{how}", timeout, isolation_level=None, check_same_thread=False, uri=True
        )
    except sqlite3.Error as error:
        problem = _problem(error)
    raise LedgerError(f"the ledger {path} {problem}")


def create_file(path: Path, meta: Meta) -> None:
    """Make an empty ledger under another name and link it to the path: it is there whole or not at all.

    Raises FileExistsError if another one was first. No descriptor of the final file is ever closed here, since that
    would drop the locks that SQLite holds on it for the whole process.
    """
    if Path(f"{path}-wal").exists():
        # SQLite would replay the old log into the new file.
        raise LedgerError(
            f"the ledger {path} is gone but its -wal file is left: restore it, or move that away"
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
    """Make the file's name as durable as its content."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def private_stamp(path: Path | str) -> Stamp:
    """Return which file is at the path, if nobody else may read it."""
    status = os.stat(path)  # noqa: PTH116 - on the way of every query, and half the time of Path.stat
    if status.st_mode & 0o077:
        raise LedgerError(f"the ledger {path} may be read or written by others: chmod 600 it")
    return status.st_dev, status.st_ino, status.st_ctime_ns, status.st_size


@contextlib.contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn what the file system says into one line."""
    try:
        yield
    except OSError as error:
        raise file_error(path, error) from None


def file_error(path: Path, error: OSError) -> LedgerError:
    """Return what the file system says in one line."""
    return LedgerError(
        f"the ledger {path} cannot be used: {error.strerror}; check the permissions of the file and its directory"
    )
