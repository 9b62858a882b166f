"""A provider that answers HTTP requests with JSON.

It is told the generalized query and nothing else: no cookies, no redirects followed, no proxy from the environment,
and no header but ours and those of the person that the configuration lets through.
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

from incrowd.errors import BadInputError
from incrowd.gateway.config import ClientTls, HttpProvider
from incrowd.gateway.providers.base import (
    OVER_BUDGET,
    Fetched,
    ProviderError,
    TryAgainError,
    plain_text,
    try_again,
)
from incrowd.gateway.providers.clock import Clock
from incrowd.gateway.providers.decode import Decoder, Room
from incrowd.gateway.providers.pages import Page, Walk, plan_walk
from incrowd.gateway.providers.pool import Pool
from incrowd.gateway.providers.reader import Received
from incrowd.gateway.providers.unpack import Unpacker, unpack
from incrowd.online.kept import keep
from incrowd.online.schema import text_of

__all__ = ["HttpSource"]

MOST_CONNECTIONS = 100
REMEMBERED = 1024
"""Request lines that are not made again."""
LONGEST_REMEMBERED = 1024
"""Characters of the longest of them: people choose the values, and must not fill the memory."""
PROBE_SECONDS = 1.0
UNPACKED_AT_ONCE = 2
"""Large answers of a provider that are unpacked at the same time."""
SMALL = 256
"""Bytes up to which a compressed answer is unpacked at once: it becomes a thousand times as many at most."""
OUR_HEADERS = {"accept": "application/json", "accept-encoding": "gzip, deflate", "user-agent": "incrowd"}
JSON_BODY = {"content-type": "application/json"}
# What a header's value may be made of (RFC 9110, 5.5). A line's end in it would begin a header of its own.
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

_encode = msgspec.json.Encoder(enc_hook=text_of).encode


class _Start(NamedTuple):
    """What is sent in a query string, as texts, and the path and query of the first page."""

    texts: dict[str, str]
    target: str


class HttpSource:
    """A provider that answers HTTP requests with JSON. Make it where an event loop runs.

    Parameters
    ----------
    config
        Its address and how to ask it.
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
        self._clock = Clock(config.timeout)
        self._pool = Pool(
            url.raw_host or "",
            url.port or 0,
            _tls_context(config.tls) if config.tls or url.scheme == "https" else None,
            limit=MOST_CONNECTIONS,
            # Half of a fetch's time to get a connection; the clock keeps the whole.
            connect_seconds=config.timeout / 2,
        )

    async def fetch(self, sent: Mapping[str, Any], headers: Mapping[str, str]) -> Fetched:
        """Return all rows for what is sent, or what came of them before a budget or the provider ended it."""
        start = self._start(sent)
        try:
            with self._clock.limit():
                return await self._read_pages(start, sent, self._let_through(headers) if headers else "")
        except TimeoutError:
            raise ProviderError.late(self._config.timeout) from None

    async def ready(self) -> bool:
        """Tell whether somebody listens there; nothing is asked."""
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
        """Let all connections go."""
        await self._pool.close()

    def _let_through(self, headers: Mapping[str, str]) -> str:
        """Return those of the person's headers that may pass; the gateway's own are not to be replaced."""
        named = {name.lower(): value for name, value in headers.items()}
        return _lines(
            {name: named[name] for name in sorted(self._forward & named.keys() - self._headers.keys())}
        )

    def _start(self, sent: Mapping[str, Any]) -> _Start:
        """Return where to begin. It takes a while to make it, so it is kept for a query that is asked again.

        Queries never change, so which object it is says what is sent; another person's is another object.
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
            if room.over:  # the rest of the page is not there, so nobody can say what follows it
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
        """Return the body of a compressed answer; None if it is too large. A large one is unpacked in a thread, in steps."""
        if len(received.body) <= SMALL:
            return unpack(received.body, received.encoding, most)
        unpacker = Unpacker(received.body, received.encoding, most)
        async with self._unpacking:
            while not await asyncio.to_thread(unpacker.step):
                pass
            return await asyncio.to_thread(unpacker.result)

    def _request(self, target: str, sent: Mapping[str, Any], walk: Walk, headers: str) -> bytes:
        """Return a request as it goes out; what is sent is its body, unless the target has it."""
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
    """Return a context that checks certificates, and shows the gateway's own where it has one."""
    try:
        context = ssl.create_default_context(cafile=tls.ca if tls else None)  # else the system's authorities
        if tls and tls.certificate:
            context.load_cert_chain(tls.certificate, tls.key)
    except OSError:
        raise BadInputError("the provider's 'tls' names files that cannot be read; give PEM files") from None
    return context


def _lines(headers: Mapping[str, str]) -> str:
    if not all(map(_VALUE.fullmatch, headers.values())):
        raise ProviderError("a header cannot be passed on to the provider")
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
