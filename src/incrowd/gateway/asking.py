"""From a request's parameters to what is asked: what may be sent, what is filtered here, what goes nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_plus

import msgspec

from incrowd.gateway.answer import Filter, Order, field_getter, parse_sort, parse_window
from incrowd.gateway.config import Parameter, Route
from incrowd.gateway.problems import bad_request
from incrowd.online.decision import Decision
from incrowd.online.schema import text_of

__all__ = ["RESERVED", "Asking", "Question", "Reader", "Told", "parameters_of_body", "parameters_of_query"]

RESERVED = ("sort", "offset", "limit")
MOST_PARAMETERS = 100
REMEMBERED = 1024
"""Questions of a route that a worker remembers."""
LONGEST_REMEMBERED = 1024
"""Their longest text, in bytes."""
Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Asking:
    """A request, sorted out. Values are in no repr.

    Parameters
    ----------
    query
        Attribute -> value: what the generalizer decides on.
    passed
        What goes to the provider as it is, under the provider's names.
    filters
        What the answer is narrowed by here, in full.
    blocked, unknown
        Names of the parameters that were given and go nowhere; of the unknown ones nobody knows what they mean.
    order, offset, limit
        How the answer is sorted, and which part of it is wanted.
    """

    query: Mapping[str, Any] = field(repr=False)
    passed: Mapping[str, Any] = field(repr=False)
    filters: tuple[Filter, ...] = field(repr=False)
    blocked: tuple[str, ...]
    unknown: tuple[str, ...]
    order: Order
    offset: int
    limit: int


@dataclass(slots=True)
class Told:
    """What a provider is told in place of a query, and what the person is told about that (as JSON).

    The errand is what the provider made of it when it was first asked.
    """

    decision: Decision
    sent: Mapping[str, Any] = field(repr=False)
    privacy: msgspec.Raw = field(repr=False)
    errand: Any = field(default=None, repr=False)


@dataclass(slots=True, eq=False)
class Question:
    """What one person asked, and what came of it: asked again (the next page, say), it need not be worked out again.

    Parameters
    ----------
    asking
        The request, sorted out.
    disclosed, decision
        What was decided last, and what the provider had been told by then: all that a decision may change with.
    told
        What the last decision means for the provider and the person.
    """

    asking: Asking
    disclosed: Mapping[str, frozenset[str]] | None = field(default=None, repr=False)
    decision: Decision | None = None
    told: Told | None = None


class Reader:
    """Sorts out the parameters of one route's requests; what can be compiled is, once."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self._fields = {
            name: field_getter(parameter.field)
            for name, parameter in route.parameters.items()
            if parameter.field
        }
        self._remembered = lru_cache(REMEMBERED)(self._question)

    def question(self, person: str, method: str, text: bytes) -> Question:
        """Return what a person asks with the text of a request, if it was asked lately with what is known about it.

        Everybody has questions of their own: how fast an answer comes says nothing about what others asked.
        """
        remember = self._remembered if len(text) <= LONGEST_REMEMBERED else self._question
        return remember(person, method, text)

    def _question(self, _person: str, method: str, text: bytes) -> Question:
        return Question(self.read(parameters_of_query(text) if method == "GET" else parameters_of_body(text)))

    def read(self, given: Mapping[str, Any]) -> Asking:
        """Sort out what a person gave: name -> value; None and blanks are "don't care"."""
        query: dict[str, Any] = {}
        passed: dict[str, Any] = {}
        filters, blocked, unknown = [], [], []
        for name, value in given.items():
            if name in RESERVED or value is None or value == "":
                continue
            parameter = self.route.parameters.get(name)
            if parameter is None:
                unknown.append(name)
                continue
            if parameter.use == "passthrough":
                passed[parameter.send[0]] = value
                continue
            if parameter.use == "quasi":
                query[parameter.attribute] = value
            else:
                blocked.append(name)
            if parameter.field:
                filters.append(self._filter(name, parameter, value))
        offset, limit = parse_window(given.get("offset"), given.get("limit"), self.route.page)
        order = parse_sort(given.get("sort"), self.route.sort)
        return Asking(query, passed, tuple(filters), tuple(blocked), tuple(unknown), order, offset, limit)

    def _filter(self, name: str, parameter: Parameter, value: Scalar) -> Filter:
        return Filter(parameter.field, self._fields[name], text_of(value))


def parameters_of_query(query_string: bytes) -> dict[str, Any]:
    """Read the parameters after the question mark; each may be given once."""
    try:
        pairs = _pairs(query_string.decode("ascii"))
    except ValueError:
        raise bad_request(
            f"the query string cannot be read: use UTF-8, percent-encoded, and at most {MOST_PARAMETERS} parameters"
        ) from None
    given = dict(pairs)
    if len(given) < len(pairs):
        raise bad_request("a parameter is given more than once: give each only once")
    return given


def _pairs(query: str) -> list[tuple[str, str]]:
    """Read names and values as `urllib.parse.parse_qsl` does, which takes ten times as long where nothing is encoded."""
    pieces = [piece.partition("=") for piece in query.split("&") if piece]
    if len(pieces) > MOST_PARAMETERS:
        raise ValueError("too many parameters")
    return [(_decoded(name), _decoded(value)) for name, _, value in pieces]


def _decoded(text: str) -> str:
    return unquote_plus(text, errors="strict") if "%" in text or "+" in text else text


def parameters_of_body(body: bytes) -> dict[str, Any]:
    """Read the parameters from a JSON object of plain values."""
    try:
        given = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise bad_request("the body cannot be read: send a JSON object in UTF-8") from None
    if not isinstance(given, dict):
        raise bad_request("the body must be a JSON object")
    if len(given) > MOST_PARAMETERS:
        raise bad_request(f"the body has too many parameters: give at most {MOST_PARAMETERS}")
    for value in given.values():
        if not isinstance(value, str | int | float | bool | None):
            raise bad_request("a parameter is a list or an object: give plain values only")
    return given
