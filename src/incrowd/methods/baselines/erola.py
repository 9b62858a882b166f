"""Distances by shared categories, found word by word, and a random log for each cluster.

Erola, Castellà-Roca, Navarro-Arribas & Torra, "Semantic microaggregation for the anonymization of query logs using the
open directory project", SORT 2011.
"""

from __future__ import annotations

import numpy as np

from incrowd.core.events import QueryEvents
from incrowd.core.ragged import list_ids, take_lists
from incrowd.core.types import Floats, Ints32, Ints64
from incrowd.methods.baselines import Bags, bags_of, events_by_cluster, ranks_within, row_bags
from incrowd.methods.baselines.plain import shared_weights

__all__ = ["erola_distances", "erola_prototypes"]


def erola_distances(events: QueryEvents, category_start: Ints64, category: Ints32) -> Floats:
    """Return the distances of rows: 1 minus the number of shared categories, divided by the largest such number.

    Parameters
    ----------
    events
        The query events.
    category_start, category
        Query q has the categories ``category[category_start[q]:category_start[q + 1]]``, all those of its words;
        repetitions do not matter.
    """
    both = shared_weights(_row_categories(events, category_start, category))
    np.fill_diagonal(both, 0)
    distance: Floats = 1 - both / max(both.max(initial=0), 1)
    np.fill_diagonal(distance, 0)
    return distance


def _row_categories(events: QueryEvents, category_start: Ints64, category: Ints32) -> Bags:
    """Return the categories of each row's queries, each once."""
    bags = row_bags(events)
    offsets, place = take_lists(category_start, bags.query.astype(np.int64))
    row, found = list_ids(bags.start)[list_ids(offsets)], category[place]
    everything = bags_of(row, found, 1, len(events.start) - 1)
    return everything._replace(times=np.ones_like(everything.times))


def erola_prototypes(events: QueryEvents, of_row: Ints32, rng: np.random.Generator) -> Bags:
    """Return one log for each cluster: as many of its query events, at random, as its rows have on average.

    The average is rounded, halves up, and at least 1.

    Parameters
    ----------
    events
        The query events.
    of_row
        The cluster of each row, from 0; -1 for rows that are not published.
    rng
        The random generator.
    """
    owner, order, size = events_by_cluster(events, of_row, rng.permutation(len(events)))
    total = np.bincount(owner, minlength=len(size))
    wanted = np.maximum((2 * total + size) // np.maximum(2 * size, 1), 1)
    taken = ranks_within(owner) < wanted[owner]
    return bags_of(owner[taken], events.query[order[taken]], 1, len(size))
