"""How kernels are compiled, and where the compiled code is kept.

Compiled code is cached on disk. The directory is chosen so that a read-only installation, a missing home
directory and several users on one machine all work: ``INCROWD_CACHE_DIR``, then the user's cache directory,
then a directory in the temporary one that belongs to this user alone. Where none can be written, kernels are
compiled anew in each process.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import config as numba_config

__all__ = ["cache_directory", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of arrays to machine code on first use, without the interpreter lock."""
    directory = cache_directory()
    config: Any = numba_config
    # Numba reads the directory while it decorates. It is put back at once: other packages keep theirs.
    before, config.CACHE_DIR = config.CACHE_DIR, str(directory or "")
    try:
        return cast("Function", numba.njit(nogil=True, cache=directory is not None)(function))
    finally:
        config.CACHE_DIR = before


@cache
def cache_directory() -> Path | None:
    """Return the first directory that can hold compiled kernels safely, or None."""
    return next((path for path in _candidates() if _is_ours(path)), None)


def _candidates() -> Iterator[Path]:
    """Yield the places to try, best first."""
    if named := os.environ.get("INCROWD_CACHE_DIR"):
        yield Path(named) / "kernels"
    if shared := os.environ.get("XDG_CACHE_HOME"):
        yield Path(shared) / "incrowd" / "kernels"
    if home := os.environ.get("HOME"):
        yield Path(home) / ".cache" / "incrowd" / "kernels"
    yield Path(tempfile.gettempdir()) / f"incrowd-{_user()}" / "kernels"


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _is_ours(path: Path) -> bool:
    """Make the directory; accept it if we can write there and nobody else can (it holds code that we run)."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.stat()
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError:
        return False
    alien = hasattr(os, "getuid") and (path.parent.stat().st_uid != _user() or status.st_uid != _user())
    return not alien and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
