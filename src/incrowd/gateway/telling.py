"""Deciding with the ledger: what is about to be told is on the disk before anything leaves.

Reading never waits for writers (SQLite's write-ahead log), so it is done in the event loop; writing waits for the
disk and has a thread of its own. A ledger that cannot be used means that nothing is sent; it is tried again with the
next request, so the gateway recovers as soon as the file does.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from incrowd.gateway.asking import Question
from incrowd.gateway.config import LedgerSource, Person
from incrowd.online.generalizer import Decision
from incrowd.online.ledger import Ledger, Past
from incrowd.online.linked import stored
from incrowd.online.protection import Protection

__all__ = ["Teller"]

READ_TIMEOUT = 0.05
"""Seconds that the event loop may wait for the file."""
WRITE_TIMEOUT = 2.0


class Teller:
    """Decides on queries, and writes down what is told.

    Parameters
    ----------
    protection
        What decides.
    source
        Where the ledger is; None if queries are not to be linked.
    secret
        The key of the persons' names in the ledger.
    """

    def __init__(self, protection: Protection, source: LedgerSource | None, secret: bytes) -> None:
        self._protection = protection
        self._source = source
        self._secret = secret
        self._opening = threading.Lock()
        self._ledgers: dict[float, Ledger] = {}
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="ledger")

    def look(self, question: Question, person: Person, provider: str) -> Decision:
        """Decide without telling anybody anything."""
        return self._decided(question, person, self._past(person, provider))

    async def decide(self, question: Question, person: Person, provider: str) -> Decision:
        """Decide; unless it is refused, what is to be sent is in the ledger when this returns."""
        past = self._past(person, provider)
        decision = self._decided(question, person, past)
        if past is None or decision.refused:
            return decision
        if past.covers(stored(decision.sent_nodes, self._protection.schema)):
            return decision
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._writer, self._reserve, question.asking.query, person, provider
        )

    async def expire(self) -> None:
        """Erase what has expired."""
        if self._source:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._writer, lambda: self._ledger(WRITE_TIMEOUT).expire())

    def check(self) -> None:
        """Raise a `LedgerError` if the ledger cannot be read."""
        if self._source:
            self._ledger(READ_TIMEOUT).disclosed("", "")

    def close(self) -> None:
        """Close the file once what is being written is written."""
        self._writer.shutdown()
        for ledger in self._ledgers.values():
            ledger.close()

    def _past(self, person: Person, provider: str) -> Past | None:
        return self._ledger(READ_TIMEOUT).past(person.name, provider) if self._source else None

    def _decided(self, question: Question, person: Person, past: Past | None) -> Decision:
        """Decide, unless nothing has changed since the question was last asked."""
        disclosed = None if past is None else past.disclosed
        if question.decision is None or question.disclosed != disclosed:
            query = question.asking.query
            question.decision = self._protection.decide(
                query, person.protect, user=person.name, disclosed=disclosed
            )
            question.disclosed = disclosed
        return question.decision

    def _reserve(self, query: Mapping[str, Any], person: Person, provider: str) -> Decision:
        """Decide again with nobody in between, and write down what that tells."""
        with self._ledger(WRITE_TIMEOUT).reserving(person.name, provider) as reservation:
            decision = self._protection.decide(
                query, person.protect, user=person.name, disclosed=reservation.disclosed
            )
            if not decision.refused:
                reservation.disclose(stored(decision.sent_nodes, self._protection.schema))
        return decision

    def _ledger(self, timeout: float) -> Ledger:
        """Return one of the two connections, opened when it is first needed."""
        if self._source is None:
            raise AssertionError
        with self._opening:
            if timeout not in self._ledgers:
                self._ledgers[timeout] = Ledger(
                    self._source.file,
                    secret=self._secret,
                    time_to_live=self._source.time_to_live,
                    timeout=timeout,
                )
            return self._ledgers[timeout]
