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


def kernels_are_compiled() -> bool:
    """Tell whether an earlier run on this machine has compiled these kernels."""
    stamp = _stamp()
    return stamp is not None and stamp.exists()


def note_compiled() -> None:
    """Remember that the kernels are compiled now."""
    stamp = _stamp()
    if stamp is not None:
        stamp.touch()


def _stamp() -> Path | None:
    """Return a file name that changes with the kernels' source, place, compiler and processor."""
    directory = cache_directory()
    if directory is None:
        return None
    parts = [numba.__version__, llvmlite.__version__, platform.python_version(), binding.get_host_cpu_name()]
    for source in sorted(Path(__file__).parent.glob("*.py")):
        status = source.stat()
        parts.append(f"{source} {status.st_size} {status.st_mtime_ns}")
    return directory / f"compiled-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:16]}"
