"""The best matching of two bags: sparse, with copies on both sides, exact.

Left nodes have a supply, right nodes a capacity, edges a gain. A matching puts copies on edges, no more than
either side has; the best one has the largest sum of gains. It may leave anything unmatched.

Left nodes are added one after the other. Each sends its copies along best augmenting paths, which end at a right node
with free capacity or at a left node that gives copies up. Dual variables (the worth of a left node's copy, the price
of a right node) keep ``worth + price - gain`` at 0 or above, so that Dijkstra's search finds those paths and visits
only nodes that are connected and near. All numbers are whole, so ties are exact and always broken the same way.

The matching of a row with a centre uses it: terms on the left, hyper-terms on the right, an edge where a term is
relevant to all members of the hyper-term.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.jit import helper, kernel
from incrowd.kernels.terms import Bags, Centre, Model, Near, Reach, reach_of

__all__ = [
    "Edges",
    "Heap",
    "Matched",
    "RowMatch",
    "distance_of",
    "extended",
    "match_row",
    "matched",
    "matching",
    "pop_least",
    "push",
]


NONE = -1
FAR = np.iinfo(np.int64).max
LEFTS, RIGHTS = 0, 1  # places in Search.number


class Edges(NamedTuple):
    """Left node i owns edges ``start[i] .. start[i + 1] - 1``: the right node of each, and what a copy gains."""

    start: Ints64
    right: Ints64
    gain: Ints64


class Matched(NamedTuple):
    """The edges between a row and a centre, the term of each left node, and the copies on each edge."""

    edges: Edges
    term: Ints32
    flow: Ints64


class RowMatch(NamedTuple):
    """The distance between a row and a centre, and the centre after the row joined."""

    distance: int
    centre: Centre


class Heap(NamedTuple):
    """Nodes, the one with the least key at place 0, of equals the least node; and ``number``, how many there are."""

    key: Ints64
    node: Ints64
    number: Ints64


class Search(NamedTuple):
    """The matching so far, its dual variables, and the paths of the current search.

    Of each edge: ``flow`` (copies on it), ``left``, and ``after`` (the next edge at the same right node). Of each
    left node: ``worth``; of each right node: ``price``, ``free`` (capacity left), ``first`` (its first edge).
    ``far`` and ``way`` are a node's distance and the edge by which it was reached; ``lefts`` and ``rights`` list the
    nodes reached, and ``number`` how many there are; ``waiting`` are full right nodes by distance.
    """

    flow: Ints64
    left: Ints32
    after: Ints32
    worth: Ints64
    price: Ints64
    free: Ints64
    first: Ints32
    far_left: Ints64
    far_right: Ints64
    way_left: Ints32
    way_right: Ints32
    lefts: Ints32
    rights: Ints32
    waiting: Heap
    number: Ints64


@kernel
def matching(edges: Edges, supply: Ints64, capacity: Ints64) -> Ints64:
    """Return how many copies the best matching puts on each edge."""
    return _best_matching(edges, supply, capacity)


@helper
def _best_matching(edges: Edges, supply: Ints64, capacity: Ints64) -> Ints64:
    """Return how many copies the best matching puts on each edge, for other kernels."""
    search = _begun(edges, capacity)
    for left in range(len(supply)):
        for edge in range(edges.start[left], edges.start[left + 1]):
            right = edges.right[edge]
            search.left[edge], search.after[edge], search.first[right] = left, search.first[right], edge
            search.worth[left] = max(search.worth[left], edges.gain[edge] - search.price[right])
        remaining = supply[left]
        while remaining > 0 and search.worth[left] > 0:
            end_left, end_right = _best_way(edges, search, left)
            if end_left != left:
                remaining -= _send(edges, search, left, end_left, end_right, remaining)
    return search.flow


@helper
def _begun(edges: Edges, capacity: Ints64) -> Search:
    """Return the search before anything is matched."""
    number, lefts, rights = len(edges.right), len(edges.start) - 1, len(capacity)
    return Search(
        np.zeros(number, np.int64),
        np.empty(number, np.int32),
        np.empty(number, np.int32),
        np.zeros(lefts, np.int64),
        np.zeros(rights, np.int64),
        capacity.copy(),
        np.full(rights, NONE, np.int32),
        np.full(lefts, FAR, np.int64),
        np.full(rights, FAR, np.int64),
        np.empty(lefts, np.int32),
        np.empty(rights, np.int32),
        np.empty(lefts, np.int32),
        np.empty(rights, np.int32),
        Heap(np.empty(number, np.int64), np.empty(number, np.int64), np.zeros(1, np.int64)),
        np.zeros(2, np.int64),
    )


@helper
def _best_way(edges: Edges, search: Search, root: int) -> tuple[int, int]:
    """Find the best augmenting path from a left node and adjust the duals to it; return where it ends.

    The end is a left node (the root itself: its copies stay unmatched) or a right node; the other is -1.
    """
    best, end_left, end_right = search.worth[root], root, NONE
    search.far_left[root], search.lefts[0], search.number[LEFTS] = 0, root, 1
    looked = 0
    while True:
        while looked < search.number[LEFTS]:
            left = search.lefts[looked]
            looked += 1
            if search.far_left[left] + search.worth[left] < best:
                best, end_left, end_right = search.far_left[left] + search.worth[left], left, NONE
            free = _reach_rights(edges, search, left, best)
            if free != NONE:
                best, end_left, end_right = search.far_right[free], NONE, free
        if search.waiting.number[0] == 0 or search.waiting.key[0] >= best:
            break
        far = search.waiting.key[0]
        right = pop_least(search.waiting)
        if far == search.far_right[right]:
            _reach_lefts(search, right)
    _adjust(search, best)
    return end_left, end_right


@helper
def _reach_rights(edges: Edges, search: Search, left: int, best: int) -> int:
    """Go from a left node to all right nodes closer than `best`; return the closest with free capacity, or -1."""
    found = NONE
    base = search.far_left[left] + search.worth[left]
    for edge in range(edges.start[left], edges.start[left + 1]):
        right = edges.right[edge]
        far = base + search.price[right] - edges.gain[edge]
        if far < best and far < search.far_right[right]:
            if search.far_right[right] == FAR:
                search.rights[search.number[RIGHTS]] = right
                search.number[RIGHTS] += 1
            search.far_right[right], search.way_right[right] = far, edge
            if search.free[right] > 0:
                found, best = right, far
            else:
                push(search.waiting, far, right)
    return found


@helper
def _reach_lefts(search: Search, right: int) -> None:
    """Go from a full right node to the left nodes that fill it, at no cost."""
    edge = search.first[right]
    while edge != NONE:
        left = search.left[edge]
        if search.flow[edge] > 0 and search.far_left[left] == FAR:
            search.far_left[left], search.way_left[left] = search.far_right[right], edge
            search.lefts[search.number[LEFTS]] = left
            search.number[LEFTS] += 1
        edge = search.after[edge]


@helper
def _adjust(search: Search, best: int) -> None:
    """Make the edges of the best path tight, and reset the distances."""
    for i in range(search.number[LEFTS]):
        left = search.lefts[i]
        search.worth[left] -= max(0, best - search.far_left[left])
        search.far_left[left] = FAR
    for i in range(search.number[RIGHTS]):
        right = search.rights[i]
        search.price[right] += max(0, best - search.far_right[right])
        search.far_right[right] = FAR
    search.number[RIGHTS], search.waiting.number[0] = 0, 0


@helper
def _send(edges: Edges, search: Search, root: int, end_left: int, end_right: int, most: int) -> int:
    """Send as many copies along the path as fit, at most `most`; return how many."""
    copies = most if end_right == NONE else min(most, search.free[end_right])
    left, right = end_left, end_right
    while left != root:
        if right == NONE:
            copies = min(copies, search.flow[search.way_left[left]])
            left, right = NONE, edges.right[search.way_left[left]]
        else:
            left, right = search.left[search.way_right[right]], NONE
    left, right = end_left, end_right
    if right != NONE:
        search.free[right] -= copies
    while left != root:
        if right == NONE:
            search.flow[search.way_left[left]] -= copies
            left, right = NONE, edges.right[search.way_left[left]]
        else:
            search.flow[search.way_right[right]] += copies
            left, right = search.left[search.way_right[right]], NONE
    return copies


@kernel
def match_row(bags: Bags, row: int, near: Near, centre: Centre, model: Model) -> RowMatch:
    """Match one row with a centre; its hyper-terms come out in the order of the row's terms."""
    terms = len(near.start) - 1
    reach = reach_of(near, centre, model, np.zeros(terms, np.int64), np.full(terms, NONE, np.int32))
    pairs = matched(bags, row, centre, reach)
    length = np.zeros(1, np.int64)  # an array, because the compiler gives a literal 0 a type of its own
    for at in range(bags.start[row], bags.start[row + 1]):
        length[0] += bags.times[at]
    return RowMatch(distance_of(pairs, length[0], reach), extended(pairs, centre))


