"""Process supervision: workers that end unexpectedly are logged."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from multiprocessing.process import BaseProcess

from incrowd.gateway.ops.log import EventLog

__all__ = ["log_ended_workers"]

LOOK_INTERVAL = 1.0
_ATTEMPTS = 100


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
