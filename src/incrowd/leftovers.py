"""What a run leaves behind when it is killed: found by the process number in its name, and removed."""

from __future__ import annotations

import glob
import os
import shutil
from pathlib import Path

__all__ = ["marked", "remove", "remove_leftovers"]

MARK = "incrowd-"


def marked() -> str:
    """Return a piece of a file name that says which process made the file."""
    return f"{MARK}{os.getpid()}-"


def remove_leftovers(directory: Path, before_mark: str = "") -> None:
    """Remove the entries of a directory that processes which are gone have marked, as far as they are ours."""
    for path in directory.glob(f"{glob.escape(before_mark + MARK)}*"):
        pid = path.name.removeprefix(before_mark + MARK).split("-")[0]
        if pid.isdigit() and not _alive(int(pid)) and _ours(path):
            remove(path)


def remove(path: Path) -> None:
    """Remove a file or a directory with all that is in it, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _ours(path: Path) -> bool:
    try:
        return not hasattr(os, "getuid") or path.lstat().st_uid == os.getuid()
    except OSError:
        return False


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True
