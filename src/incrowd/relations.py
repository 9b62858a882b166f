"""How a published record may relate to its owner's original, checked in plain Python for the audit.

Either it generalizes it: every published label lies above an item of the owner's, copy for copy. Or it stands for
it: every published label is near an item of the owner's, copy for copy (ssc.txt, section III).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Protocol

from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Bag", "Generalizing", "Relation", "Standing"]

Bag = Counter[int]
Owned = Sequence[tuple[int, int]]


class Relation(Protocol):
    """What must hold between a published bag of nodes and an owner's bag of leaf nodes."""

    verb: str

    def wanted(self, published: Bag) -> Bag:
        """Prepare what a published bag asks of each of its owners."""

    def holds(self, wanted: Bag, owned: Owned) -> bool:
        """Tell whether an owner has what is wanted."""


class Generalizing:
    """Every published copy has an item of the owner's below it, each its own."""

    verb = "generalize"

    def __init__(self, taxonomy: Taxonomy, published: Iterable[int]) -> None:
        self._above = _Published(taxonomy, published)

    def wanted(self, published: Bag) -> Bag:
        """For each published node, count the published copies in its subtree."""
        copies = Bag(dict.fromkeys(published, 0))
        for node, count in published.items():
            for covering in copies.keys() & self._above[node]:
                copies[covering] += count
        return copies

    def holds(self, wanted: Bag, owned: Owned) -> bool:
        """Tell whether the owner has, below every published node, as many items as are published there.

        By Hall's theorem on the family of subtrees this is the same as matching every published copy with an
        item of the owner's below it (ALGORITHMS B); it suffices to look at the published nodes.
        """
        missing, published = dict(wanted), frozenset(wanted)
        for node, count in owned:
            for covering in published & self._above[node]:
                missing[covering] -= count
        return max(missing.values(), default=0) <= 0


class _Published(dict[int, frozenset[int]]):
    """The published nodes above a node, itself included, by node; found on first use."""

    def __init__(self, taxonomy: Taxonomy, nodes: Iterable[int]) -> None:
        super().__init__({-1: frozenset()})
        self.parent = taxonomy.parent
        self.nodes = frozenset(nodes)

    def __missing__(self, node: int) -> frozenset[int]:
        above = self[int(self.parent[node])]
        self[node] = above | {node} if node in self.nodes else above
        return self[node]


class Standing:
    """Every published copy is at most `within` steps from an item of the owner's, each its own."""

    verb = "stand for"

    def __init__(self, taxonomy: Taxonomy, within: int) -> None:
        self._parent, self._far, self._within = taxonomy.parent, taxonomy.far, within
        self._known: dict[tuple[int, int], bool] = {}

    def wanted(self, published: Bag) -> Bag:
        """Return the bag itself."""
        return published

    def holds(self, wanted: Bag, owned: Owned) -> bool:
        """Match every published copy with an item of the owner's that is near enough, by augmenting paths."""
        near = {node: [leaf for leaf, _ in owned if self._is_near(node, leaf)] for node in wanted}
        free, given = dict(owned), {leaf: Bag() for leaf, _ in owned}
        for node, count in wanted.items():
            at_once = min(count, free.get(node, 0))  # the very item, where nobody else wants it yet
            if at_once:
                free[node] -= at_once
                given[node][node] += at_once
            if not all(_augment(node, near, free, given) for _ in range(count - at_once)):
                return False
        return True

    def _is_near(self, node: int, leaf: int) -> bool:
        pair = (node, leaf)
        if pair not in self._known:
            self._known[pair] = self._distance(node, leaf) <= self._within
        return self._known[pair]

    def _distance(self, node: int, other: int) -> int:
        """Return the length of the path between two nodes."""
        far = int(self._far[node]) + int(self._far[other])
        while node != other:  # the larger number is never above the smaller one
            node, other = min(node, other), int(self._parent[max(node, other)])
        return far - 2 * int(self._far[node])


def _augment(start: int, near: dict[int, list[int]], free: dict[int, int], given: dict[int, Bag]) -> bool:
    """Give one more copy to a published node, moving others' along a shortest path if need be."""
    came_from: dict[int, int] = {}  # the published node through which each leaf was reached
    reached_by: dict[int, int] = {}  # the leaf through which each other published node was reached
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for leaf in near[node]:
            if leaf in came_from:
                continue
            came_from[leaf] = node
            if free[leaf]:
                free[leaf] -= 1
                _move(leaf, start, came_from, reached_by, given)
                return True
            for holder in given[leaf]:
                if given[leaf][holder] and holder != start and holder not in reached_by:
                    reached_by[holder] = leaf
                    waiting.append(holder)
    return False


def _move(
    leaf: int, start: int, came_from: dict[int, int], reached_by: dict[int, int], given: dict[int, Bag]
) -> None:
    """Walk back from a free leaf: each node on the way takes the leaf and gives up the one it was reached by."""
    while True:
        node = came_from[leaf]
        given[leaf][node] += 1
        if node == start:
            return
        leaf = reached_by[node]
        given[leaf][node] -= 1
