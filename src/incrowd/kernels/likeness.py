"""The semantic distance Ds of two users (Batet et al., Information Sciences 2013, equations 1 to 4).

A user is a bag of categories, which are any nodes of a tree. T(c) is c with its ancestors, without the root, so |T(c)|
is the depth of c and |T(a) n T(b)| that of their lowest common ancestor:

    delta(a, b) = 1 - l / n   with l = depth(lca), n = |T(a) u T(b)| = depth(a) + depth(b) - l.

The root has an empty T: delta is 0 between it and itself, 1 between it and anything else. The distance to an
empty bag is 1, and two empty bags have distance 0.

Deltas are whole multiples of 1 / scale, where scale is a common multiple of all n that can occur, as long as sums fit 64
bits (they do down to depth 18 with 15,000 categories for the two users together; beyond, the largest n are rounded,
by less than 2^-27 each). Ds is rounded once, correctly, to whole multiples of 2^-30. So sums do not depend on their order,
equal distances are equal numbers, and results are the same on every machine.

Work: for one user, the least delta of every node to the user's categories comes from a sweep over the tree. The
distances from all others to that user are then sums of look-ups.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from incrowd.core.ragged import list_sums, take_lists
from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.jit import helper, kernel
from incrowd.taxonomy.meaning import Categories

__all__ = ["UNIT", "Scale", "delta", "distances", "scale_for", "taken", "weights"]


UNIT = 1 << 30  # a distance of 1
ROOM = 1 << 61  # no sum of deltas gets larger, so that twice a remainder fits 64 bits as well
NOWHERE = np.iinfo(np.int32).max
TILE = 64  # rows that a thread takes at a time
LANES = 8  # users whose sums are computed together: a node's values for them fill one cache line


class Scale(NamedTuple):
    """A delta of 1 as a whole number, and its quotient and remainder by each n from 1 on."""

    one: int
    quotient: Ints64
    remainder: Ints64


class Space(NamedTuple):
    """A tree of the nodes that occur and those above them; ``deepest`` is the greatest depth at or below each node."""

    parent: Ints32
    depth: Ints32
    deepest: Ints32


class Workspace(NamedTuple):
    """Working arrays, per node: the least depth of a category below it, its row in ``best``, its least deltas.

    A row belongs to a node with categories at or below it: the least delta for each depth of a node whose lowest
    ancestor of that kind it is.
    """

    low: Ints32
    line: Ints32
    least: Ints64
    best: Ints64


def taken(users: Categories, rows: Ints64) -> Categories:
    """Return the bags of some users, in that order."""
    start, source = take_lists(users.start, rows)
    return Categories(start, users.node[source], users.times[source])


def weights(users: Categories) -> Ints64:
    """Return how many categories each user has, repetitions included."""
    return list_sums(users.start, users.times)


def scale_for(weight: int, depth: int) -> Scale:
    """Return a scale in which `weight` deltas of nodes down to a depth add up; exact for as many n as fit."""
    one, limit = 1, ROOM // max(weight, 1)
    for n in range(2, 2 * depth + 1):
        if math.lcm(one, n) > limit:
            break
        one = math.lcm(one, n)
    sizes = np.maximum(np.arange(2 * depth + 1, dtype=np.int64), 1)
    return Scale(one, one // sizes, one % sizes)


@helper
def delta(scale: Scale, depth: int, other_depth: int, common: int) -> int:
    """Return equation 1 for two nodes by their depths and that of their lowest common ancestor."""
    n = depth + other_depth - common
    if n == 0:
        return 0
    shared: int = scale.quotient[n] * common
    if scale.remainder[n] > 0:
        shared += scale.remainder[n] * common // n
    return scale.one - shared


def distances(users: Categories, parent: Ints32, depth: Ints32, others: Categories | None = None) -> Ints64:
    """Return Ds of each user and each of the others (without them: of the users among themselves), in units of 2^-30.

    Parameters
    ----------
    users, others
        Bags of any nodes of the tree.
    parent, depth
        A tree in pre-order: parent of each node (-1 for node 0, the root) and depth (0 for the root).
    """
    here, there, space = _pruned(users, users if others is None else others, parent, depth)
    weight, other_weight = weights(here), weights(there)
    most = int(weight.max(initial=0)) + int(other_weight.max(initial=0))
    scale = scale_for(most, int(space.depth.max()))
    if others is None:
        ds = _directed(here, here, space, scale)
        _each_tile(len(weight), lambda first, stop: _meet(ds, weight, scale.one, first, stop))
        return ds
    there_and_back = _directed(here, there, space, scale) + _directed(there, here, space, scale).T
    _each_tile(
        len(weight), lambda first, stop: _divide(there_and_back, weight, other_weight, scale.one, first, stop)
    )
    return there_and_back


def _pruned(
    users: Categories, others: Categories, parent: Ints32, depth: Ints32
) -> tuple[Categories, Categories, Space]:
    """Keep the nodes that occur and those above them, renumbered in pre-order."""
    occurs = np.zeros(len(parent), dtype=np.bool_)
    occurs[0] = True
    frontier = np.unique(np.concatenate((users.node, others.node)))
    while len(frontier):
        occurs[frontier] = True
        above = np.unique(parent[frontier])
        frontier = above[(above >= 0) & ~occurs[above]]
    number = (np.cumsum(occurs) - 1).astype(np.int32)
    kept = np.flatnonzero(occurs)
    above = number[np.maximum(parent[kept], 0)]
    above[0] = -1
    space = Space(above, depth[kept], _deepest(above, depth[kept]))
    return users._replace(node=number[users.node]), others._replace(node=number[others.node]), space


@kernel
def _deepest(parent: Ints32, depth: Ints32) -> Ints32:
    """Return the greatest depth at or below each node."""
    deepest = depth.copy()
    for node in range(len(parent) - 1, 0, -1):
        deepest[parent[node]] = max(deepest[parent[node]], deepest[node])
    return deepest


def _each_tile(rows: int, work: Callable[[int, int], None]) -> None:
    """Run the work on ranges of rows on all cores; ranges write to separate results."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(lambda first: work(first, min(first + TILE, rows)), range(0, rows, TILE)))


