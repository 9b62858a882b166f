"""The lengths of the original records, in bins of at least k people, the last one open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from incrowd.core.ragged import count_distinct
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints64
from incrowd.release.files.manifest import Bin

__all__ = ["bins_of_people", "lengths_of"]


def lengths_of(data: Transactions, published: Bools, k: int, *, left: int = 0) -> list[Bin]:
    """Return the lengths of the published rows, in bins of at least k people.

    `left` people are counted who have no row: they are in the first bin, so that nothing tells how many they are.
    """
    first, *others = _lengths_of(data, published, k)
    return [Bin(first.least, first.records + left), *others]


def _lengths_of(data: Transactions, published: Bools, k: int) -> list[Bin]:
    lengths = data.lengths[published]
    edges = _edges(int(lengths.max(initial=1)).bit_length())
    place = np.searchsorted(edges, lengths, side="right") - 1
    records = np.bincount(place, minlength=len(edges)).astype(np.int64)
    if data.people is None:  # a row is a person's own
        return bins_of_people(records, (([one], number) for one, number in enumerate(records.tolist())), k)
    person = data.person[published]
    return _joined(records, lambda bin_of: count_distinct(bin_of[place], person, len(edges)), k)


def bins_of_people(records: Ints64, people: Iterable[tuple[Sequence[int], int]], k: int) -> list[Bin]:
    """Return the same from sums.

    Parameters
    ----------
    records
        How many records have lengths from 2^b to 2^(b + 1) - 1, for each b from 0.
    people
        Which of these b occur among a person's records, and how many people have records of just these.
    k
        The least number of people in a bin.
    """
    known = [(np.array(bins), number) for bins, number in people]

    def people_in(bin_of: Ints64) -> Ints64:
        found = np.zeros(len(records), np.int64)
        for bins, number in known:
            found[np.unique(bin_of[bins])] += number
        return found

    return _joined(records, people_in, k)


def _edges(number: int) -> Ints64:
    """Return where bins begin that double from 1."""
    return 2 ** np.arange(number, dtype=np.int64)


def _joined(records: Ints64, people_in: Callable[[Ints64], Ints64], k: int) -> list[Bin]:
    """Join bins until each holds at least k people; the last has no end.

    One person with an odd number of items would otherwise be seen, and a giant one by where the bins end.
    """
    edges = _edges(len(records))
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
