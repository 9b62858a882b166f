"""The pairs of leaves that most units have, found without counting all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Floats, Ints64
from incrowd.metrics.together import Counts

__all__ = ["Pairs", "first_of", "top_pairs"]

FIRST_ITEMS = 256
DIGITS = 6  # counts that differ in later ones are equal: they were rounded on the way


class Pairs(NamedTuple):
    """Pairs of leaves, and in how many units each is."""

    first: Ints64
    second: Ints64
    units: Floats


def first_of(numbers: Floats, most: int) -> Ints64:
    """Return the places of the largest numbers, ties by place; zeros are left out."""
    order = np.argsort(-numbers, kind="stable")[:most]
    return order[numbers[order] > 0]


def top_pairs(counts: Counts, wanted: int) -> Pairs:
    """Return so many pairs that most units have, by count, then by place.

    The pairs of some items show what a pair must have at least. Items whose pairs cannot have that are not looked at.
    """
    most = counts.most
    most[counts.units > 0] += (
        0.1**DIGITS
    )  # what was rounded on the way must not put a leaf below its own pairs
    number, last = FIRST_ITEMS, 0.0
    while True:
        found = _pairs_among(first_of(most, number), counts, wanted, least=last)
        last = float(found.units[-1]) if len(found.units) == wanted else 0.0
        able = int(np.count_nonzero(most[most > 0] >= last))
        if number >= min(able, counts.most_items):
            return found
        number = min(2 * number, able, counts.most_items)


def _pairs_among(items: Ints64, counts: Counts, wanted: int, *, least: float) -> Pairs:
    """Return the pairs of some leaves that most units have, at least so many."""
    items = np.sort(items)
    matrix = counts.together(items).ravel()
    place = np.flatnonzero(matrix > max(least - 0.1**DIGITS, 0))
    place = place[place // max(len(items), 1) < place % max(len(items), 1)]  # above the diagonal
    found = np.round(matrix[place], DIGITS)
    order = first_of(found, wanted)
    first, second = np.divmod(place[order], max(len(items), 1))
    return Pairs(items[first], items[second], found[order])
