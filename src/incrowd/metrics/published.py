"""Releases as an analyst reads them: sets of labels, and how many units each is of.

- A class of n records is n sets of its labels. How often a record has a label does not matter.
- A query that is published below a concept is read as that concept; a name that is published in its place is a class.
- A bag of alternatives is read as one of them, each as likely as the next.
- In a list of queries with noisy counts each query is a set of its own. Nothing says whose it is, or what is beside it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.classes import Classes
from incrowd.core.ragged import list_ids, starts_of
from incrowd.core.types import Bools, Floats, Ints32, Ints64
from incrowd.kernels.jit import kernel
from incrowd.taxonomy.meaning import meaning_of
from incrowd.taxonomy.tree import Taxonomy

__all__ = [
    "ExactSets",
    "Kept",
    "PublishedSets",
    "exact_sets",
    "kept_of_classes",
    "kept_of_tiles",
    "sets_of_classes",
]


class PublishedSets(NamedTuple):
    """Published sets: set s is the nodes ``nodes[start[s]:start[s + 1]]``, distinct, and is of ``times[s]`` units.

    ``part`` is 1 for each entry, and less where a node is one of several alternatives, which are those of one ``bag``.
    """

    start: Ints64
    nodes: Ints32
    times: Ints64
    part: Floats
    bag: Ints64

    @classmethod
    def of(cls, start: Ints64, nodes: Ints32, times: Ints64) -> PublishedSets:
        """Return sets without alternatives."""
        return cls(start, nodes, times, np.ones(len(nodes)), np.arange(len(nodes)))


class ExactSets(NamedTuple):
    """Published sets with the very items alone, as ranks of leaves."""

    start: Ints64
    leaf: Ints32
    times: Ints64

    @property
    def sizes(self) -> Ints64:
        """How many items each set has."""
        return np.diff(self.start)

    def units(self, leaves: int, *, least_size: int = 1) -> Floats:
        """Return how many units have each leaf in a set of a size."""
        times = np.repeat(self.times * (self.sizes >= least_size), self.sizes)
        return np.bincount(self.leaf, weights=times, minlength=leaves).astype(np.float64)


class Kept(NamedTuple):
    """How many items of units, and how many pairs of items of one unit, are published as themselves."""

    items: int
    links: int


def exact_sets(published: PublishedSets, tree: Taxonomy, *, only: Bools | None = None) -> ExactSets:
    """Return the published sets with the very items alone, of some leaves if they are given."""
    exact = tree.is_leaf[published.nodes] & (published.part == 1)
    if only is not None:
        exact &= only[np.minimum(tree.first_leaf[published.nodes], len(only) - 1)]
    sizes = np.bincount(list_ids(published.start)[exact], minlength=len(published.times))
    return ExactSets(starts_of(sizes), tree.first_leaf[published.nodes[exact]], published.times)


def kept_of_tiles(exact: ExactSets, held: Ints64) -> Kept:
    """Count what is kept in tiles, given how many units hold each: all of it is true of them."""
    sizes = exact.sizes
    return Kept(int((sizes * held).sum()), int((sizes * (sizes - 1) // 2 * held).sum()))


def kept_of_classes(
    start: Ints64, leaf: Ints32, classes: Classes, exact: ExactSets, leaves: int
) -> Kept | None:
    """Count what is kept in records; items that the owner does not have do not count. None: they are nobody's."""
    if classes.copies is not None:
        return None
    return Kept(*_count_kept(start, leaf, classes.of_row, exact.start, exact.leaf, leaves))


@kernel
def _count_kept(
    start: Ints64, leaf: Ints32, of_row: Ints32, set_start: Ints64, set_leaf: Ints32, leaves: int
) -> tuple[int, int]:
    """Count the items that rows and their sets have in common, and the pairs of such items."""
    row_with = np.full(leaves, -1, np.int64)
    items = links = 0
    for row in range(len(of_row)):
        if of_row[row] < 0:
            continue
        for i in range(start[row], start[row + 1]):
            row_with[leaf[i]] = row
        both = 0
        for i in range(set_start[of_row[row]], set_start[of_row[row] + 1]):
            both += row_with[set_leaf[i]] == row
        items += both
        links += both * (both - 1) // 2
    return items, links


def sets_of_classes(classes: Classes, tree: Taxonomy) -> PublishedSets:
    """Return what the classes publish, as an analyst reads it."""
    if classes.copies is not None:
        nodes = _meant(classes, tree)
        return PublishedSets.of(np.arange(len(nodes) + 1), nodes, classes.counts.astype(np.int64))
    owner, bags = list_ids(classes.start), classes.alternatives
    if classes.texts is not None:
        nodes = _meant(classes, tree)
        return _distinct(_Entries(owner, nodes, np.ones(len(nodes)), np.arange(len(nodes))), classes.sizes)
    if bags is not None:
        bag, lengths = list_ids(bags.start), np.diff(bags.start)
        return _distinct(_Entries(owner[bag], bags.nodes, 1 / lengths[bag], bag), classes.sizes)
    return PublishedSets.of(classes.start, classes.nodes, classes.sizes)


def _meant(classes: Classes, tree: Taxonomy) -> Ints32:
    """Return the node of each entry; for a query that means a concept, the leaf of that concept if it has one of its own."""
    of_node, leaves = meaning_of(tree).of_node, tree.leaf_nodes
    below = leaves[of_node[leaves] != leaves]
    leaf_of = np.arange(len(tree), dtype=np.int32)
    alone = np.bincount(of_node[below], minlength=len(tree))[of_node[below]] == 1
    leaf_of[of_node[below[alone]]] = below[alone]
    assert classes.texts is not None  # noqa: S101 - both callers publish queries
    typed = np.array(classes.texts.is_valid(), dtype=np.bool_)
    return np.where(typed, leaf_of[classes.nodes], classes.nodes)


class _Entries(NamedTuple):
    """Entries of sets, in any order; see :class:`PublishedSets`."""

    owner: Ints64
    nodes: Ints32
    part: Floats
    bag: Ints64


def _distinct(entries: _Entries, times: Ints64) -> PublishedSets:
    """Return sets with each node once, by its largest part, ascending."""
    order = np.lexsort((entries.part, entries.nodes, entries.owner))
    owner, nodes = entries.owner[order], entries.nodes[order]
    last = np.ones(len(order), dtype=np.bool_)
    last[:-1] = (owner[1:] != owner[:-1]) | (nodes[1:] != nodes[:-1])
    start = np.searchsorted(owner[last], np.arange(len(times) + 1)).astype(np.int64)
    return PublishedSets(start, nodes[last], times, entries.part[order][last], entries.bag[order][last])
