"""A provider that answers HTTP requests with JSON.

It is told the generalized query and nothing else: no cookies, no redirects followed, no proxy from the environment,
and no header but ours and those of the person that the configuration lets through.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import aiohttp
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
from incrowd.online.kept import keep
from incrowd.online.schema import text_of

__all__ = ["HttpSource"]

MOST_CONNECTIONS = 100
MOST_HEADERS = 128
LONGEST_LINE = 8190  # of an answer's first line and of each of its headers, in bytes
REMEMBERED = 1024
"""Addresses that are not made again."""
LONGEST_REMEMBERED = 1024
"""The most characters of the values in one of them: people choose them, and must not fill the memory."""
PROBE_SECONDS = 1.0
TRY_AGAIN = frozenset({502, 503, 504})
OK = 200
REDIRECTS = range(300, 400)
# aiohttp adds these where they are absent; all are given, so what is sent is what is written here.
OUR_HEADERS = {"accept": "application/json", "accept-encoding": "gzip, deflate", "user-agent": "incrowd"}
JSON_BODY = {"content-type": "application/json"}

_encode = msgspec.json.Encoder(enc_hook=text_of).encode


@dataclass(frozen=True, slots=True, repr=False)
class _Start:
    """What is sent in a query string, as texts, and the address of the first page."""

    texts: dict[str, str]
    url: URL


class HttpSource:
    """A provider that answers HTTP requests with JSON. Make it where an event loop runs.

    Parameters
    ----------
    config
        Its address and how to ask it.
    """

    def __init__(self, config: HttpProvider) -> None:
        self._config = config
        self._url = URL(config.url)
        self._method = "GET" if config.send == "query" else "POST"
        self._forward = frozenset(name.lower() for name in config.forward)
        self._begin_walk = plan_walk(config)
        self._decoder = Decoder(config.rows)
        self._starts: dict[int, tuple[Mapping[str, Any], _Start]] = {}
        self._clock = Clock(config.timeout)
        self._session = _open_session(config)

    async def fetch(self, sent: Mapping[str, Any], headers: Mapping[str, str]) -> Fetched:
        """Return all rows for what is sent, or what came of them before a budget or the provider ended it."""
        start = self._start(sent)
        try:
            with self._clock.limit():
                return await self._read_pages(start, sent, self._let_through(headers) if headers else None)
        except TimeoutError:
            raise ProviderError.late(self._config.timeout) from None

    async def ready(self) -> bool:
        """Tell whether somebody listens there; nothing is asked."""
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                _, writer = await asyncio.open_connection(self._url.host, self._url.port)
        except (OSError, TimeoutError):
            return False
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return True

    async def close(self) -> None:
        """Let all connections go."""
        await self._session.close()

    def _let_through(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return those of the person's headers that may pass; the gateway's own are not to be replaced."""
        named = {name.lower(): value for name, value in headers.items()}
        return {
            name: named[name] for name in self._forward & named.keys() if name not in self._session.headers
        }

    def _start(self, sent: Mapping[str, Any]) -> _Start:
        """Return where to begin. It takes a while to make an address, so it is kept for a query that is asked again.

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
            return _Start({}, self._url)
        texts = _texts(sent)
        return _Start(texts, self._address(texts, self._begin_walk(self._url)))

    async def _read_pages(
        self, start: _Start, sent: Mapping[str, Any], headers: dict[str, str] | None
    ) -> Fetched:
        url = start.url
        walk = self._begin_walk(url)
        budget = self._config.budget
        room = Room(budget)
        rows: list[dict[str, Any]] = []
        nbytes = pages = 0
        missing, more = "", True
        while more and not missing:
            body = _json({**sent, **walk.parameters}) if self._method == "POST" else None
            request = url, body, headers, budget.bytes - nbytes
            try:
                answer, links = await self._ask(*request)
            except TryAgainError as failure:
                answer, links = await try_again(partial(self._ask, *request), self._config.retries, failure)
            if answer is None:
                missing = f"{OVER_BUDGET} {budget.bytes} bytes"
                break
            nbytes += len(answer)
            pages += 1
            decoded = await self._decoder.decode(answer, room)
            page = Page(decoded.rows, decoded.document, links)
            if room.over:  # the rest of the page is not there, so nobody can say what follows it
                rows += page.rows
                missing = room.over
                break
            more = walk.advance(page)
            if more:
                url = self._address(start.texts, walk)
            rows += page.rows
            missing = walk.missing
            if len(rows) > budget.rows:
                del rows[budget.rows :]
                missing = f"{OVER_BUDGET} {budget.rows} rows"
        return Fetched(rows, not missing, missing, nbytes, pages)

    def _address(self, texts: dict[str, str], walk: Walk) -> URL:
        """Return where the walk's next request goes."""
        if walk.link or self._method == "POST":
            return walk.link or self._url
        return self._url.extend_query({**texts, **_texts(walk.parameters)} if walk.parameters else texts)

    async def _ask(
        self, url: URL, body: bytes | None, headers: dict[str, str] | None, most: int
    ) -> tuple[bytes | None, Sequence[str]]:
        """Make one request; return the answer (None if it is too large) and its links.

        Nothing that aiohttp says is passed on: it quotes addresses and answers.
        """
        try:
            response = await self._session.request(
                self._method, url, data=body, headers=headers, allow_redirects=False
            )
            try:
                _check_head(response)
                answer = await _receive(response, most)
                return answer, response.headers.getall("Link", ())
            finally:  # whoever read to the end has given the connection back already
                if not response.closed:
                    response.close()
        except aiohttp.ClientConnectorCertificateError:
            raise ProviderError(
                "the provider's certificate is not trusted; see 'tls' of the provider"
            ) from None
        except aiohttp.ConnectionTimeoutError:
            raise TryAgainError(ProviderError.late(self._config.timeout / 2)) from None
        except aiohttp.ClientConnectorError:
            raise TryAgainError(ProviderError.unreachable()) from None
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, ConnectionError):
            raise TryAgainError(ProviderError("the provider's answer broke off")) from None
        except aiohttp.ClientError:
            raise ProviderError("the provider's answer is not proper HTTP") from None
        except ValueError:
            raise ProviderError("a header cannot be passed on to the provider") from None


