"""The lengths of the original records, in bins of at least k people, the last one open."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from incrowd.core.ragged import count_distinct
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints64
from incrowd.release.files.manifest import Bin

__all__ = ["bins_of_lengths", "lengths_of"]


def lengths_of(data: Transactions, published: Bools, k: int) -> list[Bin]:
    """Return the lengths of the published rows, in bins of at least k people."""
    lengths = data.lengths[published]
    if data.people is None:  # a row is a person's own
        return bins_of_lengths(*np.unique(lengths, return_counts=True), k)
    edges = _doubling(int(lengths.max(initial=1)))
    place, person = np.searchsorted(edges, lengths, side="right") - 1, data.person[published]
    records = np.bincount(place, minlength=len(edges))
    return _joined(edges, lambda bin_of: count_distinct(bin_of[place], person, len(edges)), records, k)


def bins_of_lengths(lengths: Ints64, records: Ints64, k: int) -> list[Bin]:
    """Return the same, given distinct lengths and how many records have each, where each record is a person's own."""
    edges = _doubling(int(lengths.max(initial=1)))
    place = np.searchsorted(edges, lengths, side="right") - 1
    total = np.bincount(place, weights=records, minlength=len(edges)).astype(np.int64)
    return _joined(
        edges, lambda at: np.bincount(at, weights=total, minlength=len(edges)).astype(np.int64), total, k
    )


def _doubling(highest: int) -> Ints64:
    """Return where bins begin that double from 1."""
    return 2 ** np.arange(max(highest, 1).bit_length(), dtype=np.int64)


def _joined(edges: Ints64, people_in: Callable[[Ints64], Ints64], records: Ints64, k: int) -> list[Bin]:
    """Join bins until each holds at least k people; the last has no end.

    One person with an odd number of items would otherwise be seen, and a giant one by where the bins end.
    """
    bin_of = np.arange(len(edges))
    while True:
        people = people_in(bin_of)
        used = np.unique(bin_of)
        lonely = used[people[used] < k]
        if len(used) == 1 or not len(lonely):
            break
        # Joined with the bin below it, or the lowest with the one above.
        last = lonely[-1] if lonely[-1] != used[0] else used[1]
        bin_of[bin_of == last] = used[np.searchsorted(used, last) - 1]
    total = np.bincount(bin_of, weights=records, minlength=len(edges)).astype(np.int64)
    return [Bin(int(edges[one]), int(total[one])) for one in np.unique(bin_of)]
