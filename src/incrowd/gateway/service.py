"""One request's way: what may be sent, the provider's answer to that, and the person's answer out of it."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from incrowd.errors import BadInputError, IncrowdError
from incrowd.gateway.answer import Answer, narrow
from incrowd.gateway.asking import Asking, Question, Told
from incrowd.gateway.cache import Cache, cache_key
from incrowd.gateway.config import Person, Route
from incrowd.gateway.exchange import key_in
from incrowd.gateway.prepared import Prepared
from incrowd.gateway.problems import (
    Problem,
    bad_request,
    refused,
    too_many_requests,
    unauthorized,
    unavailable,
)
from incrowd.gateway.providers import OVER_BUDGET, Fetched, Provider, ProviderError, open_provider
from incrowd.gateway.rate import RateLimit
from incrowd.gateway.telling import Teller
from incrowd.gateway.watch import Watch
from incrowd.online.generalizer import Decision
from incrowd.online.ledger import LedgerError

__all__ = ["Service"]

PROBE_INTERVAL = 2.0  # seconds: anybody may ask for /readyz, and it must cost providers nothing
MANY_ROWS = 5_000
"""From here on an answer is narrowed in a thread."""
REMEMBERED = 1024
"""Headers with keys that are not looked up again."""
_encode = msgspec.json.Encoder().encode


class Service:
    """Answers the requests of one worker. Nothing leaves but through `_fetch`, after `_decide`.

    Parameters
    ----------
    prepared
        The configuration and what decides.
    watch
        What is counted about the work.
    """

    def __init__(self, prepared: Prepared, watch: Watch) -> None:
        self.config = config = prepared.config
        self._watch = watch
        self._people = {bytes.fromhex(person.key_sha256): person for person in config.people}
        self._known_person = lru_cache(REMEMBERED)(self._person_with)
        self._providers: dict[str, Provider] = {}
        self._reachable: dict[str, bool] = {}
        self._probe_again = 0.0
        self._teller = (
            Teller(prepared.protection, config.ledger, config.privacy.secret) if prepared.protection else None
        )
        self._linked = config.ledger is not None
        rate, cache = config.rate, config.cache
        self._rate = RateLimit(rate.requests, rate.per, workers=config.listen.workers) if rate else None
        self._cache: Cache[Fetched] | None = (
            Cache(cache.entries, cache.bytes, cache.time_to_live) if cache else None
        )

    async def open(self) -> None:
        """Open the providers; they need not be reachable yet."""
        for name, provider in self.config.providers.items():
            self._providers[name] = await open_provider(provider)

    async def close(self) -> None:
        """Let go of everything."""
        for provider in self._providers.values():
            await provider.close()
        if self._teller:
            self._teller.close()

    async def expire(self) -> None:
        """Erase what the ledger need not remember any more."""
        if self._teller:
            await self._teller.expire()

    def person(self, authorization: bytes, api_key: bytes) -> Person:
        """Return whose key is in one of these headers, if they have not asked too often."""
        person = self._known_person(authorization, api_key)
        if self._rate is not None:  # when new, it has a length of 0
            wait = self._rate.allow(person.name)
            if wait:
                raise too_many_requests(wait)
        return person

    def _person_with(self, authorization: bytes, api_key: bytes) -> Person:
        key = key_in(authorization, api_key)
        person = self._people.get(hashlib.sha256(key).digest())
        if not key or person is None:
            raise unauthorized()
        return person

    def check(self) -> None:
        """Raise a `Problem` if nobody can be answered now."""
        with _problems():
            self._ready().check()

    async def provider_states(self) -> dict[str, bool]:
        """Tell of each provider whether it could be reached, now or a few seconds ago."""
        now = time.monotonic()
        if now >= self._probe_again:
            self._probe_again = now + PROBE_INTERVAL
            ready = await asyncio.gather(*(provider.ready() for provider in self._providers.values()))
            self._reachable = dict(zip(self._providers, ready, strict=True))
        return self._reachable

    def preview(self, route: Route, person: Person, question: Question) -> msgspec.Raw:
        """Return what would be sent, and why; nobody is told anything."""
        with _problems():
            decision = self._ready().look(question, person, route.provider)
        return _told(question, self._decided(decision), person, route).privacy

    async def ask(
        self, route: Route, person: Person, question: Question, headers: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return the answer to the query as it was asked; `headers` are those that the provider may see."""
        started = time.perf_counter()
        told = question.told
        if told is None or self._linked:  # else nothing has changed since the question was last asked
            with _problems():
                decision = await self._ready().decide(question, person, route.provider)
            self._watch.decided(decision, time.perf_counter() - started)
            told = _told(question, self._decided(decision), person, route)
        else:
            self._watch.decided(told.decision, time.perf_counter() - started)
        fetched = await self._fetch(route.provider, told, headers)
        asking = question.asking
        if len(fetched.rows) < MANY_ROWS:
            answer = _narrow(fetched, asking)
        else:  # in a thread, so that nobody else waits
            answer = await asyncio.to_thread(_narrow, fetched, asking)
        missing = _missing(asking, fetched, route)
        return {
            "rows": answer.rows,
            "total": answer.total,
            "offset": answer.offset,
            "limit": answer.limit,
            "answer": "partial" if missing else "exact",
            "missing": missing,
            "privacy": told.privacy,
        }

    def _ready(self) -> Teller:
        if self._teller is None:
            raise unavailable(
                "nothing is sent while the auxiliary table cannot be used; the gateway's log says why"
            )
        return self._teller

    @staticmethod
    def _decided(decision: Decision) -> Decision:
        if decision.refused:
            raise refused(decision.reason)
        return decision

    def _fetch(self, name: str, told: Told, headers: Mapping[str, str]) -> Awaitable[Fetched]:
        """Ask the provider, or the cache if it was asked the same lately."""
        if self._cache is None:
            return self._fetch_now(name, told, headers)

        async def fetch() -> tuple[Fetched, int]:
            fetched = await self._fetch_now(name, told, headers)
            return fetched, fetched.nbytes

        key = cache_key(name, told.sent, headers)
        self._watch.cache(found=self._cache.get(key) is not None)
        return self._cache.get_or_fetch(key, fetch)

    async def _fetch_now(self, name: str, told: Told, headers: Mapping[str, str]) -> Fetched:
        started = time.perf_counter()
        provider = self._providers[name]
        try:
            if told.errand is None:
                told.errand = provider.prepare(told.sent)
            fetched = await provider.fetch(told.errand, headers)
        except ProviderError as error:
            self._watch.provider_failed(name, error.code, time.perf_counter() - started)
            raise Problem(error.code, str(error)) from None
        self._watch.fetched(name, len(fetched.rows), fetched.nbytes, time.perf_counter() - started)
        return fetched


