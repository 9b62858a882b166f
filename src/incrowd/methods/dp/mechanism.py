"""The mechanism of method `dp`: which items enough people have, and how many people have each, with Gaussian noise.

Gopi et al., "Differentially private set union", ICML 2020 (one round); Swanberg et al., "DP-SIPS", PoPETs 2023 (three). The proofs are in
``docs/papers/dp.md``. Sums, noise and thresholds are whole numbers; noise comes from the system's cryptographic source.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.gaussian import discrete_gaussian
from incrowd.core.noise import Words, secure_words
from incrowd.core.ragged import distinct, filtered_starts, list_ids, starts_of
from incrowd.core.spending import Round, Spending
from incrowd.core.types import Bools, Ints32, Ints64

__all__ = ["Sets", "bounded", "find_items", "noisy_people", "sets_of"]


class Sets(NamedTuple):
    """What people have: person p the items ``item[start[p]:start[p + 1]]``, distinct, of `items` items from 0."""

    start: Ints64
    item: Ints32
    items: int

    def only(self, keep: Bools) -> Sets:
        """Return the sets with some of their entries."""
        return Sets(filtered_starts(self.start, keep), self.item[keep], self.items)


def sets_of(person: Ints64, item: Ints64, items: int) -> Sets:
    """Return what people have, given entries of a person and an item in any order; repeats count once."""
    people = int(person.max(initial=-1)) + 1
    keys = distinct(person * max(items, 1) + item)
    owner, own = np.divmod(keys, max(items, 1))
    return Sets(starts_of(np.bincount(owner, minlength=people)), own.astype(np.int32), items)


def bounded(sets: Sets, d: int, words: Words = secure_words) -> Sets:
    """Keep d items of each person who has more: evenly chosen, and from the person's own set alone."""
    person, length = list_ids(sets.start), np.diff(sets.start)
    crowded = np.flatnonzero((length > d)[person])
    order = crowded[np.lexsort((words(len(crowded)), person[crowded]))]
    keep = np.ones(len(sets.item), dtype=np.bool_)
    rank = np.arange(len(order)) - np.searchsorted(person[order], person[order])
    keep[order[rank >= d]] = False
    return sets.only(keep)


def find_items(sets: Sets, spending: Spending, words: Words = secure_words) -> Ints64:
    """Return the items that pass in any round, ascending; what was found is taken out of people's sets before the next round."""
    found = np.zeros(sets.items, dtype=np.bool_)
    for one in spending.rounds:
        rest = bounded(sets.only(~found[sets.item]), spending.d, words)
        sums = _weighted(rest, one, spending.d)
        touched = np.flatnonzero(sums)
        noisy = sums[touched] + discrete_gaussian(len(touched), words)
        found[touched[noisy >= one.threshold]] = True
    return np.flatnonzero(found)


def noisy_people(sets: Sets, found: Ints64, spending: Spending, words: Words = secure_words) -> Ints64:
    """Return how many people have each of the items that were found, with noise; at least 1, as somebody has it.

    Of a person who has more than d of them, d count.
    """
    shown = np.zeros(sets.items, dtype=np.bool_)
    shown[found] = True
    kept = bounded(sets.only(shown[sets.item]), spending.d, words)
    people = np.bincount(kept.item, minlength=sets.items)[found].astype(np.int64)
    noisy = people * spending.unit + discrete_gaussian(len(found), words)
    rounded: Ints64 = (2 * noisy + spending.unit) // (2 * spending.unit)
    return np.maximum(rounded, 1)


def _weighted(sets: Sets, one: Round, d: int) -> Ints64:
    """Return the sum of what people add to each item."""
    by_length = np.array([0, *map(one.weight, range(1, d + 1))], dtype=np.float64)
    weights = np.repeat(by_length[np.diff(sets.start)], np.diff(sets.start))
    # Sums of integers are exact in doubles up to 2^53: no one adds more than 2^27, so for 2^26 people.
    return np.bincount(sets.item, weights, sets.items).astype(np.int64)
