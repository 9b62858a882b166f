"""Pairs of labels: in how many units they are together for certain, and how many more chance brings together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from incrowd.core.ragged import list_ids, starts_of
from incrowd.core.types import Bools, Floats, Ints64
from incrowd.release.tables.sets import Bounds, TileSets

__all__ = [
    "Estimates",
    "Joined",
    "estimated",
    "joined_pairs",
    "largest_products",
    "pair_bounds",
    "without_joined",
]

PAIRS_AT_ONCE = 8_000_000


class Joined(NamedTuple):
    """Pairs of labels that some tile holds both of, by ``key`` = first * labels + second, ascending, first < second.

    `units` are those of the tiles with both, `low` how many they are for certain, `people` how many people at least hold such a tile.
    """

    key: Ints64
    units: Ints64
    low: Ints64
    people: Ints64

    def chosen(self, which: Bools | Ints64) -> Joined:
        """Return some of the pairs."""
        return Joined(*(column[which] for column in self))

    def found(self, key: Ints64) -> tuple[Joined, Bools]:
        """Return the pairs with given keys, and which of these there are; the others have zeros."""
        if not len(self.key):
            return Joined(key, *(np.zeros(len(key), np.int64) for _ in range(3))), np.zeros(
                len(key), np.bool_
            )
        at = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        there = self.key[at] == key
        return Joined(key, *(column[at] * there for column in self[1:])), there


class Estimates(NamedTuple):
    """Estimated units, and their standard errors, with two decimals."""

    units: Floats
    error: Floats


def joined_pairs(sets: TileSets) -> Joined:
    """Count the pairs of labels of all tiles."""
    parts = [_grouped(part, one_each=sets.counting.one_each) for part in _pairs_in_parts(sets)]
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _grouped(Joined(*columns), one_each=sets.counting.one_each)


def _pairs_in_parts(sets: TileSets) -> Iterator[Joined]:
    """Yield the pairs of some tiles at a time, one for each tile that it is in."""
    sizes = np.diff(sets.start)
    before = starts_of(sizes * (sizes - 1) // 2)
    ends = np.searchsorted(
        before, np.arange(PAIRS_AT_ONCE, before[-1] + PAIRS_AT_ONCE, PAIRS_AT_ONCE), "right"
    )
    bounds = np.unique(
        np.concatenate(([0], ends - 1, [len(sets)]))
    )  # a tile that has more is a part of its own
    for first, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield _pairs_of(sets, first, stop)
    if not len(sets):
        yield Joined(*(np.empty(0, np.int64) for _ in range(4)))


def _pairs_of(sets: TileSets, first: int, stop: int) -> Joined:
    """Return each two labels of each of some tiles."""
    start = sets.start[first : stop + 1] - sets.start[first]
    label = sets.label[sets.start[first] : sets.start[stop]]
    tile = list_ids(start)
    behind = start[tile + 1] - np.arange(len(label)) - 1  # how many labels of the tile come after each
    one = np.repeat(np.arange(len(label)), behind)
    other = one + 1 + np.arange(len(one)) - np.repeat(starts_of(behind)[:-1], behind)
    of = tile[one] + first
    key = label[one] * len(sets.labels) + label[other]
    return Joined(key, sets.units[of], sets.units_bounds.low[of], sets.people.low[of])


def _grouped(pairs: Joined, *, one_each: bool) -> Joined:
    """Return each pair once: units are added up; so are people who have one unit each, else the most of any tile is certain."""
    order = np.argsort(pairs.key, kind="stable")
    key, units, low, people = (column[order] for column in pairs)
    if not len(key):
        return pairs
    begin = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    of_people = np.add if one_each else np.maximum
    return Joined(
        key[begin],
        np.add.reduceat(units, begin),
        np.add.reduceat(low, begin),
        of_people.reduceat(people, begin),
    )


def estimated(joint: Ints64, rest: tuple[Ints64, Ints64], among: Ints64 | int, step: int) -> Estimates:
    """Return joint + a b / N and its standard error, where a and b are the units of the two labels that are not joint.

    If the a units are any of the N, each as likely as the next, those among the b have the hypergeometric distribution, with mean a b / N
    and variance a b (N - a) (N - b) / (N^2 (N - 1)). Besides, N was rounded to multiples of a step: it is off by a uniform number of
    variance step^2 / 12, which moves a b / N by a b / N^2 times that.
    """
    one, other = (np.maximum(units, 0).astype(np.float64) for units in rest)
    number = np.maximum(np.maximum(among, 2), np.maximum(one, other))
    chance = one * other / number
    variance = chance * (number - one) * (number - other) / (number * (number - 1))
    variance += (chance / number) ** 2 * (step**2 / 12)
    return Estimates(np.round(joint + chance, 2), np.round(np.sqrt(variance), 2))


def pair_bounds(low: Ints64, first: Ints64, second: Ints64, of_label: Bounds) -> Bounds:
    """Return how many have both labels, for certain: no more than have either."""
    return Bounds(low, np.minimum(of_label.high[first], of_label.high[second]))


def largest_products(one: Ints64, other: Ints64, most: int, *, same: bool) -> tuple[Ints64, Ints64]:
    """Return the places of the largest products of a number of each of two descending lists, at most so many, ties by place.

    With `same`, both are one list, and pairs of different places are wanted, the first place before the second. What is behind the
    first `most` + 1 places is in no such pair: as many others are as large.
    """
    one, other = one[: most + 1], other[: most + 1]
    begin = np.arange(1, len(one) + 1) if same else np.zeros(len(one), np.int64)

    def reach(least: int) -> Ints64:
        """Count for each of one list the others with which it makes at least so much."""
        stop = np.searchsorted(-other, least // -one, "right")  # other >= least / one, rounded up
        reached: Ints64 = np.maximum(stop - begin, 0)
        return reached

    low, high = (
        1,
        int(one.max(initial=1)) * int(other.max(initial=1)) + 1,
    )  # the largest limit that enough pairs reach
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reach(middle).sum() >= most else (low, middle)
    above = reach(low + 1)
    ties = reach(low) - above
    room = np.maximum(most - above.sum() - (np.cumsum(ties) - ties), 0)
    number = above + np.minimum(ties, room)
    first = np.repeat(np.arange(len(one)), number)
    within = np.arange(len(first)) - np.repeat(starts_of(number)[:-1], number)
    return first, begin[first] + within


def without_joined(
    sets: TileSets, first: Bools, second: Bools, joined: Joined, most: int
) -> tuple[Ints64, Ints64]:
    """Return the pairs of labels without a common tile whose estimates are largest: those of the most frequent labels.

    Parameters
    ----------
    sets
        The tiles.
    first, second
        Which labels may be the first and the second of a pair: all of them the same, or none.
    joined
        The pairs that have a common tile.
    most
        How many, at most.
    """
    units, size = sets.label_units, len(sets.labels)
    ones, others = (
        ids[np.argsort(-units[ids], kind="stable")] for ids in map(np.flatnonzero, (first, second))
    )
    same, looked_at = bool((first & second).any()), 2 * most
    while True:
        i, j = largest_products(units[ones], units[others], looked_at, same=same)
        a, b = ones[i], others[j]
        is_new = ~joined.found(np.minimum(a, b) * size + np.maximum(a, b))[1]
        if np.count_nonzero(is_new) >= most or len(i) < looked_at:
            a, b = a[is_new], b[is_new]
            order = np.lexsort((b, a, -units[a] * units[b]))[:most]
            return a[order], b[order]
        looked_at *= 4
