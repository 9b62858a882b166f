"""Shared categories, found word by word, and a random log for each cluster (Erola et al., 2011)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrowd.asked import Asked
from incrowd.lists import gathered, list_of
from incrowd.rivals import Bags, askings_by_cluster, bags_of, ranks_within, row_bags
from incrowd.rivals.plain import shared_weights

__all__ = ["erola_distances", "erola_prototypes"]

Floats = npt.NDArray[np.float64]
Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]


def erola_distances(asked: Asked, category_start: Ints64, category: Ints32) -> Floats:
    """Return how far apart rows are: 1 less the number of categories both have, in terms of the largest.

    Parameters
    ----------
    asked
        What was asked.
    category_start, category
        Query q has the categories ``category[category_start[q]:category_start[q + 1]]``, all those of its words;
        repetitions do not matter.
    """
    both = shared_weights(_row_categories(asked, category_start, category))
    np.fill_diagonal(both, 0)
    distance: Floats = 1 - both / max(both.max(initial=0), 1)
    np.fill_diagonal(distance, 0)
    return distance


def _row_categories(asked: Asked, category_start: Ints64, category: Ints32) -> Bags:
    """Return the categories of each row's queries, each once."""
    bags = row_bags(asked)
    offsets, place = gathered(category_start, bags.query.astype(np.int64))
    row, found = list_of(bags.start)[list_of(offsets)], category[place]
    everything = bags_of(row, found, np.ones(len(found), dtype=np.int64), len(asked.start) - 1)
    return everything._replace(times=np.ones_like(everything.times))


def erola_prototypes(asked: Asked, of_row: Ints32, rng: np.random.Generator) -> Bags:
    """Return one log for each cluster: of all its askings so many at random as its rows have on average.

    The average is rounded, halves up, and at least 1.

    Parameters
    ----------
    asked
        What was asked.
    of_row
        The cluster of each row, from 0; -1 for rows that are not published.
    rng
        Where chance comes from.
    """
    owner, order, size = askings_by_cluster(asked, of_row, rng.permutation(len(asked)))
    total = np.bincount(owner, minlength=len(size))
    wanted = np.maximum((2 * total + size) // np.maximum(2 * size, 1), 1)
    taken = ranks_within(owner) < wanted[owner]
    query = asked.query[order[taken]]
    return bags_of(owner[taken], query, np.ones(len(query), dtype=np.int64), len(size))
