"""What all routes of a worker share: the people, what they have disclosed, the providers and the answers kept of them."""

from __future__ import annotations

import asyncio
import time

from incrowd.errors import BadInputError, IncrowdError
from incrowd.gateway.cache import Cache
from incrowd.gateway.disclosures import Disclosures
from incrowd.gateway.ledgers import Upkeep
from incrowd.gateway.people import People
from incrowd.gateway.prepared import Prepared
from incrowd.gateway.problems import Problem, bad_request, refused, unavailable
from incrowd.gateway.providers import Fetched, Provider, open_provider
from incrowd.gateway.rate import RateLimit
from incrowd.online.ledger import LedgerError
from incrowd.online.protection import Protection

__all__ = ["Service", "as_problems"]

PROBE_INTERVAL = 2.0  # seconds: anybody may ask for /readyz, and it must cost providers nothing


class Service:
    """The shared parts, made from one configuration.

    Parameters
    ----------
    prepared
        The configuration and what decides.
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
        """Let go of everything."""
        for provider in self.providers.values():
            await provider.close()
        if self._disclosures:
            self._disclosures.close()

    @property
    def protection(self) -> Protection:
        """What decides; a `Problem` if the auxiliary table cannot be used."""
        if self._protection is None:
            raise _no_table()
        return self._protection

    @property
    def disclosures(self) -> Disclosures:
        """What persons have disclosed; a `Problem` if the auxiliary table cannot be used."""
        if self._disclosures is None:
            raise _no_table()
        return self._disclosures

    async def keep_up(self, *, expire: bool) -> Upkeep | None:
        """Look after the ledger, if there is one: see `Disclosures.keep_up`."""
        return await self._disclosures.keep_up(expire=expire) if self._disclosures else None

    async def check(self) -> None:
        """Raise a `Problem` if nobody can be answered now."""
        with as_problems():
            await self.disclosures.check()

    async def provider_states(self) -> dict[str, bool]:
        """Tell of each provider whether it could be reached, now or a few seconds ago."""
        now = time.monotonic()
        if now >= self._probe_again:
            self._probe_again = now + PROBE_INTERVAL
            ready = await asyncio.gather(*(provider.ready() for provider in self.providers.values()))
            self._reachable = dict(zip(self.providers, ready, strict=True))
        return self._reachable


def _no_table() -> Problem:
    return unavailable("nothing is sent while the auxiliary table cannot be used; the gateway's log says why")


class as_problems:  # noqa: N801 - used like a function
    """Turn the library's errors into problems: the query is wrong, or the ledger cannot be used."""

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
