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
}


def render_page(config: Config) -> tuple[bytes, str]:
    """Return the page and the content security policy it is served with."""
    nonce = secrets.token_urlsafe(16)
    routes: list[dict[str, Any]] = [
        {"path": route.path, "parameters": {name: what.use for name, what in route.parameters.items()}}
        for route in config.routes
    ]
    text = page("gateway.html", routes=routes, meanings=_MEANINGS, nonce=nonce)
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return text.encode(), policy
