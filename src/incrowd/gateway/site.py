"""The paths of one configuration, and who answers at each."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from incrowd.gateway.config import Route
from incrowd.gateway.exchange import Reply, Request
from incrowd.gateway.openapi import describe_api
from incrowd.gateway.page import render_page
from incrowd.gateway.prepared import Prepared
from incrowd.gateway.problems import method_not_allowed, not_found
from incrowd.gateway.service import Service
from incrowd.gateway.watch import OTHER, Watch

__all__ = ["Site"]

Handler = Callable[[Request], Awaitable[Reply]]
_encode = msgspec.json.Encoder().encode


class Site:
    """Everything that one configuration serves. A reload makes a new one; the old one ends with its last request.

    Parameters
    ----------
    prepared
        The configuration and what decides.
    watch
        Where the work is counted.
    """

    def __init__(self, prepared: Prepared, watch: Watch) -> None:
        self.config = config = prepared.config
        self.account = prepared.account
        self.service = Service(prepared, watch)
        self._guests = 0
        self._empty = asyncio.Event()
        self._empty.set()
        self._api = _encode(describe_api(config))
        self._readers: Mapping[str, Handler] = {
            "/": self._page,
            "/openapi.json": self._openapi,
            "/healthz": self._healthz,
            "/readyz": self._readyz,
        }
        self._askers: Mapping[str, Handler] = {
            path: handler
            for route in config.routes
            for path, handler in (
                (route.path, self._asker(route)),
                (f"/preview{route.path}", self._previewer(route)),
            )
        }
        watch.learn(
            routes=(*self._readers, *self._askers),
            providers=config.providers,
            attributes=prepared.protection.schema.names if prepared.protection else (),
        )

    def enter(self) -> None:
        """Note that a request is being answered."""
        self._guests += 1
        self._empty.clear()

    def leave(self) -> None:
        """Note that it was."""
        self._guests -= 1
        if not self._guests:
            self._empty.set()

    async def close(self, patience: float) -> None:
        """Close once the last request was answered, or after some seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._empty.wait(), patience)
        await self.service.close()

    def route(self, path: str) -> str:
        """Return the path as it stands in the configuration, or "other": what may be logged and counted."""
        return path if path in self._askers or path in self._readers else OTHER

    async def answer(self, request: Request) -> Reply:
        """Answer a request, or raise a `Problem`."""
        handler = self._askers.get(request.path)
        methods: tuple[str, ...] = ("GET", "POST")
        if handler is None:
            handler, methods = self._readers.get(request.path), ("GET", "HEAD")
        if handler is None:
            raise not_found()
        if request.method not in methods:
            raise method_not_allowed(methods)
        return await handler(request)

    def _asker(self, route: Route) -> Handler:
        allowed = getattr(self.config.providers[route.provider], "forward", ())

        async def ask(request: Request) -> Reply:
            person = self.service.person(request.key)
            question = self.service.question(route, person, request.method, await request.text())
            passing = request.headers(allowed) if allowed else {}
            return Reply(_encode(await self.service.ask(route, person, question, passing)))

        return ask

    def _previewer(self, route: Route) -> Handler:
        async def preview(request: Request) -> Reply:
            person = self.service.person(request.key)
            question = self.service.question(route, person, request.method, await request.text())
            return Reply(_encode(self.service.preview(route, person, question)))

        return preview

    async def _page(self, _request: Request) -> Reply:
        body, policy = render_page(self.config)
        return Reply(body, kind="text/html; charset=utf-8", headers={"content-security-policy": policy})

    async def _openapi(self, _request: Request) -> Reply:
        return Reply(self._api)

    async def _healthz(self, _request: Request) -> Reply:
        return Reply(_encode({"status": "alive"}))

    async def _readyz(self, _request: Request) -> Reply:
        """Say whether queries can be decided; a provider that is down makes only its own routes fail."""
        self.service.check()
        providers = await self.service.provider_states()
        return Reply(_encode({"status": "ready", "counting": self.account, "providers": providers}))