def _directed(users: Categories, others: Categories, space: Space, scale: Scale) -> Ints64:
    """Return equation 3's sums from each of the others (a column each) to each user (a row each)."""
    sums = np.empty((len(users.start) - 1, len(others.start) - 1), dtype=np.int64)
    _each_tile(len(sums), lambda first, stop: _sums_toward(users, others, space, scale, sums, first, stop))
    return sums


@kernel
def _sums_toward(
    users: Categories, others: Categories, space: Space, scale: Scale, sums: Ints64, first: int, stop: int
) -> None:
    """Fill rows ``first .. stop - 1``."""
    nodes, longest = len(space.parent), 0
    for user in range(first, stop):
        longest = max(longest, users.start[user + 1] - users.start[user])
    lines = min(nodes, longest * space.deepest[0] + 1)
    work = Workspace(
        np.full(nodes, NOWHERE, np.int32),
        np.zeros(nodes, np.int32),
        np.zeros((nodes, LANES), np.int64),
        np.empty((lines, space.deepest[0] + 1), np.int64),
    )
    for begin in range(first, stop, LANES):
        together = min(LANES, stop - begin)
        for lane in range(together):
            _spread(users, begin + lane, space, scale, work, lane)
        _add_up(others, work.least, sums, begin, together)


@helper
def _add_up(others: Categories, least: Ints64, sums: Ints64, begin: int, together: int) -> None:
    """Write the sums of w * least delta of all others, for the users of all lanes at once."""
    total = np.empty(LANES, np.int64)
    for other in range(len(others.start) - 1):
        for lane in range(LANES):
            total[lane] = 0
        for at in range(others.start[other], others.start[other + 1]):
            times, node = others.times[at], others.node[at]
            for lane in range(LANES):
                total[lane] += times * least[node, lane]
        for lane in range(together):
            sums[begin + lane, other] = total[lane]


@helper
def _spread(users: Categories, user: int, space: Space, scale: Scale, work: Workspace, lane: int) -> None:
    """Find the least delta of every node to a user's categories and write it into a lane.

    Each ancestor of a node with a category below it gives a candidate: the delta to the shallowest of those. Where the
    lowest common ancestor is lower still, a lower ancestor gives a smaller candidate. All nodes with the same lowest
    such ancestor have the same candidates and differ only in their depth.
    """
    if users.start[user] == users.start[user + 1]:
        for node in range(len(space.parent)):
            work.least[node, lane] = scale.one
        return
    for at in range(users.start[user], users.start[user + 1]):
        node = users.node[at]
        depth = space.depth[node]
        while node >= 0 and work.low[node] > depth:
            work.low[node] = depth
            node = space.parent[node]
    lines = 0
    for node in range(len(space.parent)):
        above, depth = space.parent[node], space.depth[node]
        if work.low[node] == NOWHERE:
            work.line[node] = work.line[above]
        else:
            for deep in range(depth, space.deepest[node] + 1):
                offer = delta(scale, deep, work.low[node], depth)
                if above >= 0:
                    offer = min(offer, work.best[work.line[above], deep])
                work.best[lines, deep] = offer
            work.line[node] = lines
            work.low[node] = NOWHERE
            lines += 1
        work.least[node, lane] = work.best[work.line[node], depth]


@kernel
def _meet(sums: Ints64, weight: Ints64, one: int, first: int, stop: int) -> None:
    """Turn sums into Ds at rows ``first .. stop - 1`` from the diagonal on, and at their mirror images.

    Columns are read in tiles as well: both halves of a tile stay in the cache.
    """
    for left in range(first, len(weight), TILE):
        for row in range(first, stop):
            for column in range(max(left, row), min(left + TILE, len(weight))):
                both = sums[row, column] + sums[column, row]
                ds = _ratio(both, one * (weight[row] + weight[column])) if row != column else 0
                sums[row, column] = ds
                sums[column, row] = ds


@kernel
def _divide(sums: Ints64, weight: Ints64, other_weight: Ints64, one: int, first: int, stop: int) -> None:
    """Turn sums of both directions into Ds at rows ``first .. stop - 1``."""
    for row in range(first, stop):
        for column in range(len(other_weight)):
            sums[row, column] = _ratio(sums[row, column], one * (weight[row] + other_weight[column]))


@helper
def _ratio(part: int, whole: int) -> int:
    """Return part / whole in units, a half rounded up: an estimate, corrected by its remainder.

    The remainder is small, so it comes out right although the two products may not fit 64 bits.
    """
    if whole == 0:
        return 0
    ratio = int(part / whole * UNIT)
    remainder = part * UNIT - ratio * whole
    if 2 * remainder >= whole:
        return ratio + 1
    if 2 * remainder < -whole:
        return ratio - 1
    return ratio
