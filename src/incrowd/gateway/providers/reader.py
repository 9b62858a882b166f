"""Parses one HTTP answer within limits on its size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httptools

from incrowd.gateway.providers.base import ProviderError, TryAgainError
from incrowd.gateway.providers.unpack import ENCODINGS

__all__ = ["AnswerReader", "Received"]

MOST_HEADERS = 128
LONGEST_HEADER = 8190
"""Bytes of a header, name and value."""
MOST_ANSWERS = 16
"""Answers to a request, of which all but the last are interim (status 100 to 199)."""
MOST_OUTSIDE = 512 * 1024
"""Bytes outside of the body (headers, trailers, chunk sizes) that are allowed beyond the size of the body."""
OK = 200
SWITCHING = 101
INTERIM = range(100, 200)
TRY_AGAIN = frozenset({502, 503, 504})
REDIRECTS = range(300, 400)
VERSIONS = frozenset({"1.0", "1.1"})


@dataclass(slots=True, repr=False)
class Received:
    """An answer's body as received, its compression (empty if none), and its ``Link`` headers."""

    body: bytes
    encoding: str
    links: tuple[str, ...]


class AnswerReader:
    """Parses one answer; `error` is set if it is refused.

    Parameters
    ----------
    most
        The most bytes of its body.
    """

    def __init__(self, most: int) -> None:
        self.is_complete = False
        self.is_over = False
        """Whether the body has more than `most` bytes."""
        self.is_clean = True
        """Whether the connection can be reused: it is kept alive, and no data followed the answer."""
        self.error: Exception | None = None
        self._most = most
        self._answers = self._headers = self._received = self._nbytes = 0
        self._links: tuple[str, ...] = ()
        self._encodings: tuple[str, ...] = ()
        self._has_length = self._has_head = False
        self._first = b""
        self._more: bytearray | None = None
        self._parser: Any = httptools.HttpResponseParser(self)

    @property
    def ends_with_connection(self) -> bool:
        """Whether the body ends with the connection; whether it is complete, its JSON shows."""
        return self._has_head and not self._has_length

    def feed(self, data: bytes) -> bool:
        """Parse data; return whether the answer is complete or refused."""
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.is_clean = False
            if not self.is_complete and not self.is_over:
                self.error = self.error or ProviderError("the provider's answer is not valid HTTP")
        if self._received > MOST_OUTSIDE + 2 * self._nbytes and not self.is_complete:
            self.error = self.error or ProviderError(
                "the provider's answer has too many bytes outside of its body"
            )
        return self.is_complete or self.is_over or self.error is not None

    def received(self) -> Received:
        """Return the answer."""
        body = self._first if self._more is None else bytes(self._more)
        return Received(body, self._encodings[0] if self._encodings else "", self._links)

    def close(self) -> None:
        """Drop the parser: it refers back to this object, and the cycle would keep both alive."""
        self._parser = None

    # Callbacks of the parser. Raising an exception stops it.

    def on_message_begin(self) -> None:
        """Start an answer, which may be interim; nothing may follow the final one."""
        self._answers += 1
        if self.is_complete or self._answers > MOST_ANSWERS:
            raise ValueError
        self._headers = 0
        self._links, self._encodings = (), ()
        self._has_length = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the few headers that matter here."""
        self._headers += 1
        if self._headers > MOST_HEADERS:
            self._refuse(ProviderError(f"the provider's answer has more than {MOST_HEADERS} headers"))
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
        """Refuse an answer whose body need not be read."""
        status = self._parser.get_status_code()
        if self._parser.get_http_version() not in VERSIONS:
            raise ValueError
        if status in INTERIM and status != SWITCHING:
            return
        self._has_head = True
        self.is_clean = self._parser.should_keep_alive()
        if status != OK:
            self._refuse(_refusal(status))
        if self._encodings:
            if len(self._encodings) > 1 or self._encodings[0] not in ENCODINGS:
                self._refuse(
                    ProviderError("the provider's answer has a compression that the request does not accept")
                )
            self._most += self._most // 1024 + 64  # incompressible data grows a little

    def on_body(self, piece: bytes) -> None:
        """Keep a piece of the body, unless it has too many bytes."""
        self._nbytes += len(piece)
        if self._nbytes > self._most:
            self.is_over = True
            raise ValueError
        if not self._first:
            self._first = piece
        else:
            if self._more is None:
                self._more = bytearray(self._first)
            self._more += piece

    def on_message_complete(self) -> None:
        """Note that the answer is complete, unless it was interim."""
        self.is_complete = self._has_head

    def _refuse(self, error: Exception) -> None:
        self.error = error
        raise ValueError


def _refusal(status: int) -> Exception:
    if status in TRY_AGAIN:
        return TryAgainError(ProviderError(f"the provider is unavailable (status {status})"))
    if status in REDIRECTS:
        return ProviderError(f"the provider redirects (status {status}), which is not followed; see 'url'")
    return ProviderError(f"the provider refused the request or failed (status {status})")
