"""What a release is of use for: how far off an analyst's counts of items and pairs are, made from the published sets alone.

A release is a multiset of sets of labels (:mod:`incrowd.metrics.published`) over N units. An analyst who counts an item x takes the
units that are published with x, and for each published node v above it the units of v, shared equally among the leaves below v. Two
items a and b are together in as many units as are published with both, and for the rest as often as by chance:
n'(a,b) = j + (n'(a) - j)(n'(b) - j) / N. A record is all that is published of its unit, so nothing is left to chance where both are published
as themselves: (e(a) - j)(e(b) - j) / N is taken off, e(x) being the records with x itself. Nothing published says when: an analyst spreads n'(x) evenly over the weeks of the log.

The analyst is assumed to know N, all units, withheld ones included. Records nearly say it; tiles and lists do not.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from incrowd.core.classes import Classes
from incrowd.core.tiles import Tiles
from incrowd.core.transactions import Transactions, Weeks
from incrowd.core.types import Floats, Ints32, Ints64
from incrowd.kernels.jit import kernel
from incrowd.metrics.published import (
    ExactSets,
    Kept,
    PublishedSets,
    exact_sets,
    kept_of_classes,
    kept_of_tiles,
    sets_of_classes,
)
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Use", "use_of_classes", "use_of_tiles"]

MOST_FREQUENT = 1_000
TREND_ITEMS = 100
FIRST_ITEMS = 256
DIGITS = 6  # counts that differ in later ones are equal: they were rounded on the way
MOST_ITEMS = 4_096  # a matrix of pairs has so many rows at most


class Use(msgspec.Struct, frozen=True):
    """Measures of use; None where one has no meaning.

    Parameters
    ----------
    kept_exactly
        The share of all items of units that are published as themselves. None of a list, which has no one's items.
    items_error
        How far off counts are, on average over the 1,000 most frequent items: abs(n - n') / max(n, n').
    pairs_recall, pairs_error
        How many of the 1,000 most frequent pairs are among the 1,000 that an analyst takes for such, and how far off their counts
        are, as for items.
    links_kept
        Pairs of items that are published as themselves and together, of all pairs of items in units. None of a list.
    trend_error
        How far off weekly counts are, on average over the weeks and the 100 most frequent items. None where the log has no times or
        fewer than two weeks.
    clicks_recall
        How many of the 1,000 most frequent pairs of a query and a clicked address are found: none, since no release has
        clicks. None where the log has none either.
    """

    kept_exactly: float | None
    items_error: float
    pairs_recall: float
    pairs_error: float
    links_kept: float | None
    trend_error: float | None
    clicks_recall: float | None


class Pairs(NamedTuple):
    """Pairs of leaves, and in how many units each is."""

    first: Ints64
    second: Ints64
    units: Floats


class Counted(NamedTuple):
    """Sets of leaves, how many units each leaf is in, how many units there are, and in how many units chance has no say (e(x))."""

    sets: ExactSets
    units: Floats
    total: int
    settled: Floats


def use_of_classes(data: Transactions, tree: Taxonomy, classes: Classes) -> Use:
    """Measure what published records, or a list of noisy counts, are of use for.

    Parameters
    ----------
    data, tree
        The units, and the taxonomy that their items are attached to.
    classes
        What is published of them.
    """
    published = sets_of_classes(classes, tree)
    exact, leaf = exact_sets(published, tree), _leaf_ranks(data, tree)
    kept = kept_of_classes(data.indptr, leaf, classes, exact, tree.leaf_count)
    settled = exact.units(tree.leaf_count)
    if classes.copies is not None:  # a list does not say what is beside a query
        settled[:] = 0
    return _measured(data, leaf, Counted(exact, _estimated(published, tree), len(data), settled), kept)


def use_of_tiles(data: Transactions, tree: Taxonomy, tiles: Tiles) -> Use:
    """Measure what tiles are of use for; their units may be rounded, or count people a few times only."""
    published = PublishedSets.of(tiles.start, tiles.nodes, tiles.units)
    exact = exact_sets(published, tree)
    kept = kept_of_tiles(exact, np.bincount(tiles.held, minlength=len(tiles)))
    read = Counted(exact, _estimated(published, tree), len(data), np.zeros(tree.leaf_count))
    return _measured(data, _leaf_ranks(data, tree), read, kept)


def _leaf_ranks(data: Transactions, tree: Taxonomy) -> Ints32:
    assert tree.item_leaf is not None  # noqa: S101 - the items are attached
    return tree.item_leaf[data.items]


def _measured(data: Transactions, leaf: Ints32, read: Counted, kept: Kept | None) -> Use:
    """Hold what an analyst counts against what there is."""
    sets, estimated = ExactSets(data.indptr, leaf, np.ones(len(data), np.int64)), read.units
    number = sets.units(len(estimated))
    own = Counted(sets, number, len(data), number)
    top = _first(number, MOST_FREQUENT)
    frequent, guessed = _top_pairs(own), _top_pairs(read)
    found = set(zip(guessed.first.tolist(), guessed.second.tolist(), strict=True))
    pairs = list(zip(frequent.first.tolist(), frequent.second.tolist(), strict=True))
    lengths = own.sets.sizes
    return Use(
        kept_exactly=kept and _share(kept.items, len(leaf)),
        items_error=_error(number[top], estimated[top]),
        pairs_recall=_share(sum(pair in found for pair in pairs), len(pairs)),
        pairs_error=_error(frequent.units, _estimates_of(frequent, read)),
        links_kept=kept and _share(kept.links, (lengths * (lengths - 1) // 2).sum()),
        trend_error=data.weeks and _trend_error(data.weeks, own, estimated, top[:TREND_ITEMS]),
        clicks_recall=0.0 if data.has_clicks else None,  # no release has any
    )


def _share(part: float, of: float) -> float:
    """Return a share, at most 1: published numbers that were rounded up can exceed what there is."""
    return min(float(part / of), 1.0) if of else 1.0


def _error(counted: Floats, estimated: Floats) -> float:
    """Return the mean of abs(n - n') / max(n, n'); where both are 0, nothing is off."""
    larger = np.maximum(counted, estimated)
    off = np.divide(np.abs(counted - estimated), larger, out=np.zeros_like(larger), where=larger > 0)
    return float(off.mean()) if off.size else 0.0


def _estimated(published: PublishedSets, tree: Taxonomy) -> Floats:
    """Return n'(x) for each leaf."""
    units = np.bincount(
        published.nodes,
        weights=published.part * np.repeat(published.times, np.diff(published.start)),
        minlength=len(tree),
    )
    each = units / (tree.last_leaf - tree.first_leaf)
    # Summed from the root downwards: sums along the leaves would leave traces of nodes that are not above a leaf.
    levels = np.argsort(tree.level, kind="stable")
    for nodes in np.split(levels, np.cumsum(np.bincount(tree.level))[:-1])[2:]:
        each[nodes] += each[tree.parent[nodes]]
    estimated: Floats = each[tree.leaf_nodes]
    return estimated


