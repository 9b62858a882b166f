"""One connection to a provider: one request at a time, and no data outside of its answer.

HTTP/1.1 does not number answers: the next one on a connection is the answer to the next request. Data that a provider sends
without a request would therefore be taken for the answer to the next request, perhaps another person's. A connection on which
any data has arrived before a request is sent is closed, and each answer has a parser of its own. What a provider sends after
the request has left, but before it has read it, cannot be distinguished from an answer.
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
"""After a read of this many bytes, other tasks of the event loop run first."""
# Also the end of the other side is something that arrives; so are urgent data and errors (which are always looked for).
ANYTHING = select.POLLIN | select.POLLPRI

Waiting = asyncio.Future[Received | None]


class _Polled(ctypes.Structure):
    """The system's ``pollfd``: descriptor, requested events, returned events."""

    _fields_ = (("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short))


# Not `select.poll`: that lets the interpreter's lock go for a call that never waits, and where other threads want it, getting
# it back takes ten times as long as the call.
_poll = ctypes.PyDLL(None).poll
_poll.argtypes = (ctypes.POINTER(_Polled), ctypes.c_ulong, ctypes.c_int)
_poll.restype = ctypes.c_int


class Connection(asyncio.Protocol):
    """A connection for one request at a time.

    Parameters
    ----------
    on_lost
        Called with the connection when it has ended.
    tls
        The TLS layer; None for plain TCP.
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
        """Return whether no unexpected data has arrived, not even a part of a TLS record; it may still be in the kernel's buffer."""
        if not self.is_usable or self._transport.is_closing():
            return False
        if self._tls is not None and not self._tls.is_between_records:
            return False
        return not _poll(self._socket, 1, 0)

    @property
    def is_at_rest(self) -> bool:
        """Whether no answer is pending."""
        return self._waiting is None

    def ask(self, request: bytes, most: int) -> Waiting:
        """Send a request; return a future of its answer, which is None if the body has more than `most` bytes."""
        waiting: Waiting = self._loop.create_future()
        self._waiting = waiting
        self._reader = AnswerReader(most)
        self._transport.write(request if self._tls is None else self._tls.encrypt(request))
        return waiting

    def hang_up(self) -> None:
        """Abort the connection at once: a regular TLS shutdown would read on first."""
        self.is_usable = False
        self._transport.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport and its socket; start the TLS handshake if there is one."""
        self._transport = cast("asyncio.Transport", transport)
        self._socket = _Polled(transport.get_extra_info("socket").fileno(), ANYTHING, 0)
        if self._tls is None:
            self.established.set_result(None)
        else:
            self._transport.write(self._tls.begin())

    def data_received(self, data: bytes) -> None:
        """Parse data of the answer; close the connection if no answer is pending."""
        if len(data) >= LARGE:
            self._transport.pause_reading()
            self._loop.call_soon(self._read_on)
        if self._tls is None:
            self._read(data)
        else:
            self._decrypt(self._tls, data)

    def eof_received(self) -> None:
        """Take the end of the connection for the end of an answer without a length; with TLS only a close notification ends it."""
        self._end(is_sure=self._tls is None)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - however it ended
        """Fail the pending answer."""
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
        """Send the TLS alert and close."""
        self._transport.write(tls.to_send())
        if not self.established.done():
            self._fail_to_establish(error)
        self._end(is_sure=False)
        self._transport.close()

    def _fail_to_establish(self, error: Exception) -> None:
        self.established.set_exception(error)
        self.established.exception()  # retrieved: the request that wanted the connection may have been cancelled

    def _read(self, data: bytes) -> None:
        reader = self._reader
        if reader is None:
            self.hang_up()
        elif reader.feed(data):
            self._settle(reader)

    def _end(self, *, is_sure: bool) -> None:
        """Note the end of the data; it is sure if the provider announced it."""
        self.is_usable = False
        reader = self._reader
        if reader is not None:
            if is_sure and reader.ends_with_connection:
                reader.is_complete = True
            else:
                reader.error = TryAgainError(
                    ProviderError("the provider's answer is incomplete: the connection ended")
                )
            self._settle(reader)

    def _settle(self, reader: AnswerReader) -> None:
        """Complete the pending future and drop the answer's data: the connection may be idle for a while."""
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
