"""SSC (Liu & Wang, ICDM 2010) for the tests to compare with: plain Python, exact, slow; matchings are SciPy's.

A row is a bag ``{term: count}``; a centre is a list of (hyper-term, copies), a hyper-term the tuple of its members in
the order of joining. Every search looks at every row. Nothing here is shared with the product.

There may be several best matchings, and which one is taken decides what becomes of the centre. :func:`ssc` therefore
lets the caller say how a centre is extended; the nearest rows it always finds by itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

__all__ = ["Cluster", "Nodes", "Space", "distance", "extended", "medoid", "random_nodes", "relevant", "ssc"]

Row = Mapping[int, int]
Hyper = tuple[int, ...]
Centre = list[tuple[Hyper, int]]
Extend = Callable[[Row, Centre, int], Centre]

NEVER = 10**8  # more than any matching costs, and still exact in a float


class Space(NamedTuple):
    """What the distance of two terms is, and what the parameters are."""

    apart: Callable[[int, int], int]
    eps: int
    omega: int
    model: str = "perfect"


class Cluster(NamedTuple):
    """Rows in the order of joining, and the centre."""

    rows: list[int]
    centre: Centre


class Nodes(NamedTuple):
    """A tree in pre-order by parents, and how long the edge above each node is."""

    parent: list[int]
    edge: list[int]

    def way_up(self, node: int) -> list[int]:
        return [node, *(self.way_up(self.parent[node]) if node else [])]

    def lca(self, *nodes: int) -> int:
        return max(set.intersection(*(set(self.way_up(node)) for node in nodes)))

    def far(self, node: int) -> int:
        return sum(self.edge[above] for above in self.way_up(node))

    def apart(self, one: int, other: int) -> int:
        return self.far(one) + self.far(other) - 2 * self.far(self.lca(one, other))

    def leaves(self) -> list[int]:
        return [node for node in range(len(self.parent)) if node not in self.parent]

    def end(self, node: int) -> int:
        return max(below for below in range(len(self.parent)) if node in self.way_up(below)) + 1


def random_nodes(dice: random.Random) -> Nodes:
    """Return a tree: bushy, deep or flat, with edges of length 0 and very long ones among them."""
    reach = dice.choice([1, 2, 5, 40])
    way, parent, edge = [0], [-1], [0]
    for node in range(1, dice.randint(2, 40)):
        keep = max(1, len(way) - dice.randrange(reach))
        parent.append(way[keep - 1])
        edge.append(dice.choice([1, 1, 1, 1, 2, 0, 10_000]))
        way = [*way[:keep], node]
    return Nodes(parent, edge)


# Matchings


def relevant(space: Space, term: int, hyper: Hyper) -> bool:
    return all(space.apart(term, member) <= space.eps for member in hyper)


def weight(space: Space, term: int, hyper: Hyper) -> int:
    return sum(space.apart(term, member) for member in hyper)


def occurrences(bag: Row | Centre) -> list:
    """Return a bag's elements, as often as it has them."""
    pairs = bag.items() if isinstance(bag, Mapping) else bag
    return [element for element, times in pairs for _ in range(times)]


def matched(space: Space, row: Row, centre: Centre, size: int) -> tuple[int, list[tuple[Hyper, int]]]:
    """Return the distance of a row and a centre of that many rows, and the pairs (hyper-term, term) of a best matching."""
    terms, hypers = occurrences(row), occurrences(centre)
    costs = np.array(
        [
            [weight(space, term, hyper) if relevant(space, term, hyper) else NEVER for hyper in hypers]
            for term in terms
        ]
    ).reshape(len(terms), len(hypers))
    solve = _perfect if space.model == "perfect" else _maximum
    cost, pairs = solve(costs, size * space.omega)
    return cost, [(hypers[j], terms[i]) for i, j in pairs]


def _perfect(costs: np.ndarray, charge: int) -> tuple[int, list[tuple[int, int]]]:
    """Pad both sides with nil terms, at `charge` each with a true one and at 0 with each other (the second model)."""
    lefts, rights = costs.shape
    padded = np.zeros((lefts + rights, lefts + rights), dtype=np.int64)
    padded[:lefts, :rights] = costs
    padded[:lefts, rights:] = charge
    padded[lefts:, :rights] = charge
    ones, others = linear_sum_assignment(padded)
    pairs = [(i, j) for i, j in zip(ones, others, strict=True) if i < lefts and j < rights]
    return int(padded[ones, others].sum()), pairs


def _maximum(costs: np.ndarray, charge: int) -> tuple[int, list[tuple[int, int]]]:  # noqa: ARG001
    """Match as much as possible, as cheaply as that can be (the first model): NEVER is dearer than all others."""
    ones, others = linear_sum_assignment(costs)
    pairs = [(i, j) for i, j in zip(ones, others, strict=True) if costs[i, j] < NEVER]
    return sum(int(costs[i, j]) for i, j in pairs), pairs


def distance(space: Space, row: Row, centre: Centre, size: int) -> int:
    return matched(space, row, centre, size)[0]


def extended(space: Space, row: Row, centre: Centre, size: int) -> Centre:
    """Return the centre with the row: what is matched grows, all else is suppressed."""
    grown: dict[Hyper, int] = {}
    for hyper, term in matched(space, row, centre, size)[1]:
        grown[*hyper, term] = grown.get((*hyper, term), 0) + 1
    return list(grown.items())


def medoid(space: Space, hyper: Hyper, allowed: Callable[[int], bool] = lambda _: True) -> int | None:
    """Return the allowed member closest to all members, the first of equals."""
    return min(filter(allowed, hyper), key=lambda term: weight(space, term, hyper), default=None)


# Algorithm 1


def ssc(
    space: Space,
    rows: Sequence[Row],
    order: Sequence[int],
    person: Sequence[int],
    k: int,
    *,
    farthest: bool = False,
    extend: Extend | None = None,
) -> tuple[list[Cluster], int]:
    """Return the clusters, and of how many pairs of a row and a centre the distance was looked at."""
    grow = extend or (lambda row, centre, size: extended(space, row, centre, size))
    left, clusters, looked = list(order), [], 0

    def apart(row: int, cluster: Cluster) -> int:
        return distance(space, rows[row], cluster.centre, len(cluster.rows))

    def join(row: int, cluster: Cluster) -> None:
        cluster.centre[:] = grow(rows[row], list(cluster.centre), len(cluster.rows))
        cluster.rows.append(row)
        left.remove(row)

    while len({person[row] for row in left}) >= k:
        seed = left[0]
        if farthest and clusters:
            looked += len(left)
            seed = max(left, key=lambda row: apart(row, clusters[-1]))
        elif farthest:
            seed = max(left, key=lambda row: len(occurrences(rows[row])))
        clusters.append(Cluster([seed], [((term,), times) for term, times in rows[seed].items()]))
        left.remove(seed)
        while len(clusters[-1].rows) < k:
            inside = {person[row] for row in clusters[-1].rows}
            others = [row for row in left if person[row] not in inside]
            looked += len(others)
            join(min(others, key=lambda row: apart(row, clusters[-1])), clusters[-1])
    for row in list(left) if clusters else []:
        looked += len(clusters)
        nearest = min(clusters, key=lambda cluster, row=row: Fraction(apart(row, cluster), len(cluster.rows)))
        join(row, nearest)
    return clusters, looked
