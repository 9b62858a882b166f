"""Clump, the LCG and GGD (Milani Fard & Wang, SECRYPT 2010) for the tests to compare with: plain Python, exact, slow.

The LCG is here four times: by search through all common generalizations (Definition 2), in closed form, and as
BUIG (Algorithm 2), once as printed, which is wrong, and once put right. Nothing here is shared with the product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from reference import Bag, Tree, generalizes_by_matching

__all__ = [
    "Cluster",
    "best_clustering",
    "buig_as_printed",
    "buig_put_right",
    "clump",
    "common_generalizations",
    "counts_above",
    "generalizations",
    "ggd_closed_form",
    "group_ggd",
    "lcg",
    "least_common_generalizations",
    "once_each",
    "suppress",
]

Counts = Mapping[str, int]


def length(bag: Bag) -> int:
    return sum(bag.values())


def once_each(bag: Bag) -> dict[str, int]:
    """Return a bag without duplicates, as Clump2 publishes it (section 5.2)."""
    return dict.fromkeys(bag, 1)


# Definitions 1 to 3


def generalizations(tree: Tree, bag: Bag) -> list[dict[str, int]]:
    """Return all generalized transactions: each occurrence becomes a node above it, itself, or nothing."""
    ways = [(None, *tree.path[item]) for item, count in bag.items() for _ in range(count)]
    found = {frozenset(Counter(node for node in choice if node).items()) for choice in product(*ways)}
    return [dict(pairs) for pairs in found]


def common_generalizations(tree: Tree, bags: Sequence[Bag]) -> list[dict[str, int]]:
    """Return what generalizes every bag, by matching (Definition 1)."""
    shortest = min(bags, key=length)
    return [
        shown
        for shown in generalizations(tree, shortest)
        if all(generalizes_by_matching(tree, shown, bag) for bag in bags)
    ]


def least_common_generalizations(tree: Tree, bags: Sequence[Bag]) -> list[dict[str, int]]:
    """Return the common generalizations than which no other is more special (Definition 2); one, says Property 1."""
    common = common_generalizations(tree, bags)
    return [
        shown
        for shown in common
        if not any(other != shown and generalizes_by_matching(tree, shown, other) for other in common)
    ]


def group_ggd(tree: Tree, bags: Sequence[Bag], shown: Bag) -> Fraction:
    """Return GGD(S, t) = |S| * the sum of LM over t + the occurrences of S that t leaves out (Definition 3)."""
    suppressed = sum(length(bag) - length(shown) for bag in bags)
    return len(bags) * sum((count * tree.lm(node) for node, count in shown.items()), Fraction(0)) + suppressed


# The closed form


def counts_above(tree: Tree, bag: Bag) -> Counter[str]:
    """Return c_t(v), the occurrences below each node, where there are any."""
    counts: Counter[str] = Counter()
    for item, count in bag.items():
        for node in tree.path[item]:
            counts[node] += count
    return counts


def common_counts(counts: Sequence[Counts]) -> dict[str, int]:
    """Return m(v), the least count over the bags, where all have one."""
    fewest = min(counts, key=len)
    least = {node: min(one.get(node, 0) for one in counts) for node in fewest}
    return {node: count for node, count in least.items() if count}


def lcg(tree: Tree, bags: Sequence[Bag]) -> dict[str, int]:
    """Return the least common generalization: m(v) less the sum of m over v's children, at each v."""
    least = common_counts([counts_above(tree, bag) for bag in bags])
    copies = {
        node: count - sum(least.get(child, 0) for child in tree.children.get(node, ()))
        for node, count in least.items()
    }
    return {node: count for node, count in copies.items() if count}


def ggd_closed_form(tree: Tree, bags: Sequence[Bag]) -> Fraction:
    """Return GGD(S, LCG(S)): all occurrences, less what each step down from the root saves every row."""
    return _ggd(tree, sum(map(length, bags)), [counts_above(tree, bag) for bag in bags])


def _ggd(tree: Tree, occurrences: int, counts: Sequence[Counts]) -> Fraction:
    """Return the closed form of GGD; the sum is in leaves, one fraction at the end keeps it exact."""
    saved = sum(
        count * (tree.leaves[tree.path[node][-2]] - tree.leaves[node])
        for node, count in common_counts(counts).items()
        if node != tree.root
    )
    return occurrences - len(counts) * Fraction(saved, max(tree.size - 1, 1))


# BUIG (Algorithm 2)


def buig_as_printed(tree: Tree, bags: Sequence[Bag]) -> dict[str, int]:
    """Return what the printed pseudo-code returns: NOT the LCG.

    R begins as 0/1 (line 4), so that copies are lost; and a child with MinCount > 0 passes nothing on to its
    parent (lines 6-8), so that what some transactions have beyond the MinCount is padded with the root.
    """
    reach = {node: [int(node in bag) for bag in bags] for node in tree.path}
    found: Counter[str] = Counter()

    def visit(node: str) -> None:
        for child in tree.children.get(node, ()):
            visit(child)
            if min(reach[child]) > 0:
                found[child] += min(reach[child])
            else:
                reach[node] = [a + b for a, b in zip(reach[node], reach[child], strict=True)]

    visit(tree.root)
    return _padded(tree, bags, found)


