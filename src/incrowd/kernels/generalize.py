"""Loops over rows and the nodes that are published for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.arrays import Rows, Tree
from incrowd.kernels.jit import helper, kernel

__all__ = ["Groups", "Kept", "smallest_counts", "what_is_kept"]


class Groups(NamedTuple):
    """Partitions: group g owns ``rows[row_start[g]:row_start[g + 1]]`` and the nodes of its cut likewise.

    ``gains`` is the gain of expanding each node; a group is final when all of its nodes are CLOSED.
    """

    row_start: Ints64
    rows: Ints64
    node_start: Ints64
    nodes: Ints32
    gains: Ints64


@kernel
def smallest_counts(rows: Rows, tree: Tree, groups: Groups) -> Ints32:
    """Return, for each node of each group's cut, the least number of items that a row has under it.

    The nodes of a cut cover disjoint intervals of leaves and are in order, so one pass over each row is enough.
    """
    least = np.full(len(groups.nodes), np.iinfo(np.int32).max, np.int32)
    for group in range(len(groups.row_start) - 1):
        for row in groups.rows[groups.row_start[group] : groups.row_start[group + 1]]:
            at, stop = rows.start[row], rows.start[row + 1]
            for j in range(groups.node_start[group], groups.node_start[group + 1]):
                have = 0
                while at < stop and rows.leaf[at] < tree.last_leaf[groups.nodes[j]]:
                    have += rows.times[at]
                    at += 1
                least[j] = min(least[j], have)
    return least


class Kept(NamedTuple):
    """Sums over all original occurrences; ``weight`` is M * NCP of the published nodes, as an integer."""

    weight: int
    lost: int
    exactly: int


@helper
def _lowest_above(tree: Tree, nodes: Ints32, first: int, stop: int, leaf: int) -> int:
    """Return the position of the lowest node of ``nodes[first:stop]`` (ascending) that covers a leaf, or -1.

    In pre-order it is the last one that begins at or before the leaf and does not end before it.
    """
    own, low, high = tree.leaf_nodes[leaf], first, stop
    while low < high:
        middle = (low + high) >> 1
        if nodes[middle] <= own:
            low = middle + 1
        else:
            high = middle
    at = low - 1
    while at >= first and tree.last_leaf[nodes[at]] <= leaf:
        at -= 1
    return at if at >= first else -1


@kernel
def what_is_kept(
    rows: Rows, tree: Tree, of_row: Ints32, start: Ints64, nodes: Ints32, counts: Ints32
) -> Kept:
    """Find the lowest published node above each original occurrence and add up its weight.

    Occurrences with no published node above them are lost. An occurrence is kept exactly if the item itself is
    published, counted copy by copy.
    """
    weight, lost, exactly = 0, 0, 0
    for row in range(len(of_row)):
        group = of_row[row]
        for at in range(rows.start[row], rows.start[row + 1]):
            leaf, times = rows.leaf[at], rows.times[at]
            found = -1 if group < 0 else _lowest_above(tree, nodes, start[group], start[group + 1], leaf)
            if found < 0:
                lost += times
            else:
                weight += times * tree.weight[nodes[found]]
                if nodes[found] == tree.leaf_nodes[leaf]:
                    exactly += min(times, counts[found])
    return Kept(weight, lost, exactly)
