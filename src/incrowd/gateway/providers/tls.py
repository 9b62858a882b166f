"""The TLS of one connection, without I/O: encrypted bytes in, decrypted bytes out.

The event loop's own TLS does not show whether a part of a record has arrived. Such a part may be the beginning of an answer
without a request; completed after the next request on the connection, it would be taken for that request's answer.
"""

from __future__ import annotations

import ssl

__all__ = ["TlsLayer"]

HEADER = 5
"""Bytes before each record: its type, a version and, in the last two, its length (RFC 8446, 5.1)."""
AT_ONCE = 256 * 1024


class TlsLayer:
    """One side of a TLS connection.

    Parameters
    ----------
    context
        How certificates are checked.
    host
        The name that the peer's certificate must have.
    """

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._header = b""
        self._missing = 0
        self.is_established = False
        self.is_ended = False
        """Whether the peer has sent its close notification."""

    @property
    def is_between_records(self) -> bool:
        """Whether no incomplete record has been received."""
        return not self._header and not self._missing

    def begin(self) -> bytes:
        """Start the handshake; return the bytes to send."""
        self._shake_hands()
        return self._outgoing.read()

    def receive(self, data: bytes) -> bytes:
        """Decrypt received bytes. `to_send` may have data afterwards.

        Raises
        ------
        ssl.SSLError
            If the peer violates the protocol, or its certificate is not trusted.
        """
        self._count_records(data)
        self._incoming.write(data)
        if not self.is_established:
            self._shake_hands()
        pieces = []
        while self.is_established and not self.is_ended:
            try:
                pieces.append(self._tls.read(AT_ONCE))
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                self.is_ended = True
        return b"".join(pieces)

    def encrypt(self, data: bytes) -> bytes:
        """Return the encrypted bytes."""
        self._tls.write(data)
        return self._outgoing.read()

    def to_send(self) -> bytes:
        """Return the bytes that TLS itself has to send: handshake messages, alerts."""
        return self._outgoing.read()

    def _shake_hands(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return
        self.is_established = True

    def _count_records(self, data: bytes) -> None:
        """Follow where records begin and end."""
        place = 0
        while place < len(data):
            if self._missing:
                step = min(self._missing, len(data) - place)
                self._missing -= step
            else:
                begun = len(self._header)
                self._header += data[place : place + HEADER - begun]
                step = len(self._header) - begun
                if len(self._header) == HEADER:
                    self._missing = int.from_bytes(self._header[3:], "big")
                    self._header = b""
            place += step
