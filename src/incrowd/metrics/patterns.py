"""Utility for frequent pattern mining: pattern recall (Recall) and pattern distance (sDist).

The most frequent closed patterns of the data are compared with those of the release (Liu & Wang, ICDM 2010, section
V-B). A pattern is a set of items; it is closed if every larger one is in fewer rows. Items are taxonomy nodes here,
and an original item is its leaf, so releases that substitute items and releases that generalize them are comparable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import nlargest, nsmallest
from typing import NamedTuple

import msgspec
import numpy as np

from incrowd.core.classes import Classes
from incrowd.core.ragged import starts_of
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints32, Ints64
from incrowd.errors import BadInputError, check_least
from incrowd.kernels.matching import Edges, matching
from incrowd.metrics.closed_sets import Baskets, Lists, invert, item_supports, tally
from incrowd.taxonomy.tree import Taxonomy

__all__ = [
    "Pattern",
    "PatternUtility",
    "closed_patterns",
    "measure_patterns",
    "original_patterns",
    "pattern_utility",
    "published_patterns",
]

PATTERNS = 100  # how many of the most frequent ones are compared


class Pattern(NamedTuple):
    """A closed set of items, ascending, and the number of rows that hold all of them."""

    items: tuple[int, ...]
    support: int


class PatternUtility(msgspec.Struct, frozen=True):
    """How well the most frequent patterns of the data can be found in a release.

    Parameters
    ----------
    recall
        Share of the original patterns' items that the published pattern with most of them has; 1 is best.
    sdist
        Distance of an original pattern from the nearest published one, by items of the original; 0 is best.
    """

    recall: float
    sdist: float


def pattern_utility(transactions: Transactions, taxonomy: Taxonomy, classes: Classes) -> PatternUtility:
    """Compare the most frequent patterns of the data with those of what the classes publish."""
    return measure_patterns(
        original_patterns(transactions, taxonomy, PATTERNS),
        published_patterns(classes, PATTERNS),
        taxonomy,
        root_distance=taxonomy.root_distance,
    )


@lru_cache(maxsize=1)  # a comparison needs the same result repeatedly
def original_patterns(transactions: Transactions, taxonomy: Taxonomy, n: int) -> list[Pattern]:
    """Return the n most frequent closed patterns of the data, items as the taxonomy's leaves."""
    leaves = taxonomy.leaves_of(transactions.items)
    return closed_patterns(transactions.indptr, leaves, np.ones(len(transactions), dtype=np.int64), n)


def published_patterns(classes: Classes, n: int) -> list[Pattern]:
    """Return the n most frequent closed patterns of a release; alternatives count as the node above them."""
    bags = classes.generalization if classes.alternatives is not None else classes
    return closed_patterns(bags.start, bags.nodes, classes.sizes, n)


def closed_patterns(
    start: Ints64, items: Ints32, weight: Ints64, n: int, *, shortest: int = 1
) -> list[Pattern]:
    """Return the n most frequent closed sets of items, the most frequent first.

    Of equally frequent ones the longer come first, and of equally long ones those with the smaller items.

    Parameters
    ----------
    start, items
        Row r holds ``items[start[r]:start[r + 1]]``, all different.
    weight
        How often each row counts.
    n
        How many patterns are wanted. There are fewer if the rows have fewer.
    shortest
        The least number of items in a pattern.

    Notes
    -----
    Every closed set C but the smallest is the closure of one other, P, and one item e more: the one for which
    they agree on the items below e, and e is above the item by which P was reached (the prefix-preserving
    extension of LCM: Uno, Asai, Uchida, Arimura, 2004). C is in fewer rows than P. So the sets are visited by
    descending support, and all that have the same support together: when those have been visited that the n-th
    pattern ties with, the result cannot depend on the order of the search.

    A visit counts the items in the rows of one set. Fewer than n patterns are more frequent than the n-th. What
    is visited besides them are shorter sets than wanted, repetitions (an e that does not preserve the prefix),
    and all sets that tie with the n-th pattern: many only if it is rare, and then each has few rows. Rows are
    never copied; of each set visited the items of its rows are kept that may still matter.
    """
    check_least("n", n)
    check_least("shortest", shortest)
    search = _Search(Lists(np.array(start, np.int64), np.array(items, np.int32)), weight, n, shortest)
    found = [search.root] if len(search.root.items) >= shortest else []
    while len(found) < n and search.waiting:
        wanted = n - len(found)
        found += nsmallest(wanted, search.next_wave(wanted), key=_longest_first)
    return found


def _longest_first(pattern: Pattern) -> tuple[int, tuple[int, ...]]:
    return -len(pattern.items), pattern.items


class _Branch(NamedTuple):
    """Extensions of a closed set that have one support: each by one of `items`, ascending.

    The set is the closure of `way`, the path of items by which it was reached.
    """

    way: Ints32
    closed: Ints32
    items: Ints32


