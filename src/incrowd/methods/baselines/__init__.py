"""Baselines: the methods with which Batet et al. compare semantic microaggregation.

Information Sciences 2013, section 5.2. They work on single query events. Two remove queries (:mod:`~incrowd.methods.baselines.korolova`,
:mod:`~incrowd.methods.baselines.poblete`); three give distances between rows and, once rows are clustered, one log that all
rows of a cluster publish (:mod:`~incrowd.methods.baselines.navarro`, :mod:`~incrowd.methods.baselines.erola`,
:mod:`~incrowd.methods.baselines.plain`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.events import QueryEvents
from incrowd.core.ragged import count_by_group, list_ids
from incrowd.core.types import Ints, Ints32, Ints64

__all__ = ["Bags", "bags_of", "events_by_cluster", "hosts_of", "ranks_within", "row_bags"]


# The parts of an address before and after the host; "www." is no part of a site's name.
_ADDRESS = r"(?s)^(?:[a-z][a-z0-9+.-]*://)?(?:[^/?#@]*@)?(?:www\.)?([^/:?#]*).*$"


class Bags(NamedTuple):
    """Bag b holds ``query[start[b]:start[b + 1]]``, ascending and distinct, each `times` times (at least 1)."""

    start: Ints64
    query: Ints32
    times: Ints32


def bags_of(group: Ints, query: Ints32, times: Ints | int, groups: int) -> Bags:
    """Count how often each group has each query, given how often each entry counts (at least once)."""
    bags = count_by_group(group, query, times, groups)
    return Bags(bags.start, bags.value.astype(np.int32), bags.times.astype(np.int32))


def row_bags(events: QueryEvents) -> Bags:
    """Return the queries of each row, and how often they occur."""
    return bags_of(list_ids(events.start), events.query, 1, len(events.start) - 1)


def events_by_cluster(events: QueryEvents, of_row: Ints32, key: Ints) -> tuple[Ints32, Ints64, Ints64]:
    """Return the query events of clusters, cluster by cluster and in the order of a key within each.

    The result is the cluster of each event, the event's number, and how many rows each cluster has.
    """
    cluster = of_row[list_ids(events.start)]
    order = np.lexsort((key, cluster))
    order = order[cluster[order] >= 0]
    clusters = int(of_row.max(initial=-1)) + 1
    return cluster[order], order, np.bincount(of_row[of_row >= 0], minlength=clusters)


def ranks_within(group: Ints) -> Ints64:
    """Return the position of each entry among those of its group, where groups are sorted."""
    return np.arange(len(group)) - np.searchsorted(group, group)


def hosts_of(sites: pa.Array) -> pa.Array:
    """Return the host of each address, in lower case and without "www."."""
    return pc.replace_substring_regex(pc.utf8_lower(sites), _ADDRESS, r"\1")
