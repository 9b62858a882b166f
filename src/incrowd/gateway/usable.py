"""Whether what a configuration names can be used: addresses, certificates, providers, the directory for cubes.

Nothing is left behind, nothing is sent, and nobody is connected to, but for a gateway that already listens there.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from incrowd.errors import BadInputError
from incrowd.gateway.config import Config, Listen, Metrics, PostgresProvider, Provider, load_config
from incrowd.gateway.connections import limits_of, most_descriptors, too_few_descriptors
from incrowd.gateway.health import counts_there, is_alive
from incrowd.gateway.providers import open_provider

__all__ = ["check_address", "check_server_tls", "load_usable", "obstacles", "shortages"]

_LIBPQ_FILES = ("sslrootcert", "sslcert", "sslkey", "sslcrl")


def load_usable(file: Path) -> Config:
    """Load a configuration whose providers can be opened, so that no worker fails at it."""
    config = load_config(file)
    try:
        check_providers(config)
    except BadInputError as error:
        raise BadInputError(f"{file.name}: {error}") from None
    return config


def obstacles(config: Config, *, cubes: bool) -> Iterator[str]:
    """Yield a line for each thing that would keep the gateway from serving.

    Parameters
    ----------
    config
        The configuration, for a gateway that may be running already.
    cubes
        Whether the directory for cubes will be written to.
    """
    checks: list[Callable[[Config], None]] = [_check_listen, _check_metrics, _check_tls, check_providers]
    for look in [*checks, _check_cache] if cubes else checks:
        try:
            look(config)
        except BadInputError as error:
            yield str(error)


def shortages(config: Config) -> Iterator[str]:
    """Yield a line for each thing of which this machine gives less than the configuration asks for."""
    shortage = too_few_descriptors(config.listen, limits_of(config.listen, most_descriptors()))
    if shortage:
        yield shortage


def check_address(where: Listen | Metrics, name: str) -> None:
    """Refuse an address where nobody can listen."""
    if (error := _hindrance(where)) is not None:
        raise _no_address(where, name, error)


def check_server_tls(listen: Listen) -> None:
    """Refuse certificates with which people could not be served."""
    if listen.tls is None:
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(listen.tls.certificate, listen.tls.key, password=_no_password)
        if listen.tls.clients:
            context.load_verify_locations(listen.tls.clients)
    except (OSError, ValueError):
        raise BadInputError(
            "listen.tls: a file cannot be used; give PEM files that this user may read, and the key that fits the "
            "certificate, without a password"
        ) from None


def check_providers(config: Config) -> None:
    """Refuse a provider that cannot be opened; none is connected to."""
    for name, provider in config.providers.items():
        try:
            asyncio.run(_open_and_close(provider))
            if isinstance(provider, PostgresProvider):
                _check_libpq_files(provider)
        except BadInputError as error:
            raise BadInputError(f"providers.{name}: {error}") from None


def _check_listen(config: Config) -> None:
    """Refuse an address that another program has; a gateway that answers there is taken for this one."""
    error = _hindrance(config.listen)
    if error is not None and not (error.errno == errno.EADDRINUSE and is_alive(config.listen)):
        raise _no_address(config.listen, "listen", error)


def _check_metrics(config: Config) -> None:
    error = _hindrance(config.metrics) if config.metrics else None
    if config.metrics and error and not (error.errno == errno.EADDRINUSE and counts_there(config.metrics)):
        raise _no_address(config.metrics, "metrics", error)


def _check_tls(config: Config) -> None:
    check_server_tls(config.listen)


def _check_cache(config: Config) -> None:
    """Refuse a directory in which no file can be made; the file tried with has no name and is gone at once."""
    place = config.table.cache
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        if not place.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "not a directory")
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise BadInputError(
            f"table.cache: no file can be made in {config.table.cache} ({error.strerror}), and cubes are kept there; "
            "name another directory"
        ) from None


def _hindrance(where: Listen | Metrics) -> OSError | None:
    try:
        found = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        socket.create_server(address, family=family).close()
    except OSError as error:
        return error
    return None


def _no_address(where: Listen | Metrics, name: str, error: OSError) -> BadInputError:
    return BadInputError(
        f"{name}: cannot listen on {where.host}, port {where.port} ({_short(error)}); "
        "choose another host or port"
    )


def _short(error: OSError) -> str:
    """Return the system's words alone; the library adds the address to some."""
    if isinstance(error, socket.gaierror) or not error.errno:
        return error.strerror or "unknown host"
    return os.strerror(error.errno)


async def _open_and_close(provider: Provider) -> None:
    opened = await open_provider(provider)
    await opened.close()


def _check_libpq_files(provider: PostgresProvider) -> None:
    """Refuse files of the connection that cannot be read; the library would say so at the first query only."""
    given = conninfo_to_dict(provider.dsn)
    for name in _LIBPQ_FILES:
        value = given.get(name)
        if not value or value == "system":
            continue
        try:
            Path(str(value)).open("rb").close()
        except OSError as error:
            raise BadInputError(
                f"dsn: {name} cannot be read ({error.strerror}); give a file that is there"
            ) from None


def _no_password() -> str:
    """Ask nobody: a key with a password could not be opened when the gateway starts by itself."""
    raise ValueError
