"""Partitions of fewer than 2k rows: they can be refined, but never split.

If a node is expanded for such a partition and not all rows hit the same children, fewer than 2k rows cannot
make two parts of k: whatever the balancing does, it ends with all of them in the leftovers. So a node is
expanded if and only if all rows hit the same children of it, whatever happens to the other nodes. No gains
and no order are needed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrowd.kernels.arrays import Rows, Tree, first_at_least
from incrowd.kernels.jit import helper

__all__ = ["settle"]

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]


@helper
def settle(
    rows: Rows, tree: Tree, order: Ints64, node: int, waiting: Ints32, hit: Ints32, final: Ints32, filled: int
) -> int:
    """Refine one node of the cut as far as all rows agree; write what it becomes behind ``final[:filled]``.

    `waiting` and `hit` are working space, as long as the shortest row and one family more. Returns how much
    of `final` is filled now; its nodes stay in pre-order.
    """
    waiting[0] = node
    left = 1
    while left > 0:
        left -= 1
        here = waiting[left]
        hits = 0 if tree.weight[here] == 0 else _common_children(rows, tree, order, here, hit)
        if hits == 0:
            final[filled] = here
            filled += 1
        for j in range(hits - 1, -1, -1):
            waiting[left] = hit[j]
            left += 1
    return filled


@helper
def _common_children(rows: Rows, tree: Tree, order: Ints64, node: int, hit: Ints32) -> int:
    """Write the children of `node` that all rows hit to `hit` and return their number; 0 if rows differ."""
    start, leaf = rows.start, rows.leaf
    first, last = tree.first_leaf[node], tree.last_leaf[node]
    child_above = tree.way[tree.depth[node] + 1]
    hits = 0
    for i in range(len(order)):
        stop = start[order[i] + 1]
        at = first_at_least(leaf, start[order[i]], stop, first)
        child, seen = -1, 0
        while at < stop and leaf[at] < last:
            if child_above[leaf[at]] != child:
                child = child_above[leaf[at]]
                if i == 0:
                    hit[seen] = child
                    hits += 1
                elif seen == hits or hit[seen] != child:
                    return 0
                seen += 1
            at += 1
        if seen < hits:
            return 0
    return hits
