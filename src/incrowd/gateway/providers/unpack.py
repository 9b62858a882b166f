"""Compressed answers, unpacked up to the most bytes that anybody wants of them."""

from __future__ import annotations

import zlib

from incrowd.gateway.providers.base import ProviderError

__all__ = ["ENCODINGS", "unpack"]

ENCODINGS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""How the answer to a request may be compressed, with zlib's number for it."""
RAW_DEFLATE = -15
DEFLATE = 8
"""The compression method in the first byte of a zlib stream. Some servers leave the whole head of the stream out."""


def unpack(body: bytes, encoding: str, most: int) -> bytes | None:
    """Return what was compressed; None if it is more than `most` bytes.

    Raises
    ------
    ProviderError
        If it cannot be unpacked, is not all there, or is followed by something else.
    """
    bits = ENCODINGS[encoding]
    if encoding == "deflate" and body and body[0] & 0x0F != DEFLATE:
        bits = RAW_DEFLATE
    unpacker = zlib.decompressobj(bits)
    try:
        unpacked = unpacker.decompress(body, most + 1)
    except zlib.error:
        raise _unreadable() from None
    if len(unpacked) > most:
        return None
    if not unpacker.eof or unpacker.unused_data:
        raise _unreadable()
    return unpacked


def _unreadable() -> ProviderError:
    return ProviderError("the provider's answer cannot be unpacked: it is not what its Content-Encoding says")