class _problems:  # noqa: N801 - used like a function
    """Turn the library's errors into problems: what was asked is wrong, or the ledger cannot be used."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Problem) or not isinstance(error, IncrowdError):
            return
        if isinstance(error, LedgerError):
            raise unavailable("nothing is sent while the ledger cannot be used") from error
        if isinstance(error, BadInputError):
            raise bad_request(str(error)) from None
        raise refused(str(error)) from None


def _narrow(fetched: Fetched, asking: Asking) -> Answer:
    return narrow(fetched.rows, asking.filters, sort=asking.order, offset=asking.offset, limit=asking.limit)


def _told(question: Question, decision: Decision, person: Person, route: Route) -> Told:
    """Return what a decision means for the provider and for the person."""
    if question.told is None or question.told.decision is not decision:
        asking = question.asking
        sent = _sent(asking, decision, route)
        question.told = Told(decision, sent, msgspec.Raw(_encode(_privacy(asking, decision, person, sent))))
    return question.told


def _sent(asking: Asking, decision: Decision, route: Route) -> dict[str, Any]:
    """Return what goes to the provider, under the provider's names."""
    sent = dict(asking.passed)
    for parameter in route.parameters.values():
        if parameter.use == "quasi" and parameter.attribute in decision.kept:
            rung = decision.rungs[parameter.attribute]
            sent[parameter.send[rung]] = decision.kept[parameter.attribute]
    return sent


def _missing(asking: Asking, fetched: Fetched, route: Route) -> list[str]:
    """Say why the answer is not the exact one; raise if the route has no partial answers."""
    if not fetched.complete and not route.partial:
        code = "budget_exceeded" if fetched.missing.startswith(OVER_BUDGET) else "provider_truncated"
        raise Problem(code, f"the provider's answer is incomplete: {fetched.missing}")
    missing = [] if fetched.complete else [fetched.missing]
    if not asking.unknown:
        return missing
    return missing + [f"parameter {name!r} is unknown here and was not applied" for name in asking.unknown]


def _privacy(asking: Asking, decision: Decision, person: Person, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Say what the provider is told, and what it costs to guess from that."""
    before, after = decision.entropy_before, decision.entropy_after
    return {
        "sent": sent,
        "kept": [name for name, rung in decision.rungs.items() if not rung],
        "coarser": [name for name, rung in decision.rungs.items() if rung],
        "dropped": list(decision.dropped),
        "blocked": [*asking.blocked, *asking.unknown],
        "guesses": {
            policy.attribute: {
                "needed": str(policy.minimum),
                "before": str(before[policy.attribute]),
                "after": str(after[policy.attribute]),
            }
            for policy in person.protect
        },
        "reason": decision.reason,
    }
