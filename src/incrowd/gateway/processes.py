"""The lives of the processes: workers end with their parent, and a worker that died is logged as such."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from multiprocessing.process import BaseProcess

from incrowd.gateway.journal import Journal

__all__ = ["end_with_parent", "watch_workers"]

LOOK_INTERVAL = 1.0
PR_SET_PDEATHSIG = 1
_ATTEMPTS = 100


def end_with_parent(parent: int) -> None:
    """Let this process end when its parent does, however that ends.

    It is killed, not asked to end: a parent that ends in order has ended its workers before, and one that was killed
    leaves nobody who would look whether they do.

    Parameters
    ----------
    parent
        The parent's process id, as the parent itself knows it: it may have died before this call.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)
    threading.Thread(target=_end_without, args=(parent,), name="parent", daemon=True).start()


def _end_without(parent: int) -> None:
    """Look whether the parent lives, for not every system has a signal for it."""
    while os.getppid() == parent:
        time.sleep(LOOK_INTERVAL)
    os.kill(os.getpid(), signal.SIGKILL)


def watch_workers(journal: Journal, stopping: threading.Event) -> None:
    """Log each worker that ends before it is to stop; a thread looks until the process ends.

    Parameters
    ----------
    journal
        Where it is logged.
    stopping
        Set when workers are to end.
    """
    threading.Thread(target=_look_on, args=(journal, stopping), name="workers", daemon=True).start()


def _look_on(journal: Journal, stopping: threading.Event) -> None:
    known: set[BaseProcess] = set()
    while True:
        living = set(multiprocessing.active_children())
        for worker in known - living:
            if not stopping.is_set() or _code(worker):
                journal.error("worker_died", process=worker.pid or 0, reason=_cause(_code(worker)))
        known = living
        time.sleep(LOOK_INTERVAL)


def _code(worker: BaseProcess) -> int | None:
    """Return the exit code of a process that has ended; the server, which waits for it too, may have it first."""
    for _ in range(_ATTEMPTS):
        if worker.exitcode is not None:
            return worker.exitcode
        time.sleep(0.01)
    return None


def _cause(code: int | None) -> str:
    if code is None:
        return "it ended"
    if code < 0:
        return f"it was killed by {signal.Signals(-code).name}"
    return f"it ended with exit code {code}"
