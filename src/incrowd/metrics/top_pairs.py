"""The pairs of leaves that most units have, found without counting all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Bools, Floats, Ints64
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


def top_pairs(counts: Counts, wanted: int, among: tuple[Bools, Bools] | None = None) -> Pairs:
    """Return so many pairs that most units have, by count, then by place; of a leaf among some and one among others, if these are given.

    The pairs of some items show what a pair must have at least. Items whose pairs cannot have that are not looked at.
    """
    most = counts.most
    most[counts.units > 0] += (
        0.1**DIGITS
    )  # what was rounded on the way must not put a leaf below its own pairs
    everything = np.ones(len(most), dtype=np.bool_)
    some, others = among or (everything, everything)
    most[~(some | others)] = 0
    limit = counts.most_items if some is others else counts.most_items // 2  # then there are as many of each
    number, last = FIRST_ITEMS, 0.0
    while True:
        items = np.union1d(
            first_of(np.where(some, most, 0), number), first_of(np.where(others, most, 0), number)
        )
        found = _pairs_among(items, counts, wanted, (some, others), least=last)
        last = float(found.units[-1]) if len(found.units) == wanted else 0.0
        able = int(np.count_nonzero(most[most > 0] >= last))
        if number >= min(able, limit):
            return found
        number = min(2 * number, able, limit)


def _pairs_among(
    items: Ints64, counts: Counts, wanted: int, among: tuple[Bools, Bools], *, least: float
) -> Pairs:
    """Return the pairs of some leaves, which ascend, that most units have, at least so many."""
    some, others = among
    matrix = counts.together(items).ravel()
    place = np.flatnonzero(matrix > max(least - 0.1**DIGITS, 0))
    place = place[place // max(len(items), 1) < place % max(len(items), 1)]  # above the diagonal
    one, two = (items[at] for at in np.divmod(place, max(len(items), 1)))
    place = place[(some[one] & others[two]) | (others[one] & some[two])]
    found = np.round(matrix[place], DIGITS)
    order = first_of(found, wanted)
    first, second = np.divmod(place[order], max(len(items), 1))
    return Pairs(items[first], items[second], found[order])
