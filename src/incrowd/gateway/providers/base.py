"""The interface of providers: rows for a query, and whether they are complete."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from incrowd.errors import IncrowdError
from incrowd.generalizer.schema import text_of

__all__ = ["OVER_BUDGET", "Fetched", "Provider", "ProviderError", "TryAgainError", "plain_text", "try_again"]

BACKOFF_SECONDS = 0.05  # before the first retry; doubled each time, with random jitter of up to a half

Result = TypeVar("Result")


OVER_BUDGET = "the answer has more than"
"""The beginning of `Fetched.missing` if the gateway stopped reading."""


class ProviderError(IncrowdError):
    """The provider gave no usable answer. The message never contains a value, an address or the answer.

    Parameters
    ----------
    message
        One line for the person who sent the query.
    code
        The error's code in the gateway's answer.
    status
        The HTTP status of the gateway's answer.
    """

    def __init__(self, message: str, *, code: str = "provider_error", status: int = 502) -> None:
        super().__init__(message)
        self.code = code
        self.status = status

    @classmethod
    def late(cls, seconds: float) -> ProviderError:
        """Return the error for a fetch that was not finished in time."""
        message = f"the provider did not answer within {seconds:g} seconds"
        return cls(message, code="provider_timeout", status=504)

    @classmethod
    def unreachable(cls) -> ProviderError:
        """Return the error for a provider that cannot be connected to."""
        return cls("the provider cannot be reached")

    @classmethod
    def unsendable(cls, name: str) -> ProviderError:
        """Return the error for a value that cannot be sent."""
        message = f"parameter '{name}' must be one text, number, true or false that can be sent"
        return cls(message, code="bad_request", status=400)


class TryAgainError(Exception):
    """An attempt failed but may succeed if it is repeated; it has the error to raise if none succeeds."""

    def __init__(self, problem: ProviderError) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(slots=True)
class Fetched:
    """An answer of a provider.

    Parameters
    ----------
    rows
        The rows, in the provider's order.
    complete
        Whether these are all rows that match the query.
    missing
        Why they are not complete, in one line; empty if they are.
    nbytes
        The size of the answer, decompressed.
    pages
        The number of requests that were answered.
    """

    rows: list[dict[str, Any]] = field(repr=False)
    complete: bool
    missing: str
    nbytes: int
    pages: int


class Provider(Protocol):
    """A source of rows that is not trusted with the original query."""

    def fetch(self, sent: Mapping[str, Any], headers: Mapping[str, str]) -> Awaitable[Fetched]:
        """Return all rows for what is sent, or a `Fetched` that says what is missing."""

    async def ready(self) -> bool:
        """Return whether the provider can be reached, without sending a query."""

    async def close(self) -> None:
        """Close all connections."""


def plain_text(name: str, value: object) -> str:
    """Return the text of a value for a query string or SQL; nested values have none."""
    if value is None or isinstance(value, list | tuple | dict | set):
        raise ProviderError.unsendable(name)
    return text_of(value)


async def try_again(attempt: Callable[[], Awaitable[Result]], retries: int, failure: TryAgainError) -> Result:
    """Repeat an attempt that failed, after a short delay; raise the last error if none succeeds."""
    for number in range(retries):
        await asyncio.sleep(BACKOFF_SECONDS * 2**number * random.uniform(0.5, 1.0))  # noqa: S311
        try:
            return await attempt()
        except TryAgainError as another:
            failure = another
    # A new error: one that is part of its own context would keep itself alive, and all that its traceback knows.
    last = failure.problem
    raise ProviderError(str(last), code=last.code, status=last.status) from None
