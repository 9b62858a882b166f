"""Kernels are compiled once for each machine of a cluster, by one process, while the others wait.

Numba's cache on disk is safe for readers, not for two writers: they would give the same file name to two kernels.
So the first process of a machine compiles all that is needed, under a lock; the others only read.
"""

from __future__ import annotations

import fcntl
import gc
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from incrowd.kernels.arrays import Rows, Tree, tree_arrays
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["next_to_nothing", "warmed"]

_DONE: set[str] = set()


def warmed(what: str, compile_all: Callable[[], None]) -> None:
    """Compile or load what is needed, once in this process and never while another process of this machine does."""
    if what in _DONE:
        return
    named = os.environ.get("INCROWD_CACHE_DIR")
    if not named:
        compile_all()
    else:
        Path(named).mkdir(mode=0o700, parents=True, exist_ok=True)
        with (Path(named) / "warm.lock").open("w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            compile_all()
    _DONE.add(what)
    if TaskContext.get() is not None:
        gc.freeze()  # PySpark collects garbage after every task: what stays anyway need not be searched each time


def next_to_nothing() -> tuple[Rows, Tree]:
    """Return four rows over two leaves, with arrays of the very kinds that a job has: enough to compile kernels."""
    tree = Taxonomy.from_parents(
        np.array([-1, 0, 0], np.int32), pa.array(["all", "one", "other"]), name="tiny"
    )
    rows = Rows(np.arange(5), np.array([0, 0, 1, 1], np.int32), np.ones(4, np.int32))
    return rows, tree_arrays(tree)