class _Search:
    """The search for the most frequent closed sets, one support after the other.

    Items are renumbered from the rarest on, so that the first item of a path has the fewest rows, and extensions
    seldom lead to a set that was found before.
    """

    def __init__(self, rows: Lists, weight: Ints64, n: int, shortest: int) -> None:
        self.waiting: dict[int, list[_Branch]] = {}
        self._n = n
        self._shortest = shortest
        self._certain: set[int] = set()  # the n greatest supports that patterns are known to have
        self._floor = 1
        weight = np.array(weight, np.int64)
        support = item_supports(rows, weight, int(rows.member.max(initial=-1)) + 1)
        self._raise_floor(np.unique(support[support > 0]), 1)
        kept = np.flatnonzero(support >= self._floor)
        self._names = kept[np.argsort(support[kept], kind="stable")]
        self._baskets = _baskets(rows, weight, self._names, len(support))
        total, support = int(weight.sum()), support[self._names]
        everywhere = np.flatnonzero(support == total).astype(np.int32)
        self.root = Pattern(self._named(everywhere), total)
        others = np.flatnonzero(support < total).astype(np.int32)
        self._wait(np.empty(0, np.int32), everywhere, others, support[others])

    def next_wave(self, wanted: int) -> Iterator[Pattern]:
        """Visit all waiting sets of the greatest support; extend them if they are fewer than wanted."""
        support, passed = max(self.waiting), 0
        for branch in self.waiting.pop(support):
            seen: set[int] = set()
            for item in branch.items.tolist():
                if item in seen:
                    continue  # the same rows as an extension before: the same set
                way = np.append(branch.way, np.int32(item))
                items, supports = tally(self._baskets, way)
                closed = items[supports == support]
                seen.update(closed.tolist())
                if np.searchsorted(closed, item) != np.searchsorted(branch.closed, item):
                    continue  # it does not preserve the prefix: another branch has this set
                if len(closed) >= self._shortest:
                    passed += 1
                    yield Pattern(self._named(closed), support)
                if passed < wanted:
                    later = (items > item) & (supports < support)
                    self._wait(way, closed, items[later], supports[later])

    def _wait(self, way: Ints32, closed: Ints32, items: Ints32, supports: Ints64) -> None:
        """Keep a set's extensions, by support, unless n patterns are known to be more frequent."""
        frequent = supports >= self._floor
        items, supports = items[frequent], supports[frequent]
        order = np.argsort(supports, kind="stable")
        found, first = np.unique(supports[order], return_index=True)
        self._raise_floor(found, len(closed) + 1)
        for support, group in zip(found.tolist(), np.split(items[order], first[1:]), strict=False):
            self.waiting.setdefault(support, []).append(_Branch(way, closed, group))
        for support in [support for support in self.waiting if support < self._floor]:
            del self.waiting[support]

    def _raise_floor(self, supports: Ints64, length: int) -> None:
        """Take into account that there are sets with these supports and at least a length.

        Sets with different supports are different, so n supports are n patterns, and what is rarer than all of
        them does not matter.
        """
        if length >= self._shortest:
            self._certain.update(supports[-self._n :].tolist())
            self._certain = set(nlargest(self._n, self._certain))
        if len(self._certain) == self._n:
            self._floor = min(self._certain)

    def _named(self, items: Ints32) -> tuple[int, ...]:
        return tuple(np.sort(self._names[items]).tolist())


def _baskets(rows: Lists, weight: Ints64, names: Ints64, width: int) -> Baskets:
    """Return the rows with only the named items, renumbered by their position among them."""
    number = np.full(width, -1, dtype=np.int32)
    number[names] = np.arange(len(names), dtype=np.int32)
    member = number[rows.member]
    before = starts_of(member >= 0)
    holders = invert(Lists(before[rows.start], member[member >= 0]), len(names))
    counter, met = np.zeros(len(names), dtype=np.int64), np.empty(len(names), dtype=np.int32)
    return Baskets(invert(holders, len(weight)), holders, weight, counter, met)


def measure_patterns(
    original: Sequence[Pattern],
    published: Sequence[Pattern],
    taxonomy: Taxonomy,
    *,
    eps: int = 4,
    omega: int | None = None,
    root_distance: Ints32 | None = None,
) -> PatternUtility:
    """Compare the patterns of the data with those of a release.

    Parameters
    ----------
    original, published
        Patterns whose items are nodes of the taxonomy.
    taxonomy
        The tree in which the distance of two nodes is the length of the path between them.
    eps
        Nodes are relevant to each other if their distance is at most this.
    omega
        What an item without a counterpart costs, ``eps + 1`` if not given.
    root_distance
        Length of the path from the root to each node, if not every edge has the length 1.
    """
    omega = eps + 1 if omega is None else omega
    _check_distances(eps, omega)
    size = sum(len(pattern.items) for pattern in original)
    if not size:
        return PatternUtility(recall=1.0, sdist=0.0)
    if not published:
        return PatternUtility(recall=0.0, sdist=float(omega))
    depth = (taxonomy.level - 1 if root_distance is None else root_distance).astype(np.int64)
    nearest = _Nearest(published, taxonomy, depth, eps=eps, omega=omega)
    return PatternUtility(
        recall=_in_common(original, published) / size,
        sdist=sum(nearest.distance(pattern) for pattern in original) / size,
    )


