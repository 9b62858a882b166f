"""The paths of one configuration and their handlers, among them the page at ``/``."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from incrowd.gateway.config.settings import Config
from incrowd.gateway.ops.metrics import OTHER, GatewayMetrics
from incrowd.gateway.requests.exchange import Reply, Request
from incrowd.gateway.requests.handler import RouteHandler
from incrowd.gateway.requests.openapi import describe_api
from incrowd.gateway.requests.problems import method_not_allowed, not_found
from incrowd.gateway.server.prepared import Prepared
from incrowd.gateway.server.service import Service
from incrowd.report.html import page

__all__ = ["Site"]

Handler = Callable[[Request], Awaitable[Reply]]
QUERY_METHODS = ("GET", "POST")
PAGE_METHODS = ("GET", "HEAD")
_encode = msgspec.json.Encoder().encode
_MEANINGS = {
    "quasi": "sent only as far as your policy allows",
    "passthrough": "sent unchanged",
    "block": "never sent",
    "protected": "never sent, since it is protected",
}


class Site:
    """Everything that one configuration serves. A reload creates a new one; the old one is closed after its last request.

    Parameters
    ----------
    prepared
        The configuration and the protection.
    meters
        The metrics.
    """

    def __init__(self, prepared: Prepared, meters: GatewayMetrics) -> None:
        self.config = config = prepared.config
        self.account = prepared.account
        self.service = Service(prepared)
        self.in_flight = 0
        """The number of requests in flight."""
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
            handler = RouteHandler(route, self.service, meters)
            self._queries[route.path] = handler.answer
            self._queries[f"/preview{route.path}"] = handler.preview
        meters.learn(
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
        """Close after the last request was answered, or after some seconds; no new requests may arrive."""
        if self.in_flight:
            self._empty = asyncio.Event()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), patience)
        await self.service.close()

    def route(self, path: str) -> str:
        """Return the path if it is one of the configuration, else "other": only that may be logged and counted."""
        return path if path in self._queries or path in self._pages else OTHER

    def handler(self, request: Request) -> Handler:
        """Return the handler of a request, or raise a `Problem`."""
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
        body, policy = _render_page(self.config)
        headers = {"content-security-policy": policy, "referrer-policy": "no-referrer"}
        return Reply(body, kind=b"text/html; charset=utf-8", headers=headers)

    async def _openapi(self, _request: Request) -> Reply:
        return Reply(self._api)

    async def _healthz(self, _request: Request) -> Reply:
        return Reply(_encode({"status": "alive"}))

    async def _readyz(self, _request: Request) -> Reply:
        """Return whether queries can be decided; a provider that is down makes only its own routes fail."""
        await self.service.check()
        providers = await self.service.provider_states()
        return Reply(_encode({"status": "ready", "counting": self.account, "providers": providers}))


def _render_page(config: Config) -> tuple[bytes, str]:
    """Return the page that shows what would be sent and why, and its content security policy."""
    nonce = secrets.token_urlsafe(16)
    hidden = _protected_by_all(config)
    routes: list[dict[str, Any]] = [
        {
            "path": route.path,
            "parameters": {
                name: "protected" if what.attribute in hidden else what.use
                for name, what in route.parameters.items()
            },
        }
        for route in config.routes
    ]
    text = page("gateway.html", routes=routes, meanings=_MEANINGS, nonce=nonce)
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return text.encode(), policy


def _protected_by_all(config: Config) -> set[str]:
    """Return the attributes that all people protect: the page does not know which person uses it."""
    return set.intersection(*({policy.attribute for policy in person.protect} for person in config.people))
