"""The ledger's file: a SQLite database that is whole or not there, private, and checked before it is used."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from incrowd.errors import IncrowdError

__all__ = ["LedgerError", "create_file", "file_errors", "open_file", "private_identity", "run"]

APPLICATION_ID = 0x696E6372  # "incr", in the file's header: tells a ledger from any other database
SCHEMA_VERSION = 1
# Without row ids the rows lie in key order, so the file does not tell who came after whom.
SCHEMA = f"""
BEGIN;
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


class LedgerError(IncrowdError):
    """The ledger cannot be read or written, so nothing may be sent (exit code 2)."""


def run(connection: sqlite3.Connection, path: Path, statement: str, *parameters: object) -> list[Any]:
    """Execute one statement; SQLite's own message is dropped, for it may quote a value."""
    try:
        return connection.execute(statement, parameters).fetchall()
    except sqlite3.Error as error:
        problem = _problem(error)
    raise LedgerError(f"the ledger {path} {problem}")


def _problem(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return "cannot be used: it was closed, or holds what is not text"
    name = getattr(error, "sqlite_errorname", "")
    return f"{REMEDIES.get(code & 0xFF, 'cannot be used')} ({name})"


def open_file(path: Path, timeout: float) -> tuple[sqlite3.Connection, tuple[int, int]]:
    """Connect to a ledger that exists, and refuse what is not one, is not private or cannot be written."""
    connection = _connect(path, timeout)
    try:
        _check_header(connection, path)
        identity = private_identity(path)
        run(connection, path, "PRAGMA synchronous = FULL")
        run(connection, path, "PRAGMA secure_delete = ON")
        # A file that cannot be written is found now, not at the first query.
        run(connection, path, "BEGIN IMMEDIATE")
        run(connection, path, "ROLLBACK")
    except BaseException:
        connection.close()
        raise
    return connection, identity


def _check_header(connection: sqlite3.Connection, path: Path) -> None:
    [(application,)] = run(connection, path, "PRAGMA application_id")
    [(version,)] = run(connection, path, "PRAGMA user_version")
    if application != APPLICATION_ID:
        raise LedgerError(f"{path} is not a ledger: move it away, or name another file")
    if version != SCHEMA_VERSION:
        raise LedgerError(
            f"the ledger {path} has schema version {version}, not {SCHEMA_VERSION}: use the incrowd that made it"
        )


def _connect(path: Path, timeout: float) -> sqlite3.Connection:
    """Connect to a file that exists; a lock of ours lets several threads take turns."""
    try:
        return sqlite3.connect(
            f"{path.as_uri()}?mode=rw", timeout, isolation_level=None, check_same_thread=False, uri=True
        )
    except sqlite3.Error as error:
        problem = _problem(error)
    raise LedgerError(f"the ledger {path} {problem}")


def create_file(path: Path) -> None:
    """Make an empty ledger under another name and link it to the path: it is there whole or not at all.

    Whoever links first wins. No descriptor of the final file is ever closed here, since that would
    drop the locks that SQLite holds on it for the whole process.
    """
    if Path(f"{path}-wal").exists() and not path.exists():
        # SQLite would replay the old log into the new file.
        raise LedgerError(
            f"the ledger {path} is gone but its -wal file is left: restore it, or move that away"
        )
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    draft = Path(name)
    try:
        os.fchmod(descriptor, 0o600)  # the umask may have taken bits away
        os.close(descriptor)
        with contextlib.closing(_connect(draft, 0)) as connection:
            run(connection, path, "PRAGMA journal_mode = WAL")
            for statement in SCHEMA.split(";"):
                run(connection, path, statement)
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        for leftover in (draft, Path(f"{name}-wal"), Path(f"{name}-shm")):
            leftover.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    """Make the file's name as durable as its content."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def private_identity(path: Path) -> tuple[int, int]:
    """Return which file is at the path, if nobody else may read it."""
    status = path.stat()
    if status.st_mode & 0o077:
        raise LedgerError(f"the ledger {path} may be read or written by others: chmod 600 it")
    return status.st_dev, status.st_ino


@contextlib.contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn what the file system says into one line."""
    try:
        yield
    except OSError as error:
        raise LedgerError(f"the ledger {path} cannot be used: {error.strerror}") from None
