"""From the provider's rows to the person's answer: filtered by the original query, sorted and cut to the page.

The provider was sent a generalized query, so its answer has additional rows. Values are compared by the same text as
attributes' values are (`text_of`: 39, 39.0 and "39" are one value). A field that is absent, or contains a list or an
object, is a `Problem` in every row and for every filter, so that the result does not depend on the order of the filters.
A field that is null means that the row has no value: it matches nothing, and sorts last.

Rows are also compared to what was sent: if the provider was sent a value and a row has another one, the answer may
belong to another query, and it is not called exact.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import compress
from operator import itemgetter, ne
from types import NoneType
from typing import Any, Protocol
from uuid import UUID

from msgspec import Struct

from incrowd.gateway.config.pointers import compile_pointer
from incrowd.gateway.requests.problems import bad_request, field_missing
from incrowd.generalizer.schema import text_of

__all__ = ["Answer", "Filter", "Order", "SortField", "field_getter", "narrow", "parse_sort", "parse_window"]

Row = dict[str, Any]
Getter = Callable[[Any], Any]

# The types that can be compared, in the order in which mixed types sort. Fields of other types cannot be used.
KINDS: dict[type, int] = {
    bool: 0,
    int: 1,
    float: 1,
    Decimal: 1,
    str: 3,
    date: 4,
    datetime: 5,
    time: 6,
    timedelta: 7,
    UUID: 8,
}
NOT_A_NUMBER = 2  # the kind of NaN, which is neither less nor more than a number: it comes after them all
LARGEST_OFFSET = 2**53 - 1  # the largest whole number that every JSON reader keeps exactly
WHOLE_NUMBER = re.compile(r"[0-9]{1,16}", re.ASCII)


@lru_cache(maxsize=1024)
def field_getter(pointer: str) -> Getter:
    """Return a function that returns a field of a row; for a plain name it runs without Python code.

    It returns `MISSING` or raises a LookupError where there is no such field.
    """
    name = pointer.removeprefix("/")
    return compile_pointer(pointer) if pointer == name or set(name) & set("/~") else itemgetter(name)


def _column(field: str, get: Getter, rows: Sequence[Row]) -> list[Any]:
    try:
        return list(map(get, rows))
    except LookupError:
        raise field_missing(field) from None


class Page(Protocol):
    """The default and the largest number of rows of a page."""

    @property
    def size(self) -> int:
        """The default number of rows."""

    @property
    def most(self) -> int:
        """The largest number of rows that may be requested."""


class Filter(Struct, frozen=True):
    """A filter on the text of one field of a row.

    Parameters
    ----------
    field
        The field's pointer, for messages.
    get
        Returns the field of a row: `field_getter` of the pointer, or the compiled pointer.
    text
        `text_of` the wanted value.
    sent
        Whether the provider was sent this very value.
    coarser
        If the provider was sent a coarser value: the coarser value of each value, by their texts.
    """

    field: str
    get: Getter
    text: str
    sent: bool = False
    coarser: Mapping[str, str] | None = None

    def __repr__(self) -> str:
        return f"Filter(field={self.field!r})"

    def values(self, rows: Sequence[Row]) -> list[Any]:
        """Return the field's value in each row."""
        return _column(self.field, self.get, rows)

    def matches(self, values: Sequence[Any]) -> list[bool] | None:
        """Return for each value whether it matches; None if all do, as when the provider was sent the value."""
        text = self.text
        if values.count(text) == len(values):
            return None
        return [value == text if value.__class__ is str else self._match(value) for value in values]

    def is_contradicted(self, values: Sequence[Any], matches: Sequence[bool]) -> bool:
        """Return whether a row contradicts what was sent. A value that the table does not know contradicts nothing."""
        if self.sent:
            return not all(matches)
        if self.coarser is None:
            return False
        sent, coarser = self.coarser[self.text], self.coarser
        return any(coarser.get(text_of(value), sent) != sent for value in values if value is not None)

    def _match(self, value: Any) -> bool:
        if value is None:
            return False
        if type(value) not in KINDS:  # a missing value has no kind either
            raise field_missing(self.field)
        return text_of(value) == self.text


