"""The data and the taxonomy in the form that kernels take: named tuples of plain arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.jit import helper, kernel
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Rows", "Tree", "compact", "copied", "first_at_least", "leaf_rows", "lm_drops", "tree_arrays"]

SHORT = 8  # this few values are scanned faster than searched by bisection


class Rows(NamedTuple):
    """Bags of leaf ranks: row r owns positions ``start[r] .. start[r + 1] - 1``, ascending by leaf."""

    start: Ints64
    leaf: Ints32
    times: Ints32


class Tree(NamedTuple):
    """A taxonomy's arrays.

    ``way`` has a row for each depth: the node there on the path from the root to each leaf, so the child of a node at
    depth d towards a leaf is ``way[d + 1, leaf]``. ``weight`` is M * NCP (item uncertainty) as an integer, so that sums
    of gains are exact.
    """

    parent: Ints32
    depth: Ints32
    leaf_nodes: Ints32
    first_leaf: Ints32
    last_leaf: Ints32
    way: Ints32
    weight: Ints64


def leaf_rows(transactions: Transactions, taxonomy: Taxonomy) -> Rows:
    """Return the transactions in terms of the taxonomy's leaves."""
    assert taxonomy.item_leaf is not None  # noqa: S101 - attach() has run; methods see to that
    leaf, times = taxonomy.item_leaf[transactions.items], transactions.counts.copy()
    _sort_rows(transactions.indptr, leaf, times)
    return Rows(transactions.indptr.copy(), leaf, times)


@kernel
def _sort_rows(start: Ints64, leaf: Ints32, times: Ints32) -> None:
    """Sort each row by leaf, in place (Shell's sort: rows are short, and many are in order already)."""
    for row in range(len(start) - 1):
        first, stop = start[row], start[row + 1]
        gap = (stop - first) // 2
        while gap > 0:
            for i in range(first + gap, stop):
                moving, its_times, at = leaf[i], times[i], i
                while at - gap >= first and leaf[at - gap] > moving:
                    leaf[at], times[at] = leaf[at - gap], times[at - gap]
                    at -= gap
                leaf[at], times[at] = moving, its_times
            gap //= 2


def tree_arrays(taxonomy: Taxonomy) -> Tree:
    """Return the taxonomy's arrays for the kernels."""
    leaves = (taxonomy.last_leaf - taxonomy.first_leaf).astype(np.int64)
    return Tree(
        taxonomy.parent,
        taxonomy.level - 1,
        taxonomy.leaf_nodes,
        taxonomy.first_leaf,
        taxonomy.last_leaf,
        taxonomy.ways_down,
        np.where(taxonomy.is_leaf, 0, leaves),
    )


def lm_drops(taxonomy: Taxonomy) -> Ints64:
    """Return (M - 1) * (LM(parent v) - LM(v)) for each node, a whole number; 0 for the root."""
    leaves = (taxonomy.last_leaf - taxonomy.first_leaf).astype(np.int64)
    return np.where(taxonomy.parent < 0, 0, leaves[np.maximum(taxonomy.parent, 0)] - leaves)


def compact(rows: Rows, order: Ints64) -> Rows:
    """Copy the rows listed in `order` one after another."""
    return Rows(*copied(*rows, order))


@kernel
def copied(start: Ints64, value: Ints32, times: Ints32, chosen: Ints64) -> tuple[Ints64, Ints32, Ints32]:
    """Copy the chosen bags one after another, so that work on them alone stays in the cache."""
    new_start = np.zeros(len(chosen) + 1, np.int64)
    for i in range(len(chosen)):
        new_start[i + 1] = new_start[i] + start[chosen[i] + 1] - start[chosen[i]]
    new_value, new_times = np.empty(new_start[-1], np.int32), np.empty(new_start[-1], np.int32)
    for i in range(len(chosen)):
        shift = start[chosen[i]] - new_start[i]
        for at in range(new_start[i], new_start[i + 1]):
            new_value[at], new_times[at] = value[at + shift], times[at + shift]
    return new_start, new_value, new_times


@helper
def first_at_least(leaf: Ints32, low: int, high: int, wanted: int) -> int:
    """Return the first position in ``leaf[low:high]`` whose value is at least `wanted`."""
    while high - low > SHORT:
        middle = (low + high) >> 1
        if leaf[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    while low < high and leaf[low] < wanted:
        low += 1
    return low