@helper
def _edges_between(bags: Bags, row: int, reach: Reach) -> tuple[Edges, Ints32, Ints64]:
    """Return the edges between a row and a centre, and the terms that have any with their copies."""
    lefts, number = 0, 0
    for at in range(bags.start[row], bags.start[row + 1]):
        edge = reach.first[bags.term[at]]
        lefts += edge != NONE
        while edge != NONE:
            number += 1
            edge = reach.after[edge]
    edges = Edges(np.zeros(lefts + 1, np.int64), np.empty(number, np.int64), np.empty(number, np.int64))
    term, copies = np.empty(lefts, np.int32), np.empty(lefts, np.int64)
    left, filled = 0, 0
    for at in range(bags.start[row], bags.start[row + 1]):
        edge = reach.first[bags.term[at]]
        if edge == NONE:
            continue
        term[left], copies[left] = bags.term[at], bags.times[at]
        while edge != NONE:
            edges.right[filled], edges.gain[filled] = reach.hyper[edge], reach.gain[edge]
            filled += 1
            edge = reach.after[edge]
        left += 1
        edges.start[left] = filled
    return edges, term, copies


@helper
def matched(bags: Bags, row: int, centre: Centre, reach: Reach) -> Matched:
    """Return the best matching of a row and a centre."""
    edges, term, copies = _edges_between(bags, row, reach)
    return Matched(edges, term, _best_matching(edges, copies, centre.times))


