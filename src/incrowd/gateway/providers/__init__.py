"""Providers: the sources of rows. Each kind reads a complete answer, or reports what is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from incrowd.gateway.config import settings
from incrowd.gateway.providers.base import OVER_BUDGET, Fetched, Provider, ProviderError
from incrowd.gateway.providers.http import HttpSource
from incrowd.gateway.providers.postgres import PostgresSource

__all__ = ["OVER_BUDGET", "Fetched", "Provider", "ProviderError", "open_provider"]

_SOURCES: Mapping[type, Callable[[Any], Provider]] = {
    settings.HttpProvider: HttpSource,
    settings.PostgresProvider: PostgresSource,
}


async def open_provider(config: settings.Provider) -> Provider:
    """Return the provider that a configuration describes; it need not be reachable yet."""
    return _SOURCES[type(config)](config)
