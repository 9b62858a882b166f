"""Validation of a provider's settings: addresses, TLS, headers, names in SQL."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict

from incrowd.errors import BadInputError
from incrowd.gateway.config.settings import CursorPages, HttpProvider, OffsetPages, PostgresProvider, Provider

__all__ = ["MAY_PASS", "check_provider", "is_loopback"]

# Headers of one connection (RFC 9110, 7.6.1) and of message framing: the gateway sends its own.
_CONNECTION_HEADERS = frozenset(
    (
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "te",
        "trailer",
        "trailers",
        "transfer-encoding",
        "upgrade",
    )
)
MAY_PASS = (
    "accept",
    "accept-charset",
    "accept-language",
    "accept-version",
    "api-version",
    "prefer",
    "x-api-version",
)
"""The only headers that may pass from a person to a provider. Any other header may identify the person."""
_HEADER_VALUE = re.compile(r"[\x20-\x7e\x80-\xff]+")


def check_provider(provider: Provider, where: str) -> None:
    """Refuse a provider that cannot be used, or not safely."""
    if isinstance(provider, PostgresProvider):
        _check_postgres(provider, where)
        return
    url = _checked_url(provider.url, f"{where}.url")
    if url.scheme == "http" and not is_loopback(url.hostname or "") and not provider.insecure:
        raise _wrong(
            f"{where}.url",
            "plain http can be read in transit; use https, or set insecure: true",
        )
    _check_tls(provider, url, where)
    _check_headers(provider, where)
    pages = provider.pages
    if isinstance(pages, OffsetPages) and pages.offset == pages.limit:
        raise _wrong(f"{where}.pages.limit", "must differ from pages.offset; rename one")
    if isinstance(pages, OffsetPages) and pages.size == 1 and provider.key is not None:
        raise _wrong(
            f"{where}.pages.size",
            "must be 2 or more with key: each page begins with the last row of the page before",
        )
    if isinstance(pages, CursorPages) and (pages.limit is None) != (pages.size is None):
        raise _wrong(f"{where}.pages.limit", "limit and size go together; give both or none")


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _checked_url(text: str, where: str) -> SplitResult:
    """Return the parts of an address. Errors do not show it, since it may contain a secret by mistake."""
    try:
        url = urlsplit(text)
        usable = url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        usable = False
    if not usable or re.search(r"\s", text):
        raise _wrong(where, "must be an address such as https://provider.example/loans")
    if url.username is not None or url.password is not None:
        raise _wrong(where, "must not hold a user or a password; put them into headers")
    if url.fragment:
        raise _wrong(where, "must not have a fragment, which is never sent; remove it from # on")
    return url


def _check_tls(provider: HttpProvider, url: SplitResult, where: str) -> None:
    tls = provider.tls
    if tls is None:
        return
    if url.scheme == "http":
        raise _wrong(f"{where}.tls", "needs an https url; change the url or remove tls")
    if (tls.certificate is None) != (tls.key is None):
        raise _wrong(f"{where}.tls", "certificate and key go together; give both or none")
    for name in ("ca", "certificate", "key"):
        path: Path | None = getattr(tls, name)
        if path is not None and not path.is_file():
            raise _wrong(f"{where}.tls.{name}", f"there is no file {path}; give one in PEM format")


def _check_headers(provider: HttpProvider, where: str) -> None:
    own = [name.lower() for name in provider.headers]
    for name, value in provider.headers.items():
        at = f"{where}.headers.{name}"
        if own.count(name.lower()) > 1:
            raise _wrong(at, "is given twice (case does not matter); keep one")
        if _is_connection_header(name):
            raise _wrong(at, "belongs to the connection, which the gateway makes; remove it")
        if not _HEADER_VALUE.fullmatch(value):
            raise _wrong(at, "must be text on one line without control characters")
    for place, name in enumerate(provider.forward):
        at = f"{where}.forward[{place}]"
        if name.lower() not in MAY_PASS:
            raise _wrong(
                at,
                f"{name.lower()} may identify the person; only {', '.join(MAY_PASS)} may pass. A header that is the same for "
                "all people belongs in headers",
            )
        if name.lower() in own:
            raise _wrong(at, f"{name.lower()} is also in the provider's headers; keep one")
        if name in provider.forward[:place]:
            raise _wrong(at, "is named twice; keep one")


def _is_connection_header(name: str) -> bool:
    """Return whether a header belongs to a connection or to message framing, so that it must not be configured."""
    return name.lower() in _CONNECTION_HEADERS or name.lower().startswith("proxy-")


def _check_postgres(provider: PostgresProvider, where: str) -> None:
    try:
        conninfo_to_dict(provider.dsn)
    except psycopg.Error:
        raise _wrong(
            f"{where}.dsn", "must be like 'host=db dbname=loans user=gateway' or postgresql://db/loans"
        ) from None
    if not provider.columns:
        raise _wrong(f"{where}.columns", "is empty; name the columns to fetch")
    for name in ("columns", "order"):
        given = getattr(provider, name)
        if len(set(given)) < len(given):
            raise _wrong(f"{where}.{name}", "names a column twice; keep one")


def _wrong(where: str, what: str) -> BadInputError:
    return BadInputError(f"{where}: {what}")
