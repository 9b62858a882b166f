"""A process that ends with its parent, however that ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

__all__ = ["end_with_parent"]

LOOK_INTERVAL = 1.0
PR_SET_PDEATHSIG = 1


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
