"""A table from 64-bit words to numbers, for kernels: open addressing, never more than half full."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints32, Ints64, Words64
from incrowd.kernels.jit import helper

__all__ = ["EMPTY", "Table", "add_to", "number_of", "pair_word", "pairs_in", "place_of", "table_for"]

EMPTY = np.uint64(2**64 - 1)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class Table(NamedTuple):
    """Words, or EMPTY; the number of each; and how many there are."""

    word: Words64
    number: Ints64
    used: int


@helper
def table_for(words: int) -> Table:
    """Return an empty table with room for some words."""
    room = 64
    while room < 2 * words:
        room *= 2
    return Table(np.full(room, EMPTY, np.uint64), np.zeros(room, np.int64), 0)


@helper
def place_of(table: Table, word: np.uint64) -> int:
    """Return where a word is, or where it would be put."""
    mask = np.uint64(len(table.word) - 1)
    place = (word * _SPREAD >> np.uint64(20)) & mask
    while table.word[np.int64(place)] != EMPTY and table.word[np.int64(place)] != word:
        place = (place + np.uint64(1)) & mask
    return int(place)


@helper
def number_of(table: Table, word: np.uint64) -> int:
    """Return the number of a word; 0 if it is not there."""
    return int(table.number[place_of(table, word)])


@helper
def add_to(table: Table, word: np.uint64, number: int) -> Table:
    """Add to the number of a word; return the table, which may be a larger one."""
    place = place_of(table, word)
    used = table.used
    if table.word[place] == EMPTY:
        used += 1
        if 2 * used > len(table.word):
            table = _larger(table)
            place = place_of(table, word)
        table.word[place] = word
    table.number[place] += number
    return Table(table.word, table.number, used)


@helper
def _larger(table: Table) -> Table:
    larger = table_for(len(table.word))
    for i in range(len(table.word)):
        if table.word[i] != EMPTY:
            place = place_of(larger, table.word[i])
            larger.word[place], larger.number[place] = table.word[i], table.number[i]
    return Table(larger.word, larger.number, table.used)


@helper
def pair_word(a: int, b: int) -> np.uint64:
    """Return one word for two labels, whatever their order."""
    return (np.uint64(min(a, b)) << np.uint64(32)) | np.uint64(max(a, b))


@helper
def pairs_in(first: Ints64, label: Ints32, number: Ints64) -> Table:
    """Return the pairs of labels that are in one tile, with the sum of a number of those tiles; tile t has ``label[first[t]:first[t + 1]]``."""
    pairs = table_for(1)
    for tile in range(len(first) - 1):
        for i in range(first[tile], first[tile + 1]):
            for j in range(i + 1, first[tile + 1]):
                pairs = add_to(pairs, pair_word(label[i], label[j]), number[tile])
    return pairs
