"""Rows as JSON objects, one a line, or one after the other in an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa

from incrowd.core.types import Ints64
from incrowd.logs.formats.rows import BLANK_LINE, Rows, rows_from

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from incrowd.logs.formats.blocks import Block
    from incrowd.logs.formats.detect import Layout
    from incrowd.logs.rejects import Rejects

__all__ = ["JsonParser"]

_TEXTS: Any = str | int | float | None
_LISTS: Any = list[str] | _TEXTS  # of addresses


class JsonParser:
    """Parses blocks of JSON objects.

    Parameters
    ----------
    layout
        Which key is the user, the query, the time and the address.
    rejects
        Where lines go that are not a JSON object, or whose values are neither text nor numbers.
    """

    def __init__(self, layout: Layout, rejects: Rejects) -> None:
        self._keys = layout.columns
        self._rejects = rejects
        self._decoder = msgspec.json.Decoder(
            msgspec.defstruct(
                "Row",
                [(role, _LISTS if role == "shown" else _TEXTS, None) for role in self._keys],
                rename={role: str(key) for role, key in self._keys.items()},
            )
        )

    def parse(self, block: Block) -> Iterator[Rows]:
        """Yield the rows that can be read."""
        rows, good = self._decode(block)
        columns = {role: _texts([getattr(row, role) for row in rows]) for role in self._keys}

        def text_of(chosen: Ints64) -> Sequence[str]:
            return good.take(chosen).texts()

        yield rows_from(good.lines, columns, text_of)

    def _decode(self, block: Block) -> tuple[list[Any], Block]:
        """Return the objects and their lines: all at once where that gives each line its own."""
        if _are_objects(block):
            try:
                rows = self._decoder.decode_lines(block.data)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                rows = []
            if len(rows) == len(block):
                return rows, block
        return self._decode_one_by_one(block)

    def _decode_one_by_one(self, block: Block) -> tuple[list[Any], Block]:
        rows, good = [], []
        for record, text in enumerate(block.texts()):
            try:
                rows.append(self._decoder.decode(text))
                good.append(record)
            except (msgspec.DecodeError, RecursionError) as error:
                reason = _reason(text, error)
                self._rejects.add(int(block.lines[record]), reason, text)
        return rows, block.take(np.array(good, dtype=np.int64))


def _are_objects(block: Block) -> bool:
    """Whether every line begins and ends with a brace.

    The decoder of lines reads an object across line ends, with another person's object in it, and several objects in one line. No object
    that is still open goes on with an opening brace after a closing one, so where every line has both, each has one object or more.
    """
    data = np.frombuffer(block.data, np.uint8)
    starts = np.concatenate(([0], block.ends[:-1]))
    return bool((data[starts] == ord("{")).all() and (data[block.ends - 2] == ord("}")).all())


def _reason(text: str, error: Exception) -> str:
    if not text.strip():
        return BLANK_LINE
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return "value is not text" if isinstance(error, msgspec.ValidationError) else "not a JSON object"


def _texts(values: list[list[str] | str | float | None]) -> pa.StringArray:
    """Write every value as text."""
    return pa.array([_text(value) for value in values], pa.string())


def _text(value: list[str] | str | float | None) -> str:
    """Return a value as text; addresses with blanks between them."""
    if value is None or isinstance(value, str):
        return value or ""
    return " ".join(value) if isinstance(value, list) else _number(value)


def _number(value: float) -> str:
    """Return a number as text: 7.0 and 7e0 are the number 7."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)
