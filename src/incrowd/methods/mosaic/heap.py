"""A heap of pairs of tiles, the best first, for kernels."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.jit import helper, kernel

__all__ = [
    "COLUMNS",
    "OLDER",
    "PAIR",
    "SCORE",
    "SEEN",
    "UNITS",
    "YOUNGER",
    "Heap",
    "begin_of",
    "heap_of",
    "pop",
    "push",
    "score_of_first",
    "sink",
    "with_begin",
    "with_row",
]

COLUMNS = 6
YOUNGER, OLDER, UNITS, SEEN, HIGH, LOW = range(COLUMNS)
HALF = (
    31  # bits of where a pair's units begin that one column holds: there are more than two billion at times
)
SCORE, PAIR = range(2)
Rows = TypeVar("Rows", Ints32, Ints64)
CHILDREN = 4  # side by side in one line of the processor's cache


class Heap(NamedTuple):
    """Pairs by score, and what is known of each.

    Parameters
    ----------
    line
        Younger and older tile of each pair that was ever pushed; how many units held both, and when; and where these begin, in two halves.
    pairs
        How many pairs that is.
    entry
        Score and number of each pair in the heap. They are apart from the rest because pairs sink through many entries.
    size
        How many of them there are.
    """

    line: Ints32
    pairs: int
    entry: Ints64
    size: int


@kernel
def heap_of(line: Ints32, entry: Ints64, size: int) -> Heap:
    """Return a heap of the first `size` pairs, of which the entries have no order yet."""
    heap = Heap(line, size, entry, size)
    for at in range((size - 2) // CHILDREN, -1, -1):
        _sink_from(heap, at, entry[at, SCORE])
    return heap


@helper
def push(heap: Heap, score: int, younger: int, older: int, begin: int, units: int, seen: int) -> Heap:
    """Add a pair; return the heap, which may be a larger one."""
    line, pair = with_row(heap.line, heap.pairs), heap.pairs
    entry, at = with_row(heap.entry, heap.size), heap.size
    line[pair, YOUNGER], line[pair, OLDER] = younger, older
    line[pair, UNITS], line[pair, SEEN] = units, seen
    line[pair, HIGH], line[pair, LOW] = begin >> HALF, begin & ((1 << HALF) - 1)
    while at > 0:
        above = (at - 1) // CHILDREN
        if not _comes_first(line, score, pair, entry[above, SCORE], entry[above, PAIR]):
            break
        entry[at, SCORE], entry[at, PAIR] = entry[above, SCORE], entry[above, PAIR]
        at = above
    entry[at, SCORE], entry[at, PAIR] = score, pair
    return Heap(line, pair + 1, entry, heap.size + 1)


@helper
def begin_of(line: Ints32) -> int:
    """Return where the units of a pair begin."""
    return int((np.int64(line[HIGH]) << HALF) | np.int64(line[LOW]))


def with_begin(lines: Ints32, begin: Ints64) -> None:
    """Write down where the units of each pair begin."""
    lines[:, HIGH], lines[:, LOW] = begin >> HALF, begin & ((1 << HALF) - 1)


@helper
def with_row(rows: Rows, used: int) -> Rows:
    """Return rows with room for one more."""
    if used < len(rows):
        return rows
    larger = np.empty((2 * used + 1, rows.shape[1]), rows.dtype)
    larger[:used] = rows
    return larger


@helper
def score_of_first(heap: Heap) -> int:
    """Return the score of the best pair."""
    return int(heap.entry[0, SCORE])


@helper
def pop(heap: Heap) -> Heap:
    """Remove the best pair."""
    last = heap.size - 1
    score = heap.entry[last, SCORE]
    heap.entry[0, PAIR] = heap.entry[last, PAIR]
    smaller = Heap(heap.line, heap.pairs, heap.entry, last)
    sink(smaller, score)
    return smaller


@helper
def sink(heap: Heap, score: int) -> bool:
    """Give the first pair a score and let it sink to its place; tell whether another is first now."""
    return _sink_from(heap, 0, score) > 0


@helper
def _sink_from(heap: Heap, at: int, score: int) -> int:
    """Give a pair a score and let it sink to its place, which is returned."""
    line, entry, pair = heap.line, heap.entry, heap.entry[at, PAIR]
    while True:
        best = CHILDREN * at + 1
        if best >= heap.size:
            break
        for child in range(best + 1, min(best + CHILDREN, heap.size)):
            if _comes_first(
                line, entry[child, SCORE], entry[child, PAIR], entry[best, SCORE], entry[best, PAIR]
            ):
                best = child
        if _comes_first(line, score, pair, entry[best, SCORE], entry[best, PAIR]):
            break
        entry[at, SCORE], entry[at, PAIR] = entry[best, SCORE], entry[best, PAIR]
        at = best
    entry[at, SCORE], entry[at, PAIR] = score, pair
    return at


@helper
def _comes_first(line: Ints32, score: int, pair: int, other_score: int, other: int) -> bool:
    """Tell whether one pair comes before another: by score, then the younger tile, then the older."""
    if score != other_score:
        return score > other_score
    if line[pair, YOUNGER] != line[other, YOUNGER]:
        return bool(line[pair, YOUNGER] < line[other, YOUNGER])
    return bool(line[pair, OLDER] < line[other, OLDER])
