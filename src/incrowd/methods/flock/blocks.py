"""Blocks of similar rows, for methods that would otherwise compare every row with every other (docs/papers/flock.md, step 1).

The rows are split in two at the node whose weighted count has the largest variance, again and again, until the parts are small
enough. The weights w(v) = loss(parent v) - loss(v) add up to the distance of two rows, so rows that differ much are separated
first. Each rule of a split is a function of its own, of sums and counts only: an engine that holds the rows elsewhere
(:mod:`incrowd.spark.flock.splits`) computes the sums there and decides with the same functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from incrowd.core.types import Bools, Floats, Ints64, Words64
from incrowd.kernels.jit import kernel
from incrowd.kernels.lcg import AncestorRows

__all__ = [
    "Blocks",
    "NodeSums",
    "by_content",
    "cut_point",
    "digests",
    "most_varied",
    "node_counts",
    "node_sums",
    "same_as_before",
    "split_blocks",
]


ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 by the golden ratio: it mixes bits well
LEAST_SHARE = 8  # a cut between different counts is taken if both sides have at least an eighth


def by_content(bags: AncestorRows, rows: Ints64) -> Ints64:
    """Return the rows sorted by a digest of their content, so that the order of the input matters only among equal rows."""
    return rows[np.argsort(digests(bags, rows), kind="stable")]


@kernel
def digests(bags: AncestorRows, rows: Ints64) -> Words64:
    """Return a 64-bit digest of each row's content; that two different of a million rows share one has a chance of 1 in 10^8."""
    found = np.empty(len(rows), np.uint64)
    for i in range(len(rows)):
        digest = np.uint64(0)
        for at in range(bags.start[rows[i]], bags.start[rows[i] + 1]):
            digest = (digest ^ (np.uint64(bags.node[at]) << np.uint64(32) | np.uint64(bags.times[at]))) * ODD
            digest ^= digest >> np.uint64(29)
        found[i] = digest
    return found


@kernel
def same_as_before(bags: AncestorRows, rows: Ints64) -> Bools:
    """Return for each row of a list whether its content equals that of the row before it."""
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

    def each(self) -> Iterator[Ints64]:
        """Yield the rows of each block."""
        for number in range(len(self.start) - 1):
            yield self.rows[self.start[number] : self.start[number + 1]]


class NodeSums(NamedTuple):
    """For each node that some rows have: the sum of its counts and of their squares. Sums are exact below 2^53."""

    node: Ints64
    total: Ints64
    squares: Ints64


def split_blocks(bags: AncestorRows, weight: Floats, rows: Ints64, most: int) -> Blocks:
    """Split the rows into blocks of at most `most`, in an order in which neighbours are similar.

    Parameters
    ----------
    bags
        c_t of every row (or the least counts of every group).
    weight
        w(v) of each node; nodes of weight 0 are ignored.
    rows
        The rows to split.
    most
        The size of a block.
    """
    room = np.zeros((2, len(weight)), np.int64)
    waiting, blocks = [rows], []
    while waiting:
        part = waiting.pop()
        if len(part) <= most:
            blocks.append(part)
            continue
        node = most_varied(node_sums(bags, weight, part, room), weight, len(part))
        count = node_counts(bags, node, part)
        order = np.argsort(count, kind="stable")
        ends = np.flatnonzero(np.diff(count[order], prepend=-1, append=-1))
        left = cut_point(ends, most)
        waiting += [part[order[left:]], part[order[:left]]]
    return Blocks(np.cumsum([0, *map(len, blocks)]), np.concatenate(blocks))


@kernel
def node_sums(bags: AncestorRows, weight: Floats, rows: Ints64, room: Ints64) -> NodeSums:
    """Sum up the counts of the nodes of some rows; `room` has two lines of a 0 for each node, and again so afterwards."""
    total, squares = room[0], room[1]
    seen, nodes = np.empty(len(weight), np.int64), 0
    for row in rows:
        for at in range(bags.start[row], bags.start[row + 1]):
            node, times = bags.node[at], np.int64(bags.times[at])
            if weight[node] > 0:
                if total[node] == 0:
                    seen[nodes] = node
                    nodes += 1
                total[node] += times
                squares[node] += times * times
    found = seen[:nodes].copy()
    sums = NodeSums(found, total[found], squares[found])
    total[found] = 0
    squares[found] = 0
    return sums


def most_varied(sums: NodeSums, weight: Floats, rows: int) -> int:
    """Return the node whose weighted count has the largest variance, the first of equal ones; 0 if no count varies."""
    total, heavy = sums.total.astype(np.float64), weight[sums.node]
    varies = (sums.squares.astype(np.float64) - total * total / rows) * (heavy * heavy)
    most = varies.max(initial=0.0)
    return int(sums.node[varies == most].min(initial=len(weight))) if most > 0 else 0


@kernel
def node_counts(bags: AncestorRows, node: int, rows: Ints64) -> Ints64:
    """Return a node's count in each row."""
    count = np.zeros(len(rows), np.int64)
    for i in range(len(rows)):
        first, stop = bags.start[rows[i]], bags.start[rows[i] + 1]
        last = stop
        while first < last:
            middle = (first + last) >> 1
            if bags.node[middle] < node:
                first = middle + 1
            else:
                last = middle
        if first < stop and bags.node[first] == node:
            count[i] = bags.times[first]
    return count


def cut_point(ends: Ints64, most: int) -> int:
    """Return how many rows of a part, sorted by count, come before the cut.

    The aim is about in the middle, where as few blocks as possible come out and all of about the same size. The cut is made
    between different counts next to the aim, the later of two that are as near, unless that leaves less than an eighth of
    the part on one side: then equal counts are separated at the aim.

    Parameters
    ----------
    ends
        0, and how many rows have at most the first count that occurs, the second, and so on; the last is the size of the part.
    most
        The size of a block, less than that of the part.
    """
    size = int(ends[-1])
    parts = -(-size // most)
    aim = size * (parts // 2) // parts
    above = int(ends[np.searchsorted(ends, aim)])
    below = int(ends[np.searchsorted(ends, aim, side="right") - 1])
    is_above = below == 0 or (above < size and above - aim <= aim - below)
    near = above if is_above else below
    return near if min(near, size - near) * LEAST_SHARE >= size else aim
