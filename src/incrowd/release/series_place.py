"""The private directory of a series: it is made with mode 0700, holds the ledger, and is worked on by one run at a time."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from incrowd.core.atomic import check_free
from incrowd.errors import BadInputError, option

if sys.platform != "win32":
    import fcntl

__all__ = ["LEDGER_NAME", "alone", "check_series", "ledger_opened", "make_place"]

LEDGER_NAME, LOCK_NAME = "ledger", "lock"
LONGEST_WAIT = 60.0  # seconds; a line takes a few thousandths
_PAUSE = 0.01
_PRIVATE = 0o077


def check_series(path: Path, out: Path) -> None:
    """Refuse a series that would be published, or that cannot be made."""
    if path.resolve().is_relative_to(out.resolve()):
        raise BadInputError(f"series {path} must not lie inside the release: it holds the secret seed")
    if not os.path.lexists(path):
        check_free(path, force=False, ours=lambda _: False, what="series")
        return
    _check_place(path)
    if not os.path.lexists(path / LEDGER_NAME) and _others(path):
        raise BadInputError(
            f"series {path} holds other files and no {LEDGER_NAME}: name a new directory, or put the {LEDGER_NAME} back that was there"
        )


def make_place(path: Path) -> None:
    """Make the directory if it is not there."""
    try:
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
    except OSError as error:
        raise BadInputError(f"series {path} cannot be made: {error.strerror}") from None
    _check_place(path)


def _check_place(path: Path) -> None:
    """Refuse what is no directory, and one that others may look into."""
    found = path.lstat()
    if stat.S_ISREG(found.st_mode):
        raise BadInputError(
            f"{option('series')} takes a directory, and {path} is a file: if it is a ledger, nothing is lost by "
            f"mkdir -m 700 DIR && mv {path} DIR/{LEDGER_NAME}, and {option('series', 'DIR')}"
        )
    if not stat.S_ISDIR(found.st_mode):
        raise BadInputError(f"series {path} is no directory: give a directory, or the name of a new one")
    if os.name == "posix" and stat.S_IMODE(found.st_mode) & _PRIVATE:
        raise BadInputError(f"series {path} can be read by others and holds a secret: chmod 700 {path}")


def _others(path: Path) -> list[str]:
    """Return what lies in a directory without a ledger, but for what a run leaves that was killed as it began."""
    return [file.name for file in path.iterdir() if file.name != LOCK_NAME and not file.name.startswith(".")]


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Be the only run that chooses and publishes a window of the series; refuse if another does."""
    with _opened(path / LOCK_NAME, read_only=False) as handle:
        _lock(path, handle, wait=0)
        yield


@contextmanager
def ledger_opened(path: Path, *, read_only: bool) -> Iterator[int]:
    """Open the ledger in a series, and lock it: others do so only for a moment."""
    with _opened(path / LEDGER_NAME, read_only=read_only) as handle:
        _lock(path, handle, wait=LONGEST_WAIT)
        yield handle


@contextmanager
def _opened(file: Path, *, read_only: bool) -> Iterator[int]:
    """Open a private file of the series, or make it."""
    try:
        handle = _open(file, read_only=read_only)
    except OSError as error:
        raise BadInputError(f"series {file.name} {file} cannot be opened: {error.strerror}") from None
    try:
        _check_file(file, handle)
        yield handle
    finally:
        os.close(handle)


def _open(path: Path, *, read_only: bool) -> int:
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    if read_only:
        return os.open(path, flags | os.O_RDONLY)
    flags |= os.O_RDWR
    try:
        return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(path, flags)


def _check_file(path: Path, handle: int) -> None:
    """Refuse a file that others may read."""
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        raise BadInputError(f"series {path.name} {path} is no regular file")
    if os.name == "posix" and stat.S_IMODE(found.st_mode) & _PRIVATE:
        raise BadInputError(
            f"series {path.name} {path} can be read by others and holds a secret: chmod 600 {path}"
        )


def _lock(path: Path, handle: int, *, wait: float) -> None:
    """Take a lock; without one, two runs could both pass."""
    end = time.monotonic() + wait
    while sys.platform != "win32":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise BadInputError(f"series {path} is in use by another run: try again") from None
            time.sleep(_PAUSE)
        except OSError:
            break
        else:
            return
    raise BadInputError(f"series {path} cannot be locked there: keep it on another file system")