def _first(numbers: Floats, most: int) -> Ints64:
    """Return the places of the largest numbers, ties by place; zeros are left out."""
    order = np.argsort(-numbers, kind="stable")[:most]
    return order[numbers[order] > 0]


def _top_pairs(counted: Counted) -> Pairs:
    """Return the 1,000 pairs that most units have, by count, then by place.

    The pairs of a few items show what a pair must have at least. Items whose pairs cannot have that are not looked at.
    """
    most = _most_together(counted)
    found = _pairs_among(_first(most, FIRST_ITEMS), counted)
    last = float(found.units[-1]) if len(found.units) == MOST_FREQUENT else 0.0
    if np.count_nonzero(most[most > 0] >= last) <= FIRST_ITEMS:
        return found
    return _pairs_among(_first(np.where(most >= last, most, 0), MOST_ITEMS), counted, least=last)


def _most_together(counted: Counted) -> Floats:
    """Return for each leaf what none of its pairs can exceed: the units of its sets of two or more, and what chance adds."""
    sets, units, total, settled = counted
    most = sets.units(len(units), least_size=2)
    hidden = units - settled  # chance has a say in these units of an item, and in all units of the other
    largest, most_hidden = units.max(initial=0), hidden.max(initial=0)
    most += (hidden * largest + settled * most_hidden) / total
    if largest <= total:
        most = np.minimum(most, units)
    most[units > 0] += 0.1**DIGITS  # what was rounded on the way must not put a leaf below its own pairs
    return most


