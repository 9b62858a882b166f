"""What a person is told when there is no answer: a status, a code for programs and one line for people.

A message names the parameter, the field or the setting and the remedy, never a value of a query, a key or a row.
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


class Problem(IncrowdError):  # noqa: N818 - what people are told about
    """A request that cannot be answered.

    Parameters
    ----------
    code
        One of `STATUSES`, which also gives the status.
    message
        What is wrong and what to do about it; made one line.
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
    """Return the body of the answer; the request's id finds the matching log line."""
    return msgspec.json.encode(
        {"error": {"code": problem.code, "message": problem.message, "request": request_id}}
    )


def bad_request(message: str) -> Problem:
    """Say which parameter cannot be read, and how to give it."""
    return Problem("bad_request", message)


def unauthorized() -> Problem:
    """Say that the person is not known, and no more: not whether the key was absent or wrong."""
    return Problem(
        "unauthorized",
        "a valid key is needed: send it as 'Authorization: Bearer KEY' or 'X-Api-Key: KEY'",
        {"www-authenticate": "Bearer"},
    )


def refused(message: str) -> Problem:
    """Say why nothing may be sent for this query."""
    return Problem("refused", message)


def not_found() -> Problem:
    """Say that there is no such path."""
    return Problem("not_found", "there is nothing at this path: GET /openapi.json lists the paths")


def method_not_allowed(allowed: Iterable[str]) -> Problem:
    """Say which methods the path has."""
    methods = ", ".join(allowed)
    return Problem("method_not_allowed", f"this path takes {methods} only", {"allow": methods})


def too_large(limit: int) -> Problem:
    """Say how long a body may be."""
    return Problem("too_large", f"the body is too large: send at most {limit} bytes")


def too_many_requests(seconds: float) -> Problem:
    """Say when to come back; Retry-After is in whole seconds, so it is rounded up."""
    wait = max(1, math.ceil(seconds))
    return Problem(
        "too_many_requests", f"too many requests: try again in {wait} s", {"retry-after": str(wait)}
    )


def internal() -> Problem:
    """Say that the gateway failed; the cause may quote a value, so it is only in the log, without its message."""
    return Problem("internal", "the gateway failed: give the request's id to whoever runs it")


def field_missing(field: str) -> Problem:
    """Say which field of the provider's rows is absent or cannot be compared."""
    return Problem(
        "field_missing",
        f"the provider's rows do not all have a plain value in the field '{field}', so the exact answer is unknown",
    )


def unavailable(message: str, retry_after: int = 1) -> Problem:
    """Say which part (ledger, table, provider) is not there now."""
    return Problem("unavailable", message, {"retry-after": str(retry_after)})
