"""Terms and hyper-terms of SSC: which terms are relevant to them, and which term represents them.

Liu & Wang, ICDM 2010, sections III-A and IV-B.

Terms are the leaves that occur, numbered 0, 1, ... in pre-order. The distance of two is the length of the path
between them, ``root_distance[i] + root_distance[j] - 2 * root_distance[lca(i, j)]``. Edges may have any length of at
least 0, so two different terms may have distance 0. A hyper-term is a bag of terms, one from each row of a cluster; a
cluster's centre is a bag of hyper-terms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.ragged import starts_of
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.kernels.arrays import first_at_least
from incrowd.kernels.jit import helper, kernel

__all__ = [
    "Bags",
    "Centre",
    "Model",
    "Near",
    "Paths",
    "Pool",
    "Reach",
    "Typical",
    "clear_reach",
    "count_near",
    "first_centre",
    "list_near",
    "lower_bounds",
    "paths_to",
    "pool_centres",
    "reach_of",
    "replace_centre",
    "typical_terms",
]


NONE = -1
NOWHERE = np.iinfo(np.int32).max


class Bags(NamedTuple):
    """Bags of terms: bag b owns positions ``start[b] .. start[b + 1] - 1``; its terms are distinct."""

    start: Ints64
    term: Ints32
    times: Ints32


class Near(NamedTuple):
    """Relevant terms: those of term i are ``term[start[i]:start[i + 1]]``, ascending, itself included."""

    start: Ints64
    term: Ints32
    distance: Ints32


class Paths(NamedTuple):
    """A tree in pre-order and the terms in it.

    ``parent``, ``end`` (the subtree of v is ``v .. end[v] - 1``) and ``root_distance`` are of each node; ``node`` is each
    term's, ascending; ``term`` is each node's, or -1; ``least`` is the least ``root_distance`` of a term below each node.
    """

    parent: Ints32
    end: Ints32
    root_distance: Ints32
    node: Ints32
    term: Ints32
    least: Ints32


class Typical(NamedTuple):
    """The representatives of each bag: the term closest to the others (-1: none is allowed), and the lowest node above all."""

    term: Ints32
    node: Ints32


class Model(NamedTuple):
    """An unmatched term costs ``omega`` for each row it concerns; 0: it costs nothing, and as many pairs as possible are matched.

    ``widest`` is the largest distance of relevant terms.
    """

    omega: int
    widest: int


class Centre(NamedTuple):
    """Hyper-terms: the members of each in the order of joining (a line each), and how many copies of it there are."""

    member: Ints32
    times: Ints64


class Reach(NamedTuple):
    """What a centre's hyper-terms gain from terms.

    ``charge`` is what an unmatched occurrence costs, ``full`` what a pair of distance 0 gains, ``total`` the copies of
    all hyper-terms. ``best`` is the largest gain of each term; its edges begin at ``first`` and go on by ``after``;
    ``term`` lists the terms that have any. ``most`` is what all hyper-terms together can gain at best.
    """

    charge: int
    full: int
    total: int
    most: int
    best: Ints64
    first: Ints32
    term: Ints32
    after: Ints32
    hyper: Ints32
    gain: Ints64


class Pool(NamedTuple):
    """All centres: cluster c, of ``size`` rows, has hyper-terms ``start[c] .. stop[c] - 1``.

    Hyper-term h is ``size`` terms from place ``first[h]`` on, ``times`` copies of it.
    """

    start: Ints64
    stop: Ints64
    size: Ints64
    first: Ints64
    times: Ints64
    term: Ints32


def paths_to(parent: Ints32, end: Ints32, root_distance: Ints32, node: Ints32) -> Paths:
    """Return the paths of a tree in pre-order to the terms at some of its leaves (`node`, ascending)."""
    term = np.full(len(parent), NONE, dtype=np.int32)
    term[node] = np.arange(len(node), dtype=np.int32)
    least = np.where(term >= 0, root_distance, NOWHERE).astype(np.int32)
    _raise_least(parent, least)
    return Paths(parent, end, root_distance, node, term, least)


@kernel
def _raise_least(parent: Ints32, least: Ints32) -> None:
    """Give each node the least value at or below it."""
    for node in range(len(parent) - 1, 0, -1):
        least[parent[node]] = min(least[parent[node]], least[node])


@kernel
def count_near(paths: Paths, eps: int, most: int) -> Ints64:
    """Return where the list of each term begins, and their end.

    Counting stops once there are more than `most` pairs: then the last number is above `most`, and the lists must
    not be made.
    """
    start = np.zeros(len(paths.node) + 1, np.int64)
    nothing = np.empty(0, np.int32)
    for term in range(len(paths.node)):
        start[term + 1] = start[term] + _scan(paths, eps, term, nothing, nothing, start[term])
        if start[term + 1] > most:
            start[-1] = start[term + 1]
            break
    return start


@kernel
def list_near(paths: Paths, eps: int, start: Ints64) -> Near:
    """Return the terms within eps of each term; `start` is what :func:`count_near` returned."""
    near, distance = np.empty(start[-1], np.int32), np.empty(start[-1], np.int32)
    for term in range(len(paths.node)):
        _scan(paths, eps, term, near, distance, start[term])
    return Near(start, near, distance)


@helper
def _scan(paths: Paths, eps: int, term: int, near: Ints32, distance: Ints32, first: int) -> int:
    """Write the terms within eps from position `first` on (only count them if there is no room); return how many.

    One scan in pre-order below the highest node over which another term may be close enough. `above` is the lowest
    node over both the term and the scanned one; a subtree is skipped if even its nearest term is too far.
    """
    home = paths.node[term]
    above, up = home, paths.parent[home]
    while up >= 0 and paths.root_distance[home] - paths.root_distance[up] <= eps:
        if paths.least[up] <= eps - paths.root_distance[home] + 2 * paths.root_distance[up]:
            above = up
        up = paths.parent[up]
    here, stop, found = above, paths.end[above], 0
    while here < stop:
        while here >= paths.end[above]:
            above = paths.parent[above]
        if here <= home < paths.end[here]:
            above = here
        apart = paths.root_distance[home] - 2 * paths.root_distance[above]
        if above != here and paths.least[here] > eps - apart:
            here = paths.end[here]
            continue
        if paths.term[here] >= 0:
            if len(near):
                near[first + found] = paths.term[here]
                distance[first + found] = paths.root_distance[here] + apart
            found += 1
        here += 1
    return found


@kernel
def typical_terms(paths: Paths, start: Ints64, term: Ints32, allowed: Bools) -> Typical:
    """Return the representatives of each bag ``term[start[b]:start[b + 1]]``, which is not empty.

    Its medoid is the member with the least sum of distances to all members, among those that are `allowed` (a flag
    for each term); of equals the first. -1 where no member is allowed.
    """
    medoid, node = np.full(len(start) - 1, NONE, np.int32), np.empty(len(start) - 1, np.int32)
    for bag in range(len(start) - 1):
        least = 0
        low = high = paths.node[term[start[bag]]]
        for at in range(start[bag], start[bag + 1]):
            here = paths.node[term[at]]
            low, high = min(low, here), max(high, here)
            if allowed[term[at]]:
                total = 0
                for other in range(start[bag], start[bag + 1]):
                    total += _distance(paths, here, paths.node[term[other]])
                if medoid[bag] == NONE or total < least:
                    medoid[bag], least = term[at], total
        node[bag] = _common(paths, low, high)
    return Typical(medoid, node)


@helper
def _distance(paths: Paths, one: int, other: int) -> int:
    """Return the length of the path between two nodes."""
    distance: int = (
        paths.root_distance[one]
        + paths.root_distance[other]
        - 2 * paths.root_distance[_common(paths, one, other)]
    )
    return distance


@helper
def _common(paths: Paths, one: int, other: int) -> int:
    """Return the lowest node that is above (or is) both."""
    while not one <= other < paths.end[one]:
        one = paths.parent[one]
    return one


@helper
def first_centre(bags: Bags, row: int) -> Centre:
    """Return the centre of a cluster of one row: each term is a hyper-term."""
    first, number = bags.start[row], bags.start[row + 1] - bags.start[row]
    centre = Centre(np.empty((number, 1), np.int32), np.empty(number, np.int64))
    for i in range(number):
        centre.member[i, 0], centre.times[i] = bags.term[first + i], bags.times[first + i]
    return centre


@helper
def reach_of(near: Near, centre: Centre, model: Model, best: Ints64, first: Ints32) -> Reach:
    """Return what the centre's hyper-terms gain from terms; `best` and `first` are working arrays.

    Gains of 0 or less are left out: such a pair is better left unmatched.
    """
    hypers, size = centre.member.shape
    total, room = 0, 0
    for hyper in range(hypers):
        total += centre.times[hyper]
        term = centre.member[hyper, 0]
        room += near.start[term + 1] - near.start[term]
    charge = size * model.omega
    # An augmenting path passes each hyper-term once, so in the maximum model this outweighs all it can add.
    full = 2 * charge if model.omega > 0 else hypers * size * model.widest + 1
    term, after = np.empty(room, np.int32), np.empty(room, np.int32)
    which, gain = np.empty(room, np.int32), np.empty(room, np.int64)
    common, weight = np.empty(room, np.int32), np.empty(room, np.int64)
    terms, edges, most = 0, 0, 0
    for hyper in range(hypers - 1, -1, -1):  # so that each term's edges are in the order of hyper-terms
        highest = 0
        for i in range(_relevant(near, centre.member[hyper], common, weight)):
            gains = full - weight[i]
            if gains <= 0:
                continue
            one = common[i]
            if first[one] == NONE:
                term[terms] = one
                terms += 1
            after[edges], which[edges], gain[edges] = first[one], hyper, gains
            first[one], best[one] = edges, max(best[one], gains)
            highest = max(highest, gains)
            edges += 1
        most += centre.times[hyper] * highest
    return Reach(charge, full, total, most, best, first, term[:terms], after, which, gain)


@helper
def _relevant(near: Near, members: Ints32, term: Ints32, weight: Ints64) -> int:
    """List the terms relevant to all members and the sum of the distances; return how many."""
    number = 0
    for at in range(near.start[members[0]], near.start[members[0] + 1]):
        term[number], weight[number] = near.term[at], near.distance[at]
        number += 1
    for i in range(1, len(members)):
        at, stop = near.start[members[i]], near.start[members[i] + 1]
        kept = 0
        for j in range(number):
            while at < stop and near.term[at] < term[j]:
                at += 1
            if at < stop and near.term[at] == term[j]:
                term[kept], weight[kept] = term[j], weight[j] + near.distance[at]
                kept += 1
        number = kept
    return number


@helper
def clear_reach(reach: Reach) -> None:
    """Clear the working arrays of a reach."""
    for i in range(len(reach.term)):
        reach.best[reach.term[i]], reach.first[reach.term[i]] = 0, NONE


def pool_centres(centres: list[Centre]) -> Pool:
    """Return all centres in one set of arrays."""
    number = np.array([len(centre.times) for centre in centres], dtype=np.int64)
    size = np.array([centre.member.shape[1] for centre in centres], dtype=np.int64)
    stop = np.cumsum(number)
    first = starts_of(np.repeat(size, number))[:-1]
    times = np.concatenate([np.empty(0, np.int64), *(centre.times for centre in centres)])
    term = np.concatenate([np.empty(0, np.int32), *(centre.member.ravel() for centre in centres)])
    return Pool(stop - number, stop, size, first, times, term)


def replace_centre(pool: Pool, cluster: int, centre: Centre) -> Pool:
    """Return the centres with one cluster's replaced; the old one stays in the arrays, unused."""
    pool.start[cluster] = len(pool.times)
    pool.stop[cluster] = len(pool.times) + len(centre.times)
    pool.size[cluster] += 1
    first = len(pool.term) + pool.size[cluster] * np.arange(len(centre.times))
    return pool._replace(
        first=np.concatenate((pool.first, first)),
        times=np.concatenate((pool.times, centre.times)),
        term=np.concatenate((pool.term, centre.member.ravel())),
    )


