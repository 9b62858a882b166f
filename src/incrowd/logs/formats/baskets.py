"""Baskets: one record a line, items between blanks. How to recognise them, and how to split them.

Baskets are published word by word, so a log that is mistaken for baskets would publish its user ids. Text therefore
counts as baskets only if it can hardly be anything else.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.clean import clean_texts
from incrowd.logs.formats.columns import is_usual_name
from incrowd.logs.tokens import without_empty_words
from incrowd.text.words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incrowd.logs.formats.blocks import Block

__all__ = ["BASKET_SUFFIXES", "looks_like_baskets", "looks_like_pairs", "split_baskets"]

BASKET_SUFFIXES = (".dat", ".basket", ".baskets")

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
# What may stand inside a plain token; at its end it would end a sentence or a field.
_INSIDE = frozenset("_.&+%'-")
_DATE = re.compile(r"[0-9]{4}-?[01][0-9]-?[0-3][0-9]")
_SECONDS_SINCE_1970 = re.compile(r"(9[0-9]{8}|1[0-9]{9})(\.[0-9]+)?")  # from 1998 to 2033
# Words that join others in a sentence. A letter alone may well be an item.
_JOINING = frozenset(word for word in STOP_WORDS if len(word) > 1)

_PAIR_WIDTHS = range(2, 5)  # a person and an item, and perhaps a number and a time
_LEAST_KEYS = 3

Rows = list[list[str]]


def looks_like_baskets(lines: Sequence[str], suffix: str) -> bool:
    """Whether some first lines of a file look like baskets.

    Numbers between blanks do, unless they are a table. Words do only if the file's name says so too (`suffix`) and they are
    neither a header, nor sentences, nor have an identifier in front of each line.
    """
    if any("\t" in line for line in lines):
        return False
    cleaned = clean_texts(pa.array(lines, pa.string())).to_pylist()
    rows = [line.split() for line in cleaned if line.strip()]
    if not rows:
        return False
    if all(_NUMBER.fullmatch(token) for row in rows for token in row):
        return not _is_table(rows)
    return (
        suffix in BASKET_SUFFIXES
        and all(map(_are_plain, rows))
        and not _names_columns(rows)
        and not _is_keyed(rows)
    )


def looks_like_pairs(lines: Sequence[str]) -> bool:
    """Whether lines may be a table of people and their items: the first token of a line occurs only as a first token, repeatedly."""
    rows = [line.split() for line in lines if line.strip()]
    widths = {len(row) for row in rows}
    if len(widths) != 1 or not widths <= set(_PAIR_WIDTHS):
        return False
    keys = {row[0] for row in rows}
    return (
        len(keys) >= _LEAST_KEYS
        and len({tuple(row) for row in rows}) > len(keys)
        and not any(token in keys for row in rows for token in row[1:])
    )


def split_baskets(block: Block) -> pa.ListArray:
    """Return the items of each record of a block."""
    words = pc.utf8_split_whitespace(block.as_array())
    return without_empty_words(pa.ListArray.from_arrays(words.offsets, clean_texts(words.values)))


def _is_table(rows: Rows) -> bool:
    """Whether numbers form columns that are all 0 or 1, or one of which holds times."""
    if len(rows) == 1 or len(rows[0]) == 1 or len({len(row) for row in rows}) > 1:
        return False
    is_matrix = {token for row in rows for token in row} <= {"0", "1"}
    return is_matrix or any(
        all(map(_SECONDS_SINCE_1970.fullmatch, column)) for column in zip(*rows, strict=True)
    )


def _are_plain(row: list[str]) -> bool:
    """Whether a line is plain tokens and not a sentence, which begins with a capital letter before small ones."""
    is_sentence = len(row) > 1 and row[0][0].isupper() and all(token[0].islower() for token in row[1:])
    return not is_sentence and all(
        _is_plain(token) and not _DATE.fullmatch(token) and token.casefold() not in _JOINING for token in row
    )


def _is_plain(token: str) -> bool:
    """Whether a token is of letters and digits, with at most some signs inside; in some scripts vowels are marks."""
    ends = token[0].isalnum() and token[-1] not in _INSIDE
    return ends and all(sign in _INSIDE or unicodedata.category(sign)[0] in "LMN" for sign in token)


def _names_columns(rows: Rows) -> bool:
    """Whether the first line holds names of columns: usual ones, or words where all the others hold numbers."""
    first, others = rows[0], rows[1:]
    if sum(map(is_usual_name, first)) > 1:
        return True
    words_first = not any(map(_has_digit, first))
    return words_first and bool(others) and all(_has_digit(token) for row in others for token in row)


def _is_keyed(rows: Rows) -> bool:
    """Whether each line begins with an identifier: a number or a word with digits that occurs nowhere else in a line."""
    behind = [token for row in rows for token in row[1:]]
    return bool(behind) and all(_has_digit(row[0]) for row in rows) and not any(map(_has_digit, behind))


def _has_digit(token: str) -> bool:
    return any(map(str.isdecimal, token))
