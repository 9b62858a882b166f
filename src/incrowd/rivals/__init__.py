"""The methods that semantic microaggregation was compared with (semantic-microaggregation.txt, section 5.2).

They work on what was asked, query by query. Two remove queries (:mod:`~incrowd.rivals.korolova`,
:mod:`~incrowd.rivals.poblete`); three give distances between rows and, once rows are clustered, one log that all
rows of a cluster publish (:mod:`~incrowd.rivals.navarro`, :mod:`~incrowd.rivals.erola`,
:mod:`~incrowd.rivals.plain`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.asked import Asked
from incrowd.lists import added_up, list_of

__all__ = ["Bags", "askings_by_cluster", "bags_of", "hosts_of", "ranks_within", "row_bags"]

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]

# What stands before and after the host in an address; "www." is no part of a site's name.
_ADDRESS = r"(?s)^(?:[a-z][a-z0-9+.-]*://)?(?:[^/?#@]*@)?(?:www\.)?([^/:?#]*).*$"


class Bags(NamedTuple):
    """Bag b holds ``query[start[b]:start[b + 1]]``, ascending and distinct, each so many `times` (at least 1)."""

    start: Ints64
    query: Ints32
    times: Ints32


def bags_of(group: npt.NDArray[np.integer], query: Ints32, times: Ints64, groups: int) -> Bags:
    """Add up how often each group has each query; what a group has no times is not in its bag."""
    some = times > 0
    bags = added_up(group[some], query[some], times[some], groups)
    return Bags(bags.start, bags.value.astype(np.int32), bags.times.astype(np.int32))


def row_bags(asked: Asked) -> Bags:
    """Return what each row asked, and how often."""
    return bags_of(
        list_of(asked.start), asked.query, np.ones(len(asked), dtype=np.int64), len(asked.start) - 1
    )


def askings_by_cluster(
    asked: Asked, of_row: Ints32, key: npt.NDArray[np.integer]
) -> tuple[Ints32, Ints64, Ints64]:
    """Return the askings that are published, cluster by cluster and in the order of a key within each.

    That is: each asking's cluster, its number, and for each cluster how many rows it has.
    """
    cluster = of_row[list_of(asked.start)]
    order = np.lexsort((key, cluster))
    order = order[cluster[order] >= 0]
    clusters = int(of_row.max(initial=-1)) + 1
    return cluster[order], order, np.bincount(of_row[of_row >= 0], minlength=clusters)


def ranks_within(group: npt.NDArray[np.integer]) -> Ints64:
    """Return the position of each entry among those of its group, where groups are sorted."""
    return np.arange(len(group)) - np.searchsorted(group, group)


def hosts_of(sites: pa.Array) -> pa.Array:
    """Return the host of each address, in lower case and without "www."."""
    return pc.replace_substring_regex(pc.utf8_lower(sites), _ADDRESS, r"\1")