@kernel
def lower_bounds(bags: Bags, row: int, near: Near, model: Model, pool: Pool) -> Ints64:
    """Return a lower bound of a row's distance to each centre.

    It assumes the best term for each hyper-term, or the best hyper-term for each term, whichever gains less.
    """
    terms, first, stop = len(near.start) - 1, bags.start[row], bags.start[row + 1]
    closest, best = np.full(terms, NOWHERE, np.int32), np.full(terms, NONE, np.int64)
    length = 0
    for at in range(first, stop):
        length += bags.times[at]
        best[bags.term[at]] = 0  # -1 marks terms that the row lacks
        for i in range(near.start[bags.term[at]], near.start[bags.term[at] + 1]):
            closest[near.term[i]] = min(closest[near.term[i]], near.distance[i])
    bound = np.empty(len(pool.size), np.int64)
    for cluster in range(len(bound)):
        charge = pool.size[cluster] * model.omega
        total, by_hyper, by_term = 0, 0, 0
        for hyper in range(pool.start[cluster], pool.stop[cluster]):
            total += pool.times[hyper]
            by_hyper += pool.times[hyper] * _best_gain(near, pool, cluster, hyper, 2 * charge, closest, best)
        if by_hyper > 0:
            for at in range(first, stop):
                by_term += bags.times[at] * best[bags.term[at]]
                best[bags.term[at]] = 0
        bound[cluster] = max(0, charge * (length + total) - min(by_hyper, by_term))
    return bound


@helper
def _best_gain(
    near: Near, pool: Pool, cluster: int, hyper: int, full: int, closest: Ints32, best: Ints64
) -> int:
    """Return the most that a hyper-term can gain from the row's terms; raise what each term can gain at best."""
    first, stop = pool.first[hyper], pool.first[hyper] + pool.size[cluster]
    weight = 0
    for i in range(first, stop):
        weight += closest[pool.term[i]]
    if weight >= full:  # even with the closest term for each member, and most often one has none
        return 0
    most = 0
    for at in range(near.start[pool.term[first]], near.start[pool.term[first] + 1]):
        term, gain = near.term[at], full - near.distance[at]
        if best[term] == NONE:
            continue
        for i in range(first + 1, stop):
            end = near.start[pool.term[i] + 1]
            place = first_at_least(near.term, near.start[pool.term[i]], end, term)
            gain -= near.distance[place] if place < end and near.term[place] == term else full
            if gain <= 0:
                break
        most, best[term] = max(most, gain), max(best[term], gain)
    return most
