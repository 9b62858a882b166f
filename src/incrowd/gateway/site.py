"""The paths of one configuration, and who answers at each."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from incrowd.gateway.exchange import Reply, Request
from incrowd.gateway.handler import RouteHandler
from incrowd.gateway.openapi import describe_api
from incrowd.gateway.page import render_page
from incrowd.gateway.prepared import Prepared
from incrowd.gateway.problems import method_not_allowed, not_found
from incrowd.gateway.service import Service
from incrowd.gateway.watch import OTHER, Watch

__all__ = ["Site"]

Handler = Callable[[Request], Awaitable[Reply]]
QUERY_METHODS = ("GET", "POST")
PAGE_METHODS = ("GET", "HEAD")
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
        self.service = Service(prepared)
        self.in_flight = 0
        """How many requests are being answered."""
        self._empty: asyncio.Event | None = None
        self._api = _encode(describe_api(config))
        self._pages: Mapping[str, Handler] = {
            "/": self._page,
            "/openapi.json": self._openapi,
            "/healthz": self._healthz,
            "/readyz": self._readyz,
        }
        self._queries: dict[str, Handler] = {}
        for route in config.routes:
            handler = RouteHandler(route, self.service, watch)
            self._queries[route.path] = handler.answer
            self._queries[f"/preview{route.path}"] = handler.preview
        watch.learn(
            routes=(*self._pages, *self._queries),
            providers=config.providers,
            attributes=prepared.protection.schema.names if prepared.protection else (),
        )

    def leave(self) -> None:
        """Note that a request was answered."""
        self.in_flight -= 1
        if self._empty and not self.in_flight:
            self._empty.set()

    async def close(self, patience: float) -> None:
        """Close once the last request was answered, or after some seconds; from now on no new one comes here."""
        if self.in_flight:
            self._empty = asyncio.Event()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), patience)
        await self.service.close()

    def route(self, path: str) -> str:
        """Return the path as it stands in the configuration, or "other": what may be logged and counted."""
        return path if path in self._queries or path in self._pages else OTHER

    def handler(self, request: Request) -> Handler:
        """Return who answers a request, or raise a `Problem`."""
        handler = self._queries.get(request.path)
        methods = QUERY_METHODS
        if handler is None:
            handler, methods = self._pages.get(request.path), PAGE_METHODS
        if handler is None:
            raise not_found()
        if request.method not in methods:
            raise method_not_allowed(methods)
        return handler

    async def _page(self, _request: Request) -> Reply:
        body, policy = render_page(self.config)
        headers = {"content-security-policy": policy, "referrer-policy": "no-referrer"}
        return Reply(body, kind=b"text/html; charset=utf-8", headers=headers)

    async def _openapi(self, _request: Request) -> Reply:
        return Reply(self._api)

    async def _healthz(self, _request: Request) -> Reply:
        return Reply(_encode({"status": "alive"}))

    async def _readyz(self, _request: Request) -> Reply:
        """Say whether queries can be decided; a provider that is down makes only its own routes fail."""
        await self.service.check()
        providers = await self.service.provider_states()
        return Reply(_encode({"status": "ready", "counting": self.account, "providers": providers}))
