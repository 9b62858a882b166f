"""The paths of one configuration, and who answers at each."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from incrowd.gateway.asking import Reader
from incrowd.gateway.exchange import Reply, Request
from incrowd.gateway.openapi import describe_api
from incrowd.gateway.page import render_page
from incrowd.gateway.prepared import Prepared
from incrowd.gateway.problems import method_not_allowed, not_found
from incrowd.gateway.service import Service
from incrowd.gateway.watch import OTHER, Watch

__all__ = ["Site"]

Handler = Callable[[Request], Awaitable[Reply]]
ASKING = ("GET", "POST")
READING = ("GET", "HEAD")
NONE: Mapping[str, str] = {}
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
        self.guests = 0
        """How many requests are being answered."""
        self._empty: asyncio.Event | None = None
        self._api = _encode(describe_api(config))
        self._readers: Mapping[str, Handler] = {
            "/": self._page,
            "/openapi.json": self._openapi,
            "/healthz": self._healthz,
            "/readyz": self._readyz,
        }
        self._askers: dict[str, Handler] = {}
        for route in config.routes:
            reader = Reader(route)
            self._askers[route.path] = self._asker(reader)
            self._askers[f"/preview{route.path}"] = self._previewer(reader)
        watch.learn(
            routes=(*self._readers, *self._askers),
            providers=config.providers,
            attributes=prepared.protection.schema.names if prepared.protection else (),
        )

    def leave(self) -> None:
        """Note that a request was answered."""
        self.guests -= 1
        if self._empty and not self.guests:
            self._empty.set()

    async def close(self, patience: float) -> None:
        """Close once the last request was answered, or after some seconds; from now on no new one comes here."""
        if self.guests:
            self._empty = asyncio.Event()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), patience)
        await self.service.close()

    def route(self, path: str) -> str:
        """Return the path as it stands in the configuration, or "other": what may be logged and counted."""
        return path if path in self._askers or path in self._readers else OTHER

    def handler(self, request: Request) -> Handler:
        """Return who answers a request, or raise a `Problem`."""
        handler = self._askers.get(request.path)
        methods = ASKING
        if handler is None:
            handler, methods = self._readers.get(request.path), READING
        if handler is None:
            raise not_found()
        if request.method not in methods:
            raise method_not_allowed(methods)
        return handler

    def _asker(self, reader: Reader) -> Handler:
        route = reader.route
        allowed = getattr(self.config.providers[route.provider], "forward", ())

        async def ask(request: Request) -> Reply:
            person = self.service.person(*request.credentials)
            text = request.query if request.method == "GET" else await request.text()
            question = reader.question(person.name, request.method, text)
            passing = request.headers(allowed) if allowed else NONE
            return Reply(_encode(await self.service.ask(route, person, question, passing)))

        return ask

    def _previewer(self, reader: Reader) -> Handler:
        route = reader.route

        async def preview(request: Request) -> Reply:
            person = self.service.person(*request.credentials)
            text = request.query if request.method == "GET" else await request.text()
            question = reader.question(person.name, request.method, text)
            return Reply(_encode(self.service.preview(route, person, question)))

        return preview

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
        self.service.check()
        providers = await self.service.provider_states()
        return Reply(_encode({"status": "ready", "counting": self.account, "providers": providers}))
