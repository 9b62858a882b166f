"""Warnings about a configuration that is valid but that its operator should review before use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

from psycopg.conninfo import conninfo_to_dict

from incrowd.gateway.config.provider_rules import is_loopback
from incrowd.gateway.config.settings import Config, HttpProvider, OffsetPages, PostgresProvider, Provider

__all__ = ["cautions"]

_SECRET_WORDS = ("auth", "cookie", "key", "secret", "token")
_SAFE_SSL = ("require", "verify-ca", "verify-full")


def cautions(config: Config, attributes: Sequence[str]) -> list[str]:
    """Return the warnings, the most serious first; `attributes` are those of the auxiliary table."""
    return list(
        chain(
            _of_privacy(config),
            _of_linking(config),
            _of_listening(config),
            _of_providers(config),
            _of_routes(config, attributes),
            _of_secrets(config),
        )
    )


def _of_privacy(config: Config) -> Iterator[str]:
    if config.ledger is None:
        yield (
            "ledger: there is none, so queries are not linked: two that are private one by one may identify a person "
            "together; add ledger: {file: ledger.sqlite} and privacy.secret, then use --init-ledger"
        )
    elif config.ledger.marker and config.ledger.marker.parent == config.ledger.file.parent:
        yield (
            "ledger.marker: is in the ledger's directory: if that is restored from a backup, it cannot be noticed that "
            "the ledger is old; name a file in another directory that is not restored with it"
        )


def _of_linking(config: Config) -> Iterator[str]:
    if config.ledger is not None and not config.ledger.parts:
        yield (
            "ledger.parts: only all disclosures together are private, and a part of them (a pair of queries, a "
            "session) may disclose a protected attribute; use parts: true"
        )


def _of_listening(config: Config) -> Iterator[str]:
    listen, metrics = config.listen, config.metrics
    if listen.tls is None and not is_loopback(listen.host):
        yield (
            "listen.tls: there is none and other machines can connect: keys and queries can be read in transit; "
            "add tls, or listen on 127.0.0.1 behind a proxy that has it"
        )
    if listen.tls is not None and _mode(listen.tls.key) & 0o007:
        yield f"listen.tls.key: all users of this machine may read it; chmod 600 {listen.tls.key}"
    if metrics is not None and not is_loopback(metrics.host):
        yield "metrics.host: metrics have no key and no TLS, and other machines can connect; use 127.0.0.1 or a firewall"


def _of_providers(config: Config) -> Iterator[str]:
    used = {route.provider for route in config.routes}
    yield from _of_one_source(config)
    for name, provider in config.providers.items():
        if name not in used:
            yield f"providers.{name}: no route uses it; remove it or add a route"
        if isinstance(provider, PostgresProvider):
            yield from _of_postgres(provider, f"providers.{name}")
        else:
            yield from _of_http(provider, f"providers.{name}")


def _of_one_source(config: Config) -> Iterator[str]:
    """Warn of two providers with the same address: disclosures to one are not counted for the other."""
    first: dict[tuple[str, ...], str] = {}
    for name, provider in config.providers.items():
        other = first.setdefault(_source(provider), name)
        if other != name:
            yield (
                f"providers.{name}: is the same as {other}, but disclosures to one do not count for the other: queries "
                "that are private one by one may not be private together; make them one provider with two routes"
            )


def _source(provider: Provider) -> tuple[str, ...]:
    """Return what identifies a provider: an address without its query, or a table."""
    if isinstance(provider, PostgresProvider):
        given = conninfo_to_dict(provider.dsn)
        place = tuple(
            str(given.get(name) or "") for name in ("host", "hostaddr", "port", "dbname", "service")
        )
        return (*place, provider.table.removeprefix("public."))
    url = urlsplit(provider.url)
    return (url.hostname or "", str(url.port or {"http": 80, "https": 443}[url.scheme]), url.path or "/")


def _of_http(provider: HttpProvider, where: str) -> Iterator[str]:
    if provider.insecure and provider.url.lower().startswith("http:"):
        yield f"{where}.url: plain http: what is sent can be read in transit; use https"
    if provider.pages is None and provider.truncated is None:
        yield (
            f"{where}: neither pages nor truncated is set: if the provider truncates long answers, it cannot be noticed; "
            "set one of them, or make sure that it never does"
        )
    if isinstance(provider.pages, OffsetPages) and provider.key is None:
        yield (
            f"{where}.key: there is none: not all rows that shift between offset pages can be noticed"
            + (
                ""
                if provider.pages.total
                else ", and without pages.total either, several pages are never an exact answer"
            )
            + "; name a field that is different in every row"
        )


def _of_postgres(provider: PostgresProvider, where: str) -> Iterator[str]:
    address = conninfo_to_dict(provider.dsn)
    hosts = str(address.get("host") or address.get("hostaddr") or "").split(",")
    local = all(not host or host.startswith("/") or is_loopback(host) for host in hosts)
    if not local and address.get("sslmode") not in _SAFE_SSL:
        yield f"{where}.dsn: the connection may be unencrypted; add sslmode=verify-full"


def _of_routes(config: Config, attributes: Sequence[str]) -> Iterator[str]:
    for place, route in enumerate(config.routes):
        for name, parameter in route.parameters.items():
            if parameter.use == "passthrough" and (name in attributes or parameter.send[0] in attributes):
                yield (
                    f"routes[{place}].parameters.{name}: passes through unchanged although it is an attribute of the table: "
                    "it is disclosed without being counted; use quasi"
                )


def _of_secrets(config: Config) -> Iterator[str]:
    """Warn of secrets in a configuration file that other users may read."""
    if not _mode(config.file) & 0o077:
        return
    places = ["privacy.secret"] if getattr(config.privacy.secret, "inline", False) else []
    for name, provider in config.providers.items():
        if isinstance(provider, PostgresProvider):
            if getattr(provider.dsn, "inline", False) and conninfo_to_dict(provider.dsn).get("password"):
                places.append(f"providers.{name}.dsn")
            continue
        for header, value in provider.headers.items():
            if getattr(value, "inline", False) and any(word in header for word in _SECRET_WORDS):
                places.append(f"providers.{name}.headers.{header}")
    for place in places:
        yield f"{place}: is written in a file that other users may read; use {{env: NAME}} or {{file: PATH}}, or chmod 600"


def _mode(path: Path) -> int:
    """Return a file's permissions; 0 if the file does not exist."""
    try:
        return path.stat().st_mode
    except OSError:
        return 0
