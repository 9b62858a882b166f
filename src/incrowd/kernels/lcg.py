"""Least common generalizations (LCG) by their closed form.

Milani Fard & Wang, SECRYPT 2010, Definitions 1 and 2; the closed form is derived in docs/papers/clump.md.

Let c_t(v) be the items of t inside the subtree of v. Then t' generalizes t if and only if c_t' <= c_t at every
node, so the LCG of a set of rows has m(v) = min over t of c_t(v), that is ``m(v) - sum of m over v's children``
copies of v. Both are sparse: a row of n items has at most n times the height of the tree entries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.classes import Generalizations
from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.arrays import Rows, Tree, copied
from incrowd.kernels.jit import helper, kernel

__all__ = [
    "AncestorRows",
    "ancestor_rows",
    "common_counts",
    "common_generalization",
    "common_worth",
    "keep_common",
    "taken_rows",
    "worth_of",
]


class AncestorRows(NamedTuple):
    """c_t for every row t: the nodes with items below them, root included, ascending, and how many."""

    start: Ints64
    node: Ints32
    times: Ints32


@kernel
def ancestor_rows(rows: Rows, tree: Tree) -> AncestorRows:
    """Count the items of each row below every node above them."""
    start = np.zeros(len(rows.start), np.int64)
    for row in range(len(start) - 1):
        start[row + 1] = start[row] + _walk(rows, tree, row, np.empty(0, np.int32), np.empty(0, np.int32), 0)
    node, count = np.empty(start[-1], np.int32), np.empty(start[-1], np.int32)
    for row in range(len(start) - 1):
        _walk(rows, tree, row, node, count, start[row])
    return AncestorRows(start, node, count)


def taken_rows(ancestors: AncestorRows, rows: Ints64) -> AncestorRows:
    """Copy some of the rows one after another."""
    return AncestorRows(*copied(*ancestors, rows))


@helper
def _walk(rows: Rows, tree: Tree, row: int, node: Ints32, count: Ints32, first: int) -> int:
    """Write a row's nodes and counts from position `first` on (only count them if there is no room); return how many.

    The leaves are in order, so the path to each shares its beginning with the path to the one before.
    """
    filled, before = 0, -1
    open_at = np.empty(len(tree.way), np.int64)  # positions of the nodes of the current path
    for at in range(rows.start[row], rows.start[row + 1]):
        leaf = rows.leaf[at]
        for depth in range(tree.depth[tree.leaf_nodes[leaf]] + 1):
            here = tree.way[depth, leaf]
            if before < 0 or tree.way[depth, before] != here:
                open_at[depth] = first + filled
                filled += 1
                if len(node):
                    node[open_at[depth]], count[open_at[depth]] = here, 0
            if len(node):
                count[open_at[depth]] += rows.times[at]
        before = leaf
    return filled


@helper
def keep_common(
    node: Ints32, count: Ints32, first: int, length: int, ancestors: AncestorRows, row: int
) -> int:
    """Lower the counts at ``first .. first + length - 1`` to at most those of a row; return the new length."""
    at, stop = ancestors.start[row], ancestors.start[row + 1]
    kept = first
    for i in range(first, first + length):
        while at < stop and ancestors.node[at] < node[i]:
            at += 1
        if at == stop:
            break
        if ancestors.node[at] == node[i]:
            node[kept], count[kept] = node[i], min(count[i], ancestors.times[at])
            kept += 1
    return kept - first


@helper
def worth_of(weight: Ints64, node: Ints32, times: Ints32, at: int, end: int) -> int:
    """Return W of the counts at ``at .. end - 1``: the sum of the nodes' weights, each as often as it is counted."""
    worth = 0
    for i in range(at, end):
        worth += weight[node[i]] * times[i]
    return worth


@helper
def common_worth(
    weight: Ints64, node: Ints32, times: Ints32, i: int, end: int, others: AncestorRows, at: int, stop: int
) -> int:
    """Return W of the lesser counts of two lists of nodes, at ``i .. end - 1`` and in `others` at ``at .. stop - 1``."""
    worth = 0
    while i < end and at < stop:
        if node[i] < others.node[at]:
            i += 1
        elif node[i] > others.node[at]:
            at += 1
        else:
            worth += weight[node[i]] * min(times[i], others.times[at])
            i += 1
            at += 1
    return worth


@helper
def _to_copies(tree: Tree, node: Ints32, count: Ints32, length: int) -> int:
    """Turn the least counts of a set into copies of nodes, in place; return how many nodes have any.

    The parent of a node with items below it has them too, so it is listed before the node.
    """
    way = np.empty(len(tree.way), np.int64)
    for i in range(length):
        depth = tree.depth[node[i]]
        way[depth] = i
        if depth > 0:
            count[way[depth - 1]] -= count[i]
    kept = 0
    for i in range(length):
        if count[i] > 0:
            node[kept], count[kept] = node[i], count[i]
            kept += 1
    return kept


@kernel
def common_counts(ancestors: AncestorRows, row_start: Ints64, members: Ints64) -> AncestorRows:
    """Return m(v) of each group of rows; group g is ``members[row_start[g]:row_start[g + 1]]``, not empty."""
    groups = len(row_start) - 1
    most = 0
    for group in range(groups):
        first = members[row_start[group]]
        most += ancestors.start[first + 1] - ancestors.start[first]
    start, node, times = np.zeros(groups + 1, np.int64), np.empty(most, np.int32), np.empty(most, np.int32)
    for group in range(groups):
        first, filled = members[row_start[group]], start[group]
        length = ancestors.start[first + 1] - ancestors.start[first]
        for i in range(length):
            node[filled + i] = ancestors.node[ancestors.start[first] + i]
            times[filled + i] = ancestors.times[ancestors.start[first] + i]
        for j in range(row_start[group] + 1, row_start[group + 1]):
            length = keep_common(node, times, filled, length, ancestors, members[j])
        start[group + 1] = filled + length
    return AncestorRows(start, node[: start[groups]].copy(), times[: start[groups]].copy())


@kernel
def common_generalization(
    ancestors: AncestorRows, tree: Tree, row_start: Ints64, members: Ints64
) -> Generalizations:
    """Return the LCG of each group of rows; group g is ``members[row_start[g]:row_start[g + 1]]``, not empty."""
    least = common_counts(ancestors, row_start, members)
    start = np.zeros(len(row_start), np.int64)
    nodes, counts = least.node, least.times
    for group in range(len(row_start) - 1):
        first, length = least.start[group], least.start[group + 1] - least.start[group]
        kept = _to_copies(tree, nodes[first:], counts[first:], length)
        for i in range(kept):
            nodes[start[group] + i], counts[start[group] + i] = nodes[first + i], counts[first + i]
        start[group + 1] = start[group] + kept
    return Generalizations(start, nodes[: start[-1]].copy(), counts[: start[-1]].copy())
