"""Whether the kernels of this very source are compiled already, so that a first run can say that it waits."""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path

import llvmlite
import numba
from llvmlite import binding

from incrowd.kernels.jit import cache_directory

__all__ = ["kernels_are_compiled", "note_compiled"]


def kernels_are_compiled(method: str) -> bool:
    """Tell whether an earlier run on this machine has compiled a method's kernels."""
    stamp = _stamp(method)
    return stamp is not None and stamp.exists()


def note_compiled(method: str) -> None:
    """Remember that a method's kernels are compiled now."""
    stamp = _stamp(method)
    if stamp is not None:
        stamp.touch()


def _stamp(method: str) -> Path | None:
    """Return a file name that changes with the kernels' source, place, compiler and processor."""
    directory = cache_directory()
    if directory is None:
        return None
    parts = [numba.__version__, llvmlite.__version__, platform.python_version(), binding.get_host_cpu_name()]
    for source in sorted(Path(__file__).parent.glob("*.py")):
        status = source.stat()
        parts.append(f"{source} {status.st_size} {status.st_mtime_ns}")
    return directory / f"compiled-{method}-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:16]}"
