"""What providers answered lately, so that the same generalized query is not sent again.

Kept in the memory of one worker process: the least recently used go first when there are too many entries or
bytes. Those who ask for the same at the same time share one fetch.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

__all__ = ["Cache", "cache_key"]

T = TypeVar("T")
Fetch = Callable[[], Awaitable[tuple[T, int]]]


def cache_key(provider: str, sent: Mapping[str, Any], headers: Mapping[str, str], person: str = "") -> str:
    """Return a text that two requests share only if the provider could not tell them apart.

    With a person, only if they are that person's: then nobody learns from a quick answer what others were sent.

    The order of names does not matter, nor does the case of headers' names; types do: 1, 1.0, "1" and True are four
    values here, since a provider may read them differently. Values must be plain data.
    """
    lowered = sorted((name.lower(), value) for name, value in headers.items())
    return repr((person, provider, _canonical(sent), lowered))


def _canonical(value: Any) -> Any:
    """Put the names of all mappings in order; the `repr` of plain data tells types and values apart."""
    if isinstance(value, Mapping):
        return {name: _canonical(value[name]) for name in sorted(value)}
    if isinstance(value, list | tuple):
        return [_canonical(part) for part in value]
    return value


def _hear(task: asyncio.Task[Any]) -> None:
    """Take note of an error for which nobody waits any more, lest the event loop complain about it."""
    if not task.cancelled():
        task.exception()


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    value: T = field(repr=False)
    size: int
    expires: float


@dataclass(slots=True, eq=False)
class _Flight(Generic[T]):
    """A fetch under way, and how many wait for it."""

    task: asyncio.Task[T]
    waiting: int = 0


class Cache(Generic[T]):
    """Answers (never None) by key, for one event loop. What it returns is shared: do not change it.

    Parameters
    ----------
    entries, nbytes
        The most to keep. A key's length counts as bytes too, since people choose parts of it.
    time_to_live
        Seconds from the start of a fetch for which its answer is good.
    clock
        Seconds that never go back.
    """

    def __init__(
        self,
        entries: int,
        nbytes: int,
        time_to_live: float,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most_entries = entries
        self._most_bytes = nbytes
        self._time_to_live = time_to_live
        self._clock = clock
        self._kept: OrderedDict[str, _Entry[T]] = OrderedDict()
        self._flights: dict[str, _Flight[T]] = {}
        self._next_sweep = clock() + time_to_live
        self.nbytes = 0

    def __len__(self) -> int:
        """Return how many answers are kept, among them some that have expired."""
        return len(self._kept)

    def get(self, key: str) -> T | None:
        """Return what is kept under a key and has not expired."""
        entry = self._kept.get(key)
        if entry is None:
            return None
        if entry.expires <= self._clock():
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        return entry.value

    async def get_or_fetch(self, key: str, fetch: Fetch[T]) -> T:
        """Return what is kept, or fetch it once for all who ask meanwhile.

        If the fetch fails, all who wait get the error and nothing is kept. Who is cancelled leaves the others
        waiting for their answer; when nobody is left, the fetch is cancelled too.

        Parameters
        ----------
        key
            Made by `cache_key`.
        fetch
            Brings the answer and its size in bytes.
        """
        kept = self.get(key)
        if kept is not None:
            return kept
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(self._fly(key, fetch)))
            flight.task.add_done_callback(_hear)
        return await self._wait(key, flight)

    async def _wait(self, key: str, flight: _Flight[T]) -> T:
        flight.waiting += 1
        try:
            await asyncio.wait([flight.task])  # unlike awaiting the task, this does not cancel it with us
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._land(key, flight.task)  # before it has ended, so that nobody boards it any more
                flight.task.cancel()
        return flight.task.result()

    async def _fly(self, key: str, fetch: Fetch[T]) -> T:
        started = self._clock()
        try:
            value, size = await fetch()
        finally:
            self._land(key, asyncio.current_task())
        self._keep(key, _Entry(value, size + len(key), started + self._time_to_live))
        return value

    def _land(self, key: str, task: asyncio.Task[Any] | None) -> None:
        """Take a flight off the board, but not a later one under the same key."""
        flight = self._flights.get(key)
        if flight is not None and flight.task is task:
            del self._flights[key]

    def _keep(self, key: str, entry: _Entry[T]) -> None:
        self._sweep()
        self._drop(key)
        if entry.size > self._most_bytes or self._most_entries < 1 or entry.expires <= self._clock():
            return
        self._kept[key] = entry
        self.nbytes += entry.size
        while self.nbytes > self._most_bytes or len(self._kept) > self._most_entries:
            self._drop(next(iter(self._kept)))

    def _sweep(self) -> None:
        """Let expired answers go once in a time to live, so that nobody's rows stay in memory for long."""
        now = self._clock()
        if now >= self._next_sweep:
            self._next_sweep = now + self._time_to_live
            for key in [key for key, entry in self._kept.items() if entry.expires <= now]:
                self._drop(key)

    def _drop(self, key: str) -> None:
        entry = self._kept.pop(key, None)
        if entry is not None:
            self.nbytes -= entry.size
