"""What comes in and what goes out, over ASGI."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from incrowd.gateway.asking import parameters_of_body, parameters_of_query
from incrowd.gateway.problems import bad_request, too_large, unauthorized

__all__ = ["JSON", "Receive", "Reply", "Request", "Scope", "Send", "respond"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

JSON = "application/json"


class Request:
    """What came in, read no further than needed."""

    def __init__(self, scope: Scope, receive: Receive, largest_body: int) -> None:
        self.id = secrets.token_hex(8)
        self.path: str = scope["path"]
        self.method: str = scope["method"]
        self._scope = scope
        self._receive = receive
        self._largest_body = largest_body

    @cached_property
    def headers(self) -> dict[str, str]:
        """The headers by their names in lower case; of several with one name, the last."""
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in self._scope["headers"]}

    @property
    def key(self) -> str:
        """The person's key, a character for each byte."""
        scheme, _, key = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and key:
            return key.strip(" \t")
        if "x-api-key" in self.headers:
            return self.headers["x-api-key"]
        raise unauthorized()

    async def parameters(self) -> dict[str, Any]:
        """Return what the person gave, after the question mark or as a JSON object."""
        if self.method == "GET":
            return parameters_of_query(self._scope["query_string"])
        return parameters_of_body(await self._body())

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
    headers = {
        "content-type": reply.kind,
        "content-length": str(len(reply.body)),
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "incrowd-request": request.id,
        **reply.headers,
    }
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": pairs})
    await send({"type": "http.response.body", "body": reply.body})
