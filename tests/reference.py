"""Naive versions of the mathematics, for the tests to compare with: plain Python, exact, slow.

They follow the definitions step by step, over dictionaries of names, and share no code with the product.
A bag is ``{leaf: count}``; a published bag is ``{node: count}``; None is a row that is not published.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from typing import NamedTuple

__all__ = [
    "Group",
    "Tree",
    "attach",
    "average_length",
    "average_level",
    "bag_of",
    "balanced",
    "gains",
    "generalizes",
    "generalizes_by_matching",
    "ggd",
    "ic_norm",
    "is_km_anonymous",
    "itself",
    "kept_exactly",
    "lg_bag",
    "ncp",
    "partition",
    "published_sets",
]

Children = Mapping[str, Sequence[str]]
Bag = Mapping[str, int]
Published = Sequence[Bag | None]


class Tree:
    """A taxonomy by names: ``{node: its children in order}``; leaves need no entry of their own."""

    def __init__(self, children: Children) -> None:
        self.children = {node: tuple(below) for node, below in children.items()}
        below = {child for family in self.children.values() for child in family}
        (self.root,) = (node for node in self.children if node not in below)
        self.path: dict[str, tuple[str, ...]] = {}  # the way down from the root, itself included
        self.leaves: dict[str, int] = {}
        self._visit(self.root, ())
        self.order = {node: place for place, node in enumerate(self.path)}  # pre-order
        self.size = self.leaves[self.root]  # M

    def _visit(self, node: str, above: tuple[str, ...]) -> int:
        self.path[node] = (*above, node)
        below = self.children.get(node, ())
        self.leaves[node] = sum(self._visit(child, self.path[node]) for child in below) if below else 1
        return self.leaves[node]

    def is_leaf(self, node: str) -> bool:
        return not self.children.get(node)

    def level(self, node: str) -> int:
        return len(self.path[node])

    def covers(self, node: str, other: str) -> bool:
        return node in self.path[other]

    def child_towards(self, node: str, leaf: str) -> str:
        return self.path[leaf][self.level(node)]

    def lm(self, node: str) -> Fraction:
        return Fraction(self.leaves[node] - 1, self.size - 1) if self.size > 1 else Fraction(0)

    def ncp(self, node: str) -> Fraction:
        return Fraction(0) if self.is_leaf(node) else Fraction(self.leaves[node], self.size)

    def ic(self, node: str) -> float:
        return math.log(self.leaves[node]) / math.log(self.size) if self.size > 1 else 0.0

    def ncp_in_leaves(self, node: str) -> int:
        """M * NCP: whole numbers compare and add without rounding."""
        return 0 if self.is_leaf(node) else self.leaves[node]


def itself(node: str) -> str:
    """Name the leaf that means "this very concept" under an inner node."""
    return f"{node} itself"


def attach(children: Children, items: Iterable[str]) -> dict[str, list[str]]:
    """Give each inner node that is an item a leaf of its own, behind its other children."""
    attached = {node: list(below) for node, below in children.items()}
    for item in sorted(set(items)):
        if attached.get(item):
            attached[item].append(itself(item))
    return attached


def balanced(items: Sequence[str], fan_out: int) -> dict[str, list[str]]:
    """Put a parent above each `fan_out` neighbours, level by level, up to one root."""
    children: dict[str, list[str]] = {}
    level, row = 0, list(items)
    while level == 0 or len(row) > 1:
        level += 1
        families = [row[i : i + fan_out] for i in range(0, len(row), fan_out)]
        row = [f"made {level}.{i}" for i in range(len(families))]
        children.update(zip(row, families, strict=True))
    return children


def bag_of(items: Iterable[str]) -> dict[str, int]:
    bag: dict[str, int] = {}
    for item in items:
        bag[item] = bag.get(item, 0) + 1
    return bag


# Partition (He & Naughton, VLDB 2009, section 4)


class Group(NamedTuple):
    """A final partition: rows in input order, the nodes of its cut in pre-order."""

    rows: tuple[int, ...]
    nodes: tuple[str, ...]


class _Part(NamedTuple):
    """A partition under way."""

    rows: list[int]
    cut: frozenset[str]
    frozen: frozenset[str]


def partition(tree: Tree, bags: Sequence[Bag], k: int) -> list[Group]:
    """Split the rows that hold something into groups of at least k, top-down."""
    filled = [row for row, bag in enumerate(bags) if bag]
    if len(filled) < k:
        raise ValueError("fewer than k rows hold something")
    waiting = [_Part(filled, frozenset([tree.root]), frozenset())]
    final = []
    while waiting:
        part = waiting.pop()
        candidates = gains(tree, bags, part.rows, part.cut, part.frozen)
        if candidates:
            best = min(candidates, key=lambda node: (-candidates[node], tree.order[node]))
            waiting += _split(tree, bags, k, part, best)
        else:
            final.append(Group(tuple(part.rows), tuple(sorted(part.cut, key=tree.order.__getitem__))))
    return sorted(final)


def gains(
    tree: Tree,
    bags: Sequence[Bag],
    rows: Iterable[int],
    cut: frozenset[str],
    frozen: frozenset[str] = frozenset(),
) -> dict[str, int]:
    """Return M * gain of each candidate: an inner node of the cut, not frozen, that covers an item of the rows."""
    gain: dict[str, int] = {}
    for row in rows:
        for item, count in bags[row].items():
            node = next(above for above in tree.path[item] if above in cut)
            if node in frozen or tree.is_leaf(node):
                continue
            saved = tree.ncp_in_leaves(node) - tree.ncp_in_leaves(tree.child_towards(node, item))
            gain[node] = gain.get(node, 0) + count * saved
    return gain


def _split(tree: Tree, bags: Sequence[Bag], k: int, part: _Part, node: str) -> list[_Part]:
    """Expand a node: a bucket for each set of children hit, and the leftovers with the old cut."""
    buckets: dict[frozenset[str], list[int]] = {}
    own_gain: dict[int, int] = {}
    for row in part.rows:
        under = {item: tree.child_towards(node, item) for item in bags[row] if tree.covers(node, item)}
        saved = {item: tree.ncp_in_leaves(node) - tree.ncp_in_leaves(child) for item, child in under.items()}
        own_gain[row] = sum(bags[row][item] * saved[item] for item in under)
        buckets.setdefault(frozenset(under.values()), []).append(row)
    survivors, left = _balance(buckets, own_gain, k)
    parts = [_Part(rows, part.cut - {node} | hit, part.frozen) for hit, rows in survivors.items()]
    if left:
        parts.append(_Part(left, part.cut, part.frozen | {node}))
    return parts


def _balance(
    buckets: dict[frozenset[str], list[int]], own_gain: Mapping[int, int], k: int
) -> tuple[dict[frozenset[str], list[int]], list[int]]:
    """Return the buckets that survive and the leftovers, who are none or at least k."""
    survivors = {hit: list(rows) for hit, rows in buckets.items() if len(rows) >= k}
    left = [row for rows in buckets.values() if len(rows) < k for row in rows]
    need = k - len(left)
    if 0 < len(left) < k:
        surplus = sum(len(rows) - k for rows in survivors.values())
        if surplus >= need:
            _move(survivors, left, own_gain, k)
        else:
            # Buckets stand in the order of their first rows, and min() takes the first of equals.
            least = min(survivors, key=lambda hit: sum(own_gain[row] for row in survivors[hit]))
            left += survivors.pop(least)
    return survivors, sorted(left)


def _move(
    survivors: dict[frozenset[str], list[int]], left: list[int], own_gain: Mapping[int, int], k: int
) -> None:
    """Move rows of least own gain (ties: input order) to the leftovers, from buckets that stay at least k."""
    home = {row: rows for rows in survivors.values() for row in rows}
    for row in sorted(home, key=lambda row: (own_gain[row], row)):
        if len(left) < k and len(home[row]) > k:
            home[row].remove(row)
            left.append(row)


def published_sets(groups: Iterable[Group], rows: int) -> list[Bag | None]:
    """Return what each row publishes: its group's nodes, once each."""
    published: list[Bag | None] = [None] * rows
    for group in groups:
        for row in group.rows:
            published[row] = dict.fromkeys(group.nodes, 1)
    return published


