"""Which headers may pass from a person to a provider.

Any header can identify a person: a name, a device, a number that is in all requests of one person. So there is a list of
those that say what kind of answer is wanted, and no other one passes.
"""

from __future__ import annotations

__all__ = ["MAY_PASS", "is_of_the_connection"]

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
MAY_PASS = (
    "accept",
    "accept-charset",
    "accept-language",
    "accept-version",
    "api-version",
    "prefer",
    "x-api-version",
)
"""Headers about the answer, which many people send alike."""


def is_of_the_connection(name: str) -> bool:
    """Tell whether a header belongs to a connection or a message's frame, so that nobody may set it."""
    return name.lower() in _OF_THE_CONNECTION or name.lower().startswith("proxy-")
