"""Process supervision: workers end with their parent, and workers that end unexpectedly are logged."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from multiprocessing.process import BaseProcess

from incrowd.gateway.ops.log import EventLog

__all__ = ["end_with_parent", "log_ended_workers"]

LOOK_INTERVAL = 1.0
PR_SET_PDEATHSIG = 1
_ATTEMPTS = 100


def end_with_parent(parent: int) -> None:
    """Let this process end when its parent does, however that ends.

    It is killed, not terminated: a parent that ends normally has stopped its workers before, and after one that was killed
    no process would check whether they stop.

    Parameters
    ----------
    parent
        The parent's process id, passed by the parent itself: it may have ended before this call.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)
    threading.Thread(target=_end_without, args=(parent,), name="parent", daemon=True).start()


def _end_without(parent: int) -> None:
    """Poll whether the parent is alive, since not every system has a signal for it."""
    while os.getppid() == parent:
        time.sleep(LOOK_INTERVAL)
    os.kill(os.getpid(), signal.SIGKILL)


def log_ended_workers(event_log: EventLog, stopping: threading.Event) -> None:
    """Log each worker that ends before it should stop, from a thread.

    Parameters
    ----------
    event_log
        The log.
    stopping
        Set when workers should end.
    """
    threading.Thread(target=_look_on, args=(event_log, stopping), name="workers", daemon=True).start()


def _look_on(event_log: EventLog, stopping: threading.Event) -> None:
    known: set[BaseProcess] = set()
    while True:
        living = set(multiprocessing.active_children())
        for worker in known - living:
            if not stopping.is_set() or _code(worker):
                event_log.error("worker_died", process=worker.pid or 0, reason=_cause(_code(worker)))
        known = living
        time.sleep(LOOK_INTERVAL)


def _code(worker: BaseProcess) -> int | None:
    """Return the exit code of a process that has ended; the server also waits for it and may get the code first."""
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