def _pairs_among(items: Ints64, counted: Counted, *, least: float = 0.0) -> Pairs:
    """Return the 1,000 pairs of some leaves that most units have, at least so many."""
    items = np.sort(items)
    matrix = _with_chance(_met(counted, items), counted, items[:, None], items)
    place = np.flatnonzero(matrix.ravel() > max(least - 0.1**DIGITS, 0))
    place = place[place // max(len(items), 1) < place % max(len(items), 1)]  # above the diagonal
    found = np.round(matrix.ravel()[place], DIGITS)
    order = _first(found, MOST_FREQUENT)
    first, second = np.divmod(place[order], max(len(items), 1))
    return Pairs(items[first], items[second], found[order])


def _with_chance(joint: Floats, counted: Counted, one: Ints64, other: Ints64) -> Floats:
    """Return n'(a,b), given in how many units two items are published together."""
    found = _product(counted.units, joint, one, other)
    if counted.settled.any():
        found -= _product(counted.settled, joint, one, other)
    found /= counted.total
    found += joint
    return found


def _product(units: Floats, joint: Floats, one: Ints64, other: Ints64) -> Floats:
    """Return the product of the units in which each of two items is without the other."""
    product: Floats = np.maximum(units[one] - joint, 0)
    product *= np.maximum(units[other] - joint, 0)
    return product


def _met(counted: Counted, items: Ints64) -> Floats:
    """Return in how many units each two of some leaves are together, above the diagonal."""
    place = np.full(len(counted.units), -1, dtype=np.int32)
    place[items] = np.arange(len(items), dtype=np.int32)
    return _count_pairs(counted.sets.start, place[counted.sets.leaf], counted.sets.times, len(items))


@kernel
def _count_pairs(start: Ints64, place: Ints32, times: Ints64, items: int) -> Floats:
    """Count in how many units two items are together; -1 stands for an item that does not matter."""
    matrix = np.zeros((items, items))
    here = np.empty(np.max(np.diff(start)) if len(start) > 1 else 0, np.int32)
    for row in range(len(start) - 1):
        number = 0
        for i in range(start[row], start[row + 1]):
            if place[i] >= 0:
                here[number] = place[i]
                number += 1
        for i in range(number):
            for j in range(i + 1, number):
                matrix[min(here[i], here[j]), max(here[i], here[j])] += times[row]
    return matrix


def _estimates_of(pairs: Pairs, read: Counted) -> Floats:
    """Return n'(a,b) of some pairs."""
    items = np.unique(np.concatenate((pairs.first, pairs.second)))
    joint = _met(read, items)[np.searchsorted(items, pairs.first), np.searchsorted(items, pairs.second)]
    return _with_chance(joint, read, pairs.first, pairs.second)


def _trend_error(weeks: Weeks, own: Counted, estimated: Floats, top: Ints64) -> float:
    """Return how far off the counts of some leaves are, week by week, if each is spread evenly."""
    place = np.full(len(estimated), -1, dtype=np.int32)
    place[top] = np.arange(len(top), dtype=np.int32)
    counted = _count_weeks(
        own.sets.start, place[own.sets.leaf], weeks.start, weeks.week, (len(top), weeks.number)
    )
    return _error(counted, np.broadcast_to(estimated[top, None] / weeks.number, counted.shape))


@kernel
def _count_weeks(
    start: Ints64, place: Ints32, week_start: Ints64, week: Ints32, shape: tuple[int, int]
) -> Floats:
    """Count units by item and week; a unit of several weeks counts in each of them, in equal parts."""
    counted = np.zeros(shape)
    for row in range(len(start) - 1):
        active = week_start[row + 1] - week_start[row]
        for i in range(start[row], start[row + 1]):
            if place[i] >= 0:
                for at in range(week_start[row], week_start[row + 1]):
                    counted[place[i], week[at]] += 1 / active
    return counted
