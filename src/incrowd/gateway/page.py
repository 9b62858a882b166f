"""The page at ``/``: a person sees what would be sent, and why, before it is sent."""

from __future__ import annotations

import secrets
from typing import Any

from incrowd.gateway.config import Config
from incrowd.report.html import page

__all__ = ["render_page"]

_MEANINGS = {
    "quasi": "told only as far as privacy allows",
    "passthrough": "told as it is",
    "block": "never told",
    "protected": "never told, as it is protected",
}


def render_page(config: Config) -> tuple[bytes, str]:
    """Return the page and the content security policy it is served with."""
    nonce = secrets.token_urlsafe(16)
    hidden = _protected_by_all(config)
    routes: list[dict[str, Any]] = [
        {
            "path": route.path,
            "parameters": {
                name: "protected" if what.attribute in hidden else what.use
                for name, what in route.parameters.items()
            },
        }
        for route in config.routes
    ]
    text = page("gateway.html", routes=routes, meanings=_MEANINGS, nonce=nonce)
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return text.encode(), policy


def _protected_by_all(config: Config) -> set[str]:
    """Return the attributes that nobody tells, whoever asks: the page does not know who that will be."""
    return set.intersection(*({policy.attribute for policy in person.protect} for person in config.people))
