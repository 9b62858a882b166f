"""Connections to a provider that are used again only if nothing has arrived on them meanwhile.

Answers have no names in HTTP/1.1: the next one on a connection is the answer to the next request. Whatever a provider
sends while nobody has asked it would thus be taken for the answer to what is asked next, by another person perhaps.
"""

from __future__ import annotations

import asyncio
import ctypes
import re
import select
from typing import TYPE_CHECKING, Any

import aiohttp

if TYPE_CHECKING:
    from aiohttp.client_proto import ResponseHandler

__all__ = ["Pool"]

# Also the end of the other side is something that arrives; so are urgent data and errors (which are always looked for).
ANYTHING = select.POLLIN | select.POLLPRI
# JSON has no such line, so it is never a part of a body that can be used.
ANSWER_BEGINS = re.compile(rb"(?:\A|[\r\n])HTTP/\d")
MARK = b"HTTP/"
MOST_ANSWERS = 16
"""Answers to a request, of which all but the last are interim; thousands at once would keep the event loop busy for seconds."""


class _Polled(ctypes.Structure):
    """The system's ``pollfd``: what to look at, what for, and what was found."""

    _fields_ = (("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short))


# Not `select.poll`: that lets the interpreter's lock go for a call that never waits, and where other threads want it, getting
# it back takes ten times as long as the call.
_poll = ctypes.PyDLL(None).poll
_poll.argtypes = (ctypes.POINTER(_Polled), ctypes.c_ulong, ctypes.c_int)
_poll.restype = ctypes.c_int


class Pool(aiohttp.TCPConnector):
    """The connections to one provider."""

    async def connect(self, *request: Any, **named: Any) -> aiohttp.connector.Connection:
        """Return a connection on which nothing has arrived that was not asked for."""
        while True:
            connection = await super().connect(*request, **named)
            transport, reader = connection.transport, connection.protocol
            if transport is None or reader is None:
                raise aiohttp.ClientConnectionError("the connection is gone")
            listening = transport.get_protocol()
            guard = listening if isinstance(listening, _Guard) else _Guard(transport, reader)
            is_new = guard is not listening
            if not guard.is_spoilt(new=is_new):
                guard.is_idle = False
                connection.add_callback(guard.rest)
                return connection
            transport.abort()  # no farewells: TLS would first read on
            connection.close()
            if is_new:
                raise aiohttp.ClientConnectionError("there is an answer before anything was asked")


class _Guard(asyncio.Protocol):
    """Stands before the reader of answers, and lets nothing through while the connection is idle.

    Parameters
    ----------
    transport
        The connection.
    reader
        aiohttp's reader of answers.
    """

    def __init__(self, transport: asyncio.Transport, reader: ResponseHandler) -> None:
        self.is_idle = True
        self._transport = transport
        self._reader = reader
        self._answers = 0
        self._is_tls = transport.get_extra_info("sslcontext") is not None
        self._socket = _Polled(transport.get_extra_info("socket").fileno(), ANYTHING, 0)
        transport.set_protocol(self)

    def rest(self) -> None:
        """Let nothing through from now on."""
        self.is_idle = True
        self._answers = 0

    def is_spoilt(self, *, new: bool) -> bool:
        """Tell whether anything has arrived: the reader has it already, or it waits in the kernel.

        What waits on a new connection with TLS is part of the handshake.
        """
        if self._transport.is_closing() or self._reader.should_close:
            return True
        return bool(not (new and self._is_tls) and _poll(self._socket, 1, 0))

    def data_received(self, data: bytes) -> None:
        """Pass an answer on; hang up if nobody has asked, or if there is no end of answers (of status 100 to 199, say)."""
        # The usual piece, all of one answer, has the mark at its beginning and nowhere else.
        if data.startswith(MARK) and data.count(MARK) == 1:
            self._answers += 1
        elif MARK in data:
            self._answers += len(ANSWER_BEGINS.findall(data))
        if self.is_idle or self._answers > MOST_ANSWERS:
            self._transport.abort()
        else:
            self._reader.data_received(data)

    def eof_received(self) -> None:
        """Pass on that the other side will send no more."""
        self._reader.eof_received()

    def connection_lost(self, error: Exception | None) -> None:
        """Pass on that the connection has ended, and how."""
        self._reader.connection_lost(error)

    def pause_writing(self) -> None:
        """Pass on that the other side is slow to take a request."""
        self._reader.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that the other side takes more."""
        self._reader.resume_writing()
