"""A taxonomy as arrays: nodes in pre-order, every node an interval of leaves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.ragged import starts_of
from incrowd.core.shown import html_table
from incrowd.core.types import Bools, Floats, Ints32, Ints64
from incrowd.errors import BadInputError

__all__ = ["Finder", "Taxonomy", "are_single", "find_by_label", "positions"]


class Finder(Protocol):
    """How the texts of items are looked up in a tree."""

    def __call__(self, tree: Taxonomy, items: pa.Array, *, any_case: bool = False) -> Ints32:
        """Return each item's node, -1 where there is none; `any_case`: whatever the case of its letters."""


def find_by_label(tree: Taxonomy, items: pa.Array, *, any_case: bool = False) -> Ints32:
    """Find each item's node by its label; -1 where there is none."""
    return positions(items, tree.labels, any_case=any_case)


def positions(items: pa.Array, texts: pa.Array, *, any_case: bool = False) -> Ints32:
    """Return where each item stands first among some texts; -1 where it does not.

    With `any_case`, letters that differ in case are the same; an item that equals two different texts then has no place.
    """
    if any_case:
        distinct = texts.unique()
        lowered = pc.utf8_lower(distinct)
        only = pc.if_else(pa.array(are_single(lowered)), lowered, None)
        items = distinct.take(pc.index_in(pc.utf8_lower(items), value_set=only, skip_nulls=True))
    encoded = items.dictionary_encode()
    distinct = encoded.dictionary
    place = np.full(len(distinct) + 1, -1, dtype=np.int32)  # the last is a null's
    # Arrow indexes its value set at every call, so the shorter array is the value set.
    if len(distinct) < len(texts):
        found = pc.index_in(texts, value_set=distinct)
        # The last assignment to an item wins: that of the first text.
        place[np.asarray(found.drop_null())[::-1]] = np.flatnonzero(found.is_valid())[::-1]
    else:
        place[:-1] = pc.index_in(distinct, value_set=texts).fill_null(-1)
    places: Ints32 = place[np.asarray(encoded.indices.fill_null(len(distinct)))]
    return places