@helper
def distance_of(pairs: Matched, length: int, reach: Reach) -> int:
    """Return the distance of a row of that length to the centre that it is matched with."""
    number, gains = 0, 0
    for edge in range(len(pairs.flow)):
        number += pairs.flow[edge]
        gains += pairs.flow[edge] * pairs.edges.gain[edge]
    return reach.charge * (length + reach.total - 2 * number) + reach.full * number - gains


@helper
def extended(pairs: Matched, centre: Centre) -> Centre:
    """Return the centre after a row joined: matched hyper-terms grow by a term, the others are suppressed.

    Hyper-terms are in the order of the row's terms; those of one term keep their order.
    """
    edges, flow, number, size = pairs.edges, pairs.flow, 0, centre.member.shape[1]
    for edge in range(len(flow)):
        number += flow[edge] > 0
    grown = Centre(np.empty((number, size + 1), np.int32), np.empty(number, np.int64))
    filled = 0
    for left in range(len(pairs.term)):
        for edge in range(edges.start[left], edges.start[left + 1]):
            if flow[edge] > 0:
                for i in range(size):
                    grown.member[filled, i] = centre.member[edges.right[edge], i]
                grown.member[filled, size] = pairs.term[left]
                grown.times[filled] = flow[edge]
                filled += 1
    return grown


@helper
def push(heap: Heap, key: int, node: int) -> None:
    """Add a node to a heap."""
    at = heap.number[0]
    heap.number[0] += 1
    while at > 0:
        above = (at - 1) >> 1
        if heap.key[above] < key or (heap.key[above] == key and heap.node[above] <= node):
            break
        heap.key[at], heap.node[at] = heap.key[above], heap.node[above]
        at = above
    heap.key[at], heap.node[at] = key, node


@helper
def pop_least(heap: Heap) -> int:
    """Take the node at place 0 from a heap."""
    taken: int = heap.node[0]
    heap.number[0] -= 1
    last = heap.number[0]
    key, node = heap.key[last], heap.node[last]
    at, below = 0, 1
    while below < last:
        if below + 1 < last and _before(heap, below + 1, heap.key[below], heap.node[below]):
            below += 1
        if not _before(heap, below, key, node):
            break
        heap.key[at], heap.node[at] = heap.key[below], heap.node[below]
        at, below = below, 2 * below + 1
    heap.key[at], heap.node[at] = key, node
    return taken


@helper
def _before(heap: Heap, at: int, key: int, node: int) -> bool:
    """Return whether the entry at a place comes before another."""
    return bool(heap.key[at] < key or (heap.key[at] == key and heap.node[at] < node))
