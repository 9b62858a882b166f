"""How a published record may relate to its owner's original, checked in plain Python for the audit.

Either it generalizes it: every published label lies above an item of the owner's, copy for copy. Or it stands for
it: every published label is near an item of the owner's, copy for copy (Liu & Wang, ICDM 2010, section III). Or it speaks of the
class as a whole, and then of queries that enough people typed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Any, Protocol

from incrowd.core.events import QueryEvents
from incrowd.core.transactions import Transactions
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Bag", "Generalizing", "Relation", "Standing", "count_holders", "count_typists"]

Bag = Counter[int]
Owned = Sequence[tuple[int, int]]


class Relation(Protocol):
    """What must hold between a published bag of nodes and an owner's bag of leaf nodes."""

    verb: str

    def wanted(self, published: Bag) -> Any:
        """Prepare what a published bag asks of each of its owners."""

    def holds(self, wanted: Any, owned: Owned) -> bool:
        """Tell whether an owner has what is wanted."""


class Generalizing:
    """Every published copy has an item of the owner's below it, each its own."""

    verb = "generalize"

    def __init__(self, taxonomy: Taxonomy, published: Iterable[int]) -> None:
        self._above = _Published(taxonomy, published)

    def wanted(self, published: Bag) -> tuple[dict[int, int], frozenset[int]]:
        """For each published node, count the published copies in its subtree; and return the nodes as a set."""
        copies = dict.fromkeys(published, 0)
        for node, count in published.items():
            for covering in copies.keys() & self._above[node]:
                copies[covering] += count
        return copies, frozenset(copies)

    def holds(self, wanted: tuple[dict[int, int], frozenset[int]], owned: Owned) -> bool:
        """Tell whether the owner has, below every published node, as many items as are published there.

        By Hall's theorem on the family of subtrees this is the same as matching every published copy with an
        item of the owner's below it (docs/papers/clump.md); it suffices to look at the published nodes.
        """
        copies, published = wanted
        missing, above = copies.copy(), self._above
        for node, count in owned:
            for covering in published & above[node]:
                missing[covering] -= count
        return max(missing.values(), default=0) <= 0


class _Published(dict[int, frozenset[int]]):
    """The published nodes above a node, itself included, by node; found on first use."""

    def __init__(self, taxonomy: Taxonomy, nodes: Iterable[int]) -> None:
        super().__init__({-1: frozenset()})
        self.parent = taxonomy.parent
        self.nodes = frozenset(nodes)

    def __missing__(self, node: int) -> frozenset[int]:
        way = [node]  # up to a node that is known, without recursion: a chain may have thousands of levels
        while (above := int(self.parent[way[-1]])) not in self:
            way.append(above)
        for step in reversed(way):
            self[step] = self[above] | {step} if step in self.nodes else self[above]
            above = step
        return self[node]


class Standing:
    """Every published copy is at most `within` steps from an item of the owner's, each its own."""

    verb = "stand for"

    def __init__(self, taxonomy: Taxonomy, within: int) -> None:
        self._near = _Near(taxonomy, within)

    def wanted(self, published: Bag) -> Bag:
        """Return the bag itself."""
        return published

    def holds(self, wanted: Bag, owned: Owned) -> bool:
        """Match every published copy with an item of the owner's that is near enough, by augmenting paths."""
        free, given = dict(owned), {leaf: Bag() for leaf, _ in owned}
        near = {node: sorted(self._near[node] & free.keys()) for node in wanted}
        for node, count in wanted.items():
            at_once = min(count, free.get(node, 0))  # the item itself, if it is not yet taken
            if at_once:
                free[node] -= at_once
                given[node][node] += at_once
            if not all(_augment(node, near, free, given) for _ in range(count - at_once)):
                return False
        return True


class _Near(dict[int, frozenset[int]]):
    """The leaves at most so many steps from a node, by node; found on first use."""

    def __init__(self, taxonomy: Taxonomy, within: int) -> None:
        super().__init__()
        self.is_leaf = taxonomy.is_leaf.tolist()
        self.parent, self.root_distance = taxonomy.parent.tolist(), taxonomy.root_distance.tolist()
        self.children, self.start = taxonomy.children.tolist(), taxonomy.child_start.tolist()
        self.within = within

    def __missing__(self, node: int) -> frozenset[int]:
        near: list[int] = []
        above, below = node, -1
        while above >= 0 and self.root_distance[node] - self.root_distance[above] <= self.within:
            self._down(
                above, below, self.within - self.root_distance[node] + 2 * self.root_distance[above], near
            )
            above, below = self.parent[above], above
        self[node] = frozenset(near)
        return self[node]

    def _down(self, node: int, without: int, farthest: int, near: list[int]) -> None:
        """Add the leaves at or below a node that are not too far from the root; but not one child's part."""
        waiting = [node]
        while waiting:
            here = waiting.pop()
            if here != without and self.root_distance[here] <= farthest:
                if self.is_leaf[here]:
                    near.append(here)
                waiting += self.children[self.start[here] : self.start[here + 1]]


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


def count_typists(queries: AbstractSet[str], events: QueryEvents, person: Sequence[int]) -> dict[str, int]:
    """Count the different people who typed each query; 0 for a query without a typist."""
    people: dict[str, set[int]] = {query: set() for query in queries}
    texts = dict(enumerate(events.texts.to_pylist()))
    for row, (first, stop) in enumerate(pairwise(events.start.tolist())):
        for query in set(events.query[first:stop].tolist()):
            if texts[query] in people:
                people[texts[query]].add(person[row])
    return {query: len(some) for query, some in people.items()}


def count_holders(nodes: AbstractSet[int], transactions: Transactions, taxonomy: Taxonomy) -> dict[int, int]:
    """Count the different people who have an item at or below each node; 0 for a node without people."""
    assert taxonomy.item_leaf is not None  # noqa: S101 - the caller attached the items
    above: list[frozenset[int]] = []  # the wanted nodes above each node, itself included; parents come first
    for node, parent in enumerate(taxonomy.parent.tolist()):
        upper = above[parent] if parent >= 0 else frozenset()
        above.append(upper | {node} if node in nodes else upper)
    names = [above[leaf] for leaf in taxonomy.leaf_nodes[taxonomy.item_leaf].tolist()]
    people: dict[int, set[int]] = {node: set() for node in nodes}
    items, person = transactions.items.tolist(), transactions.person.tolist()
    for row, (first, stop) in enumerate(pairwise(transactions.indptr.tolist())):
        for node in frozenset().union(*(names[item] for item in items[first:stop])):
            people[node].add(person[row])
    return {node: len(some) for node, some in people.items()}
