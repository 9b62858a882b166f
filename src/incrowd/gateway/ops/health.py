"""Whether a gateway is alive at the address of a configuration, checked from the same machine."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl

from incrowd.gateway.config.settings import Listen, Metrics

__all__ = ["is_alive", "serves_metrics"]

PATIENCE = 2.0
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - to be replaced


def is_alive(listen: Listen) -> bool:
    """Request ``/healthz``, with or without TLS, whatever name the certificate is for.

    If clients need a certificate, which this process does not have, a server that requires one counts as alive.
    """
    if listen.tls is not None and listen.tls.clients is not None:
        return _asks_for_certificate(listen)
    connection = _connection(listen)
    with contextlib.closing(connection):
        try:
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            return answer.status == http.client.OK and b'"alive"' in answer.read(1000)
        except (OSError, http.client.HTTPException):
            return False


def _asks_for_certificate(listen: Listen) -> bool:
    try:
        with (
            socket.create_connection((_host(listen.host), listen.port), timeout=PATIENCE) as plain,
            _trusting().wrap_socket(plain) as connection,
        ):
            connection.recv(1)  # in TLS 1.3 a client gets a refusal only when it reads
    except ssl.SSLError as error:
        return "CERTIFICATE_REQUIRED" in str(error)
    except OSError:
        return False
    return False


def serves_metrics(metrics: Metrics) -> bool:
    """Return whether a gateway serves its metrics there."""
    connection = http.client.HTTPConnection(_host(metrics.host), metrics.port, timeout=PATIENCE)
    with contextlib.closing(connection):
        try:
            connection.request("GET", "/metrics")
            return b"incrowd_" in connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            return False


def _connection(listen: Listen) -> http.client.HTTPConnection:
    host = _host(listen.host)
    if listen.tls is None:
        return http.client.HTTPConnection(host, listen.port, timeout=PATIENCE)
    return http.client.HTTPSConnection(host, listen.port, timeout=PATIENCE, context=_trusting())


def _trusting() -> ssl.SSLContext:
    """Return a context that trusts every server: the only request is the one for its health."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _host(host: str) -> str:
    return _EVERYWHERE.get(host, host)
