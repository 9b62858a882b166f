"""Apriori-based anonymization (He & Naughton, VLDB 2009, section 5) to compare with: plain Python, exact, slow.

The definition word for word: everything is counted anew after each step. Nothing is shared with the product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

from reference import Bag, Tree

__all__ = ["apriori", "count_rare", "covered"]

Cut = frozenset[str]


def apriori(tree: Tree, bags: Sequence[Bag], k: int, m: int) -> Cut:
    """Return the cut at which every set of at most m nodes that occurs has at least k rows."""
    cut: Cut = frozenset(node for node in tree.path if tree.is_leaf(node))
    for size in range(1, m + 1):
        while rare := _rare_sets(tree, bags, cut, size, k):
            first = min(rare, key=lambda nodes: [tree.order[node] for node in nodes])
            cut = _cheapest(tree, bags, cut, first)
    return cut


def covered(tree: Tree, cut: Cut, bag: Bag) -> dict[str, int]:
    """Return what a row publishes: the nodes of the cut above its items, once each, in pre-order."""
    nodes = {node for item in bag for node in tree.path[item] if node in cut}
    return dict.fromkeys(sorted(nodes, key=tree.order.__getitem__), 1)


def count_rare(rows: Sequence[Iterable[str]], k: int, m: int) -> int:
    """Count the sets of at most m items that occur in fewer than k rows, by trying each on each row."""
    sets = [frozenset(row) for row in rows]
    occurring = {
        frozenset(chosen) for row in sets for size in range(1, m + 1) for chosen in combinations(row, size)
    }
    return sum(sum(chosen <= row for row in sets) < k for chosen in occurring)


def _rare_sets(tree: Tree, bags: Sequence[Bag], cut: Cut, size: int, k: int) -> list[tuple[str, ...]]:
    rows = Counter(nodes for bag in bags for nodes in combinations(covered(tree, cut, bag), size))
    return [nodes for nodes, times in rows.items() if times < k]


def _cheapest(tree: Tree, bags: Sequence[Bag], cut: Cut, nodes: Iterable[str]) -> Cut:
    """Move up to the parent that loses least; ties: the first in pre-order."""
    parents = {tree.path[node][-2] for node in nodes}
    best = min(
        parents, key=lambda parent: (_loss(tree, bags, _lifted(tree, cut, parent)), tree.order[parent])
    )
    return _lifted(tree, cut, best)


def _lifted(tree: Tree, cut: Cut, parent: str) -> Cut:
    return frozenset(node for node in cut if not tree.covers(parent, node)) | {parent}


def _loss(tree: Tree, bags: Sequence[Bag], cut: Cut) -> int:
    """M * NCP over all original occurrences."""
    return sum(
        times * tree.ncp_in_leaves(node)
        for bag in bags
        for item, times in bag.items()
        for node in tree.path[item]
        if node in cut
    )
