"""A heap of pairs of tiles, the best first, for kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints64
from incrowd.kernels.jit import helper

__all__ = ["BEGIN", "OLDER", "SCORE", "SEEN", "UNITS", "YOUNGER", "Heap", "empty_heap", "pop", "push", "sink"]

COLUMNS = 6
SCORE, YOUNGER, OLDER, BEGIN, UNITS, SEEN = range(COLUMNS)


class Heap(NamedTuple):
    """Pairs, and how many there are: score; younger and older tile; where the units begin that held both, and how many; and when."""

    line: Ints64
    size: int


@helper
def empty_heap() -> Heap:
    """Return a heap without a pair."""
    return Heap(np.empty((1024, COLUMNS), np.int64), 0)


@helper
def push(heap: Heap, score: int, younger: int, older: int, begin: int, units: int, seen: int) -> Heap:
    """Add a pair; return the heap, which may be a larger one."""
    line, at = heap.line, heap.size
    if at == len(line):
        line = np.empty((2 * at, COLUMNS), np.int64)
        line[:at] = heap.line
    line[at, SCORE], line[at, YOUNGER], line[at, OLDER] = score, younger, older
    line[at, BEGIN], line[at, UNITS], line[at, SEEN] = begin, units, seen
    while at > 0 and _comes_first(line, at, (at - 1) // 2):
        _swap(line, at, (at - 1) // 2)
        at = (at - 1) // 2
    return Heap(line, heap.size + 1)


@helper
def pop(heap: Heap) -> Heap:
    """Remove the best pair."""
    heap.line[0] = heap.line[heap.size - 1]
    smaller = Heap(heap.line, heap.size - 1)
    sink(smaller)
    return smaller


@helper
def sink(heap: Heap) -> bool:
    """Let the first pair, whose score has fallen, sink to its place; tell whether another is first now."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= heap.size:
            return at > 0
        if child + 1 < heap.size and _comes_first(heap.line, child + 1, child):
            child += 1
        if not _comes_first(heap.line, child, at):
            return at > 0
        _swap(heap.line, at, child)
        at = child


@helper
def _comes_first(line: Ints64, a: int, b: int) -> bool:
    """Tell whether one pair comes before another: by score, then the younger tile, then the older."""
    if line[a, SCORE] != line[b, SCORE]:
        return bool(line[a, SCORE] > line[b, SCORE])
    if line[a, YOUNGER] != line[b, YOUNGER]:
        return bool(line[a, YOUNGER] < line[b, YOUNGER])
    return bool(line[a, OLDER] < line[b, OLDER])


@helper
def _swap(line: Ints64, a: int, b: int) -> None:
    for column in range(COLUMNS):
        line[a, column], line[b, column] = line[b, column], line[a, column]
