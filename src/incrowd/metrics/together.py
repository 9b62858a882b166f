"""How often items are, alone and two together: in the originals, and as an analyst would estimate it from a release."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Protocol

import numpy as np

from incrowd.core.types import Bools, Floats, Ints32, Ints64
from incrowd.kernels.jit import helper, kernel
from incrowd.metrics.published import ExactSets, PublishedSets
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Counts", "FromPieces", "FromRecords", "OfOriginals", "estimated_units"]

LEAST_FOR_THREADS = 1_000_000  # items of units: each thread has a table of its own


class Counts(Protocol):
    """Counts of units by leaf and by pair of leaves."""

    most_items: ClassVar[int]
    """Pairs of so many leaves are looked at, at most: each two take memory."""

    @property
    def units(self) -> Floats:
        """How many units have each leaf."""

    @property
    def most(self) -> Floats:
        """What no pair with a leaf can exceed, for each leaf."""

    def together(self, items: Ints64) -> Floats:
        """Return how many units have both of each two of some leaves, which are ascending; above the diagonal."""


@dataclass(frozen=True)
class OfOriginals:
    """What there is."""

    sets: ExactSets
    leaves: int
    most_items: ClassVar[int] = 4_096

    @cached_property
    def units(self) -> Floats:
        """How many units have each leaf."""
        return self.sets.units(self.leaves)

    @property
    def most(self) -> Floats:
        """The units in which a leaf is not alone."""
        return self.sets.units(self.leaves, least_size=2)

    def together(self, items: Ints64) -> Floats:
        """Return how many units have both of each two of some leaves."""
        start, place, times = self.sets.start, _places(items, self.leaves), self.sets.times
        threads = (os.cpu_count() or 1) if len(self.sets.leaf) > LEAST_FOR_THREADS else 1
        bounds = np.linspace(0, len(start) - 1, threads + 1).astype(np.int64).tolist()

        def part(rows: tuple[int, int]) -> Floats:
            return _count_pairs(*rows, start, self.sets.leaf, place, times, len(items))

        with ThreadPoolExecutor(threads) as pool:
            counted = pool.map(part, pairwise(bounds))
            matrix: Floats = next(counted)
            for more in counted:
                matrix += more
        return matrix


@dataclass(frozen=True)
class FromPieces:
    """Estimates from pieces of units, of which nothing says which belong together: n'(a,b) = j + (n'(a) - j)(n'(b) - j) / N.

    Parameters
    ----------
    sets
        The pieces, with the very items alone; j is the number of those with both.
    units
        n'(x), for each leaf.
    total
        N, how many units there are.
    """

    sets: ExactSets
    units: Floats
    total: int
    most_items: ClassVar[int] = 4_096

    @property
    def most(self) -> Floats:
        """The units of a leaf's pieces of two or more, and what chance adds."""
        largest = self.units.max(initial=0)
        most: Floats = self.sets.units(len(self.units), least_size=2)
        most += self.units * (largest / self.total)
        if largest <= self.total:
            np.minimum(most, self.units, out=most)
        return most

    def together(self, items: Ints64) -> Floats:
        """Return n'(a,b) for each two of some leaves."""
        joint = OfOriginals(self.sets, len(self.units)).together(items)
        found: Floats = np.maximum(self.units[items][:, None] - joint, 0)
        found *= np.maximum(self.units[items] - joint, 0)
        found /= self.total
        found += joint
        return found


@dataclass(frozen=True)
class FromRecords:
    """Estimates from whole records: each label stands for one of the leaves below it, all equally likely.

    n'(a,b) is the sum over records of the chance that one label stands for a and another one for b.

    Parameters
    ----------
    published
        The records.
    tree
        The taxonomy.
    units
        n'(x), for each leaf.
    """

    published: PublishedSets
    tree: Taxonomy
    units: Floats
    most_items: ClassVar[int] = 2_048  # the tables have all nodes above them too, and are turned around

    @cached_property
    def _chance(self) -> Floats:
        """The chance that an entry stands for a leaf below it."""
        nodes = self.published.nodes
        return self.published.part / (self.tree.last_leaf - self.tree.first_leaf)[nodes]

    @property
    def most(self) -> Floats:
        """The chance of a leaf in each record, times the greatest chance of any other."""
        sets, tree = self.published, self.tree
        beside = _greatest_beside(sets.start, sets.nodes, self._chance, tree.end)
        times = np.repeat(sets.times, np.diff(sets.start))
        most: Floats = np.zeros(len(tree))
        most += np.bincount(sets.nodes, weights=self._chance * beside * times, minlength=len(tree))
        _add_from_above(most, tree.level, tree.parent)
        return most[tree.leaf_nodes]

    def together(self, items: Ints64) -> Floats:
        """Return n'(a,b) for each two of some leaves: counted label by label, and summed from the root downwards.

        Leaves with the same published labels above them have the same chances, so there is one row for all of them.
        """
        sets, tree = self.published, self.tree
        is_published = np.zeros(len(tree), dtype=np.bool_)
        is_published[sets.nodes] = True
        is_published[0] = True  # where the way up ends
        own = _nearest(tree.leaf_nodes[items], is_published, tree.parent)
        rows = np.unique(own)
        nodes = _with_all_above(rows, is_published, tree.parent)
        place = _places(nodes, len(tree))
        above = place[_nearest(tree.parent[nodes], is_published, tree.parent)]
        matrix = _count_chances(sets.start, place[sets.nodes], self._chance, sets.bag, sets.times, len(nodes))
        matrix += matrix.T
        for _ in range(2):  # rows, then columns
            _add_from_above(matrix, tree.level[nodes], above)
            matrix = np.ascontiguousarray(matrix[place[rows]].T)
        which = np.searchsorted(rows, own)
        return matrix if np.array_equal(rows, own) else matrix[np.ix_(which, which)]


def estimated_units(published: PublishedSets, tree: Taxonomy) -> Floats:
    """Return n'(x) for each leaf: the units published with it, and its share of those published with a node above it."""
    weights = published.part * np.repeat(published.times, np.diff(published.start))
    units = np.bincount(published.nodes, weights=weights, minlength=len(tree))
    each: Floats = units / (tree.last_leaf - tree.first_leaf)
    _add_from_above(each, tree.level, tree.parent)
    return each[tree.leaf_nodes]


def _add_from_above(each: Floats, level: Ints32, above: Ints32) -> None:
    """Add to each row the rows of all nodes above its own, level by level; `above` is the row of the next one above.

    Sums along the leaves would leave traces of nodes that are not above a leaf.
    """
    order = np.argsort(level, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(level))[:-1])[2:]:
        each[rows] += each[above[rows]]


