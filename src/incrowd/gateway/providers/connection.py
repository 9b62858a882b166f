"""One connection to a provider: a request goes out, its answer comes in, and nothing else may.

Answers have no names in HTTP/1.1: the next one on a connection is the answer to the next request. Whatever a provider
sends while nobody has asked it would thus be taken for the answer to what is asked next, by another person perhaps. A
connection on which anything arrives at another time is therefore closed, and every answer is read by a parser of its own.
"""

from __future__ import annotations

import asyncio
import ctypes
import select
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import httptools

from incrowd.gateway.providers.base import ProviderError, TryAgainError
from incrowd.gateway.providers.unpack import ENCODINGS

__all__ = ["Connection", "Received"]

MOST_HEADERS = 128
LONGEST_HEADER = 8190
"""Bytes of a header, name and value."""
MOST_ANSWERS = 16
"""Answers to a request, of which all but the last are interim (status 100 to 199)."""
MOST_BESIDE = 512 * 1024
"""Bytes that may come one after another without being any of the body: headers, trailers, marks of chunks."""
OK = 200
SWITCHING = 101
TRY_AGAIN = frozenset({502, 503, 504})
REDIRECTS = range(300, 400)
# Also the end of the other side is something that arrives; so are urgent data and errors (which are always looked for).
ANYTHING = select.POLLIN | select.POLLPRI