def lg_bag(tree: Tree, bags: Sequence[Bag], groups: Iterable[Group]) -> list[Bag | None]:
    """Return LG(bag): each node of the group's cut as often as the row that has least under it (Liu & Wang, ICDM 2010, V-A)."""
    published: list[Bag | None] = [None] * len(bags)
    for group in groups:
        least = {node: min(_under(tree, node, bags[row]) for row in group.rows) for node in group.nodes}
        for row in group.rows:
            published[row] = least
    return published


def _under(tree: Tree, node: str, bag: Bag) -> int:
    return sum(count for item, count in bag.items() if tree.covers(node, item))


# What it means to generalize (Milani Fard & Wang, SECRYPT 2010, Definition 1), twice


def generalizes(tree: Tree, published: Bag, original: Bag) -> bool:
    """Hall's condition: no subtree holds more of the published bag than of the original."""
    return all(_under(tree, node, published) <= _under(tree, node, original) for node in tree.path)


def generalizes_by_matching(tree: Tree, published: Bag, original: Bag) -> bool:
    """Try every way to give each published copy an original occurrence of its own below it."""
    copies = [node for node, count in published.items() for _ in range(count)]
    occurrences = [item for item, count in original.items() for _ in range(count)]
    return any(
        all(tree.covers(node, item) for node, item in zip(copies, chosen, strict=True))
        for chosen in permutations(occurrences, len(copies))
    )