def _nearest(nodes: Ints32, wanted: Bools, parent: Ints32) -> Ints32:
    """Return each node that is wanted, or else the nearest one above it that is; the root must be, and -1 stays."""
    found = nodes.copy()
    while len(others := np.flatnonzero((found >= 0) & ~wanted[found])):
        found[others] = parent[found[others]]
    return found


def _with_all_above(nodes: Ints32, wanted: Bools, parent: Ints32) -> Ints64:
    """Return nodes and those above them that are wanted, ascending."""
    found = [nodes]
    while len(nodes := np.unique(_nearest(parent[nodes[nodes > 0]], wanted, parent))):
        found.append(nodes)
    return np.unique(np.concatenate(found)).astype(np.int64)


def _places(chosen: Ints64, among: int) -> Ints32:
    """Return the place of each number among the chosen ones; -1 for the others."""
    place = np.full(among, -1, dtype=np.int32)
    place[chosen] = np.arange(len(chosen), dtype=np.int32)
    return place


@helper
def _longest(start: Ints64, first: int, stop: int) -> int:
    """Return the greatest length of some lists."""
    longest = 0
    for row in range(first, stop):
        longest = max(longest, start[row + 1] - start[row])
    return longest


@kernel
def _count_pairs(
    first: int, stop: int, start: Ints64, leaf: Ints32, place: Ints32, times: Ints64, items: int
) -> Floats:
    """Count in how many of some units two items are together; the place of an item that does not matter is -1."""
    matrix = np.zeros((items, items))
    here = np.empty(_longest(start, first, stop), np.int32)
    for row in range(first, stop):
        number = 0
        for i in range(start[row], start[row + 1]):
            if place[leaf[i]] >= 0:
                here[number] = place[leaf[i]]
                number += 1
        for i in range(number):
            for j in range(i + 1, number):
                matrix[min(here[i], here[j]), max(here[i], here[j])] += times[row]
    return matrix


@kernel
def _count_chances(
    start: Ints64, place: Ints32, chance: Floats, bag: Ints64, times: Ints64, nodes: int
) -> Floats:
    """Add up the chances that two labels stand for one leaf below each; alternatives of one bag exclude each other."""
    matrix = np.zeros((nodes, nodes))
    here = np.empty(_longest(start, 0, len(start) - 1), np.int64)
    for row in range(len(start) - 1):
        number = 0
        for i in range(start[row], start[row + 1]):
            if place[i] >= 0:
                here[number] = i
                number += 1
        for i in range(number):
            one = here[i]
            for j in range(i + 1, number):
                other = here[j]
                if bag[one] != bag[other]:
                    low, high = min(place[one], place[other]), max(place[one], place[other])
                    matrix[low, high] += times[row] * chance[one] * chance[other]
    return matrix


@kernel
def _greatest_beside(start: Ints64, nodes: Ints32, chance: Floats, end: Ints32) -> Floats:
    """Return for each entry what the other labels of its set can make of one leaf, at most; sets are ascending."""
    beside = np.zeros(len(nodes))
    above = np.empty(_longest(start, 0, len(start) - 1), np.int64)
    for row in range(len(start) - 1):
        first, second, best, depth = 0.0, 0.0, -1, 0
        for i in range(start[row], start[row + 1]):
            while depth > 0 and end[nodes[above[depth - 1]]] <= nodes[i]:
                depth -= 1
            beside[i] = chance[i] + (
                beside[above[depth - 1]] if depth > 0 else 0.0
            )  # along the path, for now
            above[depth] = i
            depth += 1
            if beside[i] > first:
                first, second, best = beside[i], first, i
            elif beside[i] > second:
                second = beside[i]
        for i in range(start[row], start[row + 1]):
            beside[i] = second if i == best else first
    return beside
