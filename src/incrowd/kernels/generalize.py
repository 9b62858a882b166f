"""Loops over rows and what was published for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.arrays import Rows, Tree
from incrowd.kernels.jit import helper, kernel
from incrowd.kernels.partition import Groups

__all__ = ["Kept", "smallest_counts", "what_is_kept"]

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]


@kernel
def smallest_counts(rows: Rows, tree: Tree, groups: Groups) -> Ints32:
    """Return, for each node of each group's cut, the least number of items that a row has under it.

    The nodes of a cut cover disjoint intervals of leaves and are in order, so one walk per row is enough.
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
    """Sums over all original occurrences; ``weight`` is M * NCP of what was published, as an integer."""

    weight: int
    lost: int
    exactly: int


@helper
def _position(nodes: Ints32, low: int, high: int, wanted: int) -> int:
    """Return the position of a node in ``nodes[low:high]`` (ascending), or -1."""
    while low < high:
        middle = (low + high) >> 1
        if nodes[middle] < wanted:
            low = middle + 1
        elif nodes[middle] > wanted:
            high = middle
        else:
            return middle
    return -1


@kernel
def what_is_kept(
    rows: Rows, tree: Tree, of_row: Ints32, start: Ints64, nodes: Ints32, counts: Ints32
) -> Kept:
    """Find the lowest published node above each original occurrence and add up its weight.

    Occurrences with no published node above them are lost. An occurrence is kept exactly as far as the
    very item is published, copy for copy.
    """
    weight, lost, exactly = 0, 0, 0
    for row in range(len(of_row)):
        group = of_row[row]
        for at in range(rows.start[row], rows.start[row + 1]):
            node, found = tree.leaf_nodes[rows.leaf[at]], -1
            if group >= 0:
                found = _position(nodes, start[group], start[group + 1], node)
                if found >= 0:
                    exactly += min(rows.times[at], counts[found])
                while found < 0 and tree.parent[node] >= 0:
                    node = tree.parent[node]
                    found = _position(nodes, start[group], start[group + 1], node)
            if found >= 0:
                weight += rows.times[at] * tree.weight[node]
            else:
                lost += rows.times[at]
    return Kept(weight, lost, exactly)