def buig_put_right(tree: Tree, bags: Sequence[Bag]) -> dict[str, int]:
    """Return the LCG: R begins as counts, and the surplus R - MinCount(R) always goes on to the parent."""
    reach = {node: [bag.get(node, 0) for bag in bags] for node in tree.path}
    found: Counter[str] = Counter()

    def visit(node: str) -> None:
        for child in tree.children.get(node, ()):
            visit(child)
            least = min(reach[child])
            found[child] += least
            reach[node] = [a + b - least for a, b in zip(reach[node], reach[child], strict=True)]

    visit(tree.root)
    return _padded(tree, bags, found)


def _padded(tree: Tree, bags: Sequence[Bag], found: Counter[str]) -> dict[str, int]:
    """Add copies of the root up to the length of the shortest transaction (lines 10-11)."""
    found[tree.root] += min(map(length, bags)) - found.total()
    return {node: count for node, count in found.items() if count}


# Clump (Algorithm 1)


class Cluster(NamedTuple):
    """The rows of a cluster, ascending, and what they publish."""

    rows: tuple[int, ...]
    shown: dict[str, int]


def clump(
    tree: Tree,
    bags: Sequence[Bag],
    k: int,
    *,
    criterion: str = "increase",
    r: int = 10,
    order: str | Sequence[int] = "descending",
    duplicates: str = "keep",
) -> list[Cluster]:
    """Put each row that holds something into one of floor(|D| / k) clusters; clusters by first row.

    The order in which rows are assigned is a name, or the rows themselves.
    """
    waiting = in_order(bags, order) if isinstance(order, str) else list(order)
    counts = {row: counts_above(tree, bags[row]) for row in waiting}
    clusters = [[seed] for seed in waiting[::k]][: len(waiting) // k]
    seeds = {cluster[0] for cluster in clusters}

    def ggd(rows: list[int]) -> Fraction:
        return _ggd(tree, sum(length(bags[row]) for row in rows), [counts[row] for row in rows])

    for row in waiting:
        if row in seeds:
            continue
        open_ones = [cluster for cluster in clusters if len(cluster) < k][:r]
        # min() takes the first of equals, and clusters stand in the order of their indices.
        best = min(
            open_ones or clusters,
            key=lambda cluster, row=row: (  # type: ignore[misc]
                ggd([*cluster, row]) - (ggd(cluster) if criterion == "increase" else 0)
            ),
        )
        best.append(row)
    return sorted(_published(tree, bags, sorted(cluster), duplicates) for cluster in clusters)


def _published(tree: Tree, bags: Sequence[Bag], rows: list[int], duplicates: str) -> Cluster:
    shown = lcg(tree, [bags[row] for row in rows])
    return Cluster(tuple(rows), once_each(shown) if duplicates == "drop" else shown)


def in_order(bags: Sequence[Bag], order: str) -> list[int]:
    """Return the rows that hold something by length; rows of one length stay in input order."""
    filled = [row for row, bag in enumerate(bags) if bag]
    sign = {"descending": -1, "ascending": 1}[order]
    return sorted(filled, key=lambda row: sign * length(bags[row]))


def clusterings(rows: Sequence[int], k: int) -> Iterator[list[list[int]]]:
    """Yield every way to divide rows into clusters of at least k."""
    yield from (ways for ways in _divisions(list(rows)) if min(map(len, ways)) >= k)


def _divisions(rows: list[int]) -> Iterator[list[list[int]]]:
    if not rows:
        yield []
        return
    for ways in _divisions(rows[:-1]):
        yield [*ways, [rows[-1]]]
        for i, cluster in enumerate(ways):
            yield [*ways[:i], [*cluster, rows[-1]], *ways[i + 1 :]]


def best_clustering(tree: Tree, bags: Sequence[Bag], k: int) -> tuple[Fraction, list[list[int]]]:
    """Return the least GGD of all clusterings and the first that has it (Definition 5)."""
    found = (
        (sum((ggd_closed_form(tree, [bags[row] for row in rows]) for rows in ways), Fraction(0)), ways)
        for ways in clusterings(range(len(bags)), k)
    )
    return min(found, key=lambda pair: pair[0])


# Rare items removed


def suppress(bags: Sequence[Bag], k: int) -> list[dict[str, int] | None]:
    """Return each row less the items of fewer than k rows; None where nothing is left."""
    rows_with = Counter(item for bag in bags for item in bag)
    left = [{item: count for item, count in bag.items() if rows_with[item] >= k} for bag in bags]
    return [bag or None for bag in left]
