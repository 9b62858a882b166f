"""Who may ask: persons are known by their keys, and each may ask so often."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

from incrowd.gateway.config import Person
from incrowd.gateway.exchange import key_in
from incrowd.gateway.problems import too_many_requests, unauthorized
from incrowd.gateway.rate import RateLimit

__all__ = ["People"]

REMEMBERED = 1024
"""Headers with keys that are not looked up again."""


class People:
    """Everybody who may ask.

    Parameters
    ----------
    people
        Their names and the hashes of their keys.
    rate
        How often each may ask; None is as often as they like.
    """

    def __init__(self, people: Iterable[Person], rate: RateLimit | None) -> None:
        self._by_key = {bytes.fromhex(person.key_sha256): person for person in people}
        self._rate = rate
        self._remembered = lru_cache(REMEMBERED)(self._person_with)

    def identify(self, authorization: bytes, api_key: bytes) -> Person:
        """Return the person whose key is in one of these headers, unless they have asked too often."""
        person = self._remembered(authorization, api_key)
        if self._rate is not None:  # a new one has a length of 0
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
