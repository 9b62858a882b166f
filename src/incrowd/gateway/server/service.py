"""What all routes of a worker share: people, disclosures, providers and the cache."""

from __future__ import annotations

import asyncio
import time

from incrowd.errors import BadInputError, IncrowdError
from incrowd.gateway.ops.ledgers import Upkeep
from incrowd.gateway.providers import Fetched, Provider, open_provider
from incrowd.gateway.requests.cache import Cache
from incrowd.gateway.requests.disclosures import Disclosures
from incrowd.gateway.requests.people import People, RateLimit
from incrowd.gateway.requests.problems import Problem, bad_request, refused, unavailable
from incrowd.gateway.server.prepared import Prepared
from incrowd.generalizer.ledger.file import LedgerError
from incrowd.generalizer.protection import Protection

__all__ = ["Service", "as_problems"]

PROBE_INTERVAL = 2.0  # seconds: /readyz needs no key, and must not load the providers


class Service:
    """The shared parts of one configuration.

    Parameters
    ----------
    prepared
        The configuration and the protection.
    """

    def __init__(self, prepared: Prepared) -> None:
        self.config = config = prepared.config
        rate, cache, protection = config.rate, config.cache, prepared.protection
        self.people = People(
            config.people, RateLimit(rate.requests, rate.per, workers=config.listen.workers) if rate else None
        )
        self.cache: Cache[Fetched] | None = (
            Cache(cache.entries, cache.bytes, cache.time_to_live) if cache else None
        )
        self.providers: dict[str, Provider] = {}
        self._protection = protection
        self._disclosures = (
            Disclosures(config.ledger, config.privacy.secret, protection.schema) if protection else None
        )
        self._reachable: dict[str, bool] = {}
        self._probe_again = 0.0

    async def open(self) -> None:
        """Open the providers; they need not be reachable yet."""
        for name, provider in self.config.providers.items():
            self.providers[name] = await open_provider(provider)

    async def close(self) -> None:
        """Close the providers and the ledger."""
        for provider in self.providers.values():
            await provider.close()
        if self._disclosures:
            self._disclosures.close()

    @property
    def protection(self) -> Protection:
        """The protection; raises a `Problem` if the auxiliary table cannot be used."""
        if self._protection is None:
            raise _no_table()
        return self._protection

    @property
    def disclosures(self) -> Disclosures:
        """The disclosures; raises a `Problem` if the auxiliary table cannot be used."""
        if self._disclosures is None:
            raise _no_table()
        return self._disclosures

    async def maintain(self, *, expire: bool) -> Upkeep | None:
        """Maintain the ledger, if there is one: see `Disclosures.maintain`."""
        return await self._disclosures.maintain(expire=expire) if self._disclosures else None

    async def check(self) -> None:
        """Raise a `Problem` if no query can be answered now."""
        with as_problems():
            await self.disclosures.check()

    async def provider_states(self) -> dict[str, bool]:
        """Return for each provider whether it could be reached, now or a few seconds ago."""
        now = time.monotonic()
        if now >= self._probe_again:
            self._probe_again = now + PROBE_INTERVAL
            ready = await asyncio.gather(*(provider.ready() for provider in self.providers.values()))
            self._reachable = dict(zip(self.providers, ready, strict=True))
        return self._reachable


def _no_table() -> Problem:
    return unavailable("nothing is sent while the auxiliary table cannot be used; the gateway's log says why")


class as_problems:  # noqa: N801 - used like a function
    """Turns errors of the library into problems: the query is not valid, or the ledger cannot be used."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Problem) or not isinstance(error, IncrowdError):
            return
        if isinstance(error, LedgerError):
            raise unavailable("nothing is sent while the ledger cannot be used") from error
        if isinstance(error, BadInputError):
            raise bad_request(str(error)) from None
        raise refused(str(error)) from None
