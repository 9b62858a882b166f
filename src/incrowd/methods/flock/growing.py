"""Flock's greedy groups: in each block, groups of k grow around their longest rows (docs/papers/flock.md, step 2).

Adding a row t to a group of size s with least counts m increases the loss by |t| - (s + 1) * W(min(m, c_t)) + s * W(m).
W(min(m, c_t)) is maintained for all rows of a block at once along inverted lists: when the group loses a node, only the rows
that have the node are updated. Weights are whole numbers, so ties are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.kernels.jit import helper, kernel
from incrowd.kernels.lcg import AncestorRows, common_counts, common_worth, keep_common, worth_of

__all__ = ["NONE", "grow_groups", "join_leftovers"]


NONE = -1
STALE = 1.5  # inverted lists are rebuilt when they have so many times as many rows as are free


class _Lists(NamedTuple):
    """For each node of a block the places of the rows that have it, and their counts."""

    start: Ints64
    place: Ints32
    times: Ints32


class _Growing(NamedTuple):
    """The group that is built: its nodes with their least counts, and W(min(m, c_t)) for every row of the block."""

    node: Ints32
    least: Ints32
    worth: Ints64


@kernel
def grow_groups(
    bags: AncestorRows, weight: Ints64, scale: int, block: Ints64, k: int, number: Ints32
) -> Ints32:
    """Group the rows of a block; return the group of each place, `NONE` for the fewer than k rows that remain.

    Parameters
    ----------
    bags
        c_t of every row.
    weight, scale
        `scale` times w(v), as whole numbers.
    block
        The rows.
    k
        The size of a group.
    number
        An array to number nodes in: `NONE` for every node, and again so afterwards.
    """
    nodes = _numbered(bags, weight, block, number)
    length, order = _by_length(bags, block)
    is_free = np.ones(len(block), np.bool_)
    free, listed, next_seed, groups = len(block), 0, 0, 0
    lists = _Lists(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
    group = np.full(len(block), NONE, np.int32)
    growing = _Growing(np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(len(block), np.int64))
    while free >= k:
        if listed == 0 or listed > STALE * free:
            lists = _listed(bags, block, is_free, number, nodes)
            listed = free
        while not is_free[order[next_seed]]:
            next_seed += 1
        place = order[next_seed]
        held = _seed(bags, weight, block[place], number, lists, growing)
        for size in range(1, k + 1):
            group[place], is_free[place] = groups, False
            if size < k:
                if size > 1:
                    held = _lower(bags, weight, block[place], number, lists, growing, held)
                place = _nearest(is_free, length, scale, size, growing.worth)
        free -= k
        groups += 1
    _forget(bags, block, number)
    return group


@helper
def _numbered(bags: AncestorRows, weight: Ints64, block: Ints64, number: Ints32) -> int:
    """Assign numbers to the nodes of a block with a weight above 0; return how many there are."""
    nodes = 0
    for row in block:
        for at in range(bags.start[row], bags.start[row + 1]):
            node = bags.node[at]
            if weight[node] > 0 and number[node] == NONE:
                number[node] = nodes
                nodes += 1
    return nodes


@helper
def _forget(bags: AncestorRows, block: Ints64, number: Ints32) -> None:
    for row in block:
        for at in range(bags.start[row], bags.start[row + 1]):
            number[bags.node[at]] = NONE


@helper
def _by_length(bags: AncestorRows, block: Ints64) -> tuple[Ints64, Ints64]:
    """Return the length of each row (the root's count), and the places of the rows, the longest first."""
    length = np.empty(len(block), np.int64)
    for place in range(len(block)):
        length[place] = bags.times[bags.start[block[place]]]
    return length, np.argsort(-length, kind="mergesort")


@helper
def _listed(bags: AncestorRows, block: Ints64, is_free: Bools, number: Ints32, nodes: int) -> _Lists:
    """Build the inverted lists of the rows that are still free."""
    start = np.zeros(nodes + 1, np.int64)
    for place in range(len(block)):
        if is_free[place]:
            for at in range(bags.start[block[place]], bags.start[block[place] + 1]):
                if number[bags.node[at]] != NONE:
                    start[number[bags.node[at]] + 1] += 1
    for i in range(nodes):
        start[i + 1] += start[i]
    lists = _Lists(start, np.empty(start[nodes], np.int32), np.empty(start[nodes], np.int32))
    filled = start.copy()
    for place in range(len(block)):
        if is_free[place]:
            for at in range(bags.start[block[place]], bags.start[block[place] + 1]):
                node = number[bags.node[at]]
                if node != NONE:
                    lists.place[filled[node]], lists.times[filled[node]] = place, bags.times[at]
                    filled[node] += 1
    return lists


@helper
def _seed(
    bags: AncestorRows, weight: Ints64, row: int, number: Ints32, lists: _Lists, growing: _Growing
) -> int:
    """Begin a group with a row; return how many nodes it has."""
    for place in range(len(growing.worth)):
        growing.worth[place] = 0
    held = 0
    for at in range(bags.start[row], bags.start[row + 1]):
        node, times = bags.node[at], bags.times[at]
        if number[node] != NONE:
            growing.node[held], growing.least[held] = node, times
            held += 1
            for i in range(lists.start[number[node]], lists.start[number[node] + 1]):
                growing.worth[lists.place[i]] += weight[node] * min(times, lists.times[i])
    return held


@helper
def _lower(
    bags: AncestorRows,
    weight: Ints64,
    row: int,
    number: Ints32,
    lists: _Lists,
    growing: _Growing,
    held: int,
) -> int:
    """Add a row to the group: lower the group's least counts to the row's, and W(min(m, c_t)) of all rows; return its nodes left."""
    at, stop = bags.start[row], bags.start[row + 1]
    kept = 0
    for i in range(held):
        node, before = growing.node[i], growing.least[i]
        while at < stop and bags.node[at] < node:
            at += 1
        now = min(before, bags.times[at]) if at < stop and bags.node[at] == node else 0
        if now < before:
            for j in range(lists.start[number[node]], lists.start[number[node] + 1]):
                if lists.times[j] > now:
                    growing.worth[lists.place[j]] -= weight[node] * (min(before, lists.times[j]) - now)
        if now:
            growing.node[kept], growing.least[kept] = node, now
            kept += 1
    return kept


@helper
def _nearest(is_free: Bools, length: Ints64, scale: int, size: int, worth: Ints64) -> int:
    """Return the free row that adds least to the loss of a group of some size, the first of equal ones.

    Half of its length is left out: every row's length counts in the end wherever it goes, and where rows have little in
    common the shortest would always be taken.
    """
    best, least = NONE, 0
    for place in range(len(is_free)):
        if is_free[place]:
            cost = scale * length[place] - 2 * (size + 1) * worth[place]
            if best == NONE or cost < least:
                best, least = place, cost
    return best


@kernel
def join_leftovers(bags: AncestorRows, weight: Ints64, members: Ints64, leftovers: Ints64, k: int) -> None:
    """Add each remaining row to the group to whose loss it adds least, the first of equal ones.

    `members` has a line for each group: k rows, and space for k - 1 more.
    """
    least = common_counts(bags, np.arange(len(members) + 1) * k, members[:, :k].copy().reshape(-1))
    size, length = np.full(len(members), k), least.start[1:] - least.start[:-1]
    worth = np.empty(len(members), np.int64)
    for group in range(len(members)):
        worth[group] = worth_of(weight, least.node, least.times, least.start[group], least.start[group + 1])
    for row in leftovers:
        at, stop = bags.start[row], bags.start[row + 1]
        best, cost = 0, 0
        for group in range(len(members)):
            first, end = least.start[group], least.start[group] + length[group]
            joined = common_worth(weight, least.node, least.times, first, end, bags, at, stop)
            more = size[group] * worth[group] - (size[group] + 1) * joined
            if group == 0 or more < cost:
                best, cost = group, more
        members[best, size[best]] = row
        size[best] += 1
        first = least.start[best]
        length[best] = keep_common(least.node, least.times, first, length[best], bags, row)
        worth[best] = worth_of(weight, least.node, least.times, first, first + length[best])
