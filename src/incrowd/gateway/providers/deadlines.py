"""Time limits for many tasks with a single timer.

A timer for each request, as with `asyncio.timeout`, takes a tenth of a request's time. All requests to a provider have
the same limit, so the one that started first expires first: one timer for that one is enough.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

__all__ = ["Deadlines"]


class Deadlines:
    """Interrupts tasks that take longer than some seconds. Create it in a running event loop.

    Parameters
    ----------
    seconds
        The time limit of each task.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.loop = asyncio.get_running_loop()
        self._running: dict[_Deadline, None] = {}  # in the order of their starts
        self._timer: asyncio.TimerHandle | None = None

    def limit(self) -> _Deadline:
        """Return a context in which a task may run for so long; then a TimeoutError ends it."""
        return _Deadline(self)

    def begin(self, limit: _Deadline) -> float:
        """Start a task's time; return when it ends."""
        until = self.loop.time() + self.seconds
        self._running[limit] = None
        if self._timer is None:
            self._timer = self.loop.call_at(until, self._interrupt_late)
        return until

    def end(self, limit: _Deadline) -> None:
        """Stop a task's time."""
        self._running.pop(limit, None)

    def _interrupt_late(self) -> None:
        """Interrupt all tasks that are late, and set the timer for the next one."""
        self._timer = None
        for limit in list(self._running):
            if limit.until > self.loop.time():
                self._timer = self.loop.call_at(limit.until, self._interrupt_late)
                return
            self.end(limit)
            limit.interrupt()


class _Deadline:
    """The time limit of one task, with the semantics of `asyncio.timeout`."""

    __slots__ = ("_deadlines", "_is_late", "_requests", "_task", "until")

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._is_late = False

    def __enter__(self) -> None:
        task: asyncio.Task[Any] | None = asyncio.current_task(self._deadlines.loop)
        if task is None:
            raise RuntimeError("only a task can be interrupted")
        self._task = task
        self._requests = task.cancelling()
        self.until = self._deadlines.begin(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._deadlines.end(self)
        # If the task was cancelled from elsewhere as well, that cancellation prevails.
        if self._is_late and self._task.uncancel() <= self._requests and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def interrupt(self) -> None:
        """Cancel the task."""
        self._is_late = True
        self._task.cancel()
