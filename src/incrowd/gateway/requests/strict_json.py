"""Decoding JSON without duplicate names, and the memory that decoded rows take.

Of two values under one name a decoder keeps one, and the other may have been meant, so such a text is refused. The test is
cheap in the common cases. A text has one colon for each name, and more only inside of its
strings. Decoding and encoding loses the names that come twice, with their colons, and nothing else that has a colon: the
numbers of colons are equal if and only if no name comes twice. Only an escaped colon could compensate for a lost one; a text
with escaped colons is read by the standard library, which shows all names.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from sys import getsizeof
from typing import Any

import msgspec

from incrowd.errors import IncrowdError

__all__ = [
    "NOT_JSON",
    "JsonError",
    "decode",
    "decode_object",
    "decode_with_rows",
    "memory_of",
    "memory_of_text",
]

NOT_JSON = "it is not JSON in UTF-8"
TWICE = "an object in it has the same name twice"
NO_OBJECT = "it is not a JSON object"
ESCAPED_COLON = rb"\u003"  # the beginning of \u003a, which is a colon, and of few other escapes

# Bytes of Python's objects. Of texts, what comes before their characters; of dicts and lists, the least and what is added
# for each name or part at most. `tests/gateway/test_strict_json.py` compares them to the interpreter.
TEXT = 56
WIDE_TEXT = 80
LIST = 56
PART = 16
DICT = 64
NAME = 120
MANY_NAMES = 184
ONE_OF_MANY_NAMES = 44
FEW_NAMES = 64
WIDEST_CHARACTER = 5

_decode = msgspec.json.Decoder().decode
LONG = 64 * 1024
"""Longer texts are decoded with Python's float parser: msgspec's takes ten times as long for some numbers."""
_encode = msgspec.json.Encoder().encode


class JsonError(IncrowdError):
    """A text is not valid. The message does not quote it."""


def decode(text: bytes) -> Any:
    """Decode a JSON text.

    Raises
    ------
    JsonError
        If it is not JSON in UTF-8, or an object in it has a name twice.
    """
    document = _document(text)
    _refuse_duplicates(text, document, len(document) if type(document) is dict else 0)
    return document


def decode_object(text: bytes) -> dict[str, Any]:
    """Decode a JSON object; raise a `JsonError` if the text is something else."""
    document = decode(text)
    if type(document) is not dict:
        raise JsonError(NO_OBJECT)
    return document


def decode_with_rows(text: bytes, find_rows: Callable[[Any], Any]) -> tuple[Any, list[dict[str, Any]] | None]:
    """Decode a JSON text and return it with the array of objects in it, or None if there is none.

    The same as `decode`, but faster if most of the document is rows of plain values.
    """
    document = _document(text)
    rows = find_rows(document)
    if type(rows) is not list or set(map(type, rows)) - {dict}:
        _refuse_duplicates(text, document, 0)
        return document, None
    names = sum(map(len, rows))
    # In the simplest case, rows and perhaps a few plain values outside of them, there is nothing more to count.
    outside = len(document) if type(document) is dict else 0
    if b"\\" in text or text.count(b":") != names + outside:
        _refuse_duplicates(text, document, names + _colons_outside(document, rows))
    return document, rows


def memory_of(rows: Sequence[dict[str, Any]]) -> int:
    """Return about how many bytes rows of plain JSON values take in memory: see `memory_of_text`."""
    return memory_of_text(_encode(rows), rows)


def memory_of_text(text: bytes, rows: Sequence[dict[str, Any]]) -> int:
    """Return about how many bytes rows take in memory, from the JSON text that holds them.

    Values are not inspected: what a text can decode to is bounded by its length and by its brackets, colons and commas. The
    result is usually up to a half too large. For no rows it is less than 0.7 of the true value: only names that no
    other row has, which the decoder cannot share, are not counted in full.
    """
    widths = Counter(map(len, rows))
    names = sum(width * count for width, count in widths.items())
    memory = sum(_dict_size(width) * count for width, count in widths.items())
    objects, arrays = text.count(b"{") - len(rows), text.count(b"[")
    if objects or arrays > 1:  # nested values; how many names each object has is not known
        plain = text.count(b",") + 1  # a container has one comma less than values, and is itself a value
        parts = plain + objects + len(rows) + arrays - names
        memory += objects * DICT + max(0, text.count(b":") - names) * NAME
    else:
        plain, parts = names, len(rows)
    width = _character_width(text)
    memory += arrays * LIST + parts * PART + plain * (TEXT if width == 1 else WIDE_TEXT)
    return memory + len(text) * width


def _dict_size(names: int) -> int:
    """Return the size of a dict with so many names; for many names an upper bound."""
    return _SIZES[names] if names < FEW_NAMES else MANY_NAMES + ONE_OF_MANY_NAMES * names


def _character_width(text: bytes) -> int:
    """Return how many bytes a character of a text takes at most.

    In a Python string each takes as much as the widest. The string also caches its UTF-8 once it was encoded.
    """
    if _has_escape(text, rb"\u"):
        return WIDEST_CHARACTER
    if text.isascii():
        return 1
    characters = text.decode()
    return 1 + (getsizeof(characters * 2) - getsizeof(characters)) // len(characters)


def _has_escape(text: bytes, escape: bytes) -> bool:
    return b"\\" in text and escape in text  # one byte is found twenty times as fast


def _document(text: bytes) -> Any:
    try:
        return _decode(text) if len(text) <= LONG else _decode_long(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise JsonError(NOT_JSON) from None


def _colons_outside(document: Any, rows: list[dict[str, Any]]) -> int:
    """Return the colons of a document without its rows, which are removed from it temporarily."""
    if document is rows:
        return 0
    kept = rows.copy()
    rows.clear()
    try:
        return _encode(document).count(b":")
    finally:
        rows += kept


def _refuse_duplicates(text: bytes, document: Any, names: int) -> None:
    """Raise an error if an object has a name twice; `names` are the colons that a text without duplicates must have."""
    if _has_escape(text, ESCAPED_COLON):
        _read_names(text)
        return
    colons = text.count(b":")
    try:
        if colons != names and colons != _encode(document).count(b":"):
            raise JsonError(TWICE)
    except RecursionError:
        raise JsonError(NOT_JSON) from None


def _read_names(text: bytes) -> None:
    """Check the names of every object, which takes ten times as long as decoding."""
    try:
        json.loads(text, object_pairs_hook=_once, parse_int=len, parse_float=len)
    except (ValueError, RecursionError):
        raise JsonError(NOT_JSON) from None


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) < len(pairs):
        raise JsonError(TWICE)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


_decode_long = msgspec.json.Decoder(float_hook=_finite).decode


def _dict_sizes() -> tuple[int, ...]:
    grown: dict[str, None] = {}
    sizes = [getsizeof(grown)]
    for name in range(1, FEW_NAMES):
        grown[str(name)] = None
        sizes.append(getsizeof(grown))
    return tuple(sizes)


_SIZES = _dict_sizes()
