"""How often a person may ask: a bucket of tokens for each, from which every request takes one.

A bucket holds a share of `requests` tokens and fills up in `per` seconds, so a person may ask in bursts. Worker
processes know nothing of each other: each hands out its share, requests / workers, and the total is kept whatever
the system's way of spreading connections. A person whose connections all end at one worker gets only
that worker's share; a share below one request still lets one through, at the slower pace.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from incrowd.errors import BadInputError

__all__ = ["RateLimit"]

ROUNDING = 1e-6  # of a token: what adding up floating-point seconds may lose


class RateLimit:
    """Token buckets, each kept as the one moment at which it will be full again.

    Memory is bounded: full buckets are like new and forgotten, so only who asked in the last two
    periods is remembered.

    Parameters
    ----------
    requests, per
        How many requests in how many seconds, for each person over all workers.
    workers
        How many processes share this.
    clock
        Seconds that never go back.
    """

    def __init__(
        self, requests: float, per: float, *, workers: int = 1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        for name, value in (("requests", requests), ("per", per), ("workers", workers)):
            if not value > 0:
                raise BadInputError(f"rate: {name} must be more than 0 (got {value})")
        share = requests / workers
        self._pause = per / share  # seconds in which one token comes back
        self._room = max(share, 1) * self._pause + ROUNDING * self._pause
        self._clock = clock
        self._full_at: dict[str, float] = {}
        self._next_sweep = clock() + self._room

    def __len__(self) -> int:
        """Return how many people are remembered."""
        return len(self._full_at)

    def allow(self, person: str) -> float:
        """Take a token: return 0 if there was one, else the seconds until there is."""
        now = self._clock()
        if now >= self._next_sweep:
            self._forget_full(now)
        full_at = max(self._full_at.get(person, now), now) + self._pause
        wait = full_at - now - self._room
        if wait > 0:
            return wait
        self._full_at[person] = full_at
        return 0.0

    def _forget_full(self, now: float) -> None:
        self._full_at = {person: full_at for person, full_at in self._full_at.items() if full_at > now}
        self._next_sweep = now + self._room
