"""Whether the resources that a configuration names can be used: addresses, certificates, providers, the cubes' directory.

The checks leave no files, send nothing, and connect only to a gateway that already listens on the same address.
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
from incrowd.gateway.config.config import load_config
from incrowd.gateway.config.settings import Config, Listen, Metrics, PostgresProvider, Provider
from incrowd.gateway.ops.health import is_alive, serves_metrics
from incrowd.gateway.providers import open_provider
from incrowd.gateway.server.connections import limits_of, most_descriptors, too_few_descriptors

__all__ = ["check_address", "check_server_tls", "load_usable", "resource_warnings", "startup_errors"]

_LIBPQ_FILES = ("sslrootcert", "sslcert", "sslkey", "sslcrl")


def load_usable(file: Path) -> Config:
    """Load a configuration whose providers can be opened, so that workers do not fail on them."""
    config = load_config(file)
    try:
        check_providers(config)
    except BadInputError as error:
        raise BadInputError(f"{file.name}: {error}") from None
    return config


def startup_errors(config: Config, *, cubes: bool) -> Iterator[str]:
    """Yield a line for each reason why the gateway could not serve.

    Parameters
    ----------
    config
        The configuration, for a gateway that may be running already.
    cubes
        Whether the directory for cubes will be written to.
    """
    checks: list[Callable[[Config], None]] = [_check_listen, _check_metrics, _check_tls, check_providers]
    for check in [*checks, _check_cache] if cubes else checks:
        try:
            check(config)
        except BadInputError as error:
            yield str(error)


def resource_warnings(config: Config) -> Iterator[str]:
    """Yield a line for each resource of which this machine has less than the configuration needs."""
    shortage = too_few_descriptors(config.listen, limits_of(config.listen, most_descriptors()))
    if shortage:
        yield shortage


def check_address(where: Listen | Metrics, name: str) -> None:
    """Refuse an address that cannot be listened on."""
    if (error := _bind_error(where)) is not None:
        raise _no_address(where, name, error)


def check_server_tls(listen: Listen) -> None:
    """Refuse certificates that cannot be used."""
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
    """Refuse a provider that cannot be opened; this does not connect to it."""
    for name, provider in config.providers.items():
        try:
            asyncio.run(_open_and_close(provider))
            if isinstance(provider, PostgresProvider):
                _check_libpq_files(provider)
        except BadInputError as error:
            raise BadInputError(f"providers.{name}: {error}") from None


def _check_listen(config: Config) -> None:
    """Refuse an address that another program uses; a gateway that answers there is taken for this one."""
    error = _bind_error(config.listen)
    if error is not None and not (error.errno == errno.EADDRINUSE and is_alive(config.listen)):
        raise _no_address(config.listen, "listen", error)


def _check_metrics(config: Config) -> None:
    error = _bind_error(config.metrics) if config.metrics else None
    if config.metrics and error and not (error.errno == errno.EADDRINUSE and serves_metrics(config.metrics)):
        raise _no_address(config.metrics, "metrics", error)


def _check_tls(config: Config) -> None:
    check_server_tls(config.listen)


def _check_cache(config: Config) -> None:
    """Refuse a directory in which no file can be created; the test file has no name and is deleted at once."""
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
            f"table.cache: no file can be created in {config.table.cache} ({error.strerror}), where cubes are stored; "
            "name another directory"
        ) from None


def _bind_error(where: Listen | Metrics) -> OSError | None:
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
    """Return the system's message without the address that the library adds to some."""
    if isinstance(error, socket.gaierror) or not error.errno:
        return error.strerror or "unknown host"
    return os.strerror(error.errno)


async def _open_and_close(provider: Provider) -> None:
    opened = await open_provider(provider)
    await opened.close()


def _check_libpq_files(provider: PostgresProvider) -> None:
    """Refuse files of the connection that cannot be read; libpq would report them only at the first query."""
    given = conninfo_to_dict(provider.dsn)
    for name in _LIBPQ_FILES:
        value = given.get(name)
        if not value or value == "system":
            continue
        try:
            Path(str(value)).open("rb").close()
        except OSError as error:
            raise BadInputError(
                f"dsn: {name} cannot be read ({error.strerror}); give an existing file"
            ) from None


def _no_password() -> str:
    """Refuse a key with a password, which could not be entered when the gateway starts as a service."""
    raise ValueError
