"""What comes in and what goes out, over ASGI."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from incrowd.gateway.problems import bad_request, too_large, unauthorized

__all__ = ["JSON", "Receive", "Reply", "Request", "Scope", "Send", "respond"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

JSON = "application/json"
BODY_SECONDS = 30.0
ALWAYS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


class Request:
    """What came in, read no further than needed."""

    def __init__(self, scope: Scope, receive: Receive, largest_body: int) -> None:
        self.id = f"{random.getrandbits(64):016x}"  # it finds a log line and opens nothing
        self.path: str = scope["path"]
        self.method: str = scope["method"]
        # By their names in lower case; of several with one name, the last.
        self._headers: dict[bytes, bytes] = dict(scope["headers"])
        self._query: bytes = scope["query_string"]
        self._receive = receive
        self._largest_body = largest_body

    def headers(self, names: Iterable[str]) -> dict[str, str]:
        """Return those of some headers that came."""
        found = ((name, self._headers.get(name.encode("latin-1"))) for name in names)
        return {name: value.decode("latin-1") for name, value in found if value is not None}

    @property
    def key(self) -> str:
        """The person's key, a character for each byte."""
        scheme, _, key = self._headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and key:
            return key.strip(b" \t").decode("latin-1")
        if b"x-api-key" in self._headers:
            return self._headers[b"x-api-key"].decode("latin-1")
        raise unauthorized()

    async def text(self) -> bytes:
        """Return what the person gave: what is after the question mark, or the body."""
        if self.method == "GET":
            return self._query
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return await self._body()
        except TimeoutError:
            raise bad_request(f"the body did not come within {BODY_SECONDS:g} seconds") from None

    async def _body(self) -> bytes:
        body = bytearray()
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":  # what came may be half of what was meant
                raise bad_request("the body ended early: send all of it")
            body += message.get("body", b"")
            if len(body) > self._largest_body:
                raise too_large(self._largest_body)
            more = message.get("more_body", False)
        return bytes(body)


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes out."""

    body: bytes = field(repr=False)
    status: int = 200
    kind: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


async def respond(send: Send, reply: Reply, request: Request) -> None:
    """Send the reply to a request."""
    headers = [
        (b"content-type", reply.kind.encode("latin-1")),
        (b"content-length", b"%d" % len(reply.body)),
        (b"incrowd-request", request.id.encode("latin-1")),
        *ALWAYS,
        *((name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers.items()),
    ]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if request.method == "HEAD" else reply.body})
