"""Microaggregation without semantics: two queries are either equal or at distance 1.

The non-semantic version in Batet et al., Information Sciences 2013, section 5.2: its equations (2) to (7) with queries
in place of categories and a delta of 0 or 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.events import QueryEvents
from incrowd.core.ragged import list_ids
from incrowd.core.types import Floats, Ints32, Ints64
from incrowd.kernels.jit import kernel
from incrowd.methods.baselines import Bags, bags_of, row_bags

__all__ = ["plain_distances", "plain_prototypes", "shared_weights"]


class Owners(NamedTuple):
    """Query q is in the bags ``row[start[q]:start[q + 1]]``, each `times` times."""

    start: Ints64
    row: Ints64
    times: Ints32


def plain_distances(events: QueryEvents) -> Floats:
    """Return the distances of rows by equation (4): the share of their query events that the other row does not have.

    Rows without events are at distance 0 from each other and at distance 1 from all others.
    """
    bags = row_bags(events)
    distance = shared_weights(bags)
    weight = np.diff(events.start).astype(np.float64)
    for row, own in enumerate(weight):  # row by row, because the matrix is the largest array
        distance[row] = 1 - distance[row] / np.maximum(own + weight, 1)
    nothing = np.flatnonzero(weight == 0)
    distance[np.ix_(nothing, nothing)] = 0
    np.fill_diagonal(distance, 0)
    return distance


def shared_weights(bags: Bags) -> Floats:
    """Return, for any two bags, how often both together have the queries they share. Whole numbers, symmetric."""
    order = np.argsort(bags.query, kind="stable")
    start = np.searchsorted(bags.query[order], np.arange(bags.query.max(initial=-1) + 2))
    return _meet(bags, Owners(start, list_ids(bags.start)[order], bags.times[order]))


@kernel
def _meet(bags: Bags, owners: Owners) -> Floats:
    """Visit, for each query of each bag, the other bags that have it; bags without a common query are never visited."""
    rows = len(bags.start) - 1
    shared = np.zeros((rows, rows))
    for row in range(rows):
        for at in range(bags.start[row], bags.start[row + 1]):
            for other in range(owners.start[bags.query[at]], owners.start[bags.query[at] + 1]):
                shared[row, owners.row[other]] += bags.times[at] + owners.times[other]
    return shared


def plain_prototypes(events: QueryEvents, of_row: Ints32) -> Bags:
    """Return one log for each cluster: every row gives its quota, the cluster's commonest query first.

    Parameters
    ----------
    events
        The query events.
    of_row
        The cluster of each row, from 0; -1 for rows that are not published.
    """
    bags, clusters = row_bags(events), int(of_row.max(initial=-1)) + 1
    row = list_ids(bags.start)
    cluster = of_row[row]
    centre = _commonest(bags, cluster, clusters)[cluster]
    # Only equal queries are near the centre. The others are equally far, so a row's most frequent ones come first.
    order = np.lexsort((bags.query, -bags.times, bags.query != centre, row))
    times = bags.times[order].astype(np.int64)
    before = np.cumsum(times) - times
    before -= before[np.searchsorted(row, row)]
    given = np.clip(_quotas(np.diff(events.start), of_row, clusters)[row] - before, 0, times)
    published = (cluster >= 0) & (given > 0)
    return bags_of(cluster[published], bags.query[order][published], given[published], clusters)


def _commonest(bags: Bags, cluster: Ints32, clusters: int) -> Ints32:
    """Return the centroid of equation (6), each cluster's most frequent query; of equals, the first by text."""
    inside = cluster >= 0
    total = bags_of(cluster[inside], bags.query[inside], bags.times[inside], clusters)
    owner = list_ids(total.start)
    order = np.lexsort((total.query, -total.times, owner))
    centre = np.full(clusters + 1, -1, dtype=np.int32)  # the last is for rows outside clusters
    filled = np.flatnonzero(np.diff(total.start) > 0)
    centre[filled] = total.query[order][total.start[filled]]
    return centre


def _quotas(weight: Ints64, of_row: Ints32, clusters: int) -> Ints64:
    """Return equation (7) for each row in whole numbers: by largest remainder, together at least 1 a cluster.

    A cluster's total is its average number of query events, halves rounded up; equal remainders go to the earlier row.
    """
    inside = of_row >= 0
    size = np.bincount(of_row[inside], minlength=clusters + 1)
    total = np.bincount(of_row[inside], weights=weight[inside], minlength=clusters + 1).astype(np.int64)
    wanted = np.maximum((2 * total + size) // np.maximum(2 * size, 1), 1)
    quota, remainder = np.divmod(weight, np.maximum(size[of_row], 1))
    floors = np.bincount(of_row[inside], weights=quota[inside], minlength=clusters + 1).astype(np.int64)
    order = np.lexsort((np.arange(len(weight)), -remainder, of_row))
    place = np.arange(len(weight)) - np.searchsorted(of_row[order], of_row[order])
    quota[order] += place < (wanted - floors)[of_row[order]]
    return np.asarray(quota)