def _in_common(original: Sequence[Pattern], published: Sequence[Pattern]) -> int:
    """Return how many items each pattern has in common with the published one that has most of them, summed over all."""
    ours = {item for pattern in original for item in pattern.items}
    holders: dict[int, list[int]] = {item: [] for item in ours}
    for place, pattern in enumerate(published):
        for item in ours.intersection(pattern.items):
            holders[item].append(place)
    held = {item: np.array(places, dtype=np.int64) for item, places in holders.items()}
    # By holders and not by pairs of patterns, most of which have nothing in common.
    return sum(
        int(np.bincount(np.concatenate([held[item] for item in set(pattern.items)]), minlength=1).max())
        for pattern in original
        if pattern.items
    )


def _check_distances(eps: int, omega: int) -> None:
    check_least("eps", eps, 0)
    if 2 * omega <= eps:
        raise BadInputError(f"omega must be greater than eps / 2 = {eps / 2:g} (got {omega})")


class _Nearest:
    """The least distance of a pattern from any published one (Definition 4, with nil terms).

    Matching two items at distance d in place of leaving both alone, at omega each, gains 2 omega - d. So the
    distance of two patterns is omega for every item, less the greatest gain of a matching.
    """

    def __init__(
        self, published: Sequence[Pattern], taxonomy: Taxonomy, root_distance: Ints64, *, eps: int, omega: int
    ) -> None:
        self._taxonomy, self._root_distance, self._eps, self._omega = taxonomy, root_distance, eps, omega
        lengths = np.array([len(pattern.items) for pattern in published])
        self._alone = lengths * omega
        self._end = np.cumsum(lengths)
        self._start = self._end - lengths
        every = np.array([item for pattern in published for item in pattern.items], dtype=np.int64)
        self._nodes, self._place = np.unique(every, return_inverse=True)
        self._gains: dict[int, Ints64] = {}

    def distance(self, pattern: Pattern) -> int:
        """Return the distance; a matching is computed only where a bound does not rule the published pattern out."""
        gains = np.array([self._gains_of(item) for item in pattern.items])
        alone = len(pattern.items) * self._omega + self._alone
        of_ours = np.maximum.reduceat(gains, self._start, axis=1).sum(axis=0)
        of_theirs = np.add.reduceat(gains.max(axis=0), self._start)
        at_least = alone - np.minimum(of_ours, of_theirs)
        least = int(alone.min())  # nothing matched
        for i in np.argsort(at_least, kind="stable"):
            if at_least[i] >= least:
                break
            least = min(least, int(alone[i]) - _greatest_gain(gains[:, self._start[i] : self._end[i]]))
        return least

    def _gains_of(self, item: int) -> Ints64:
        """Return the gain of matching an item with each item of the published patterns, one after the other."""
        if item not in self._gains:
            distance = _distances(item, self._nodes, self._taxonomy, self._root_distance)
            gain = np.where(distance <= self._eps, 2 * self._omega - distance, 0)
            self._gains[item] = gain[self._place]
        return self._gains[item]


def _distances(node: int, others: Ints64, taxonomy: Taxonomy, root_distance: Ints64) -> Ints64:
    """Return the length of the path from a node to each of some ascending others."""
    way = [node]
    while taxonomy.parent[way[-1]] >= 0:
        way.append(int(taxonomy.parent[way[-1]]))
    meets = np.empty(len(others), dtype=np.int64)
    for above in reversed(way):  # each subtree lies within the one before
        low, high = np.searchsorted(others, (above, taxonomy.end[above]))
        meets[low:high] = root_distance[above]
    return np.asarray(root_distance[node] + root_distance[others] - 2 * meets)


def _greatest_gain(gains: Ints64) -> int:
    """Return the greatest sum of gains of a matching of rows and columns."""
    gains = gains[gains.any(axis=1)]
    favourites = gains.argmax(axis=1)
    if len(np.unique(favourites)) == len(gains):  # all favourites differ: each can be taken
        return int(gains.max(axis=1).sum())
    row, column = np.nonzero(gains)
    edges = Edges(np.searchsorted(row, np.arange(len(gains) + 1)), column, gains[row, column])
    rows, columns = (np.ones(length, dtype=np.int64) for length in gains.shape)
    return int(edges.gain @ matching(edges, rows, columns))
