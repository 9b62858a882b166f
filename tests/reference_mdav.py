"""Semantic microaggregation (Batet et al., Information Sciences 2013) for the tests to compare with: plain Python, exact, slow.

A tree is the list of its nodes' parents in pre-order, -1 for the root; a user is a bag ``{node: count}``. Distances of
categories and users are Fractions; every sum, minimum and centroid is computed anew from the definitions. Nothing here is
shared with the product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

__all__ = [
    "centre",
    "delta",
    "ds",
    "generalizations",
    "mdav",
    "mdav_of_people",
    "quotas",
    "representative",
    "units",
]

Bag = Mapping[int, int]
Distance = Callable[[int, int], Any]


def generalizations(parent: Sequence[int], node: int) -> set[int]:
    """T(c): the node with all above it, without the root."""
    return {node} | generalizations(parent, parent[node]) if parent[node] >= 0 else set()


def delta(parent: Sequence[int], one: int, other: int) -> Fraction:
    """Equation 1."""
    first, second = generalizations(parent, one), generalizations(parent, other)
    union = len(first | second)
    return Fraction(union - len(first & second), union) if union else Fraction(0)


def ds(parent: Sequence[int], one: Bag, other: Bag) -> Fraction:
    """Equations 2 to 4."""
    total = Fraction(0)
    for here, there in ((one, other), (other, one)):
        for category, times in here.items():
            total += times * min((delta(parent, category, c) for c in there), default=Fraction(1))
    weight = sum(one.values()) + sum(other.values())
    return total / weight if weight else Fraction(0)


def units(distance: Fraction) -> int:
    """Round to whole multiples of 2^-30, a half up."""
    return math.floor(distance * 2**30 + Fraction(1, 2))


def centroid(rows: Sequence[int], distance: Distance) -> int:
    """Equation 5."""
    return min(rows, key=lambda row: (sum(distance(row, other) for other in rows), row))


def farthest(rows: Sequence[int], distance: Distance, row: int) -> int:
    return min(rows, key=lambda other: (-distance(row, other), other))


def mdav(number: int, distance: Distance, k: int) -> list[list[int]]:
    """Algorithm 1 as it is printed; the centroid is a record, as equation 5 says, for numbers too."""
    rows, clusters = list(range(number)), []

    def cluster(seed: int) -> None:
        others = sorted((row for row in rows if row != seed), key=lambda row: (distance(seed, row), row))
        members = [seed, *others[: k - 1]]
        clusters.append(sorted(members))
        rows[:] = [row for row in rows if row not in members]

    while len(rows) >= 3 * k:
        first = farthest(rows, distance, centroid(rows, distance))
        cluster(first)
        cluster(farthest(rows, distance, first))
    if len(rows) >= 2 * k:
        cluster(farthest(rows, distance, centroid(rows, distance)))
    if rows:
        clusters.append(rows)
    return clusters


def mdav_of_people(person: Sequence[int], distance: Distance, k: int) -> list[list[int]]:
    """Make clusters of rows of k people while there are k; what is left goes where the mean distance is least."""
    rows, clusters = list(range(len(person))), []

    def people() -> int:
        return len({person[row] for row in rows})

    def cluster(seed: int) -> None:
        members = [seed]
        for row in sorted(rows, key=lambda row: (distance(seed, row), row)):
            if len(members) < k and person[row] not in {person[member] for member in members}:
                members.append(row)
        clusters.append(sorted(members))
        rows[:] = [row for row in rows if row not in members]

    while people() >= k and len(rows) >= 2 * k:
        two = len(rows) >= 3 * k
        first = farthest(rows, distance, centroid(rows, distance))
        cluster(first)
        if two and people() >= k:
            cluster(farthest(rows, distance, first))
    if rows and people() >= k:
        return [*clusters, rows]

    def mean(c: int, row: int) -> Fraction:
        return Fraction(sum(distance(row, member) for member in clusters[c]), len(clusters[c]))

    joined = {row: min(range(len(clusters)), key=lambda c: (mean(c, row), c)) for row in rows if clusters}
    return [
        sorted([*members, *(row for row in rows if joined[row] == c)]) for c, members in enumerate(clusters)
    ]


def union(bags: Sequence[Bag]) -> dict[int, int]:
    nodes = sorted({node for bag in bags for node in bag})
    return {node: sum(bag.get(node, 0) for bag in bags) for node in nodes}


def centre(parent: Sequence[int], bags: Sequence[Bag]) -> int:
    """Equation 6; -1 where there is no category."""
    whole = union(bags)
    sums = {z: sum(times * delta(parent, c, z) for c, times in whole.items()) for z in whole}
    return min(whole, key=lambda z: (sums[z], z), default=-1)


def quotas(weights: Sequence[int]) -> list[int]:
    """Equation 7, rounded by largest remainder to the nearest whole total (a half up), at least 1."""
    exact = [Fraction(weight, len(weights)) for weight in weights]
    total = max(math.floor(sum(exact) + Fraction(1, 2)), 1) if any(weights) else 0
    rounded = [math.floor(quota) for quota in exact]
    by_remainder = sorted(range(len(exact)), key=lambda u: (rounded[u] - exact[u], u))
    for u in by_remainder[: total - sum(rounded)]:
        rounded[u] += 1
    return rounded


def representative(parent: Sequence[int], bags: Sequence[Bag]) -> dict[int, int]:
    """Section 4.3, steps 1 and 2: list each user's categories by their distance from z, cut the list at the quota."""
    z, picked = centre(parent, bags), []
    for bag, quota in zip(bags, quotas([sum(bag.values()) for bag in bags]), strict=True):
        ranked = sorted(bag, key=lambda c: (delta(parent, c, z), c))
        picked += [category for category in ranked for _ in range(bag[category])][:quota]
    return {node: picked.count(node) for node in sorted(set(picked))}
