"""One connection to a provider: a request goes out, its answer comes in, and nothing else may.

Answers have no names in HTTP/1.1: the next one on a connection is the answer to the next request. Whatever a provider
sends while nobody has asked it would thus be taken for the answer to what is asked next, by another person perhaps. A
connection on which anything has arrived before a request leaves is therefore closed, and every answer is read by a parser of
its own. What a provider sends after that, before it has read the request, cannot be told from an answer to it.
"""

from __future__ import annotations

import asyncio
import ctypes
import select
import ssl
from collections.abc import Callable
from typing import cast

from incrowd.gateway.providers.base import ProviderError, TryAgainError
from incrowd.gateway.providers.reader import AnswerReader, Received
from incrowd.gateway.providers.tls import TlsLayer

__all__ = ["Connection"]

LARGE = 64 * 1024
"""After a piece of so many bytes others get a turn."""
# Also the end of the other side is something that arrives; so are urgent data and errors (which are always looked for).
ANYTHING = select.POLLIN | select.POLLPRI

Waiting = asyncio.Future[Received | None]


class _Polled(ctypes.Structure):
    """The system's ``pollfd``: what to look at, what for, and what was found."""

    _fields_ = (("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short))


# Not `select.poll`: that lets the interpreter's lock go for a call that never waits, and where other threads want it, getting
# it back takes ten times as long as the call.
_poll = ctypes.PyDLL(None).poll
_poll.argtypes = (ctypes.POINTER(_Polled), ctypes.c_ulong, ctypes.c_int)
_poll.restype = ctypes.c_int


class Connection(asyncio.Protocol):
    """A connection that one request at a time may use.

    Parameters
    ----------
    on_lost
        Called with the connection when it has ended.
    tls
        What encrypts it, if anything does.
    """

    def __init__(self, on_lost: Callable[[Connection], None], tls: TlsLayer | None = None) -> None:
        self.is_usable = True
        self.idle_since = 0.0
        self._loop = asyncio.get_running_loop()
        self.established: asyncio.Future[None] = self._loop.create_future()
        """Done when requests may be sent; has the error if the handshake fails."""
        self._on_lost = on_lost
        self._tls = tls
        self._waiting: Waiting | None = None
        self._reader: AnswerReader | None = None

    def is_clean(self) -> bool:
        """Tell whether nothing has arrived that was not asked for, not even a part of it; it may wait in the kernel."""
        if not self.is_usable or self._transport.is_closing():
            return False
        if self._tls is not None and not self._tls.is_between_records:
            return False
        return not _poll(self._socket, 1, 0)

    @property
    def is_at_rest(self) -> bool:
        """Whether no answer is awaited."""
        return self._waiting is None

    def ask(self, request: bytes, most: int) -> Waiting:
        """Send a request; return the answer to come, which is None if its body has more than so many bytes."""
        waiting: Waiting = self._loop.create_future()
        self._waiting = waiting
        self._reader = AnswerReader(most)
        self._transport.write(request if self._tls is None else self._tls.encrypt(request))
        return waiting

    def hang_up(self) -> None:
        """End it at once. No farewells: TLS would first read on."""
        self.is_usable = False
        self._transport.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take note of the socket, and begin with the handshake if there is one."""
        self._transport = cast("asyncio.Transport", transport)
        self._socket = _Polled(transport.get_extra_info("socket").fileno(), ANYTHING, 0)
        if self._tls is None:
            self.established.set_result(None)
        else:
            self._transport.write(self._tls.begin())

    def data_received(self, data: bytes) -> None:
        """Read on in the answer; hang up if nobody has asked."""
        if len(data) >= LARGE:
            self._transport.pause_reading()
            self._loop.call_soon(self._read_on)
        if self._tls is None:
            self._read(data)
        else:
            self._decrypt(self._tls, data)

    def eof_received(self) -> None:
        """Take the end of the connection for the end of an answer that has no other, if TLS does not know better."""
        self._end(is_sure=self._tls is None)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - however it ended
        """Say to who waits that no more will come."""
        self._end(is_sure=False)
        if not self.established.done():
            self._fail_to_establish(ConnectionResetError())
        self._on_lost(self)

    def _read_on(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def _decrypt(self, tls: TlsLayer, data: bytes) -> None:
        try:
            plain = tls.receive(data)
        except ssl.SSLError as error:
            self._break_off(tls, error)
            return
        answer = tls.to_send()
        if answer:
            self._transport.write(answer)
        if plain:
            self._read(plain)
        if tls.is_ended:
            self._end(is_sure=True)
        if tls.is_established and not self.established.done():
            self.established.set_result(None)

    def _break_off(self, tls: TlsLayer, error: ssl.SSLError) -> None:
        """Say what is wrong in TLS to the other side, and end."""
        self._transport.write(tls.to_send())
        if not self.established.done():
            self._fail_to_establish(error)
        self._end(is_sure=False)
        self._transport.close()

    def _fail_to_establish(self, error: Exception) -> None:
        self.established.set_exception(error)
        self.established.exception()  # it is no loss if who wanted the connection has given up

    def _read(self, data: bytes) -> None:
        reader = self._reader
        if reader is None:
            self.hang_up()
        elif reader.feed(data):
            self._settle(reader)

    def _end(self, *, is_sure: bool) -> None:
        """Take note that no more will come; it is sure if it was the provider who said so."""
        self.is_usable = False
        reader = self._reader
        if reader is not None:
            if is_sure and reader.ends_with_connection:
                reader.is_complete = True
            else:
                reader.error = TryAgainError(ProviderError("the provider's answer broke off"))
            self._settle(reader)

    def _settle(self, reader: AnswerReader) -> None:
        """Hand over what was read, and keep nothing of it: the connection may be idle for a while."""
        waiting, self._waiting, self._reader = self._waiting, None, None
        reader.close()
        self.is_usable = self.is_usable and reader.is_complete and reader.is_clean
        if not self.is_usable:
            self._transport.abort()
        if waiting is None or waiting.done():
            return
        if reader.error is not None:
            waiting.set_exception(reader.error)
        else:
            waiting.set_result(None if reader.is_over else reader.received())
