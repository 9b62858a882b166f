"""How a ledger begins: made on purpose and with its marker, never because one is missing."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from incrowd.errors import BadInputError
from incrowd.online.ledgerfile import (
    LedgerError,
    Meta,
    commits_in_log,
    create_file,
    file_errors,
    kept_in_file,
    kept_with_log,
    open_file,
    private_stamp,
    secret_check,
)
from incrowd.online.ledgermarker import Mark, create_marker

__all__ = ["SHORTEST_SECRET", "check_secret", "create_ledger", "trust_ledger"]

SHORTEST_SECRET = 16


def check_secret(secret: bytes) -> None:
    """Refuse a secret that could be guessed."""
    if len(secret) < SHORTEST_SECRET:
        raise BadInputError(f"secret must have at least {SHORTEST_SECRET} bytes (got {len(secret)})")


def create_ledger(
    path: str | os.PathLike[str],
    *,
    marker: str | os.PathLike[str],
    secret: bytes,
    clock: Callable[[], float] = time.time,
) -> None:
    """Make an empty ledger and its marker; everybody counts as new then.

    Parameters
    ----------
    path, marker
        Where they are to be: in two places that are not lost or restored together. If either is there, nothing is made.
    secret
        The key of the persons' HMACs, at least 16 bytes; the ledger can be used with no other.
    clock
        Where the time comes from, in seconds.
    """
    check_secret(secret)
    file, mark_file, now = Path(path).absolute(), Path(marker).absolute(), clock()
    for there in (file, mark_file):
        if os.path.lexists(there):
            raise LedgerError(
                f"{there} is there already, and is not replaced: to begin anew, with everybody counted as new, move "
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
    """Make a marker for a ledger that has lost its own; the ledger counts as the newest from then on.

    Parameters
    ----------
    path, marker
        The ledger, and where the marker is to be; if there is one, nothing is made.
    secret
        The ledger's secret.
    """
    file, mark_file = Path(path).absolute(), Path(marker).absolute()
    with file_errors(file):
        private_stamp(file)
        kept = kept_in_file(file)
        meta, commits = kept_with_log(file, timeout=1.0), commits_in_log(file)
        if meta.secret_check != secret_check(secret):
            raise LedgerError(
                f"the ledger {file} was made with another secret: give it the one it was made with"
            )
        if meta.id != kept.id or kept.sequence < meta.sequence - commits:
            raise LedgerError(
                f"the ledger {file} and its -wal file are not of one ledger and time: restore both together, or move "
                "a -wal file away that is not the restored one's"
            )
        open_file(file, timeout=1.0).close()
        _make_marker(mark_file, Mark(meta.id, meta.created, meta.sequence, kept.sequence, meta.time))


def _make_marker(file: Path, mark: Mark) -> None:
    try:
        create_marker(file, mark)
    except FileExistsError:
        raise LedgerError(
            f"the marker {file} is there already, and is not replaced: move it away first"
        ) from None
    except OSError as error:
        raise LedgerError(
            f"the ledger's marker {file} cannot be made: {error.strerror}; give ledger.marker a directory that the "
            "gateway may write to"
        ) from None
