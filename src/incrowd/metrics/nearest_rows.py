"""The nearest rows of a row, for the lower bound of the generalization loss (docs/papers/flock.md).

The distance of two rows is d(t, u) = |t| + |u| - 2 W(min(c_t, c_u)). What two rows have in common is added up along
inverted lists. As W(min(c_t, c_u)) is at most the length of the shorter row, d(t, u) is at least the difference of their lengths:
rows are visited by length, the most similar lengths first, until no other can be near enough. Weights are whole
numbers, so everything is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.kernels.arrays import Rows, first_at_least
from incrowd.kernels.jit import helper, kernel
from incrowd.kernels.lcg import AncestorRows

__all__ = ["Lists", "Neighbours", "invert", "nearest_sums", "repeats"]


FAR = np.iinfo(np.int64).max
SEARCH = 8  # evaluations that finding a place in a list is worth


class Lists(NamedTuple):
    """For each node that weighs something the rows that have it, ascending, and how often."""

    start: Ints64
    row: Ints32
    times: Ints32


class Neighbours(NamedTuple):
    """Different rows, the shortest first: c_t of each, its length, how many have it, and the inverted lists."""

    bags: AncestorRows
    length: Ints64
    copies: Ints64
    lists: Lists


@kernel
def repeats(rows: Rows) -> Bools:
    """Return for each row whether it equals the one before."""
    same = np.zeros(len(rows.start) - 1, np.bool_)
    for row in range(1, len(same)):
        before, first, stop = rows.start[row - 1], rows.start[row], rows.start[row + 1]
        same[row] = stop - first == first - before
        at = first
        while same[row] and at < stop:
            twin = at - first + before
            same[row] = rows.leaf[at] == rows.leaf[twin] and rows.times[at] == rows.times[twin]
            at += 1
    return same


@kernel
def invert(bags: AncestorRows, weight: Ints64) -> Lists:
    """Make the inverted lists of the nodes that weigh something."""
    start = np.zeros(len(weight) + 1, np.int64)
    for node in bags.node:
        if weight[node] > 0:
            start[node + 1] += 1
    for node in range(len(weight)):
        start[node + 1] += start[node]
    lists = Lists(start, np.empty(start[-1], np.int32), np.empty(start[-1], np.int32))
    filled = start.copy()
    for row in range(len(bags.start) - 1):
        for at in range(bags.start[row], bags.start[row + 1]):
            node = bags.node[at]
            if weight[node] > 0:
                lists.row[filled[node]], lists.times[filled[node]] = row, bags.times[at]
                filled[node] += 1
    return lists


@kernel
def nearest_sums(
    rows: Neighbours, weight: Ints64, scale: int, chosen: Ints64, nearest: int
) -> tuple[Ints64, int]:
    """Add up the distances of each chosen row to its nearest rows, times `scale`; count the evaluations too.

    Parameters
    ----------
    rows
        All rows.
    weight, scale
        `scale` times w(v), as whole numbers.
    chosen
        The rows whose sums are wanted.
    nearest
        How many rows are near; there are more than that, copies counted.
    """
    sums, evaluations = np.empty(len(chosen), np.int64), 0
    common, heap = np.zeros(len(rows.length), np.int64), np.empty(nearest, np.int64)
    for i in range(len(chosen)):
        own = rows.length[chosen[i]]
        heap[:] = FAR
        low = high = np.searchsorted(rows.length, own)
        while True:
            below = own - rows.length[low - 1] if low > 0 else FAR
            above = rows.length[high] - own if high < len(rows.length) else FAR
            gap = min(below, above)
            if gap == FAR or gap * scale >= heap[0]:
                break
            first, stop = low, high
            if above <= below:
                while high < len(rows.length) and rows.length[high] == own + gap:
                    high += 1
                first, stop = stop, high
            else:
                while low > 0 and rows.length[low - 1] == own - gap:
                    low -= 1
                first, stop = low, first
            evaluations += _add_common(rows, weight, chosen[i], first, stop, common)
            _take_nearest(rows, scale, chosen[i], first, stop, common, heap)
        sums[i] = heap.sum()
    return sums, evaluations


@helper
def _add_common(rows: Neighbours, weight: Ints64, row: int, first: int, stop: int, common: Ints64) -> int:
    """Add up what a row has in common with those from `first` to before `stop`; count the evaluations."""
    evaluations = stop - first
    for at in range(rows.bags.start[row], rows.bags.start[row + 1]):
        node, times = rows.bags.node[at], rows.bags.times[at]
        end = rows.lists.start[node + 1]
        begin = first_at_least(rows.lists.row, rows.lists.start[node], end, first)
        i = begin
        while i < end and rows.lists.row[i] < stop:
            common[rows.lists.row[i]] += weight[node] * min(times, rows.lists.times[i])
            i += 1
        evaluations += SEARCH + i - begin
    return evaluations


@helper
def _take_nearest(
    rows: Neighbours, scale: int, row: int, first: int, stop: int, common: Ints64, heap: Ints64
) -> None:
    """Keep the least distances in the heap, the largest of them on top; reset the common weights."""
    for other in range(first, stop):
        distance = scale * (rows.length[row] + rows.length[other]) - 2 * common[other]
        common[other] = 0
        copies = rows.copies[other] - (other == row)
        while copies > 0 and distance < heap[0]:
            _replace_top(heap, distance)
            copies -= 1


@helper
def _replace_top(heap: Ints64, value: int) -> None:
    at = 0
    while 2 * at + 1 < len(heap):
        child = 2 * at + 1
        if child + 1 < len(heap) and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = value
