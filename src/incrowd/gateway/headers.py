"""Which headers may pass from a person to a provider: none that tells who they are or shapes the connection."""

from __future__ import annotations

__all__ = ["is_of_the_connection", "is_telling"]

# Headers of one connection (RFC 9110, 7.6.1) and of how a message is framed: the gateway sends its own.
_OF_THE_CONNECTION = frozenset(
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
# What names a person, their machine, their program, or where they come from.
_TELLING = frozenset(
    (
        "authorization",
        "cf-connecting-ip",
        "client-ip",
        "cookie",
        "cookie2",
        "fastly-client-ip",
        "forwarded",
        "from",
        "origin",
        "referer",
        "true-client-ip",
        "user-agent",
        "via",
        "x-api-key",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-original-forwarded-for",
        "x-real-ip",
    )
)
# Partial or unchanged answers could not be filtered.
_TELLING_PREFIXES = ("x-forwarded-", "proxy-", "sec-", "if-", "range")


def is_of_the_connection(name: str) -> bool:
    """Tell whether a header belongs to a connection or a message's frame, so that nobody may set it."""
    return name.lower() in _OF_THE_CONNECTION or name.lower().startswith("proxy-")


def is_telling(name: str) -> bool:
    """Tell whether a person's header must not reach a provider."""
    lower = name.lower()
    return is_of_the_connection(lower) or lower in _TELLING or lower.startswith(_TELLING_PREFIXES)
