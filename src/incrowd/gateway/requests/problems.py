"""Error replies: a status, a code for programs and a message of one line for people.

A message names the parameter, the field or the setting and the remedy, and never contains a value of a query, a key or a
row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from incrowd.errors import IncrowdError

__all__ = [
    "STATUSES",
    "Problem",
    "as_json",
    "bad_request",
    "field_missing",
    "internal",
    "method_not_allowed",
    "not_found",
    "refused",
    "too_large",
    "too_many_requests",
    "unauthorized",
    "unavailable",
]

STATUSES: Mapping[str, int] = MappingProxyType(
    {
        "bad_request": 400,
        "unauthorized": 401,
        "refused": 403,
        "not_found": 404,
        "method_not_allowed": 405,
        "too_large": 413,
        "too_many_requests": 429,
        "internal": 500,
        "provider_error": 502,
        "provider_truncated": 502,
        "field_missing": 502,
        "budget_exceeded": 502,
        "unavailable": 503,
        "provider_timeout": 504,
    }
)
"""Every code with its HTTP status."""

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Problem(IncrowdError):  # noqa: N818 - it becomes a reply
    """A request that cannot be answered.

    Parameters
    ----------
    code
        One of `STATUSES`, which also gives the status.
    message
        What is wrong and what to do about it; it is put on one line.
    headers
        Headers of the answer, names in lower case.
    """

    def __init__(self, code: str, message: str, headers: Mapping[str, str] = NO_HEADERS) -> None:
        self.code = code
        self.status = STATUSES[code]
        self.message = " ".join(message.encode("utf-8", "replace").decode().split())
        self.headers = dict(headers)
        super().__init__(self.message)


def as_json(problem: Problem, request_id: str) -> bytes:
    """Return the body of the reply; the request's id identifies its log line."""
    return msgspec.json.encode(
        {"error": {"code": problem.code, "message": problem.message, "request": request_id}}
    )


def bad_request(message: str) -> Problem:
    """Return the problem of a parameter that cannot be read."""
    return Problem("bad_request", message)


def unauthorized() -> Problem:
    """Return the problem of an unknown person; it does not say whether the key was missing or wrong."""
    return Problem(
        "unauthorized",
        "a valid key is needed: send it as 'Authorization: Bearer KEY' or 'X-Api-Key: KEY'",
        {"www-authenticate": "Bearer"},
    )


def refused(message: str) -> Problem:
    """Return the problem of a query for which nothing may be sent."""
    return Problem("refused", message)


def not_found() -> Problem:
    """Return the problem of an unknown path."""
    return Problem("not_found", "there is nothing at this path: GET /openapi.json lists the paths")


def method_not_allowed(allowed: Iterable[str]) -> Problem:
    """Return the problem of a method that the path does not have."""
    methods = ", ".join(allowed)
    return Problem("method_not_allowed", f"this path takes {methods} only", {"allow": methods})


def too_large(limit: int) -> Problem:
    """Return the problem of a body that is too long."""
    return Problem("too_large", f"the body is too large: send at most {limit} bytes")


def too_many_requests(seconds: float) -> Problem:
    """Return the problem of too many requests; Retry-After is in whole seconds, so it is rounded up."""
    wait = max(1, math.ceil(seconds))
    return Problem(
        "too_many_requests", f"too many requests: try again in {wait} s", {"retry-after": str(wait)}
    )


def internal() -> Problem:
    """Return the problem of a failure of the gateway. The cause may quote a value, so only its type is logged."""
    return Problem("internal", "the gateway failed: give the request's id to its operator")


def field_missing(field: str) -> Problem:
    """Return the problem of a field of the provider's rows that is absent or cannot be compared."""
    return Problem(
        "field_missing",
        f"the provider's rows do not all have a plain value in the field '{field}', so there is no exact answer",
    )


def unavailable(message: str) -> Problem:
    """Return the problem of a part (ledger, table, provider) that cannot be used now."""
    return Problem("unavailable", message, {"retry-after": "1"})
