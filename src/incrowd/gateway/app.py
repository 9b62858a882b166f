"""The gateway as an ASGI application: start and end, requests, and what becomes of errors."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Coroutine, MutableMapping
from functools import partial
from typing import Any, NamedTuple

from incrowd.errors import IncrowdError
from incrowd.gateway.exchange import Client, Receive, Reply, Request, Scope, Send, respond
from incrowd.gateway.handover import Inbox
from incrowd.gateway.journal import Fields, Journal
from incrowd.gateway.ledgers import note_upkeep
from incrowd.gateway.prepared import Prepared
from incrowd.gateway.problems import Problem, as_json, internal
from incrowd.gateway.site import Site
from incrowd.gateway.watch import Watch

__all__ = ["Gateway"]

LOOK_INTERVAL = 0.5
COUNT_INTERVAL = 0.1
EXPIRY_INTERVAL = 3600.0
LEDGER_INTERVAL = 1.0
DRAIN_SECONDS = 60.0
"""Seconds that requests may still take with a configuration that was replaced."""
COLLECT_AFTER = (10_000, 20, 50)
"""When to look for garbage: each request leaves a little, and every look has its price."""


class _Answered(NamedTuple):
    """What is logged and counted about a request."""

    ended: float
    id: str
    route: str
    status: int
    code: str
    seconds: float


class Gateway:
    """The ASGI application of one worker.

    Parameters
    ----------
    prepared
        The configuration and what decides.
    inbox
        Where a newer state comes from.
    watch, journal
        Where the work is counted and logged.
    """

    def __init__(self, prepared: Prepared, inbox: Inbox, watch: Watch, journal: Journal) -> None:
        self._inbox = inbox
        self._watch = watch
        self._journal = journal
        self._site = Site(prepared, watch)
        self._tasks: set[asyncio.Task[None]] = set()
        self._answered: list[_Answered] = []
        self.answering: set[Client] = set()
        """The other ends of the connections whose requests are being answered."""

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[None, None, None]:
        """Serve one request, or the server's start and end."""
        return self._serve(scope, receive, send) if scope["type"] == "http" else self._live(receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Open when the server starts, close when it ends."""
        await receive()
        try:
            await self._site.service.open()
        except Exception as error:  # noqa: BLE001 - else the server would go on with a gateway that is not open
            self._journal.failure("worker_failed", error)
            await send({"type": "lifespan.startup.failed"})
            return
        self._begin(self._look_for_news())
        self._begin(self._look_after_ledger())
        self._begin(self._count())
        _spare_the_collector()
        self._journal.info("worker_started", account=self._site.account)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for task in list(self._tasks):
            task.cancel()
        await self._site.service.close()
        self._add_up()
        await send({"type": "lifespan.shutdown.complete"})

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look_after_ledger(self) -> None:
        """Erase what has expired once in a while, and log and count what becomes of the ledger."""
        expire_at = 0.0
        while True:
            expire = time.monotonic() >= expire_at
            if expire:
                expire_at = time.monotonic() + EXPIRY_INTERVAL
            # An error that lasts is in the answer to the next request; a reload may just have closed the ledger.
            with contextlib.suppress(IncrowdError, RuntimeError):
                upkeep = await self._site.service.keep_up(expire=expire)
                if upkeep:
                    note_upkeep(upkeep, self._watch, self._journal)
            await asyncio.sleep(LEDGER_INTERVAL)

    async def _count(self) -> None:
        while True:
            await asyncio.sleep(COUNT_INTERVAL)
            self._add_up()

    def _add_up(self) -> None:
        """Log and count the requests of late: at once they take a fourth of what they would take one by one."""
        answered, self._answered = self._answered, []
        for each in answered:
            self._watch.request(each.route, each.status, each.seconds)
        self._journal.requests(
            (
                each.ended,
                Fields(
                    request=each.id,
                    route=each.route,
                    status=each.status,
                    code=each.code,
                    ms=round(each.seconds * 1e3, 3),
                ),
            )
            for each in answered
        )
        self._watch.add_up()

    async def _look_for_news(self) -> None:
        """Serve what the parent prepares anew; what cannot be opened is logged, and the old stays."""
        while True:
            await asyncio.sleep(LOOK_INTERVAL)
            if self._inbox.has_news():
                try:
                    await self._take_over(await asyncio.to_thread(self._inbox.take))
                except Exception as error:  # noqa: BLE001 - else this worker would never hear news again
                    self._journal.failure("worker_reload_failed", error)

    async def _take_over(self, prepared: Prepared) -> None:
        """Answer from now on by a new state; who is being answered is still answered by the old."""
        site = Site(prepared, self._watch)
        await site.service.open()
        old, self._site = self._site, site
        self._begin(_retire(old))
        self._journal.info("worker_reloaded", account=site.account)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        site = self._site
        code = ""
        client = scope["client"]
        request = Request(scope, partial(self._receive, client, receive), site.config.body)
        self.answering.add(client)
        site.in_flight += 1
        try:
            try:
                request.check_frame()
                reply = await site.handler(request)(request)
            except Exception as error:  # noqa: BLE001 - whatever it is, the person gets a reply
                problem = self._problem(error, request)
                code = problem.code
                reply = Reply(as_json(problem, request.id), problem.status, headers=problem.headers)
            await respond(send, reply, request)
        finally:
            self.answering.discard(client)
            site.leave()
        seconds = time.perf_counter() - started
        self._answered.append(
            _Answered(time.time(), request.id, site.route(request.path), reply.status, code, seconds)
        )

    async def _receive(self, client: Client, receive: Receive) -> MutableMapping[str, Any]:
        """Wait for a part of the body; meanwhile nothing is being answered, and the connection is one that is silent."""
        self.answering.discard(client)
        try:
            return await receive()
        finally:
            self.answering.add(client)

    def _problem(self, error: Exception, request: Request) -> Problem:
        """Return what the person is told about an error, and tell whoever runs the gateway the rest."""
        if isinstance(error, Problem):
            self._note(error, request)
            return error
        # Its message could hold a value; its kind and place cannot.
        self._journal.failure("failed", error, request=request.id)
        return internal()

    def _note(self, problem: Problem, request: Request) -> None:
        """Tell whoever runs the gateway what a person need not know: why the ledger cannot be used."""
        cause = problem.__cause__
        if isinstance(cause, IncrowdError):
            self._watch.ledger_failed()
            self._journal.warning("ledger_failed", request=request.id, reason=str(cause))


async def _retire(old: Site) -> None:
    """Let an old state go with its last request."""
    await old.close(DRAIN_SECONDS)
    _spare_the_collector()


def _spare_the_collector() -> None:
    """Clean up, and let the garbage collector pass over what is left from now on.

    That is what stays as long as the worker, modules most of all; there is no use in looking at it time and again.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
