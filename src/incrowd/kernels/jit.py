"""How kernels are compiled, and where the compiled code is kept.

Compiled code is cached on disk. The directory is chosen so that a read-only installation, a missing home
directory and several users on one machine all work: ``INCROWD_CACHE_DIR``, then the user's cache directory,
then a directory in the temporary one that belongs to this user alone. Where none can be written, kernels are
compiled again in each process.

Its name changes with the place and the source of all kernels, the compiler and the processor: a kernel
includes code of other files, so a change in any of them must invalidate all old machine code.
"""

from __future__ import annotations

import hashlib
import os
import platform
import stat
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import numba
from llvmlite import binding
from numba.core import config as numba_config

__all__ = ["cache_directory", "helper", "is_compiled", "kernel", "note_compiled"]

USES_KERNELS = b"incrowd.kernels.jit"
"""The import of this module, by which modules with kernels are recognised."""
Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of arrays to machine code on first use, without the interpreter lock."""
    directory = cache_directory()
    config: Any = numba_config
    # Numba reads the directory while it decorates; restored at once, so that other packages keep theirs.
    before, config.CACHE_DIR = config.CACHE_DIR, str(directory or "")
    try:
        return cast("Function", numba.njit(nogil=True, cache=directory is not None)(function))
    finally:
        config.CACHE_DIR = before


def helper(function: Function) -> Function:
    """Compile a function that only kernels call: it is inlined into them and cannot be called from Python."""
    compile_: Any = numba.njit
    return cast("Function", compile_(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))


def is_compiled(what: str) -> bool:
    """Return whether an earlier run has compiled this version's kernels for something (a method, say)."""
    directory = cache_directory()
    return directory is not None and (directory / f"{what}.compiled").exists()


def note_compiled(what: str) -> None:
    """Remember that the kernels for something are compiled now."""
    directory = cache_directory()
    if directory is not None:
        (directory / f"{what}.compiled").touch()


@cache
def cache_directory() -> Path | None:
    """Return the first directory that can hold compiled kernels safely, or None."""
    name = f"kernels-{_fingerprint()}"
    return next((path / name for path in _candidates() if _is_ours(path / name)), None)


def _fingerprint() -> str:
    """Return a short text that changes with everything that the machine code depends on."""
    digest = hashlib.sha256()
    folder = Path(__file__).parents[1]
    for part in (
        str(folder),
        numba.__version__,
        llvmlite.__version__,
        platform.python_version(),
        binding.get_host_cpu_name(),
    ):
        digest.update(part.encode())
    for source in sorted(folder.rglob("*.py")):
        text = source.read_bytes()
        if USES_KERNELS in text:
            digest.update(text)
    return digest.hexdigest()[:16]


def _candidates() -> Iterator[Path]:
    """Yield the places to try, best first."""
    if named := os.environ.get("INCROWD_CACHE_DIR"):
        yield Path(named)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        yield Path(shared) / "incrowd"
    if home := os.environ.get("HOME"):
        yield Path(home) / ".cache" / "incrowd"
    yield Path(tempfile.gettempdir()) / f"incrowd-cache-{_user()}"


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _is_ours(path: Path) -> bool:
    """Make the directory; accept it only if this user, and no other, can write there: it holds code that is run."""
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
