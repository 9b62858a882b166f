"""The gateway as an ASGI application: lifespan, requests, and the handling of errors."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Coroutine, MutableMapping
from functools import partial
from typing import Any, NamedTuple

from incrowd.errors import IncrowdError
from incrowd.gateway.ops.ledgers import report_upkeep
from incrowd.gateway.ops.log import EventLog, Fields
from incrowd.gateway.ops.metrics import GatewayMetrics
from incrowd.gateway.requests.exchange import Client, Receive, Reply, Request, Scope, Send, respond
from incrowd.gateway.requests.problems import Problem, as_json, internal
from incrowd.gateway.server.handover import Inbox
from incrowd.gateway.server.prepared import Prepared
from incrowd.gateway.server.site import Site

__all__ = ["Gateway"]

LOOK_INTERVAL = 0.5
COUNT_INTERVAL = 0.1
EXPIRY_INTERVAL = 3600.0
LEDGER_INTERVAL = 1.0
DRAIN_SECONDS = 60.0
"""Seconds that requests in flight may still take after a reload."""
COLLECT_AFTER = (10_000, 20, 50)
"""The thresholds of the garbage collector: requests leave little garbage, and each collection takes time."""


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
        The configuration and the protection.
    inbox
        Where newer states come from.
    meters, event_log
        The metrics and the log.
    """

    def __init__(self, prepared: Prepared, inbox: Inbox, meters: GatewayMetrics, event_log: EventLog) -> None:
        self._inbox = inbox
        self._meters = meters
        self._event_log = event_log
        self._site = Site(prepared, meters)
        self._tasks: set[asyncio.Task[None]] = set()
        self._answered: list[_Answered] = []
        self.answering: set[Client] = set()
        """The clients whose requests are in flight."""

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[None, None, None]:
        """Serve one request, or the server's lifespan."""
        return self._serve(scope, receive, send) if scope["type"] == "http" else self._lifespan(receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        """Open when the server starts, close when it ends."""
        await receive()
        try:
            await self._site.service.open()
        except Exception as error:  # noqa: BLE001 - else the server would run a gateway that is not open
            self._event_log.failure("worker_failed", error)
            await send({"type": "lifespan.startup.failed"})
            return
        self._begin(self._poll_for_reload())
        self._begin(self._maintain_ledger())
        self._begin(self._count())
        _tune_garbage_collector()
        self._event_log.info("worker_started", account=self._site.account)
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

    async def _maintain_ledger(self) -> None:
        """Erase expired entries once in a while, and log and count what happens to the ledger."""
        expire_at = 0.0
        while True:
            expire = time.monotonic() >= expire_at
            if expire:
                expire_at = time.monotonic() + EXPIRY_INTERVAL
            # A lasting error is reported with the next request; a reload may just have closed the ledger.
            with contextlib.suppress(IncrowdError, RuntimeError):
                upkeep = await self._site.service.maintain(expire=expire)
                if upkeep:
                    report_upkeep(upkeep, self._meters, self._event_log)
            await asyncio.sleep(LEDGER_INTERVAL)

    async def _count(self) -> None:
        while True:
            await asyncio.sleep(COUNT_INTERVAL)
            self._add_up()

    def _add_up(self) -> None:
        """Log and count recent requests: together they take a fourth of the time of one by one."""
        answered, self._answered = self._answered, []
        for each in answered:
            self._meters.request(each.route, each.status, each.seconds)
        self._event_log.requests(
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
        self._meters.add_up()

    async def _poll_for_reload(self) -> None:
        """Take over new states from the parent; if one cannot be opened, this is logged and the old one stays."""
        while True:
            await asyncio.sleep(LOOK_INTERVAL)
            if self._inbox.has_changed():
                try:
                    await self._take_over(await asyncio.to_thread(self._inbox.take))
                except Exception as error:  # noqa: BLE001 - else this worker would never reload again
                    self._event_log.failure("worker_reload_failed", error)

    async def _take_over(self, prepared: Prepared) -> None:
        """Use a new state for new requests; requests in flight finish with the old one."""
        site = Site(prepared, self._meters)
        await site.service.open()
        old, self._site = self._site, site
        self._begin(_retire(old))
        self._event_log.info("worker_reloaded", account=site.account)

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
            except Exception as error:  # noqa: BLE001 - the client gets a reply in any case
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
        """Wait for a part of the body; meanwhile the request is not in flight, and the connection counts as silent."""
        self.answering.discard(client)
        try:
            return await receive()
        finally:
            self.answering.add(client)

    def _problem(self, error: Exception, request: Request) -> Problem:
        """Return the problem for an error, and log what only the operator should see."""
        if isinstance(error, Problem):
            self._note(error, request)
            return error
        # Its message could contain a value; its type and place cannot.
        self._event_log.failure("failed", error, request=request.id)
        return internal()

    def _note(self, problem: Problem, request: Request) -> None:
        """Log why the ledger cannot be used, which the person need not know."""
        cause = problem.__cause__
        if isinstance(cause, IncrowdError):
            self._meters.ledger_failed()
            self._event_log.warning("ledger_failed", request=request.id, reason=str(cause))


async def _retire(old: Site) -> None:
    """Close an old state after its last request."""
    await old.close(DRAIN_SECONDS)
    _tune_garbage_collector()


def _tune_garbage_collector() -> None:
    """Collect garbage, and exclude the remaining objects from later collections.

    They stay as long as the worker, most of them modules, so scanning them again and again is useless.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
