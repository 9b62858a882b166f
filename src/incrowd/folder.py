"""Files and directories that appear at their final name only when they are whole."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from incrowd.errors import BadInputError
from incrowd.leftovers import marked, remove, remove_leftovers

__all__ = ["appearing", "check_free"]


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
    remove_leftovers(path.parent, f".{path.name}.")
    draft = path.with_name(f".{path.name}.{marked()}{secrets.token_hex(4)}")
    try:
        yield draft
        _sync(draft)
        _move(draft, path, replaces)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise BadInputError(f"{path} cannot be written: {reason}; nothing was left there") from None
    finally:
        remove(draft)


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
    remove(aside)


def _sync(draft: Path) -> None:
    """Make sure that what was written has reached the disk before it gets its name."""
    for file in [draft, *draft.iterdir()] if draft.is_dir() else [draft]:
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
