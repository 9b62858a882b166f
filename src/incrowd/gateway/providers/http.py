"""A provider that answers HTTP requests with JSON.

It is sent the generalized query and nothing else: no cookies, no followed redirects, no proxy from the environment,
and no headers except the gateway's own and those of the person that the configuration forwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from yarl import URL

from incrowd.core.bounded import keep
from incrowd.errors import BadInputError
from incrowd.gateway.config.settings import ClientTls, HttpProvider
from incrowd.gateway.providers.base import (
    OVER_BUDGET,
    Fetched,
    ProviderError,
    TryAgainError,
    plain_text,
    try_again,
)
from incrowd.gateway.providers.deadlines import Deadlines
from incrowd.gateway.providers.decode import Decoder, Room
from incrowd.gateway.providers.pages import Page, Walk, plan_walk
from incrowd.gateway.providers.pool import Pool
from incrowd.gateway.providers.reader import Received
from incrowd.gateway.providers.unpack import Unpacker, unpack
from incrowd.generalizer.schema import text_of

__all__ = ["HttpSource"]

MOST_CONNECTIONS = 100
REMEMBERED = 1024
"""Request lines that are cached."""
LONGEST_REMEMBERED = 1024
"""Characters of the longest cached line: people choose the values, and must not exhaust the memory."""
PROBE_SECONDS = 1.0
UNPACKED_AT_ONCE = 2
"""Large answers of a provider that are decompressed at the same time."""
SMALL = 256
"""Bytes up to which a compressed answer is decompressed in the event loop: it grows by a factor of a thousand at most."""
OUR_HEADERS = {"accept": "application/json", "accept-encoding": "gzip, deflate", "user-agent": "incrowd"}
JSON_BODY = {"content-type": "application/json"}
# The characters of a header's value (RFC 9110, 5.5). A line break in it would start another header.
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

_encode = msgspec.json.Encoder(enc_hook=text_of).encode


class _Start(NamedTuple):
    """The parameters in the query string as texts, and the path and query of the first page."""

    texts: dict[str, str]
    target: str


class HttpSource:
    """A provider that answers HTTP requests with JSON. Create it in a running event loop.

    Parameters
    ----------
    config
        Its address and how to send requests.
    """

    def __init__(self, config: HttpProvider) -> None:
        self._config = config
        self._url = url = URL(config.url)
        self._method = "GET" if config.send == "query" else "POST"
        self._forward = frozenset(name.lower() for name in config.forward)
        self._begin_walk = plan_walk(config)
        self._decoder = Decoder(config.rows)
        self._starts: dict[int, tuple[Mapping[str, Any], _Start]] = {}
        own = {name.lower(): value for name, value in config.headers.items()}
        self._headers = OUR_HEADERS | (JSON_BODY if config.send == "json" else {}) | own
        self._head = f" HTTP/1.1\r\nhost: {url.host_port_subcomponent}\r\n{_lines(self._headers)}"
        self._target = url.raw_path_qs
        self._between = "&" if url.raw_query_string else "?"
        self._unpacking = asyncio.Semaphore(UNPACKED_AT_ONCE)
        self._deadlines = Deadlines(config.timeout)
        self._pool = Pool(
            url.raw_host or "",
            url.port or 0,
            _tls_context(config.tls) if config.tls or url.scheme == "https" else None,
            limit=MOST_CONNECTIONS,
            # Half of a fetch's time to get a connection; the deadline limits the whole.
            connect_seconds=config.timeout / 2,
        )

    async def fetch(self, sent: Mapping[str, Any], headers: Mapping[str, str]) -> Fetched:
        """Return all rows for what is sent, or those that were received before a budget or the provider stopped it."""
        start = self._start(sent)
        try:
            with self._deadlines.limit():
                return await self._read_pages(start, sent, self._let_through(headers) if headers else "")
        except TimeoutError:
            raise ProviderError.late(self._config.timeout) from None

    async def ready(self) -> bool:
        """Return whether the provider accepts connections; no request is sent."""
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                _, writer = await asyncio.open_connection(self._url.host, self._url.port)
        except (OSError, UnicodeError):
            return False
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return True

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

    def _let_through(self, headers: Mapping[str, str]) -> str:
        """Return those of the person's headers that are forwarded; they never replace the gateway's own."""
        named = {name.lower(): value for name, value in headers.items()}
        return _lines(
            {name: named[name] for name in sorted(self._forward & named.keys() - self._headers.keys())}
        )

    def _start(self, sent: Mapping[str, Any]) -> _Start:
        """Return the first request line of a query, cached since it takes a while to build.

        Queries are immutable, so the object's identity determines what is sent; another person's query is another object.
        """
        kept = self._starts.get(id(sent))
        if kept is not None and kept[0] is sent:
            return kept[1]
        start = self._make_start(sent)
        if sum(map(len, start.texts.values())) <= LONGEST_REMEMBERED:
            keep(self._starts, id(sent), (sent, start), REMEMBERED)
        return start

    def _make_start(self, sent: Mapping[str, Any]) -> _Start:
        if self._method == "POST":
            return _Start({}, self._target)
        texts = _texts(sent)
        return _Start(texts, self._target_of(texts, self._begin_walk(texts)))

    async def _read_pages(self, start: _Start, sent: Mapping[str, Any], headers: str) -> Fetched:
        target = start.target
        walk = self._begin_walk(start.texts)
        budget = self._config.budget
        room = Room(budget)
        rows: list[dict[str, Any]] = []
        nbytes = pages = 0
        missing, more = "", True
        while more and not missing:
            request = self._request(target, sent, walk, headers)
            most = budget.bytes - nbytes
            try:
                received = await self._pool.ask(request, most)
            except TryAgainError as failure:
                ask = partial(self._pool.ask, request, most)
                received = await try_again(ask, self._config.retries, failure)
            body = None if received is None else received.body
            if received is not None and received.encoding:
                body = await self._unpack(received, most)
            if received is None or body is None:
                missing = f"{OVER_BUDGET} {budget.bytes} bytes"
                break
            nbytes += len(body)
            pages += 1
            decoded = self._decoder.decode_small(body, room) or await self._decoder.decode_large(body, room)
            page = Page(decoded.rows, decoded.document, received.links)
            if room.over:  # the rest of the page was not decoded, so the next page is unknown
                rows += page.rows
                missing = room.over
                break
            more = walk.advance(page)
            if more:
                target = self._target_of(start.texts, walk)
            rows += page.rows
            missing = walk.missing
            if len(rows) > budget.rows:
                del rows[budget.rows :]
                missing = f"{OVER_BUDGET} {budget.rows} rows"
        return Fetched(rows, not missing, missing, nbytes, pages)

    async def _unpack(self, received: Received, most: int) -> bytes | None:
        """Return the decompressed body; None if it is too large. A large one is decompressed in a thread, in steps."""
        if len(received.body) <= SMALL:
            return unpack(received.body, received.encoding, most)
        unpacker = Unpacker(received.body, received.encoding, most)
        async with self._unpacking:
            while not await asyncio.to_thread(unpacker.step):
                pass
            return await asyncio.to_thread(unpacker.result)

    def _request(self, target: str, sent: Mapping[str, Any], walk: Walk, headers: str) -> bytes:
        """Return the bytes of a request; the query is in its body, unless the target contains it."""
        if self._method == "GET":
            return f"GET {target}{self._head}{headers}\r\n".encode("latin-1")
        body = _json({**sent, **walk.parameters})
        length = f"content-length: {len(body)}\r\n"
        return f"POST {target}{self._head}{length}{headers}\r\n".encode("latin-1") + body

    def _target_of(self, texts: dict[str, str], walk: Walk) -> str:
        """Return the path and query of the walk's next request."""
        if walk.link:
            return walk.link.raw_path_qs
        if self._method == "POST":
            return self._target
        if walk.parameters:
            texts = texts | _texts(walk.parameters)
        try:
            return f"{self._target}{self._between}{urlencode(texts)}" if texts else self._target
        except UnicodeEncodeError:
            raise ProviderError.unsendable(", ".join(texts)) from None


def _tls_context(tls: ClientTls | None) -> ssl.SSLContext:
    """Return a context that checks certificates and presents the gateway's own, if configured."""
    try:
        context = ssl.create_default_context(cafile=tls.ca if tls else None)  # None: the system's authorities
        if tls and tls.certificate:
            context.load_cert_chain(tls.certificate, tls.key)
    except OSError:
        raise BadInputError("the provider's 'tls' names files that cannot be read; give PEM files") from None
    return context


def _lines(headers: Mapping[str, str]) -> str:
    if not all(map(_VALUE.fullmatch, headers.values())):
        raise ProviderError("a header cannot be forwarded to the provider")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: value if value.__class__ is str else plain_text(name, value) for name, value in values.items()
    }


def _json(values: Mapping[str, Any]) -> bytes:
    try:
        return _encode(values)
    except (TypeError, ValueError, OverflowError):
        raise ProviderError.unsendable(", ".join(values)) from None
