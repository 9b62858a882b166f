"""A cache of providers' answers, so that the same generalized query is not sent again.

It is in the memory of one worker process: the least recently used entries are evicted when there are too many entries or
bytes. Concurrent requests for the same key share one fetch.
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
    """Return a text that two requests share only if the provider could not distinguish them.

    With a person, only if both are that person's: then a fast answer discloses nothing about other people's queries.

    The order of names and the case of header names do not matter. Types do: 1, 1.0, "1" and True are four values here,
    since a provider may read them differently. Values must be plain data.
    """
    lowered = sorted((name.lower(), value) for name, value in headers.items())
    return repr((person, provider, _canonical(sent), lowered))


def _canonical(value: Any) -> Any:
    """Sort the names of all mappings; the `repr` of plain data distinguishes types and values."""
    if isinstance(value, Mapping):
        return {name: _canonical(value[name]) for name in sorted(value)}
    if isinstance(value, list | tuple):
        return [_canonical(part) for part in value]
    return value


def _retrieve_exception(task: asyncio.Task[Any]) -> None:
    """Retrieve the exception of a task that is no longer awaited, so that the event loop does not report it."""
    if not task.cancelled():
        task.exception()


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    value: T = field(repr=False)
    size: int
    expires: float


@dataclass(slots=True, eq=False)
class _Pending(Generic[T]):
    """A fetch in progress, and how many requests wait for it."""

    task: asyncio.Task[T]
    waiting: int = 0


class Cache(Generic[T]):
    """Answers (never None) by key, for one event loop. Returned values are shared and must not be changed.

    Parameters
    ----------
    entries, nbytes
        The most entries and bytes. The length of a key counts too, since people choose parts of it.
    time_to_live
        Seconds from the start of a fetch for which its answer is valid.
    clock
        A monotonic clock, in seconds.
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
        self._pending: dict[str, _Pending[T]] = {}
        self._next_sweep = clock() + time_to_live
        self.nbytes = 0

    def __len__(self) -> int:
        """Return the number of entries, including expired ones."""
        return len(self._kept)

    def get(self, key: str) -> T | None:
        """Return the entry of a key if it has not expired."""
        entry = self._kept.get(key)
        if entry is None:
            return None
        if entry.expires <= self._clock():
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        return entry.value

    async def get_or_fetch(self, key: str, fetch: Fetch[T]) -> T:
        """Return the entry, or fetch it once for all concurrent requests.

        If the fetch fails, all waiting requests get the error and nothing is cached. Cancelling one request does not
        affect the others; when none is left, the fetch is cancelled too.

        Parameters
        ----------
        key
            Made by `cache_key`.
        fetch
            Returns the answer and its size in bytes.
        """
        kept = self.get(key)
        if kept is not None:
            return kept
        pending = self._pending.get(key)
        if pending is None:
            pending = self._pending[key] = _Pending(asyncio.create_task(self._fetch(key, fetch)))
            pending.task.add_done_callback(_retrieve_exception)
        return await self._wait(key, pending)

    async def _wait(self, key: str, pending: _Pending[T]) -> T:
        pending.waiting += 1
        try:
            await asyncio.wait([pending.task])  # unlike awaiting the task, this does not cancel it
        finally:
            pending.waiting -= 1
            if not pending.waiting and not pending.task.done():
                # Before the cancellation, so that no other request joins it.
                self._remove_pending(key, pending.task)
                pending.task.cancel()
        return pending.task.result()

    async def _fetch(self, key: str, fetch: Fetch[T]) -> T:
        started = self._clock()
        try:
            value, size = await fetch()
        finally:
            self._remove_pending(key, asyncio.current_task())
        self._keep(key, _Entry(value, size + len(key), started + self._time_to_live))
        return value

    def _remove_pending(self, key: str, task: asyncio.Task[Any] | None) -> None:
        """Remove a pending fetch, but not a later one under the same key."""
        pending = self._pending.get(key)
        if pending is not None and pending.task is task:
            del self._pending[key]

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
        """Remove expired answers once per time to live, so that rows do not stay in memory for long."""
        now = self._clock()
        if now >= self._next_sweep:
            self._next_sweep = now + self._time_to_live
            for key in [key for key, entry in self._kept.items() if entry.expires <= now]:
                self._drop(key)

    def _drop(self, key: str) -> None:
        entry = self._kept.pop(key, None)
        if entry is not None:
            self.nbytes -= entry.size
