"""Private files that are only ever appended to, under a lock of the operating system: ledgers of releases and of budgets."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from incrowd.errors import BadInputError

if sys.platform != "win32":
    import fcntl

__all__ = ["PRIVATE", "append_line", "lock", "opened", "whole_content"]

PRIVATE = 0o077  # what the others must not be allowed
_PAUSE = 0.01


@contextmanager
def opened(file: Path, what: str, *, read_only: bool = False, create: bool = True) -> Iterator[int]:
    """Open a private file, or make it; `what` names it in errors."""
    try:
        handle = _open(file, read_only=read_only, create=create)
    except OSError as error:
        raise BadInputError(f"{what} {file} cannot be opened: {error.strerror}") from None
    try:
        _check_file(file, what, handle)
        yield handle
    finally:
        os.close(handle)


def _open(path: Path, *, read_only: bool, create: bool) -> int:
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    if read_only:
        return os.open(path, flags | os.O_RDONLY)
    flags |= os.O_RDWR
    if not create:
        return os.open(path, flags)
    try:
        return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(path, flags)


def _check_file(path: Path, what: str, handle: int) -> None:
    """Refuse a file that others may read."""
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        raise BadInputError(f"{what} {path} is no regular file")
    if os.name == "posix" and stat.S_IMODE(found.st_mode) & PRIVATE:
        raise BadInputError(f"{what} {path} can be read by others and holds a secret: chmod 600 {path}")


def lock(handle: int, what: str, *, wait: float) -> None:
    """Take a lock; without one, two runs could both pass."""
    end = time.monotonic() + wait
    while sys.platform != "win32":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise BadInputError(f"{what} is in use by another run: try again") from None
            time.sleep(_PAUSE)
        except OSError:
            break
        else:
            return
    raise BadInputError(f"{what} cannot be locked there: keep it on another file system")


def append_line(handle: int, line: bytes, what: str) -> None:
    """Append a line, and return when it is on the disk."""
    try:
        os.lseek(handle, 0, os.SEEK_END)
        text = line + b"\n"
        while text:
            text = text[os.write(handle, text) :]
        os.fsync(handle)
    except OSError as error:
        raise BadInputError(f"{what} cannot be written: {error.strerror}") from None


def whole_content(handle: int) -> bytes:
    """Return all that a file holds."""
    os.lseek(handle, 0, os.SEEK_SET)
    parts = []
    while part := os.read(handle, 1 << 20):
        parts.append(part)
    return b"".join(parts)
