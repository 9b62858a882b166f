"""The mechanism of method `dp`: which items enough people have, and how many people have each, with Gaussian noise.

Gopi et al., "Differentially private set union", ICML 2020 (one round); Swanberg et al., "DP-SIPS", PoPETs 2023 (three). The proofs are in
``docs/papers/dp.md``. Sums, noise and thresholds are whole numbers; noise comes from the system's cryptographic source.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from incrowd.core.gaussian import discrete_gaussian
from incrowd.core.noise import Words, secure_words
from incrowd.core.spending import Round, Spending
from incrowd.core.types import Ints64
from incrowd.methods.dp.sets import Sums

__all__ = ["People", "find_items", "noisy_people", "people_of"]


class People(Protocol):
    """People and what they have, here or on a cluster: what both sum up of them before noise is drawn."""

    def weights(self, found: Ints64, one: Round, d: int, words: Words = secure_words) -> Sums:
        """Return what people add to items in a round, each to at most d of those that were not found."""

    def people(self, found: Ints64, d: int, words: Words = secure_words) -> Sums:
        """Return how many people have each of the items that were found, of each person at most d of them."""


def find_items(people: People, spending: Spending, words: Words = secure_words) -> Ints64:
    """Return the items that pass in any round, ascending; what was found is taken out of people's sets before the next round."""
    found = np.empty(0, np.int64)
    for one in spending.rounds:
        sums = people.weights(found, one, spending.d, words)
        noisy = sums.sum + discrete_gaussian(len(sums.sum), words)
        found = np.sort(np.concatenate((found, sums.item[noisy >= one.threshold])))
    return found


def noisy_people(people: People, found: Ints64, spending: Spending, words: Words = secure_words) -> Ints64:
    """Return how many people have each of the items that were found, with noise; at least 1, as somebody has it.

    Of a person who has more than d of them, d count.
    """
    counted = people_of(people.people(found, spending.d, words), found)
    noisy = counted * spending.unit + discrete_gaussian(len(found), words)
    rounded: Ints64 = (2 * noisy + spending.unit) // (2 * spending.unit)
    return np.maximum(rounded, 1)


def people_of(sums: Sums, found: Ints64) -> Ints64:
    """Return the sum of each item that was found; 0 where it has none."""
    counted = np.zeros(len(found), dtype=np.int64)
    counted[np.searchsorted(found, sums.item)] = sums.sum
    return counted