@dataclass(frozen=True, slots=True)
class SortField:
    """A field to sort by, as a pointer without its first slash."""

    name: str
    descending: bool = False

    def sort(self, rows: list[Row]) -> list[Row]:
        """Return the rows sorted; the sort is stable, and nulls come last in both directions."""
        pointer = f"/{self.name}"
        values = _column(pointer, field_getter(pointer), rows)
        known = [place for place, value in enumerate(values) if value is not None]
        unknown = [place for place, value in enumerate(values) if value is None]
        keys = _sort_keys(pointer, values)
        try:
            known.sort(key=keys.__getitem__, reverse=self.descending)
        except TypeError:  # two times of which only one has a time zone
            raise field_missing(pointer) from None
        return [rows[place] for place in known + unknown]


Order = tuple[SortField, ...]


def _sort_keys(pointer: str, values: list[Any]) -> Sequence[Any]:
    """Return the sort keys: the values themselves if they are of one kind, which is faster."""
    types = set(map(type, values)) - {NoneType}
    if not types <= KINDS.keys():
        raise field_missing(pointer)
    has_nan = any(map(ne, values, values))  # only NaN differs from itself
    if len({KINDS[one] for one in types}) <= 1 and not has_nan:
        return values
    return [
        (NOT_A_NUMBER, 0) if value != value else (KINDS.get(type(value), 0), value)  # noqa: PLR0124 - as above
        for value in values
    ]


@dataclass(slots=True)
class Answer:
    """A page of the matching rows, their total number, and the fields in which rows contradict what was sent."""

    rows: list[Row] = dataclasses.field(repr=False)
    total: int
    offset: int
    limit: int
    contradicted: tuple[str, ...] = ()


def narrow(
    rows: list[Row], filters: Sequence[Filter], *, sort: Order = (), offset: int, limit: int
) -> Answer:
    """Return the page of the answer to the original query; the given rows are not changed.

    Parameters
    ----------
    rows
        All rows of the provider's answer.
    filters
        The filters, all of which a row must match.
    sort
        The fields to sort by, the most important first; without any, the provider's order.
    offset, limit
        The page: how many rows to pass over, and how many to return at most.
    """
    matching, contradicted = _matching(rows, filters)
    for by in reversed(sort):
        matching = by.sort(matching)
    return Answer(matching[offset : offset + limit], len(matching), offset, limit, contradicted)


def _matching(rows: list[Row], filters: Sequence[Filter]) -> tuple[list[Row], tuple[str, ...]]:
    """Return the rows that match, and the fields in which some row contradicts what was sent."""
    all_matches: list[list[bool]] = []
    contradicted: list[str] = []
    for wanted in filters:
        values = wanted.values(rows)
        matches = wanted.matches(values)
        if matches is not None:
            all_matches.append(matches)
            if wanted.is_contradicted(values, matches):
                contradicted.append(wanted.field)
    if not all_matches:
        return rows, ()
    matching = all_matches[0] if len(all_matches) == 1 else map(all, zip(*all_matches, strict=True))
    return list(compress(rows, matching)), tuple(contradicted)


def parse_sort(text: object, allowed: Collection[str]) -> Order:
    """Parse ``-amount,county``: by amount, largest first, then by county; an empty text means no order.

    Parameters
    ----------
    text
        The request's parameter.
    allowed
        The fields that the route lets people sort by.
    """
    if text is None or text == "":
        return ()
    if not allowed:
        raise bad_request("sort is not possible here: leave it out")
    order = tuple(map(_sort_field, str(text).split(",")))
    names = [by.name for by in order]
    if not set(names) <= set(allowed) or len(set(names)) < len(names):
        raise bad_request(
            f"sort must be names out of {', '.join(allowed)}, each at most once, separated by commas, "
            "with a '-' before a name to begin with the largest"
        )
    return order


def _sort_field(text: str) -> SortField:
    return SortField(text.removeprefix("-"), descending=text.startswith("-"))


def parse_window(offset: object, limit: object, page: Page) -> tuple[int, int]:
    """Parse which part of the answer is requested; the default is the first page of the default size."""
    return (
        _whole_number("offset", offset, 0, 0, LARGEST_OFFSET),
        _whole_number("limit", limit, page.size, 1, page.most),
    )


def _whole_number(name: str, given: object, default: int, least: int, most: int) -> int:
    if given is None or given == "":
        return default
    text = text_of(given)
    if not WHOLE_NUMBER.fullmatch(text) or not least <= int(text) <= most:
        raise bad_request(f"{name} must be a whole number from {least} to {most}")
    return int(text)