def are_single(texts: pa.Array) -> Bools:
    """Tell which texts occur once."""
    code = texts.dictionary_encode().indices.to_numpy()
    single: Bools = (np.bincount(code) == 1)[code] if len(code) else np.zeros(0, dtype=np.bool_)
    return single


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A rooted tree over items, immutable, its nodes numbered in pre-order.

    Parameters
    ----------
    parent
        Parent of each node; -1 for node 0, the root. A parent comes before its children.
    end
        The subtree of v is the nodes ``v .. end[v] - 1``.
    labels
        Names of the nodes. Unique, except for the leaf that means "exactly this concept" under a node that is an item
        itself: it has the node's own label (and the larger number).
    name
        The source of the tree, as the command line names it.
    items, item_leaf
        The vocabulary that is attached to the tree and the leaf rank of each of its items;
        None until :func:`incrowd.taxonomy.attach` has given every item a leaf of its own.
    find
        How an item's text is looked up.
    edge
        Length of the edge above each node, for distances between terms; None means 1 for each. The edge to a leaf
        that was added below an item's concept has length 0. Unlisted words, which are grouped alphabetically and not
        by meaning, have long edges, so that they are far from every other term.
    made
        Which nodes were derived from the data (``group 2.13``, ``unlisted``); None: none. Their labels and leaves
        depend on words that may never be published.
    given_leaves
        How many leaves each node has in the tree as it was given, before items were attached; for a node derived from
        the data, how many it can have, 0 where there is no limit. None: as many as it has.
    moved
        Which leaves are those of items that the owner moved below another class than the tree has them; None: none.
    kind, kinds
        Where items are of several kinds: the number of each node's kind (0: words, 1: the first of `kinds`; -1: the root
        above all), and their names.
    """

    parent: Ints32
    end: Ints32
    labels: pa.Array
    name: str
    items: pa.Array | None = None
    item_leaf: Ints32 | None = None
    find: Finder = find_by_label
    edge: Ints32 | None = None
    made: Bools | None = None
    given_leaves: Ints32 | None = None
    moved: Bools | None = None
    kind: Ints32 | None = None
    kinds: tuple[str, ...] = ()

    @classmethod
    def from_parents(
        cls, parent: Ints32, labels: pa.Array, *, name: str, find: Finder = find_by_label
    ) -> Taxonomy:
        """Renumber the nodes of any parent array in pre-order; siblings keep the order of their indices."""
        position, size = _preorder(parent)
        order = np.empty_like(position)
        order[position] = np.arange(len(position), dtype=np.int32)
        moved = np.where(parent[order] < 0, -1, position[parent[order]]).astype(np.int32)
        ends = (np.arange(len(order), dtype=np.int64) + size[order]).astype(np.int32)
        return cls(moved, ends, labels.take(pa.array(order)), name, find=find)

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def is_leaf(self) -> Bools:
        """Whether each node is a leaf."""
        leaf: Bools = self.end == np.arange(1, len(self) + 1, dtype=np.int32)
        return leaf

    @cached_property
    def _leaves_before(self) -> Ints32:
        return starts_of(self.is_leaf).astype(np.int32)

    @property
    def first_leaf(self) -> Ints32:
        """Rank of the first leaf that each node covers."""
        return self._leaves_before[:-1]

    @cached_property
    def last_leaf(self) -> Ints32:
        """Rank after the last leaf that each node covers."""
        return self._leaves_before[self.end]

    @cached_property
    def leaf_nodes(self) -> Ints32:
        """Node of each leaf rank."""
        return np.flatnonzero(self.is_leaf).astype(np.int32)

    def leaves_of(self, items: Ints32) -> Ints32:
        """Return the leaf on which each of some items is; items were attached to the tree before."""
        assert self.item_leaf is not None  # noqa: S101 - attach() has run; callers see to that
        return self.leaf_nodes[self.item_leaf[items]]

    @property
    def leaf_count(self) -> int:
        """M, the number of leaves."""
        return int(self._leaves_before[-1])

    @cached_property
    def level(self) -> Ints32:
        """Level of each node; the root's is 1."""
        return self._from_root(np.ones(len(self), dtype=np.int64))

    @cached_property
    def root_distance(self) -> Ints32:
        """Length of the path from the root to each node: d(u, v) = root_distance[u] + root_distance[v] - 2 root_distance[lca]."""
        if self.edge is None:
            return self.level - 1
        edge = self.edge.astype(np.int64)
        edge[0] = 0
        return self._from_root(edge)

    def _from_root(self, what: Ints64) -> Ints32:
        """Return the sum of something over the nodes from the root to each node.

        In pre-order, of the nodes up to v all are on its path whose subtrees have not ended.
        """
        ended = np.bincount(self.end, what, minlength=len(self) + 1).cumsum()[:-1]
        open_ones: Ints32 = (what.cumsum() - ended).astype(np.int32)
        return open_ones

    @property
    def names(self) -> pa.Array:
        """Labels that come from the taxonomy itself, not from the data that is attached to it."""
        given = np.zeros(len(self), dtype=np.bool_) if self.edge is None else self.edge == 1
        return self.labels.filter(pa.array(given | ~self.is_leaf))

    @cached_property
    def ways_down(self) -> Ints32:
        """The path from the root to each leaf: ``ways_down[d, leaf]`` is its node at depth d.

        Below a leaf's own depth the leaf is repeated.
        """
        ways = np.empty((self.height, self.leaf_count), dtype=np.int32)
        leaves = self.last_leaf - self.first_leaf
        for depth, way in enumerate(ways):
            # In pre-order, these nodes' leaves follow each other.
            nodes = np.flatnonzero((self.level == depth + 1) | (self.is_leaf & (self.level <= depth)))
            way[:] = np.repeat(nodes, leaves[nodes])
        return ways

    @property
    def height(self) -> int:
        """Number of levels."""
        return int(self.level.max())

    @cached_property
    def child_start(self) -> Ints32:
        """Children of v are ``children[child_start[v]:child_start[v + 1]]``."""
        per_node = np.bincount(self.parent[1:], minlength=len(self))
        return starts_of(per_node).astype(np.int32)

    @cached_property
    def children(self) -> Ints32:
        """All nodes but the root, grouped by parent, siblings in order."""
        return (np.argsort(self.parent[1:], kind="stable") + 1).astype(np.int32)

    @cached_property
    def lm(self) -> Floats:
        """The loss metric of each node, LM(v) = (leaves(v) - 1) / (M - 1)."""
        leaves = (self.last_leaf - self.first_leaf).astype(np.float64)
        return (leaves - 1) / max(self.leaf_count - 1, 1)

    @cached_property
    def ncp(self) -> Floats:
        """The uncertainty of each node, NCP(v) = 0 for a leaf, else leaves(v) / M."""
        leaves = (self.last_leaf - self.first_leaf).astype(np.float64)
        return np.where(self.is_leaf, 0.0, leaves / self.leaf_count)

    @cached_property
    def ic(self) -> Floats:
        """The logarithmic loss of each node, IC(v) = log leaves(v) / log M."""
        leaves = (self.last_leaf - self.first_leaf).astype(np.float64)
        return np.asarray(np.log(leaves) / np.log(max(self.leaf_count, 2)))

    def labels_of(self, nodes: Ints32) -> pa.Array:
        """Return the labels of some nodes."""
        return self.labels.take(pa.array(nodes))

    def ancestors(self, nodes: Ints32) -> Ints32:
        """Return the nodes and all their ancestors, ascending."""
        wanted = np.zeros(len(self), dtype=np.bool_)
        frontier = np.unique(nodes)
        while len(frontier):
            wanted[frontier] = True
            above = np.unique(self.parent[frontier])
            frontier = above[(above >= 0) & ~wanted[above]]
        return np.flatnonzero(wanted).astype(np.int32)

    def _repr_html_(self) -> str:
        fitted = 0 if self.items is None else len(self.items)
        rows = [
            ("nodes", len(self)),
            ("leaves", self.leaf_count),
            ("levels", self.height),
            ("items attached", fitted),
        ]
        return html_table(f"Taxonomy {self.name}", rows)

    def __repr__(self) -> str:
        return (
            f"Taxonomy({self.name!r}, {len(self):,} nodes, {self.leaf_count:,} leaves, {self.height} levels)"
        )


