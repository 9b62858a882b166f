"""File stamps: whether a file has changed, and whether it has settled or is still being written by another program."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from incrowd.errors import IncrowdError

__all__ = ["Stamp", "UnsettledError", "is_settled", "stamps_of", "wait_until_settled"]

LOOK_INTERVAL = 0.1
MOST_SETTLES = 12
"""The most settle times to wait for a file."""


class Stamp(NamedTuple):
    """A file's inode, modification time (nanoseconds since 1970) and size."""

    inode: int
    written: int
    size: int


class UnsettledError(IncrowdError):
    """A file is being written to."""


def stamps_of(files: Sequence[Path]) -> list[Stamp | None]:
    """Return the stamp of each file; None for one that does not exist."""
    stamps: list[Stamp | None] = []
    for file in files:
        try:
            status = file.stat()
        except OSError:
            stamps.append(None)
        else:
            stamps.append(Stamp(status.st_ino, status.st_mtime_ns, status.st_size))
    return stamps


def is_settled(stamps: Sequence[Stamp | None], seconds: float) -> bool:
    """Return whether all files were written long enough ago, by their modification times."""
    return all(stamp is None or seconds <= time.time() - stamp.written / 1e9 for stamp in stamps)


def wait_until_settled(files: Sequence[Path], seconds: float) -> list[Stamp | None]:
    """Wait until the files have not changed for so many seconds, and return their stamps.

    Raises
    ------
    UnsettledError
        If a file keeps changing.
    """
    stamps, since = stamps_of(files), time.monotonic()
    end = since + MOST_SETTLES * seconds
    while not is_settled(stamps, seconds) and time.monotonic() < since + seconds:
        time.sleep(min(LOOK_INTERVAL, seconds))
        now = stamps_of(files)
        if now != stamps:
            stamps, since = now, time.monotonic()
        if time.monotonic() > end:
            raise UnsettledError(
                "table: a file is being written to all the time; write it under another name and rename it"
            )
    return stamps
