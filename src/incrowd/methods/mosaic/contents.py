"""What units hold, gone through once and without copies: a log's units are its largest arrays."""

from __future__ import annotations

import numpy as np

from incrowd.core.types import Bools, Ints32, Ints64, Words64
from incrowd.kernels.jit import helper, kernel
from incrowd.methods.mosaic.cover import Cover, People

__all__ = ["by_row", "content_words", "count_holders", "count_label_owners", "distinct_labels", "mixed_words"]

SHORT = 32


@kernel
def content_words(start: Ints64, items: Ints32, leaf_of: Ints32) -> Words64:
    """Return a word for each row that follows from the leaves of its items, in whatever order they are."""
    words = np.zeros(len(start) - 1, np.uint64)
    for row in range(len(words)):
        for at in range(start[row], start[row + 1]):
            words[row] += mixed(np.uint64(leaf_of[items[at]]))
    return words


@helper
def mixed(word: np.uint64) -> np.uint64:
    """Return a word whose bits are mixed (the finalizer of SplitMix64: Steele, Lea & Flood, OOPSLA 2014)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(word ^ (word >> np.uint64(31)))


@kernel
def mixed_words(words: Words64) -> Words64:
    """Return words whose bits are mixed."""
    found = np.empty_like(words)
    for at in range(len(words)):
        found[at] = mixed(words[at])
    return found


@kernel
def distinct_labels(unit: Ints64, node: Ints32) -> int:
    """Sort the nodes of each unit, where units ascend, and keep each once, in place; return how many are left."""
    left = first = 0
    while first < len(unit):
        stop = first
        while stop < len(unit) and unit[stop] == unit[first]:
            stop += 1
        own, own_unit = node[first:stop], unit[first]
        _sort(own)
        for at in range(len(own)):
            if at == 0 or own[at] != own[at - 1]:
                unit[left], node[left] = own_unit, own[at]
                left += 1
        first = stop
    return left


@helper
def _sort(some: Ints32) -> None:
    """Sort a list in place. Most are short, and Numba's own way begins with room for long ones."""
    if len(some) > SHORT:
        some.sort()
        return
    for at in range(1, len(some)):
        one, to = some[at], at
        while to > 0 and some[to - 1] > one:
            some[to] = some[to - 1]
            to -= 1
        some[to] = one


@kernel
def by_row(row: Ints64, tile: Ints32, rows: int) -> tuple[Ints64, Ints32]:
    """Return the tiles of each row, one row after the other, and where each begins, given the row of each tile."""
    start = np.zeros(rows + 1, np.int64)
    for one in row:
        start[one + 1] += 1
    start = np.cumsum(start)
    to, found = start[:-1].copy(), np.empty(len(tile), np.int32)
    for at in range(len(row)):
        found[to[row[at]]] = tile[at]
        to[row[at]] += 1
    return start, found


@kernel
def count_label_owners(unit: Ints64, label: Ints32, people: People, labels: int) -> Ints64:
    """Return how many owners who count have each label, given the unit of each label; units are sorted by owner."""
    number, last = np.zeros(labels, np.int64), np.full(labels, -1, np.int32)
    for at in range(len(label)):
        owner = people.owner[unit[at]]
        if last[label[at]] != owner:
            last[label[at]] = owner
            number[label[at]] += people.counts[owner]
    return number


@kernel
def count_holders(cover: Cover, owner: Ints32, counts: Bools, cap: int) -> tuple[Ints64, Ints64]:
    """Return how many owners who count hold each tile, and in how many units, each owner counted at most `cap` times.

    Units are sorted by owner.
    """
    tiles = len(cover.first) - 1
    people, units = np.zeros(tiles, np.int64), np.zeros(tiles, np.int64)
    last, times = np.full(tiles, -1, np.int32), np.zeros(tiles, np.int64)
    for unit in range(len(cover.start) - 1):
        if not counts[owner[unit]]:
            continue
        for at in range(cover.start[unit], cover.start[unit + 1]):
            tile = cover.tile[at]
            if last[tile] != owner[unit]:
                last[tile], times[tile] = owner[unit], 0
                people[tile] += 1
            times[tile] += 1
            units[tile] += times[tile] <= cap
    return people, units
