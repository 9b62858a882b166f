"""Where the parts of a large JSON text begin and end, found without decoding them.

Brackets and commas count only outside of strings. NumPy scans the text piece by piece, so nothing of the text's size is
allocated and no other thread waits for long. For a text that is not JSON the places are meaningless: the caller must
decode what is between them.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from incrowd.core.types import Ints32

__all__ = ["NOWHERE", "Scan", "find_end", "find_value", "scan", "skip_blanks"]

PIECE = 64 * 1024
FIRST_PIECE = 512  # most parts are small
GROWTH = 16
NOWHERE = -1
LONGEST_NUMBER = 18  # digits in a pointer
MOST_BEFORE = 10_000
"""How many names or elements may come before the one that is searched; each takes some microseconds."""
BLANKS = b" \t\n\r"
QUOTE = ord('"')
COMMA = ord(",")
COLON = ord(":")


class Scan(NamedTuple):
    """The structure of a piece of text.

    Parameters
    ----------
    size
        How many bytes of the piece were scanned: all but a last one that escapes the next byte.
    steps
        For each byte, 1 if it opens an object or array, -1 if it closes one, else 0.
    depths
        For each byte, how many are open after it.
    strings
        For each byte, 1 within strings (from the opening quote on), else 0.
    """

    size: int
    steps: NDArray[np.int8]
    depths: Ints32
    strings: NDArray[np.uint8]


def _steps() -> NDArray[np.int8]:
    steps = np.zeros(256, np.int8)
    steps[list(b"{[")] = 1
    steps[list(b"}]")] = -1
    return steps


_STEPS = _steps()


def scan(piece: bytes, depth: int = 0, in_string: int = 0) -> Scan:
    """Scan a piece that begins at some depth, and inside a string (1) or not (0)."""
    if b"\\" in piece:
        # Pairs of backslashes first, from the left: a remaining one escapes the character after it.
        piece = piece.replace(rb"\\", b"__")
        if piece.endswith(b"\\"):
            piece = piece[:-1]
        piece = piece.replace(rb"\"", b"__")
    characters = np.frombuffer(piece, np.uint8)
    quotes = np.cumsum(characters == QUOTE, dtype=np.uint8)  # only whether it is odd matters
    strings = (quotes + np.uint8(in_string)) & np.uint8(1)
    steps = _STEPS[characters]
    steps *= (strings ^ 1).view(np.int8)
    depths = np.cumsum(steps, dtype=np.int32)
    return Scan(len(piece), steps, depths + np.int32(depth) if depth else depths, strings)


def skip_blanks(text: bytes, place: int) -> int:
    """Return the first place from here on that is not blank; the end of the text if there is none."""
    while place < len(text) and text[place] in BLANKS:
        piece = text[place : place + PIECE]
        place += len(piece) - len(piece.lstrip(BLANKS))
    return place


def find_end(text: bytes, place: int, stop: int | None = COMMA) -> int:
    """Return where the value that begins here ends: at a `stop` after it, or at the end of its container.

    Parameters
    ----------
    text, place
        The text, and where in it to begin, which is not within a string.
    stop
        The character that ends it; without one, all values up to the end of what they are in are passed over.
    """
    size, depth, in_string = FIRST_PIECE, 0, 0
    while place < len(text):
        piece = text[place : place + size]
        seen = scan(piece, depth, in_string)
        if not seen.size:
            return NOWHERE  # the text ends with a backslash
        ends = seen.depths < 0
        if stop is not None:
            characters = np.frombuffer(piece, np.uint8, seen.size)
            ends |= (characters == stop) & (seen.depths == 0) & (seen.strings == 0)
        first = int(ends.argmax())
        if ends[first]:
            return place + first
        place += seen.size
        depth, in_string = int(seen.depths[-1]), int(seen.strings[-1])
        size = min(PIECE, size * GROWTH)
    return NOWHERE


def find_value(text: bytes, steps: tuple[str, ...]) -> int:
    """Return where the value at a JSON pointer's steps begins; `NOWHERE` if there is none or it is too far away.

    Raises
    ------
    msgspec.DecodeError, UnicodeDecodeError
        If a name on the way is not JSON.
    """
    place = skip_blanks(text, 0)
    for step in steps:
        opening = text[place : place + 1]
        if opening == b"{":
            place = _find_name(text, place + 1, step)
        elif (
            opening == b"["
            and step.isascii()
            and step.isdigit()
            and len(step) <= LONGEST_NUMBER
            and str(int(step)) == step
        ):
            place = _find_part(text, place + 1, int(step))
        else:
            return NOWHERE
        if place == NOWHERE:
            return NOWHERE
    return place


def _find_name(text: bytes, place: int, name: str) -> int:
    """Return where the value under a name of an object begins."""
    for _ in range(MOST_BEFORE):
        place = skip_blanks(text, place)
        colon = find_end(text, place, COLON)
        if colon == NOWHERE or text[colon] != COLON:
            return NOWHERE
        if msgspec.json.decode(text[place:colon]) == name:
            return skip_blanks(text, colon + 1)
        place = _after_comma(text, colon + 1)
        if place == NOWHERE:
            break
    return NOWHERE


def _find_part(text: bytes, place: int, number: int) -> int:
    """Return where an element of an array begins."""
    if number > MOST_BEFORE:
        return NOWHERE
    for _ in range(number):
        place = _after_comma(text, place)
        if place == NOWHERE:
            return NOWHERE
    return skip_blanks(text, place)


def _after_comma(text: bytes, place: int) -> int:
    """Return where the next value begins, if this one is not the last."""
    end = find_end(text, place)
    return end + 1 if end != NOWHERE and text[end] == COMMA else NOWHERE
