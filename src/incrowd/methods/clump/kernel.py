"""Clump's loop: clusters grow around seeds by least generalization loss.

Milani Fard & Wang, SECRYPT 2010, section 3, Algorithm 1.

GGD(S) = sum of |t| - |S| * W(m), with W(m) = sum over v of m(v) * (LM(parent v) - LM(v)). All of it times M - 1
is a whole number, so comparisons and ties are exact. A cluster is represented by its least counts m; trying a
transaction is one pass over two sorted lists.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.jit import helper, kernel
from incrowd.kernels.lcg import AncestorRows, common_worth, keep_common, worth_of

__all__ = ["clump_rows"]


END = -1


class Clusters(NamedTuple):
    """The clusters while they grow: least counts in a common pool, size, sum of |t|, W, and a list of the open ones."""

    start: Ints64
    length: Ints64
    node: Ints32
    times: Ints32
    size: Ints64
    occurrences: Ints64
    worth: Ints64
    next_open: Ints64


@kernel
def clump_rows(
    ancestors: AncestorRows,
    weight: Ints64,
    scale: int,
    order: Ints64,
    k: int,
    r: int,
    increase: bool,  # noqa: FBT001
) -> Ints32:
    """Assign the rows listed in `order` to clusters of at least k; return the cluster of each position.

    Parameters
    ----------
    ancestors
        c_t of every row.
    weight
        (M - 1) * (LM(parent v) - LM(v)) for each node; 0 for the root.
    scale
        M - 1.
    order
        The rows, longest first as a rule. The row at position i * k seeds cluster i.
    k, r
        Rows a cluster gets before it is full; how many of the first open clusters are tried.
    increase
        Compare GGD(S + t) - GGD(S); otherwise GGD(S + t).
    """
    clusters = _seeded(ancestors, weight, order, k)
    number = len(clusters.size)
    cluster_of = np.empty(len(order), np.int32)
    head = 0 if k > 1 else END
    for position in range(len(order)):
        if position % k == 0 and position // k < number:
            cluster_of[position] = position // k
            continue
        row = order[position]
        best, before_best = END, END
        if head != END:
            best, before_best = _best_open(ancestors, weight, scale, clusters, head, row, r, increase)
        else:
            best = _best_of_all(ancestors, weight, scale, clusters, row, increase)
        cluster_of[position] = best
        _join(ancestors, weight, clusters, best, row)
        if clusters.size[best] == k and head != END:
            if best == head:
                head = clusters.next_open[best]
            else:
                clusters.next_open[before_best] = clusters.next_open[best]
    return cluster_of


@helper
def _seeded(ancestors: AncestorRows, weight: Ints64, order: Ints64, k: int) -> Clusters:
    """Start floor(n / k) clusters, each with one row."""
    number = len(order) // k
    start = np.zeros(number + 1, np.int64)
    for i in range(number):
        start[i + 1] = start[i] + ancestors.start[order[i * k] + 1] - ancestors.start[order[i * k]]
    clusters = Clusters(
        start,
        np.empty(number, np.int64),
        np.empty(start[number], np.int32),
        np.empty(start[number], np.int32),
        np.ones(number, np.int64),
        np.empty(number, np.int64),
        np.empty(number, np.int64),
        np.arange(1, number + 1),
    )
    for i in range(number):
        row = order[i * k]
        shift = ancestors.start[row] - start[i]
        for at in range(start[i], start[i + 1]):
            clusters.node[at], clusters.times[at] = ancestors.node[at + shift], ancestors.times[at + shift]
        clusters.length[i] = start[i + 1] - start[i]
        clusters.occurrences[i] = ancestors.times[ancestors.start[row]]
        clusters.worth[i] = worth_of(weight, clusters.node, clusters.times, start[i], start[i + 1])
    clusters.next_open[number - 1] = END
    return clusters


@helper
def _cost(
    ancestors: AncestorRows,
    weight: Ints64,
    scale: int,
    clusters: Clusters,
    cluster: int,
    row: int,
    increase: bool,  # noqa: FBT001
) -> int:
    """Return (M - 1) * GGD of the cluster with the row, or what it grows by."""
    i, at = clusters.start[cluster], ancestors.start[row]
    end, stop = i + clusters.length[cluster], ancestors.start[row + 1]
    worth = common_worth(weight, clusters.node, clusters.times, i, end, ancestors, at, stop)
    size = clusters.size[cluster]
    own: int = scale * ancestors.times[at] - (size + 1) * worth
    other: int = size * clusters.worth[cluster] if increase else scale * clusters.occurrences[cluster]
    return own + other


@helper
def _best_open(
    ancestors: AncestorRows,
    weight: Ints64,
    scale: int,
    clusters: Clusters,
    head: int,
    row: int,
    r: int,
    increase: bool,  # noqa: FBT001
) -> tuple[int, int]:
    """Return the cheapest of the first r open clusters (the first among equals) and the one before it."""
    best, before_best, least = head, END, 0
    cluster, before, tried = head, END, 0
    while cluster != END and tried < r:
        cost = _cost(ancestors, weight, scale, clusters, cluster, row, increase)
        if tried == 0 or cost < least:
            best, before_best, least = cluster, before, cost
        before, cluster = cluster, clusters.next_open[cluster]
        tried += 1
    return best, before_best


@helper
def _best_of_all(
    ancestors: AncestorRows,
    weight: Ints64,
    scale: int,
    clusters: Clusters,
    row: int,
    increase: bool,  # noqa: FBT001
) -> int:
    """Return the cheapest of all clusters, the first among equals."""
    best, least = 0, 0
    for cluster in range(len(clusters.size)):
        cost = _cost(ancestors, weight, scale, clusters, cluster, row, increase)
        if cluster == 0 or cost < least:
            best, least = cluster, cost
    return best


@helper
def _join(ancestors: AncestorRows, weight: Ints64, clusters: Clusters, cluster: int, row: int) -> None:
    """Add a row to a cluster."""
    node, times, first = clusters.node, clusters.times, clusters.start[cluster]
    length = keep_common(node, times, first, clusters.length[cluster], ancestors, row)
    clusters.length[cluster] = length
    clusters.size[cluster] += 1
    clusters.occurrences[cluster] += ancestors.times[ancestors.start[row]]
    clusters.worth[cluster] = worth_of(weight, node, times, first, first + length)
