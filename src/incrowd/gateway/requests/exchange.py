"""Requests and replies over ASGI."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from incrowd.gateway.requests.problems import bad_request, too_large

__all__ = ["JSON", "Client", "Receive", "Reply", "Request", "Scope", "Send", "key_in", "respond"]

Scope = MutableMapping[str, Any]
Client = tuple[str, str | int]
"""The other end of a connection: its address and port."""
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

JSON = b"application/json"
BODY_SECONDS = 30.0
SERIES = secrets.token_hex(6)
"""The prefix of the ids of this process's requests."""
_numbers = itertools.count(1)
ALWAYS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


class Request:
    """A request; its body is read only when needed."""

    __slots__ = ("_headers", "_largest_body", "_receive", "id", "method", "path", "query")

    def __init__(self, scope: Scope, receive: Receive, largest_body: int) -> None:
        self.id = f"{SERIES}-{next(_numbers):x}"  # only identifies a log line
        self.path: str = scope["path"]
        self.method: str = scope["method"]
        # By name in lower case; of several headers with one name, the last.
        self._headers: dict[bytes, bytes] = dict(scope["headers"])
        self.query: bytes = scope["query_string"]
        self._receive = receive
        self._largest_body = largest_body

    def check_frame(self) -> None:
        """Refuse a chunked body.

        If a request has both a length and chunks, a proxy may use one and a server the other, so that they see different
        requests (RFC 9112, 6.1). The server has removed the length by now, so every chunked body is refused.
        """
        if b"transfer-encoding" in self._headers:
            raise bad_request("the body is chunked: send it with a Content-Length")

    def headers(self, names: Iterable[str]) -> dict[str, str]:
        """Return those of the named headers that the request has."""
        found = ((name, self._headers.get(name.encode("latin-1"))) for name in names)
        return {name: value.decode("latin-1") for name, value in found if value is not None}

    @property
    def credentials(self) -> tuple[bytes, bytes]:
        """The headers that may contain the person's key: Authorization and X-API-Key."""
        headers = self._headers
        return headers.get(b"authorization", b""), headers.get(b"x-api-key", b"")

    async def text(self) -> bytes:
        """Return the body."""
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return await self._body()
        except TimeoutError:
            raise bad_request(f"the body did not arrive within {BODY_SECONDS:g} seconds") from None

    async def _body(self) -> bytes:
        body = bytearray()
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":  # the received part may be incomplete
                raise bad_request("the body ended early: send it completely")
            body += message.get("body", b"")
            if len(body) > self._largest_body:
                raise too_large(self._largest_body)
            more = message.get("more_body", False)
        return bytes(body)


def key_in(authorization: bytes, api_key: bytes) -> bytes:
    """Return the key in ``Authorization: Bearer``, else the one in ``X-API-Key``; empty if there is none."""
    scheme, _, bearer = authorization.partition(b" ")
    return bearer.strip(b" \t") if scheme.lower() == b"bearer" and bearer else api_key


@dataclass(slots=True)
class Reply:
    """The reply to a request."""

    body: bytes = field(repr=False)
    status: int = 200
    kind: bytes = JSON
    headers: Mapping[str, str] | None = None


async def respond(send: Send, reply: Reply, request: Request) -> None:
    """Send the reply to a request. The server adds its length, and omits the body for a HEAD request."""
    headers = [(b"content-type", reply.kind), (b"incrowd-request", request.id.encode("latin-1")), *ALWAYS]
    if reply.headers:
        headers += [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers.items()
        ]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
