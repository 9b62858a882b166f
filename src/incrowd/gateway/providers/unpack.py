"""Decompresses answers, up to a limit."""

from __future__ import annotations

import zlib

from incrowd.gateway.providers.base import ProviderError

__all__ = ["ENCODINGS", "Unpacker", "unpack"]

ENCODINGS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""The accepted compressions of an answer, with zlib's parameter for each."""
PIECE = 64 * 1024
STEP = 1024 * 1024
RAW_DEFLATE = -15
DEFLATE = 8
"""The compression method in the first byte of a zlib stream. Some servers send the stream without its header."""


class Unpacker:
    """Decompresses an answer in steps, so that a very large one does not block other work.

    Parameters
    ----------
    body
        The compressed body.
    encoding
        Its compression, one of `ENCODINGS`.
    most
        The most decompressed bytes.
    """

    def __init__(self, body: bytes, encoding: str, most: int) -> None:
        bits = ENCODINGS[encoding]
        if encoding == "deflate" and body and body[0] & 0x0F != DEFLATE:
            bits = RAW_DEFLATE
        self._unpacker = zlib.decompressobj(bits)
        self._body = body
        self._place = 0
        self._pieces: list[bytes] = []
        self._room = most

    def step(self) -> bool:
        """Decompress up to about a megabyte; return whether it is finished.

        Raises
        ------
        ProviderError
            If it cannot be decompressed, is incomplete, or is followed by other data.
        """
        unpacked = 0
        while unpacked < STEP and self._room >= 0:
            packed = self._unpacker.unconsumed_tail or self._next_piece()
            if not packed:
                self._check_end()
                return True
            try:
                piece = self._unpacker.decompress(packed, STEP)
            except zlib.error:
                raise _unreadable() from None
            self._pieces.append(piece)
            self._room -= len(piece)
            unpacked += len(piece) + len(packed)
        return self._room < 0

    def result(self) -> bytes | None:
        """Return the decompressed body; None if it has more than `most` bytes."""
        return None if self._room < 0 else b"".join(self._pieces)

    def _next_piece(self) -> bytes:
        piece = self._body[self._place : self._place + PIECE]
        self._place += len(piece)
        if piece and self._unpacker.eof:
            raise _unreadable()
        return piece

    def _check_end(self) -> None:
        if not self._unpacker.eof or self._unpacker.unused_data:
            raise _unreadable()


def unpack(body: bytes, encoding: str, most: int) -> bytes | None:
    """Return the decompressed body; None if it has more than `most` bytes."""
    unpacker = Unpacker(body, encoding, most)
    while not unpacker.step():
        pass
    return unpacker.result()


def _unreadable() -> ProviderError:
    return ProviderError("the provider's answer cannot be decompressed as its Content-Encoding says")
