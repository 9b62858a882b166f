"""Providers: where rows come from. Each kind reads a whole answer, or says what is missing of it."""

from __future__ import annotations

from incrowd.gateway.config import HttpProvider, PostgresProvider
from incrowd.gateway.providers.base import OVER_BUDGET, Fetched, Provider, ProviderError
from incrowd.gateway.providers.http import HttpSource
from incrowd.gateway.providers.postgres import PostgresSource

__all__ = ["OVER_BUDGET", "Fetched", "Provider", "ProviderError", "open_provider"]


async def open_provider(config: HttpProvider | PostgresProvider) -> Provider:
    """Return the provider that a configuration describes; it need not be reachable yet."""
    if isinstance(config, HttpProvider):
        return HttpSource(config)
    return PostgresSource(config)