def is_km_anonymous(rows: Sequence[Iterable[str]], k: int, m: int) -> bool:
    """Tell whether every set of at most m items that occurs, occurs in at least k rows."""
    sets = [frozenset(row) for row in rows]
    subsets = {
        frozenset(chosen) for row in sets for size in range(1, m + 1) for chosen in permutations(row, size)
    }
    return all(sum(subset <= row for row in sets) >= k for subset in subsets)


# Losses


def ncp(tree: Tree, bags: Sequence[Bag], published: Published) -> Fraction:
    """Charge each original occurrence the NCP of the lowest published node above it, or 1 if there is none."""
    charged = Fraction(0)
    for bag, shown in zip(bags, published, strict=True):
        for item, count in bag.items():
            above = [node for node in tree.path[item] if node in (shown or {})]
            charged += count * (tree.ncp(above[-1]) if above else Fraction(1))
    return charged / _occurrences(bags)


def _occurrences(bags: Iterable[Bag | None]) -> int:
    return sum(sum(bag.values()) for bag in bags if bag)


def _over_published(published: Published, value: Callable[[str], Fraction]) -> Fraction:
    shown = (pair for bag in published if bag for pair in bag.items())
    return sum((count * value(node) for node, count in shown), Fraction(0))


def ggd(tree: Tree, bags: Sequence[Bag], published: Published) -> Fraction:
    """Sum LM over what is published, and 1 for every occurrence that is not (Milani Fard & Wang, SECRYPT 2010, Definition 3)."""
    return _occurrences(bags) - _occurrences(published) + _over_published(published, tree.lm)


def ic_norm(tree: Tree, bags: Sequence[Bag], published: Published) -> float:
    """Return GGD by occurrences with IC in place of LM."""
    suppressed = _occurrences(bags) - _occurrences(published)
    shown = math.fsum(count * tree.ic(node) for bag in published if bag for node, count in bag.items())
    return (suppressed + shown) / _occurrences(bags)


def kept_exactly(bags: Sequence[Bag], published: Published) -> Fraction:
    """Return the share of the occurrences that are published as the very item."""
    kept = 0
    for bag, shown in zip(bags, published, strict=True):
        kept += sum(min(count, (shown or {}).get(item, 0)) for item, count in bag.items())
    return Fraction(kept, _occurrences(bags))


def average_length(published: Published) -> Fraction:
    """Return the items in a published record, on average."""
    return Fraction(_occurrences(published), sum(bag is not None for bag in published))


def average_level(tree: Tree, published: Published) -> Fraction:
    """Return the level of a published item, on average; the root's is 1."""
    return _over_published(published, lambda node: Fraction(tree.level(node))) / _occurrences(published)
