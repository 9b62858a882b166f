"""An end to what takes too long, with one timer for all.

A timer for each request, as asyncio sets them, takes a tenth of a request's time. All requests to a provider have
the same time, so whoever began first is late first: it is enough to wait for that one.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

__all__ = ["Clock"]


class Clock:
    """Ends what takes longer than some seconds. Use it where an event loop runs.

    Parameters
    ----------
    seconds
        How long each may take.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.loop = asyncio.get_running_loop()
        self._running: dict[_Limit, None] = {}  # in the order of their beginnings
        self._timer: asyncio.TimerHandle | None = None

    def limit(self) -> _Limit:
        """Return a context in which a task may stay for so long; then a TimeoutError ends it."""
        return _Limit(self)

    def begin(self, limit: _Limit) -> float:
        """Watch over somebody; return when their time is up."""
        until = self.loop.time() + self.seconds
        self._running[limit] = None
        if self._timer is None:
            self._timer = self.loop.call_at(until, self._look)
        return until

    def end(self, limit: _Limit) -> None:
        """Watch over somebody no longer."""
        self._running.pop(limit, None)

    def _look(self) -> None:
        """Interrupt whoever is late, and come back when the next one is."""
        self._timer = None
        for limit in list(self._running):
            if limit.until > self.loop.time():
                self._timer = self.loop.call_at(limit.until, self._look)
                return
            self.end(limit)
            limit.interrupt()


class _Limit:
    """The time of one task, as `asyncio.timeout` keeps it."""

    __slots__ = ("_clock", "_is_late", "_requests", "_task", "until")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._is_late = False

    def __enter__(self) -> None:
        task: asyncio.Task[Any] | None = asyncio.current_task(self._clock.loop)
        if task is None:
            raise RuntimeError("only a task can be interrupted")
        self._task = task
        self._requests = task.cancelling()
        self.until = self._clock.begin(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._clock.end(self)
        # Somebody else may want the task to end as well, and then it does.
        if self._is_late and self._task.uncancel() <= self._requests and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def interrupt(self) -> None:
        """Let the task go no further."""
        self._is_late = True
        self._task.cancel()
