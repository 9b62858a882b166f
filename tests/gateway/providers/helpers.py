"""One fetch from a provider, from opening it to closing it."""

from __future__ import annotations

import asyncio

import pytest

from incrowd.gateway.config.settings import Hidden, HttpProvider, PostgresProvider
from incrowd.gateway.providers import ProviderError, open_provider


def http(upstream, **settings):
    return HttpProvider(**({"url": upstream.url, "rows": "/items", "timeout": 10.0} | settings))


def table(postgres, name="people", columns=("id", "county"), **settings):
    return PostgresProvider(**({"dsn": Hidden(postgres.dsn), "table": name, "columns": columns} | settings))


def using(config, use):
    """Run a coroutine function with an opened provider, which is closed whatever happens."""

    async def run():
        provider = await open_provider(config)
        try:
            return await use(provider)
        finally:
            await provider.close()

    return asyncio.run(run())


def fetch(config, sent=None, headers=None):
    return using(config, lambda provider: provider.fetch(sent or {}, headers or {}))


def failure(config, sent=None, headers=None):
    """Return the error of a fetch, which must be ours, on one line, and hide what it came from."""
    with pytest.raises(ProviderError) as caught:
        fetch(config, sent, headers)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert "\n" not in str(caught.value)
    return caught.value


def expect_failure(config, code, status, words, sent=None):
    error = failure(config, sent)
    assert (error.code, error.status) == (code, status)
    assert words in str(error)
