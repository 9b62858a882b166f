"""The connections to one provider, reused only if no data has arrived on them in between."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque

from incrowd.gateway.providers.base import ProviderError, TryAgainError
from incrowd.gateway.providers.connection import Connection
from incrowd.gateway.providers.reader import Received
from incrowd.gateway.providers.tls import TlsLayer

__all__ = ["Pool"]

HANDSHAKE_TURNS = 5
IDLE_SECONDS = 15.0
"""How long an idle connection is kept."""


class Pool:
    """Connections to one provider. Make it where an event loop runs.

    Parameters
    ----------
    host, port
        Where the provider is.
    tls
        How its certificate is checked; None for a connection without TLS.
    limit
        The most connections at a time; further requests wait.
    connect_seconds
        How long it may take to make one.
    """

    def __init__(
        self, host: str, port: int, tls: ssl.SSLContext | None, *, limit: int, connect_seconds: float
    ) -> None:
        self._address = host, port
        self._tls = tls
        self._connect_seconds = connect_seconds
        self._free = limit
        self._queue: deque[asyncio.Future[None]] = deque()
        self._idle: list[Connection] = []  # most recently used last
        self._open: set[Connection] = set()
        self._tidying: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._loop = asyncio.get_running_loop()

    async def ask(self, request: bytes, most: int) -> Received | None:
        """Send a request and return its answer; None if the body has more than `most` bytes.

        Raises
        ------
        TryAgainError
            If there is no connection, or it ends before the answer does.
        ProviderError
            If the answer cannot be used. The message contains nothing of the request or the answer.
        """
        if self._is_closed:
            raise ProviderError.unreachable()
        if self._free and not self._queue:
            self._free -= 1
        else:
            await self._wait_for_slot()
        connection = None
        try:
            connection = self._take_idle() or await self._connect()
            return await connection.ask(request, most)
        finally:
            if connection is not None:
                self._give_back(connection)
            self._hand_over_slot()

    async def close(self) -> None:
        """Close all connections; new requests fail."""
        self._is_closed = True
        if self._tidying is not None:
            self._tidying.cancel()
        for connection in list(self._open):
            connection.hang_up()
        for slot in self._queue:
            if not slot.done():
                slot.set_exception(ProviderError.unreachable())
        await asyncio.sleep(0)  # the event loop closes them in its next turn

    async def _wait_for_slot(self) -> None:
        """Wait until a request ends and hands its slot over. The longest waiting request comes first, before new ones."""
        slot = self._loop.create_future()
        self._queue.append(slot)
        try:
            await slot
        except asyncio.CancelledError:
            if not slot.cancelled():  # the slot was handed over already
                self._hand_over_slot()
            raise

    def _hand_over_slot(self) -> None:
        while self._queue:
            slot = self._queue.popleft()
            if not slot.done():
                slot.set_result(None)
                return
        self._free += 1

    def _take_idle(self) -> Connection | None:
        """Return an idle connection on which no data has arrived since its last answer, if there is one."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_clean():
                return connection
            connection.hang_up()
        return None

    async def _connect(self) -> Connection:
        try:
            async with asyncio.timeout(self._connect_seconds):
                connection = await self._open_connection()
        except ssl.SSLCertVerificationError:
            raise ProviderError(
                "the provider's certificate is not trusted; see 'tls' of the provider"
            ) from None
        except TimeoutError:
            raise TryAgainError(ProviderError.late(self._connect_seconds)) from None
        except (OSError, UnicodeError):  # a host name that cannot be encoded
            raise TryAgainError(ProviderError.unreachable()) from None
        if self._is_closed or not await self._begins_clean(connection):
            connection.hang_up()
            raise TryAgainError(ProviderError("the provider sent an answer before the request"))
        return connection

    async def _begins_clean(self, connection: Connection) -> bool:
        """Return whether no answer came before the first request. With TLS, pending data may belong to the handshake."""
        if self._tls is None:
            return connection.is_clean()
        for _ in range(HANDSHAKE_TURNS):
            if connection.is_clean():
                return True
            await asyncio.sleep(0)  # let the event loop read it
        return connection.is_usable

    async def _open_connection(self) -> Connection:
        host, port = self._address

        def make() -> Connection:
            return Connection(self._open.discard, TlsLayer(self._tls, host) if self._tls else None)

        _, connection = await self._loop.create_connection(make, host, port)
        self._open.add(connection)
        try:
            await connection.established
        except BaseException:
            connection.hang_up()
            raise
        return connection

    def _give_back(self, connection: Connection) -> None:
        """Keep a connection for the next request if its answer is complete."""
        if connection.is_usable and connection.is_at_rest and not self._is_closed:
            connection.idle_since = self._loop.time()
            self._idle.append(connection)
            if self._tidying is None:
                self._tidying = self._loop.call_later(IDLE_SECONDS, self._tidy)
        else:
            connection.hang_up()

    def _tidy(self) -> None:
        """Close connections that have been idle for a while."""
        self._tidying = None
        latest = self._loop.time() - IDLE_SECONDS
        old = [connection for connection in self._idle if connection.idle_since <= latest]
        self._idle = self._idle[len(old) :]
        for connection in old:
            connection.hang_up()
        if self._idle:
            self._tidying = self._loop.call_later(IDLE_SECONDS, self._tidy)
