"""Temporary directories for private data, and how to prove that the run that made one has ended.

Each is mode 0700 and holds a lock file, on which its owner keeps a lock of the operating system for as long as it
lives. The lock ends with the process, however that ends. A later run removes a directory only if it can take that
lock. A process number would prove nothing: in a container every run is process 1, and on a shared directory a number
means another process on each machine.

The lock is taken before its file has the name that others look for, so a living owner's directory never
looks abandoned. Where a file system has no locks there is no lock file, and nothing is removed.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from incrowd.errors import BadInputError

if sys.platform != "win32":
    import fcntl

__all__ = [
    "LOCK",
    "PrivateDirectory",
    "delete",
    "directories_locked",
    "locked",
    "private_directories",
    "private_directory",
    "remove_stale",
    "temporary_directory",
]

LOCK = ".lock"
_UNNAMED = ".lock-to-be"
_MARK = "incrowd-"
_NAME = re.compile(rf"{_MARK}[0-9a-f]{{16}}")
_NAME_BESIDE = re.compile(rf"\..*\.{_MARK}[0-9a-f]{{16}}", re.DOTALL)
LONGEST_WAIT = 60.0  # seconds; moving drafts into place takes a few thousandths
_PAUSE = 0.01


class PrivateDirectory:
    """A new directory, mode 0700, locked until it is removed; at the latest with this object or at exit.

    Parameters
    ----------
    parent
        Where to make it.
    before
        What its name begins with.
    """

    def __init__(self, parent: Path, before: str = "") -> None:
        self.path = parent / f"{before}{_MARK}{secrets.token_hex(8)}"
        self.path.mkdir(mode=0o700)
        try:
            lock = _new_lock(self.path)
        except OSError:
            delete(self.path)
            raise
        self._end = weakref.finalize(self, _end, self.path, lock, os.getpid())

    @property
    def removed(self) -> bool:
        """Whether it was removed."""
        return not self._end.alive

    def remove(self) -> None:
        """Remove it with its contents; a second call does nothing."""
        self._end()

    def abandon(self) -> None:
        """Leave it to the next run, as if this one had been killed."""
        if ended := self._end.detach():
            _close(ended[2][1])


@contextmanager
def private_directory() -> Iterator[Path]:
    """Give a directory for temporary files and remove it in any case; remove those of killed runs first."""
    directory = temporary_directory()
    try:
        yield directory.path
    finally:
        directory.remove()


def temporary_directory() -> PrivateDirectory:
    """Make a directory in the system's temporary directory, after removing those of killed runs."""
    try:
        parent = _temporary_place()
        remove_stale(parent)
        return PrivateDirectory(parent)
    except OSError as error:
        raise BadInputError(
            f"no temporary files can be written ({error.strerror}): free space there or set TMPDIR to another directory"
        ) from None


def _temporary_place() -> Path:
    """Return the directory for temporary files: private data goes only where TMPDIR says, if it is set."""
    wanted, known = os.environ.get("TMPDIR"), tempfile.tempdir
    found = tempfile.gettempdir()
    if wanted and known is None and found != os.path.abspath(wanted):  # noqa: PTH100 - as tempfile spells it
        tempfile.tempdir = None  # so that the next call looks again
        raise _unusable(wanted)
    if wanted and not (Path(wanted).is_dir() and os.access(wanted, os.W_OK | os.X_OK)):
        raise _unusable(wanted)
    return Path(found)


def _unusable(wanted: str) -> BadInputError:
    return BadInputError(
        f"TMPDIR is {wanted}, where no temporary files can be written: "
        "create it, free space there or set TMPDIR to another directory"
    )


def remove_stale(parent: Path) -> None:
    """Remove this user's temporary directories whose owning processes have provably ended."""
    for directory in private_directories(parent):
        with locked(directory) as dead:
            if dead:
                delete(directory)


def private_directories(parent: Path, *, beside: bool = False) -> list[Path]:
    """List this user's private directories in a directory, of running and of ended processes.

    Parameters
    ----------
    parent
        Where to look; an unreadable directory has none.
    beside
        Those that lie beside a final name (``.NAME.incrowd-...``) instead of those for temporary files.
    """
    pattern = _NAME_BESIDE if beside else _NAME
    try:
        with os.scandir(parent) as entries:
            named = [parent / entry.name for entry in entries if pattern.fullmatch(entry.name)]
    except OSError:
        return []
    return [directory for directory in named if _has_lock(directory)]


@contextmanager
def directories_locked(directories: Iterable[Path]) -> Iterator[None]:
    """Lock several directories against other runs of this program.

    All runs lock in the same order, so there is no deadlock. Where a directory has no locks, or another program keeps
    one for longer than `LONGEST_WAIT`, the run goes on without the lock.
    """
    handles: dict[tuple[int, int], int] = {}
    try:
        for directory in directories:
            _open_directory(directory, handles)
        for _, handle in sorted(handles.items()):
            _wait_for(handle)
        yield
    finally:
        for handle in handles.values():
            os.close(handle)


@contextmanager
def locked(directory: Path) -> Iterator[bool]:
    """Lock a directory of this user; gives False if its owner is alive or that cannot be decided."""
    lock = _open_lock(directory)
    try:
        yield lock is not None and _take(lock)
    finally:
        _close(lock)


def _open_directory(directory: Path, handles: dict[tuple[int, int], int]) -> None:
    """Open a directory for locking, unless it is open under another name or cannot be opened."""
    try:
        handle = os.open(directory, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        return
    found = os.fstat(handle)
    if handles.setdefault((found.st_dev, found.st_ino), handle) != handle:
        os.close(handle)


def _wait_for(handle: int) -> None:
    """Take a lock that others hold only for a moment."""
    if sys.platform == "win32":
        return
    end = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < end:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE)
        except OSError:  # no locks here
            return
        else:
            return


def _has_lock(directory: Path) -> bool:
    lock = _open_lock(directory)
    _close(lock)
    return lock is not None


def _new_lock(directory: Path) -> int | None:
    """Make the lock file and hold its lock; None where the file system has no locks, and then no file either."""
    unnamed = directory / _UNNAMED
    lock = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    if _take(lock):
        unnamed.rename(directory / LOCK)
        return lock
    _close(lock)
    unnamed.unlink()
    return None


def _open_lock(directory: Path) -> int | None:
    """Open the lock file of a directory, if both have our form and belong to this user."""
    try:
        if not stat.S_ISDIR(directory.lstat().st_mode) or not _is_own(directory.lstat()):
            return None
        lock = os.open(directory / LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    found = os.fstat(lock)
    if stat.S_ISREG(found.st_mode) and _is_own(found):
        return lock
    os.close(lock)
    return None


def _is_own(found: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def _take(lock: int) -> bool:
    """Take the lock without waiting. It belongs to the open file: other opens in this process do not have it."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _close(lock: int | None) -> None:
    """Close the lock file without unlocking: after a fork, unlocking would also release the parent's lock."""
    if lock is not None:
        os.close(lock)


def _end(directory: Path, lock: int | None, owner: int) -> None:
    """Remove a finished directory, but not in a process that was forked from its owner."""
    if os.getpid() == owner:
        delete(directory)
        _close(lock)


def delete(directory: Path) -> None:
    """Delete a directory, its lock file last: after an interruption the rest can still be recognised as stale."""
    with suppress(OSError):
        for path in directory.iterdir():
            if path.name != LOCK:
                _delete_one(path)
        if [path.name for path in directory.iterdir()] == [LOCK]:
            (directory / LOCK).unlink()
        directory.rmdir()


def _delete_one(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
