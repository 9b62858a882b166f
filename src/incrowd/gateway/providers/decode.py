"""Decoding a provider's answer into rows, within the budget of a fetch and without blocking the event loop.

A small answer is decoded at once. A large one is decoded in a thread: its array of rows is found, and decoded some rows
at a time until the array or the fetch's budget ends. The rest of the document is decoded separately. Every byte between
two places that `structure` found is decoded by msgspec or is a comma or blank between values, so both ways accept the
same documents and return the same values.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from incrowd.gateway.config.pointers import compile_pointer
from incrowd.gateway.config.settings import Budget
from incrowd.gateway.providers.base import OVER_BUDGET, ProviderError
from incrowd.gateway.providers.structure import NOWHERE, PIECE, find_end, find_value, scan, skip_blanks
from incrowd.gateway.requests.strict_json import NOT_JSON, JsonError, decode, decode_with_rows, memory_of_text

__all__ = ["Decoded", "Decoder", "Room", "decode_value"]

SMALL = 64 * 1024
"""Up to this size an answer is decoded in the event loop: twenty milliseconds in the worst case."""
AT_ONCE = 2
"""Large answers of a provider that are decoded at the same time."""
STEP_SECONDS = 0.02
"""How long a thread works before the task is checked for cancellation."""
MEMORY_PER_BYTE = 8
"""Bytes of memory that each byte of the budget allows. Rows of a few numbers and texts take four to six."""
LEAST_MEMORY = 64 * 10**6
"""Memory that every fetch may use."""
UNCOUNTED = 64
"""Memory is not measured while the answers are smaller than this fraction of it: a byte takes 30 bytes at most."""
LARGEST_PART = 2 * 10**6
MOST_VALUES = 50_000
"""A row, and the document without its rows, are each decoded in one call, which blocks other threads: the most bytes and values."""

ONE_ROW = "a row"
ONE_FIELD = "a field with JSON"
WITHOUT_ROWS = "the part without rows"
UNREADABLE = (JsonError, msgspec.DecodeError, UnicodeDecodeError)
NO_ROWS = "the provider's answer has no array of objects where 'rows' points to"
NO_ROWS_FOUND = "the provider's answer is not JSON, or has no array of objects where 'rows' points to"


class Room:
    """The remaining budget of a fetch in rows and memory. Every page uses some of it.

    Parameters
    ----------
    budget
        The budget of the fetch.
    """

    __slots__ = ("_nbytes", "memory", "most", "over", "rows")

    def __init__(self, budget: Budget) -> None:
        self.most = max(LEAST_MEMORY, MEMORY_PER_BYTE * budget.bytes)
        self.memory = self.most
        self.rows = budget.rows
        self.over = ""
        self._nbytes = 0

    @property
    def is_full(self) -> bool:
        """Whether the budget is used up."""
        return self.rows < 0 or self.memory < 0

    def take(self, text: bytes, rows: list[dict[str, Any]]) -> None:
        """Use some of the budget for rows and the JSON text that they came in."""
        self.rows -= len(rows)
        self._nbytes += len(text)
        if self._nbytes * UNCOUNTED > self.most:
            self.memory -= memory_of_text(text, rows)
            if self.memory < 0:
                self.over = f"{OVER_BUDGET} {self.most} bytes when decoded, which follows from 'budget.bytes'"


@dataclass(slots=True, repr=False)
class Decoded:
    """A JSON document, and its rows within the budget."""

    document: Any
    rows: list[dict[str, Any]]


class Decoder:
    """Decodes the answers of one provider.

    Parameters
    ----------
    pointer
        Where the rows are in an answer.
    """

    def __init__(self, pointer: str) -> None:
        self._find_rows = compile_pointer(pointer)
        self._steps = tuple(
            step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:] if pointer
        )
        self._places = asyncio.Semaphore(AT_ONCE)

    def decode_small(self, body: bytes, room: Room) -> Decoded | None:
        """Return the document and the rows of a small answer; None if the answer is large.

        Raises
        ------
        ProviderError
            If the answer is not JSON, has an object with the same name twice, or no rows.
        """
        if len(body) > SMALL:
            return None
        try:
            document, rows = decode_with_rows(body, self._find_rows)
        except UNREADABLE as error:
            raise _unreadable(error) from None
        if rows is None:
            raise ProviderError(NO_ROWS)
        room.take(body, rows)
        return Decoded(document, rows)

    async def decode_large(self, body: bytes, room: Room) -> Decoded:
        """Return the document and the rows of an answer, within the budget.

        If there is not enough, either one row more than the budget is returned, or `room.over` says what was exceeded.

        Raises
        ------
        ProviderError
            If the answer is not JSON, has an object with the same name twice, no rows or a row that is too large.
        """
        try:
            return await self._in_steps(body, room)
        except UNREADABLE as error:
            raise _unreadable(error) from None

    async def _in_steps(self, body: bytes, room: Room) -> Decoded:
        async with self._places:
            rows = await asyncio.to_thread(self._begin, body, room)
            while not await asyncio.to_thread(rows.work):
                pass
            document = await asyncio.to_thread(rows.decode_without_rows)
        found = self._find_rows(document)
        if type(found) is not list or found:  # the empty array in place of the rows
            raise ProviderError(NO_ROWS)
        found += rows.rows
        return Decoded(document, found)

    def _begin(self, body: bytes, room: Room) -> _Rows:
        return _Rows(body, find_value(body, self._steps), room)


class _Rows:
    """The rows of a large answer, decoded in steps.

    Parameters
    ----------
    body
        The answer.
    place
        Where the array of rows begins in it.
    room
        The remaining budget.
    """

    def __init__(self, body: bytes, place: int, room: Room) -> None:
        self._body = body
        self._begin = place
        self._room = room
        self._end = NOWHERE
        if place == NOWHERE or body[place : place + 1] != b"[":
            raise ProviderError(NO_ROWS_FOUND)
        self._place = skip_blanks(body, place + 1)
        self.rows: list[dict[str, Any]] = []
        if body[self._place : self._place + 1] == b"]":
            self._end = self._place

    def work(self) -> bool:
        """Decode rows for a short time; return whether decoding is finished."""
        until = time.monotonic() + STEP_SECONDS
        while self._end == NOWHERE and time.monotonic() < until:
            if self._room.is_full:
                self._end = self._closing(find_end(self._body, self._place, None))
            else:
                self._decode_some()
        return self._end != NOWHERE

    def decode_without_rows(self) -> Any:
        """Return the document with an empty array in place of its rows."""
        body, begin, end = self._body, self._begin, self._end + 1
        _check_length(len(body) - (end - begin), WITHOUT_ROWS)
        text = body[:begin] + b"[]" + body[end:]
        _check_values(text, WITHOUT_ROWS)
        return decode(text)

    def _decode_some(self) -> None:
        end = self._end_of_some()
        text = b"[%b]" % self._body[self._place : end]
        _, rows = decode_with_rows(text, _itself)
        if rows is None:
            raise ProviderError(NO_ROWS)
        self.rows += rows
        self._room.take(text, rows)
        place = skip_blanks(self._body, end)
        if self._body[place : place + 1] == b",":
            self._place = skip_blanks(self._body, place + 1)
        else:
            self._end = self._closing(place)

    def _end_of_some(self) -> int:
        """Return the end of the last row in the next piece of text that is within the budget, at least one row."""
        if self._body[self._place : self._place + 1] != b"{":
            raise ProviderError(NO_ROWS_FOUND)
        seen = scan(self._body[self._place : self._place + PIECE])
        after = np.flatnonzero(seen.depths < 0)
        inside = int(after[0]) if after.size else seen.size
        ends = np.flatnonzero((seen.depths[:inside] == 0) & (seen.steps[:inside] < 0))
        if ends.size:
            return self._place + int(ends[min(ends.size - 1, self._room.rows)]) + 1
        end = find_end(self._body, self._place)
        if end == NOWHERE:
            raise JsonError(NOT_JSON)
        _check_length(end - self._place, ONE_ROW)
        _check_values(self._body[self._place : end], ONE_ROW)
        return end

    def _closing(self, place: int) -> int:
        if place == NOWHERE or self._body[place : place + 1] != b"]":
            raise JsonError(NOT_JSON)
        return place


def _unreadable(error: Exception) -> ProviderError:
    what = f": {error}" if isinstance(error, JsonError) else ""
    return ProviderError(f"the provider's answer cannot be read{what}")


def decode_value(text: bytes) -> Any:
    """Decode the JSON text in one field of a row; raise a `ProviderError` if it is not valid or too large."""
    _check_length(len(text), ONE_FIELD)
    _check_values(text, ONE_FIELD)
    try:
        return decode(text)
    except JsonError as error:
        raise ProviderError(f"{ONE_FIELD} of the provider's answer cannot be read: {error}") from None


def _check_length(length: int, what: str) -> None:
    if length > LARGEST_PART:
        raise ProviderError(f"{what} of the provider's answer is too large: more than {LARGEST_PART} bytes")


def _check_values(text: bytes, what: str) -> None:
    if text.count(b",") + text.count(b"[") + text.count(b"{") > MOST_VALUES:
        raise ProviderError(f"{what} of the provider's answer is too large: more than {MOST_VALUES} values")


def _itself(document: Any) -> Any:
    return document
