"""The people who may send requests: identified by their keys, each with a rate limit.

The rate limit is a token bucket for each person. It holds a share of `requests` tokens and fills up in `per` seconds, so
bursts are possible. Worker processes do not communicate: each has the share requests / workers, so that the total is kept
however the system distributes connections. A person whose connections all reach one worker gets only that worker's share;
a share below one request still allows single requests, at the slower rate.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from functools import lru_cache

from incrowd.errors import BadInputError
from incrowd.gateway.config.settings import Person
from incrowd.gateway.requests.exchange import key_in
from incrowd.gateway.requests.problems import too_many_requests, unauthorized

__all__ = ["People", "RateLimit"]

REMEMBERED = 1024
"""Headers with keys that are cached."""
ROUNDING = 1e-6  # of a token: the rounding error of adding floating-point seconds


class People:
    """The people who may send requests.

    Parameters
    ----------
    people
        Their names and the hashes of their keys.
    rate
        The rate limit of each person; None for no limit.
    """

    def __init__(self, people: Iterable[Person], rate: RateLimit | None) -> None:
        self._by_key = {bytes.fromhex(person.key_sha256): person for person in people}
        self._rate = rate
        self._remembered = lru_cache(REMEMBERED)(self._person_with)

    def identify(self, authorization: bytes, api_key: bytes) -> Person:
        """Return the person whose key is in one of these headers, unless they have sent too many requests."""
        person = self._remembered(authorization, api_key)
        if self._rate is not None:  # not by truth: a new one has length 0
            wait = self._rate.allow(person.name)
            if wait:
                raise too_many_requests(wait)
        return person

    def _person_with(self, authorization: bytes, api_key: bytes) -> Person:
        key = key_in(authorization, api_key)
        person = self._by_key.get(hashlib.sha256(key).digest())
        if not key or person is None:
            raise unauthorized()
        return person


class RateLimit:
    """Token buckets, each stored as the time at which it will be full again.

    Memory is bounded: full buckets are removed, so only people with requests in the last two periods are stored.

    Parameters
    ----------
    requests, per
        How many requests in how many seconds, for each person over all workers.
    workers
        The number of worker processes.
    clock
        A monotonic clock, in seconds.
    """

    def __init__(
        self, requests: float, per: float, *, workers: int = 1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        for name, value in (("requests", requests), ("per", per), ("workers", workers)):
            if not value > 0:
                raise BadInputError(f"rate: {name} must be more than 0 (got {value})")
        share = requests / workers
        self._pause = per / share  # seconds until one token is available again
        self._room = max(share, 1) * self._pause + ROUNDING * self._pause
        self._clock = clock
        self._full_at: dict[str, float] = {}
        self._next_sweep = clock() + self._room

    def __len__(self) -> int:
        """Return the number of stored buckets."""
        return len(self._full_at)

    def allow(self, person: str) -> float:
        """Take a token: return 0 if there was one, else the seconds until the next one."""
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