def _preorder(parent: Ints32) -> tuple[Ints32, Ints64]:
    """Return each node's place in pre-order and the size of its subtree, level by level."""
    levels = _levels(parent)
    size = np.ones(len(parent), dtype=np.int64)
    for nodes in reversed(levels[1:]):
        np.add.at(size, parent[nodes], size[nodes])
    position = np.zeros(len(parent), dtype=np.int32)
    for nodes in levels[1:]:
        above = parent[nodes]
        before = np.cumsum(size[nodes]) - size[nodes]
        first_sibling = np.concatenate(([True], above[1:] != above[:-1]))
        family_start = before[first_sibling][np.cumsum(first_sibling) - 1]
        position[nodes] = position[above] + 1 + before - family_start
    return position, size


def _levels(parent: Ints32) -> list[Ints32]:
    """Return the nodes of each level, siblings together, in the order of their parents."""
    roots = np.flatnonzero(parent < 0)
    if len(roots) != 1:
        raise BadInputError(f"a taxonomy needs exactly one root (found {len(roots)})")
    by_parent = np.argsort(parent, kind="stable")[1:].astype(np.int32)
    start = starts_of(np.bincount(parent[by_parent], minlength=len(parent)))
    levels, reached = [roots.astype(np.int32)], 1
    while True:
        family = start[levels[-1] + 1] - start[levels[-1]]
        if not family.any():
            break
        offsets = np.arange(family.sum()) - np.repeat(np.cumsum(family) - family, family)
        levels.append(by_parent[np.repeat(start[levels[-1]], family) + offsets])
        reached += len(levels[-1])
    if reached != len(parent):
        raise BadInputError(
            f"a taxonomy must not contain a cycle ({len(parent) - reached} nodes never reach the root)"
        )
    return levels