def _open_session(config: HttpProvider) -> aiohttp.ClientSession:
    own = {name.lower(): value for name, value in config.headers.items()}
    return aiohttp.ClientSession(
        connector=Pool(limit=MOST_CONNECTIONS, ssl=_tls_context(config.tls)),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=OUR_HEADERS | (JSON_BODY if config.send == "json" else {}) | own,
        auto_decompress=True,
        # Half of a fetch's time to get a connection; the clock keeps the whole.
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=config.timeout / 2),
        trust_env=False,
        max_line_size=LONGEST_LINE,
        max_field_size=LONGEST_LINE,
    )


def _tls_context(tls: ClientTls | None) -> ssl.SSLContext | bool:
    """Return a context that checks certificates, and shows the gateway's own where it has one."""
    if tls is None:
        return True  # the system's authorities
    try:
        context = ssl.create_default_context(cafile=tls.ca)
        if tls.certificate:
            context.load_cert_chain(tls.certificate, tls.key)
    except OSError:
        raise BadInputError("the provider's 'tls' names files that cannot be read; give PEM files") from None
    return context


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: value if value.__class__ is str else plain_text(name, value) for name, value in values.items()
    }


def _json(values: Mapping[str, Any]) -> bytes:
    try:
        return _encode(values)
    except (TypeError, ValueError, OverflowError):
        raise ProviderError.unsendable(", ".join(values)) from None


def _check_head(response: aiohttp.ClientResponse) -> None:
    """Refuse an answer of which the body need not be read."""
    status = response.status
    if status == OK:
        if len(response.headers) > MOST_HEADERS:
            raise ProviderError(f"the provider's answer has more than {MOST_HEADERS} headers")
        return
    if status in TRY_AGAIN:
        raise TryAgainError(ProviderError(f"the provider is out of order (status {status})"))
    if status in REDIRECTS:
        raise ProviderError(f"the provider redirects (status {status}), which is not followed; see 'url'")
    raise ProviderError(f"the provider refuses the request or fails (status {status})")


async def _receive(response: aiohttp.ClientResponse, most: int) -> bytes | None:
    """Read a body piece by piece as it is decompressed, and hang up as soon as it is too large."""
    pieces: list[bytes] = []
    nbytes = 0
    content = response.content
    while not content.at_eof():
        piece = await content.readany()
        nbytes += len(piece)
        if nbytes > most:
            response.close()
            return None
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
