"""How a query is answered, step by step.

    request -> person -> query (what may be sent, in the ledger before it is sent) -> rows -> answer

Only `_fetch` sends anything to a provider, and only for a query that was admitted.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Mapping
from functools import partial
from typing import Any

import msgspec

from incrowd.gateway.config.settings import Person, Route
from incrowd.gateway.ops.metrics import GatewayMetrics
from incrowd.gateway.providers import OVER_BUDGET, Fetched, ProviderError
from incrowd.gateway.requests.answer import Answer, narrow
from incrowd.gateway.requests.cache import cache_key
from incrowd.gateway.requests.exchange import Reply, Request
from incrowd.gateway.requests.problems import Problem, refused
from incrowd.gateway.requests.query import Query, QueryBuilder
from incrowd.gateway.requests.strict_json import memory_of
from incrowd.gateway.server.service import Service, as_problems

__all__ = ["RouteHandler"]

LARGE_BYTES = 128 * 1024
MANY_ROWS = 5_000
"""From this number of rows on an answer is filtered in a thread."""
REMEMBERED = 1024
"""Queries of a route that a worker caches."""
LONGEST_REMEMBERED = 1024
"""The longest text of a cached query, in bytes."""
NO_HEADERS: Mapping[str, str] = {}
_encode = msgspec.json.Encoder().encode


class RouteHandler:
    """Answers the queries of one route.

    Parameters
    ----------
    route
        The route.
    service
        What all routes share.
    meters
        The metrics.
    """

    def __init__(self, route: Route, service: Service, meters: GatewayMetrics) -> None:
        self._route = route
        self._service = service
        self._meters = meters
        self._forward = getattr(service.config.providers[route.provider], "forward", ())
        self._linked = service.config.ledger is not None
        self._shares_cache = service.config.cache is not None and service.config.cache.shared
        self._builder: QueryBuilder | None = None
        self._remembered: OrderedDict[tuple[str, str, bytes], Query] = OrderedDict()

    async def answer(self, request: Request) -> Reply:
        """Answer a query: exactly, or as far as the route allows, or with a `Problem`."""
        person = self._service.people.identify(*request.credentials)
        text = request.query if request.method == "GET" else await request.text()
        query = await self._admit(person, request.method, text)
        fetched = await self._fetch(person, query, request)
        self._check_complete(fetched)
        if len(fetched.rows) < MANY_ROWS:
            answer = _narrow(query, fetched)
        else:  # in a thread, so that the event loop is not blocked
            answer = await asyncio.to_thread(_narrow, query, fetched)
        document = self._document(query, fetched, answer)
        if fetched.nbytes > LARGE_BYTES:
            # Rows may be long: encoded one by one, so that other threads can run.
            document["rows"] = await asyncio.to_thread(_encode_rows, answer.rows)
        return Reply(_encode(document))

    async def preview(self, request: Request) -> Reply:
        """Return what would be sent in place of a query, and why; nothing is sent or stored."""
        person = self._service.people.identify(*request.credentials)
        text = request.query if request.method == "GET" else await request.text()
        with as_problems():
            past = self._service.disclosures.past(person.name, self._route.provider)
            query = self._build(person, request.method, text, past)
        return Reply(bytes(_unless_refused(query).privacy))

    async def _admit(self, person: Person, method: str, text: bytes) -> Query:
        """Build the query and decide what may be sent; its disclosure is in the ledger when this returns.

        Recent queries are cached, separately for each person: the time of an answer discloses nothing about other
        people's queries.
        """
        started = time.perf_counter()
        key = person.name, method, text
        query = self._remembered.get(key)
        if query is None or self._linked:
            with as_problems():
                if self._linked:
                    build = partial(self._build, person, method, text)
                    disclosures = self._service.disclosures
                    query = await disclosures.admit(person.name, self._route.provider, query, build)
                else:
                    query = self._build(person, method, text, None)
            self._remember(key, query)
        self._meters.decided(query.counted, time.perf_counter() - started)
        return _unless_refused(query)

    def _build(self, person: Person, method: str, text: bytes, past: Any) -> Query:
        if self._builder is None:
            self._builder = QueryBuilder(self._route, self._service.protection)
        return self._builder.build(person, method, text, past)

    def _remember(self, key: tuple[str, str, bytes], query: Query) -> None:
        if len(key[2]) <= LONGEST_REMEMBERED:
            self._remembered[key] = query
            self._remembered.move_to_end(key)
            if len(self._remembered) > REMEMBERED:
                self._remembered.popitem(last=False)

    def _fetch(self, person: Person, query: Query, request: Request) -> Awaitable[Fetched]:
        """Return the rows for what is sent, from the provider or from the cache.

        Answers are cached for each person, unless the configuration shares them: then a fast answer discloses that some
        person sent the same query recently.
        """
        headers = request.headers(self._forward) if self._forward else NO_HEADERS
        cache = self._service.cache
        if cache is None:
            return self._fetch_now(query, headers)

        async def fetch() -> tuple[Fetched, int]:
            fetched = await self._fetch_now(query, headers)
            return fetched, await _memory(fetched)

        key = cache_key(self._route.provider, query.sent, headers, "" if self._shares_cache else person.name)
        self._meters.cache(found=cache.get(key) is not None)
        return cache.get_or_fetch(key, fetch)

    async def _fetch_now(self, query: Query, headers: Mapping[str, str]) -> Fetched:
        started = time.perf_counter()
        name = self._route.provider
        provider = self._service.providers[name]
        try:
            fetched = await provider.fetch(query.sent, headers)
        except ProviderError as error:
            self._meters.provider_failed(name, error.code, time.perf_counter() - started)
            raise Problem(error.code, str(error)) from None
        self._meters.fetched(name, len(fetched.rows), fetched.nbytes, time.perf_counter() - started)
        return fetched

    def _document(self, query: Query, fetched: Fetched, answer: Answer) -> dict[str, Any]:
        """Return the answer as the person gets it."""
        missing = self._missing(query, fetched, answer)
        return {
            "rows": answer.rows,
            "total": answer.total,
            "offset": answer.offset,
            "limit": answer.limit,
            "answer": "partial" if missing else "exact",
            "missing": missing,
            "privacy": query.privacy,
        }

    def _check_complete(self, fetched: Fetched) -> None:
        """Refuse an incomplete answer, unless the route allows partial answers."""
        if not fetched.complete and not self._route.partial:
            over = fetched.missing.startswith(OVER_BUDGET)
            raise Problem("budget_exceeded" if over else "provider_truncated", _incomplete(fetched))

    def _missing(self, query: Query, fetched: Fetched, answer: Answer) -> list[str]:
        """Return why the answer is not exact; raise if the route does not allow partial answers."""
        missing = [] if fetched.complete else [_incomplete(fetched)]
        if answer.contradicted:
            fields = ", ".join(answer.contradicted)
            missing.append(f"the provider's rows contradict what was sent in the field '{fields}'")
            if not self._route.partial:
                raise Problem("provider_error", missing[-1])
        return missing + [f"parameter {name!r} is unknown here and was not applied" for name in query.unknown]


def _encode_rows(rows: list[dict[str, Any]]) -> list[msgspec.Raw]:
    return [msgspec.Raw(_encode(row)) for row in rows]


async def _memory(fetched: Fetched) -> int:
    """Return the bytes that an answer takes in memory; a large one is measured in a thread, piece by piece."""
    if fetched.nbytes <= LARGE_BYTES:
        return memory_of(fetched.rows)
    step = max(1, len(fetched.rows) * LARGE_BYTES // fetched.nbytes)

    def add_up() -> int:
        return sum(
            memory_of(fetched.rows[start : start + step]) for start in range(0, len(fetched.rows), step)
        )

    return await asyncio.to_thread(add_up)


def _incomplete(fetched: Fetched) -> str:
    return f"the provider's answer is incomplete: {fetched.missing}"


def _unless_refused(query: Query) -> Query:
    if query.decision.refused:
        raise refused(query.decision.reason)
    return query


def _narrow(query: Query, fetched: Fetched) -> Answer:
    return narrow(fetched.rows, query.filters, sort=query.order, offset=query.offset, limit=query.limit)
