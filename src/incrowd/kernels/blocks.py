"""Blocks of rows that are alike in what weighs most (docs/papers/flock.md).

With a loss that grows towards the root, the weights w(v) = loss(parent v) - loss(v) fall off with depth, so rows that
are alike at all are alike in their counts on the few heaviest nodes. The rows are split in two at the node whose
weighted count varies most, again and again, until the parts are small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import helper, kernel
from incrowd.kernels.lcg import AncestorRows

__all__ = ["Blocks", "by_content", "digests", "same_as_before", "split_blocks"]

Ints64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 by the golden ratio: it mixes bits well
LEAST_SHARE = 8  # a cut between different counts is taken if both sides have at least an eighth


def by_content(bags: AncestorRows, rows: Ints64) -> Ints64:
    """Return rows in an order that depends on what they hold and not on where they stood: like rows stay as they were."""
    return rows[np.argsort(digests(bags, rows), kind="stable")]


@kernel
def digests(bags: AncestorRows, rows: Ints64) -> npt.NDArray[np.uint64]:
    """Return a number for what each row holds; two rows that differ hardly ever share it (1 in 10^8 for a million rows)."""
    found = np.empty(len(rows), np.uint64)
    for i in range(len(rows)):
        digest = np.uint64(0)
        for at in range(bags.start[rows[i]], bags.start[rows[i] + 1]):
            digest = (digest ^ (np.uint64(bags.node[at]) << np.uint64(32) | np.uint64(bags.times[at]))) * ODD
            digest ^= digest >> np.uint64(29)
        found[i] = digest
    return found


@kernel
def same_as_before(bags: AncestorRows, rows: Ints64) -> npt.NDArray[np.bool_]:
    """Tell of each row whether it holds the same as the one before it in the list."""
    same = np.zeros(len(rows), np.bool_)
    for i in range(1, len(rows)):
        one, other = bags.start[rows[i - 1]], bags.start[rows[i]]
        length = bags.start[rows[i] + 1] - other
        same[i] = bags.start[rows[i - 1] + 1] - one == length
        for j in range(length):
            if not same[i]:
                break
            same[i] = (
                bags.node[one + j] == bags.node[other + j] and bags.times[one + j] == bags.times[other + j]
            )
    return same


class Blocks(NamedTuple):
    """Lists of rows: block b is ``rows[start[b]:start[b + 1]]``."""

    start: Ints64
    rows: Ints64


class _Spread(NamedTuple):
    """For each node the sum of its counts and of their squares, and which nodes have any."""

    sums: Floats
    squares: Floats
    seen: Ints64


@kernel
def split_blocks(bags: AncestorRows, weight: Floats, rows: Ints64, most: int) -> Blocks:
    """Split the rows into blocks of at most `most`, in an order in which neighbours are alike.

    Parameters
    ----------
    bags
        c_t of every row (or the least counts of every group).
    weight
        w(v) of each node; nodes of weight 0 are left aside.
    rows
        The rows to split.
    most
        The size of a block.
    """
    order, count = rows.copy(), np.zeros(len(rows), np.int64)
    spread = _Spread(np.zeros(len(weight)), np.zeros(len(weight)), np.empty(len(weight), np.int64))
    ends = np.empty(len(rows) + 1, np.int64)  # of the parts still to be looked at, the nearest last
    ends[0], waiting = len(rows), 1
    starts = np.zeros(len(rows) + 1, np.int64)
    blocks, low = 0, 0
    while waiting:
        high = ends[waiting - 1]
        if high - low <= most:
            waiting -= 1
            blocks += 1
            starts[blocks] = low = high
            continue
        node = _most_varied(bags, weight, order, low, high, spread)
        _count_node(bags, node, order, low, high, count)
        ends[waiting] = low + _cut(order, count, low, high, _aim(high - low, most))
        waiting += 1
    return Blocks(starts[: blocks + 1].copy(), order)


@helper
def _most_varied(
    bags: AncestorRows, weight: Floats, order: Ints64, low: int, high: int, spread: _Spread
) -> int:
    """Return the node with the largest variance of its weighted count, the first among equals; 0 if none varies."""
    seen = 0
    for i in range(low, high):
        for at in range(bags.start[order[i]], bags.start[order[i] + 1]):
            node, times = bags.node[at], float(bags.times[at])
            if weight[node] > 0:
                if spread.sums[node] == 0:
                    spread.seen[seen] = node
                    seen += 1
                spread.sums[node] += times
                spread.squares[node] += times * times
    best, most = 0, 0.0
    for i in range(seen):
        node = spread.seen[i]
        varies = spread.squares[node] - spread.sums[node] * spread.sums[node] / (high - low)
        varies *= weight[node] * weight[node]
        if varies > most or (varies == most and node < best):
            best, most = node, varies
        spread.sums[node] = spread.squares[node] = 0
    return best


@helper
def _count_node(bags: AncestorRows, node: int, order: Ints64, low: int, high: int, count: Ints64) -> None:
    """Look up a node's count in each row."""
    for i in range(low, high):
        first, last = bags.start[order[i]], bags.start[order[i] + 1]
        stop = last
        while first < last:
            middle = (first + last) >> 1
            if bags.node[middle] < node:
                first = middle + 1
            else:
                last = middle
        count[i] = bags.times[first] if first < stop and bags.node[first] == node else 0


@helper
def _aim(size: int, most: int) -> int:
    """Return where to cut a part: about in the middle, so that as few blocks as can be come out, all as large."""
    parts = (size + most - 1) // most
    return size * (parts // 2) // parts


@helper
def _cut(order: Ints64, count: Ints64, low: int, high: int, aim: int) -> int:
    """Sort a part by count, and return how many rows come before the cut: near the aim, between different counts."""
    place = np.argsort(count[low:high], kind="mergesort")
    rows, counts = order[low:high].copy(), count[low:high].copy()
    size = high - low
    for i in range(size):
        order[low + i], count[low + i] = rows[place[i]], counts[place[i]]
    above = below = aim
    while above < size and count[low + above] == count[low + above - 1]:
        above += 1
    while below > 0 and count[low + below] == count[low + below - 1]:
        below -= 1
    is_above = below == 0 or (above < size and above - aim <= aim - below)
    near = above if is_above else below
    return near if min(near, size - near) * LEAST_SHARE >= size else aim
