"""Deciding with the ledger: what is about to be sent is on the disk before anything leaves.

Reading never waits for writers (SQLite's write-ahead log), so it is done in the event loop; writing waits for the
disk and has a thread of its own. A ledger that cannot be used means that nothing is sent; it is tried again with the
next request, so the gateway recovers as soon as the file does.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from incrowd.gateway.config import LedgerSource
from incrowd.gateway.ledgers import Upkeep, keep_up, open_ledger
from incrowd.gateway.query import Past, Query
from incrowd.online.ledger import Ledger
from incrowd.online.linked import stored
from incrowd.online.schema import Schema

__all__ = ["Disclosures"]

READ_TIMEOUT = 0.05
"""Seconds that the event loop may wait for the file."""
WRITE_TIMEOUT = 2.0

Build = Callable[[Past], Query]
"""Builds a query for what the provider has been sent before."""


class Disclosures:
    """What each person has disclosed to each provider.

    Parameters
    ----------
    source
        Where the ledger is; None if queries are not to be linked.
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
        """Return what the provider has been sent of a person."""
        return self._ledger(READ_TIMEOUT).disclosed(person, provider) if self._source else None

    async def admit(self, person: str, provider: str, known: Query | None, build: Build) -> Query:
        """Return the query to send now; unless it is refused, what it discloses is in the ledger when this returns.

        Parameters
        ----------
        person, provider
            Who asks whom.
        known
            The same query as it was built before; it is used again if nothing was disclosed in between.
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
        """Decide again with nobody in between, and write down what that discloses."""
        with self._ledger(WRITE_TIMEOUT).reserving(person, provider) as reservation:
            query = build(reservation.disclosed)
            if not query.decision.refused:
                reservation.disclose(stored(query.decision.sent_nodes, self._schema))
        return query

    async def keep_up(self, *, expire: bool) -> Upkeep | None:
        """Erase what has expired, if wanted; return what has happened to the ledger since this was last called."""
        if self._source is None:
            return None
        # In the thread that writes: nobody in the event loop waits for the file.
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, self._keep_up, expire)

    def _keep_up(self, expire: bool) -> Upkeep:  # noqa: FBT001 - an executor passes it by position
        return keep_up(self._ledger(WRITE_TIMEOUT), self._ledger(READ_TIMEOUT), expire=expire)

    async def check(self) -> None:
        """Raise a `LedgerError` if the ledger cannot be read or written."""
        if self._source:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._writer, lambda: self._ledger(WRITE_TIMEOUT).check())

    def close(self) -> None:
        """Close the file once what is being written is written."""
        self._writer.shutdown()
        for ledger in self._ledgers.values():
            ledger.close()

    def _ledger(self, timeout: float) -> Ledger:
        """Return one of the two connections, opened when it is first needed."""
        if self._source is None:
            raise AssertionError
        with self._opening:
            if timeout not in self._ledgers:
                self._ledgers[timeout] = open_ledger(self._source, self._secret, timeout)
            return self._ledgers[timeout]
