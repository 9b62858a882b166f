"""Loops for frequent closed itemsets: inverted lists, and counts over the rows that hold a set."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.arrays import first_at_least
from incrowd.kernels.jit import kernel

__all__ = ["Baskets", "Lists", "invert", "item_supports", "tally"]


class Lists(NamedTuple):
    """Lists of numbers: list i is ``member[start[i]:start[i + 1]]``."""

    start: Ints64
    member: Ints32


class Baskets(NamedTuple):
    """Weighted rows of items, by row and by item, with working arrays.

    ``rows`` are the items of each row and ``holders`` the rows that hold each item, all ascending. ``counter``
    has a counter for each item, 0 between uses, and ``met`` room for a list of items.
    """

    rows: Lists
    holders: Lists
    weight: Ints64
    counter: Ints64
    met: Ints32


@kernel
def item_supports(rows: Lists, weight: Ints64, width: int) -> Ints64:
    """Return the weight of the rows that hold each of the items ``0 .. width - 1``."""
    support = np.zeros(width, np.int64)
    for row in range(len(weight)):
        for at in range(rows.start[row], rows.start[row + 1]):
            support[rows.member[at]] += weight[row]
    return support


@kernel
def invert(lists: Lists, width: int) -> Lists:
    """Return, for each number below `width`, the lists that have it. They are ascending."""
    start = np.zeros(width + 1, np.int64)
    for member in lists.member:
        start[member + 1] += 1
    for number in range(width):
        start[number + 1] += start[number]
    place = start[:-1].copy()
    holder = np.empty(len(lists.member), np.int32)
    for i in range(len(lists.start) - 1):
        for at in range(lists.start[i], lists.start[i + 1]):
            holder[place[lists.member[at]]] = i
            place[lists.member[at]] += 1
    return Lists(start, holder)


def tally(baskets: Baskets, wanted: Ints32) -> tuple[Ints32, Ints64]:
    """Count the items of the rows that hold all of some items.

    Parameters
    ----------
    baskets
        The rows.
    wanted
        At least one item, ascending; fastest if the first is the rarest.

    Returns
    -------
    items, supports
        The items of the rows found, ascending, and the weight of those that hold each.
    """
    items = np.sort(baskets.met[: _count(baskets, wanted)])
    supports = baskets.counter[items]
    baskets.counter[items] = 0
    return items, supports


@kernel
def _count(baskets: Baskets, wanted: Ints32) -> int:
    """Count the items of the rows that hold all wanted ones; return how many were met."""
    rows, holders, weight, counter, met = baskets
    counted = 0
    for at in range(holders.start[wanted[0]], holders.start[wanted[0] + 1]):
        row = holders.member[at]
        first, stop = rows.start[row], rows.start[row + 1]
        place, has_all = first, weight[row] > 0
        for item in wanted[1:]:
            place = first_at_least(rows.member, place, stop, item)
            if place == stop or rows.member[place] != item:
                has_all = False
                break
        if has_all:
            for item in rows.member[first:stop]:
                if counter[item] == 0:
                    met[counted] = item
                    counted += 1
                counter[item] += weight[row]
    return counted