class _Polled(ctypes.Structure):
    """The system's ``pollfd``: what to look at, what for, and what was found."""

    _fields_ = (("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short))


# Not `select.poll`: that lets the interpreter's lock go for a call that never waits, and where other threads want it, getting
# it back takes ten times as long as the call.
_poll = ctypes.PyDLL(None).poll
_poll.argtypes = (ctypes.POINTER(_Polled), ctypes.c_ulong, ctypes.c_int)
_poll.restype = ctypes.c_int


@dataclass(slots=True, repr=False)
class Received:
    """An answer's body as it came, how it is compressed (empty if it is not), and the ``Link`` headers."""

    body: bytes
    encoding: str
    links: tuple[str, ...]


class Connection(asyncio.Protocol):
    """A connection that one request at a time may use.

    Parameters
    ----------
    on_lost
        Called with the connection when it has ended.
    """

    def __init__(self, on_lost: Callable[[Connection], None]) -> None:
        self.is_usable = True
        self.idle_since = 0.0
        self._on_lost = on_lost
        self._waiting: asyncio.Future[Received | None] | None = None
        self._parser: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take note of the socket."""
        self._transport = cast("asyncio.Transport", transport)
        self._is_tls = transport.get_extra_info("sslcontext") is not None
        self._socket = _Polled(transport.get_extra_info("socket").fileno(), ANYTHING, 0)

    def is_clean(self, *, new: bool = False) -> bool:
        """Tell whether nothing has arrived that was not asked for; it may wait in the kernel.

        What waits there on a new connection with TLS is part of the handshake.
        """
        if not self.is_usable or self._transport.is_closing():
            return False
        return (new and self._is_tls) or not _poll(self._socket, 1, 0)

    @property
    def is_at_rest(self) -> bool:
        """Whether no answer is awaited."""
        return self._waiting is None

    def ask(self, request: bytes, most: int) -> asyncio.Future[Received | None]:
        """Send a request; return the answer to come, which is None if its body has more than so many bytes."""
        waiting: asyncio.Future[Received | None] = asyncio.get_running_loop().create_future()
        self._waiting = waiting
        self._most = most
        self._parser = httptools.HttpResponseParser(self)
        self._answers = self._beside = 0
        self._is_complete = False
        self._transport.write(request)
        return waiting

    def hang_up(self) -> None:
        """End it at once. No farewells: TLS would first read on."""
        self.is_usable = False
        self._transport.abort()

    # What the event loop calls.

    def data_received(self, data: bytes) -> None:
        """Read on in the answer; hang up if nobody has asked."""
        if self._waiting is None:
            self.hang_up()
            return
        self._beside += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.is_usable = False
            if not self._is_complete:
                self._fail(ProviderError("the provider's answer is not proper HTTP"))
        if self._is_complete:
            self._finish()
        elif self._beside > MOST_BESIDE:
            self._fail(ProviderError("the provider's answer has too much that is not its body"))

    def eof_received(self) -> None:
        """Take the end of the connection for the end of an answer that has no other."""
        if self._waiting is not None and self._ends_with_connection():
            self.is_usable = False
            self._finish()

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - however it ended
        """Tell whoever waits that no more will come."""
        self.is_usable = False
        self._fail(TryAgainError(ProviderError("the provider's answer broke off")))
        self._parser = None  # it knows this object, and would keep it alive
        self._on_lost(self)

    # What the parser calls. What is raised here ends the reading.

    def on_message_begin(self) -> None:
        """Begin with an answer, which may be interim; nothing may follow the last one."""
        self._answers += 1
        if self._is_complete or self._answers > MOST_ANSWERS:
            raise ValueError
        self._first = b""
        self._more: bytearray | None = None
        self._headers = 0
        self._links: tuple[str, ...] = ()
        self._encodings: tuple[str, ...] = ()
        self._has_length = self._has_head = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take note of the few headers that say anything to us."""
        self._headers += 1
        if self._headers > MOST_HEADERS:
            self._fail(ProviderError(f"the provider's answer has more than {MOST_HEADERS} headers"))
        if len(name) + len(value) > LONGEST_HEADER:
            raise ValueError
        if self._has_head:  # a trailer
            return
        name = name.lower()
        if name == b"link":
            self._links = (*self._links, value.decode("latin-1"))
        elif name == b"content-length":
            self._has_length = True
        elif name == b"transfer-encoding":
            if value.lower() != b"chunked":
                raise ValueError
            self._has_length = True
        elif name == b"content-encoding" and value.lower() != b"identity":
            self._encodings = (*self._encodings, value.decode("latin-1").lower())

    def on_headers_complete(self) -> None:
        """Refuse an answer of which the body need not be read."""
        status = self._parser.get_status_code()
        if status < OK and status != SWITCHING:
            return
        self._has_head = True
        self._keeps_alive = self._parser.should_keep_alive()
        if status != OK:
            self._fail(_refusal(status))
        elif self._encodings:
            if len(self._encodings) > 1 or self._encodings[0] not in ENCODINGS:
                self._fail(
                    ProviderError("the provider's answer is compressed in a way that was not asked for")
                )
            self._most += self._most // 1024 + 64  # what cannot be compressed becomes a little longer

    def on_body(self, piece: bytes) -> None:
        """Keep a piece of the body, unless there is too much of it."""
        self._beside = 0
        if not self._first:
            self._first = piece
            nbytes = len(piece)
        else:
            if self._more is None:
                self._more = bytearray(self._first)
            self._more += piece
            nbytes = len(self._more)
        if nbytes > self._most:
            self._settle(None)
            self.hang_up()
            raise ValueError

    def on_message_complete(self) -> None:
        """Take note that an answer is all there, unless it was interim."""
        if self._has_head:
            self._is_complete = True

    def _ends_with_connection(self) -> bool:
        """Tell whether the body is read until the connection ends; whether it is all there, its JSON must tell."""
        return self._answers > 0 and self._has_head and not self._has_length

    def _finish(self) -> None:
        if not self._keeps_alive:
            self.is_usable = False
        body = self._first if self._more is None else bytes(self._more)
        self._settle(Received(body, self._encodings[0] if self._encodings else "", self._links))

    def _fail(self, error: Exception) -> None:
        waiting = self._settle_nothing()
        if waiting is not None:
            waiting.set_exception(error)
            self.hang_up()

    def _settle(self, received: Received | None) -> None:
        waiting = self._settle_nothing()
        if waiting is not None:
            waiting.set_result(received)

    def _settle_nothing(self) -> asyncio.Future[Received | None] | None:
        """Return whoever still waits, who will wait no longer."""
        waiting, self._waiting = self._waiting, None
        return None if waiting is None or waiting.done() else waiting


def _refusal(status: int) -> Exception:
    if status in TRY_AGAIN:
        return TryAgainError(ProviderError(f"the provider is out of order (status {status})"))
    if status in REDIRECTS:
        return ProviderError(f"the provider redirects (status {status}), which is not followed; see 'url'")
    return ProviderError(f"the provider refuses the request or fails (status {status})")
