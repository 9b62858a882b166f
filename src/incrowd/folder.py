"""Files and directories that appear at their final name only when they are whole."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from incrowd.errors import BadInputError

__all__ = ["appearing", "check_free"]

MARK = ".incrowd-"


def check_free(path: Path, *, force: bool, ours: Callable[[Path], bool], what: str) -> None:
    """Refuse a final name that is taken (unless `force`, and what is there is ours) or cannot be written."""
    if path.exists() or path.is_symlink():
        if not force:
            raise BadInputError(f"{what} {path} exists; choose another name, or use --force to replace it")
        if path.is_symlink() or not ours(path):
            raise BadInputError(
                f"{what} {path} exists and was not written by incrowd; --force does not replace it"
            )
    parent = path.absolute().parent
    if not parent.is_dir():
        raise BadInputError(f"{what} {path}: the directory above it does not exist; create it first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise BadInputError(f"{what} {path}: the directory above it cannot be written")


@contextmanager
def appearing(path: Path, *, replaces: Callable[[Path], bool] | None = None) -> Iterator[Path]:
    """Give a name beside `path` to write to; on success it moves to `path`, on failure it is removed.

    What has appeared at `path` meanwhile is replaced only if `replaces` says that it may be. What an earlier
    run left behind when it was killed is removed first. A full disk or the like is one clear error.
    """
    path = path.absolute()
    _remove_leftovers(path)
    draft = path.with_name(f".{path.name}{MARK}{os.getpid()}-{secrets.token_hex(4)}")
    try:
        yield draft
        _sync(draft)
        _move(draft, path, replaces)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise BadInputError(f"{path} cannot be written: {reason}; nothing was published") from None
    finally:
        _remove(draft)


def _move(draft: Path, path: Path, replaces: Callable[[Path], bool] | None) -> None:
    """Move the draft into place; what may be replaced goes aside first and is removed last."""
    if not path.exists():
        draft.rename(path)
        return
    if replaces is None or not replaces(path):
        raise BadInputError(f"{path} has appeared meanwhile; nothing was replaced, choose another name")
    aside = draft.with_name(draft.name + "-old")
    path.rename(aside)
    try:
        draft.rename(path)
    except OSError:
        aside.rename(path)
        raise
    _remove(aside)


def _sync(draft: Path) -> None:
    """Make sure that what was written has reached the disk before it gets its name."""
    for file in [draft, *draft.iterdir()] if draft.is_dir() else [draft]:
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove_leftovers(path: Path) -> None:
    """Remove drafts of this name whose process is gone."""
    for draft in path.parent.glob(f".{glob.escape(path.name)}{MARK}*"):
        pid = draft.name.rpartition(MARK)[2].split("-")[0]
        if pid.isdigit() and not _alive(int(pid)):
            _remove(draft)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
