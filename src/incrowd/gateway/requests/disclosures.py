"""Deciding with the ledger: a disclosure is on disk before anything is sent.

Reading never waits for writers (SQLite's write-ahead log), so it is done in the event loop; writing waits for the
disk and has its own thread. While the ledger cannot be used, nothing is sent; every request tries it again, so the
gateway recovers as soon as the file does.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from incrowd.gateway.config.settings import LedgerSource
from incrowd.gateway.ops.ledgers import Upkeep, maintain, open_ledger
from incrowd.gateway.requests.query import Past, Query
from incrowd.generalizer.ledger.ledger import Ledger
from incrowd.generalizer.linked import stored
from incrowd.generalizer.schema import Schema

__all__ = ["Disclosures"]

READ_TIMEOUT = 0.05
"""Seconds that the event loop may wait for the file."""
WRITE_TIMEOUT = 2.0

Build = Callable[[Past], Query]
"""Builds a query, given past disclosures."""


class Disclosures:
    """The disclosures of each person to each provider.

    Parameters
    ----------
    source
        The ledger's settings; None if queries are not linked.
    secret
        The key of the persons' names in the ledger.
    schema
        The attributes that are disclosed.
    """

    def __init__(self, source: LedgerSource | None, secret: bytes, schema: Schema) -> None:
        self._source = source
        self._secret = secret
        self._schema = schema
        self._opening = threading.Lock()
        self._ledgers: dict[float, Ledger] = {}
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="ledger")

    def past(self, person: str, provider: str) -> Past:
        """Return a person's past disclosures to a provider."""
        return self._ledger(READ_TIMEOUT).disclosed(person, provider) if self._source else None

    async def admit(self, person: str, provider: str, known: Query | None, build: Build) -> Query:
        """Return the query to send; unless it is refused, its disclosure is in the ledger when this returns.

        Parameters
        ----------
        person, provider
            Who sends the query, and to which provider.
        known
            The same query as it was built before; it is reused if nothing was disclosed in between.
        build
            Builds it.
        """
        past = self._ledger(READ_TIMEOUT).past(person, provider)
        query = known if known and known.past == past.disclosed else build(past.disclosed)
        if query.decision.refused or past.covers(stored(query.decision.sent_nodes, self._schema)):
            return query
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, self._reserve, person, provider, build)

    def _reserve(self, person: str, provider: str, build: Build) -> Query:
        """Decide again without any other writer in between, and store the disclosure."""
        with self._ledger(WRITE_TIMEOUT).reserving(person, provider) as reservation:
            query = build(reservation.disclosed)
            if not query.decision.refused:
                reservation.disclose(stored(query.decision.sent_nodes, self._schema))
        return query

    async def maintain(self, *, expire: bool) -> Upkeep | None:
        """Erase expired entries, if wanted; return what happened to the ledger since the last call."""
        if self._source is None:
            return None
        # In the writing thread, so that the event loop does not wait for the file.
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, self._maintain, expire)

    def _maintain(self, expire: bool) -> Upkeep:  # noqa: FBT001 - an executor passes it by position
        return maintain(self._ledger(WRITE_TIMEOUT), self._ledger(READ_TIMEOUT), expire=expire)

    async def check(self) -> None:
        """Raise a `LedgerError` if the ledger cannot be read or written."""
        if self._source:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._writer, lambda: self._ledger(WRITE_TIMEOUT).check())

    def close(self) -> None:
        """Close the ledger after pending writes."""
        self._writer.shutdown()
        for ledger in self._ledgers.values():
            ledger.close()

    def _ledger(self, timeout: float) -> Ledger:
        """Return one of the two connections, opened on first use."""
        if self._source is None:
            raise AssertionError
        with self._opening:
            if timeout not in self._ledgers:
                self._ledgers[timeout] = open_ledger(self._source, self._secret, timeout)
            return self._ledgers[timeout]
