"""Rows between the parts of a job as the kernels see them, and what rows sum up to, in plain numpy."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incrowd.kernels.arrays import Rows, Tree
from incrowd.lists import gathered, list_of

__all__ = ["Hits", "hit_children", "lists", "rows_of", "sums", "taken"]

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]


class Hits(NamedTuple):
    """For each row: the children of a node that it hits, as bytes that name the set, and what expanding it gains."""

    children: list[bytes]
    gain: Ints64


def rows_of(leaf: pa.Array, times: pa.Array) -> Rows:
    """Return columns of lists as rows for the kernels."""
    start = np.array(leaf.offsets, dtype=np.int64)
    return Rows(start - start[0], np.array(leaf.flatten(), np.int32), np.array(times.flatten(), np.int32))


def taken(rows: Rows, chosen: Ints64) -> Rows:
    """Return some of the rows."""
    start, take = gathered(rows.start, chosen)
    return Rows(start, rows.leaf[take], rows.times[take])


def lists(start: Ints64, values: Ints32) -> pa.ListArray:
    """Return lists that stand behind one another as a column."""
    return pa.ListArray.from_arrays(pa.array(start, pa.int32()), pa.array(values, pa.int32()))


def sums(start: Ints64, values: Ints64) -> Ints64:
    """Add up the values of each list, exactly."""
    total = np.concatenate(([0], np.cumsum(values, dtype=np.int64)))
    return total[start[1:]] - total[start[:-1]]


def hit_children(rows: Rows, tree: Tree, node: Ints32) -> Hits:
    """Look at each row under its own node, as ``kernels.buckets._hit_children`` does."""
    row = list_of(rows.start)
    above = node[row]
    below = (rows.leaf >= tree.first_leaf[above]) & (rows.leaf < tree.last_leaf[above])
    row, above, leaf, times = row[below], above[below], rows.leaf[below], rows.times[below]
    child = tree.way[tree.depth[above] + 1, leaf]
    gained = (tree.weight[above] - tree.weight[child]) * times
    fresh = np.ones(len(row), dtype=np.bool_)
    fresh[1:] = (row[1:] != row[:-1]) | (child[1:] != child[:-1])
    numbers = np.arange(len(node) + 1)
    names = child[fresh].astype("<i4").tobytes()
    bounds = (4 * np.searchsorted(row[fresh], numbers)).tolist()
    gain = sums(np.searchsorted(row, numbers).astype(np.int64), gained)
    return Hits([names[a:b] for a, b in pairwise(bounds)], gain)
