"""The representative of a cluster of users (Batet et al., Information Sciences 2013, section 4.3, equations 6 and 7).

Every cluster has a centre category z: the one of its categories with the least sum of w * delta to all of them. User u
contributes Quota(u) = W(u) / n of them, where W(u) counts u's categories with repetitions and n the users of the
cluster: those nearest to z, repetitions included, the last of them in part if need be.

Quotas are rounded by largest remainder to a total of W / n, a half rounded up, at least 1. Of equal remainders the first
user's counts, of equal deltas the first category in pre-order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.jit import helper, kernel
from incrowd.kernels.likeness import Scale, delta, scale_for, taken, weights
from incrowd.kernels.matching import Heap, pop_least, push
from incrowd.methods.microaggregation.mdav import Clusters
from incrowd.taxonomy.meaning import Categories

__all__ = ["Representatives", "centre_categories", "like_order", "representatives"]


NONE = -1


class Representatives(NamedTuple):
    """Of each cluster: a bag of categories, ``node[start[c]:start[c + 1]]``, ascending, and the centre (-1: none)."""

    start: Ints64
    node: Ints32
    times: Ints32
    centre: Ints32


class Pooled(NamedTuple):
    """The members' bags one after another, the union of each cluster's, and where each category is in there."""

    members: Categories
    unions: Categories
    place: Ints64


def representatives(users: Categories, parent: Ints32, depth: Ints32, clusters: Clusters) -> Representatives:
    """Return the representative of each cluster.

    Parameters
    ----------
    users
        Bags of any nodes of the tree.
    parent, depth
        A tree in pre-order: parent of each node (-1 for node 0, the root) and depth (0 for the root).
    clusters
        The clusters. "First" goes by the order of `member`.
    """
    pooled = _pooled(users, clusters)
    centre = centre_categories(pooled.unions, parent, depth)
    scale = scale_for(1, int(depth.max()))
    times = _contributions(pooled, clusters.start, weights(pooled.members), centre, parent, depth, scale)
    kept = np.flatnonzero(times)
    start = np.searchsorted(kept, pooled.unions.start).astype(np.int64)
    return Representatives(start, pooled.unions.node[kept], times[kept], centre)


def centre_categories(bags: Categories, parent: Ints32, depth: Ints32) -> Ints32:
    """Return the category of each bag with the least sum of w * delta to all of it (equation 6); -1 for an empty bag."""
    deepest = int(depth[bags.node].max(initial=0))
    return _centres(bags, parent, depth, scale_for(int(weights(bags).max(initial=0)), deepest))


def like_order(users: Categories, parent: Ints32, depth: Ints32) -> Ints64:
    """Return the users ordered by their centre categories in the tree, so that similar ones are near each other."""
    return np.argsort(centre_categories(users, parent, depth), kind="stable")


def _pooled(users: Categories, clusters: Clusters) -> Pooled:
    """Put the bags of each cluster together."""
    members = taken(users, clusters.member)
    number = len(clusters.start) - 1
    cluster = np.repeat(np.arange(number), np.diff(members.start[clusters.start]))
    width = np.int64(users.node.max(initial=0)) + 1
    keys, place = np.unique(cluster * width + members.node, return_inverse=True)
    times = np.bincount(place, weights=members.times, minlength=len(keys)).astype(np.int32)
    start = np.searchsorted(keys // width, np.arange(number + 1)).astype(np.int64)
    return Pooled(members, Categories(start, (keys % width).astype(np.int32), times), place)


@helper
def _common_depth(parent: Ints32, depth: Ints32, one: int, other: int) -> int:
    """Return the depth of the lowest common ancestor: in pre-order the greater number is never above the lesser."""
    while one != other:
        if one > other:
            one = parent[one]
        else:
            other = parent[other]
    common: int = depth[one]
    return common


@kernel
def _centres(bags: Categories, parent: Ints32, depth: Ints32, scale: Scale) -> Ints32:
    """Try each category of each bag.

    In pre-order the lowest common ancestor of two categories is the highest of those of the neighbours between them.
    """
    centre = np.full(len(bags.start) - 1, NONE, np.int32)
    shared = np.zeros(len(bags.node), np.int32)  # depth of the common ancestor of a category and the next one
    for bag in range(len(centre)):
        first, stop = bags.start[bag], bags.start[bag + 1]
        for at in range(first, stop - 1):
            shared[at] = _common_depth(parent, depth, bags.node[at], bags.node[at + 1])
        least = 0
        for at in range(first, stop):
            total = _sum_of_deltas(bags, depth, scale, shared, bag, at)
            if at == first or total < least:
                least, centre[bag] = total, bags.node[at]
    return centre


@helper
def _sum_of_deltas(bags: Categories, depth: Ints32, scale: Scale, shared: Ints32, bag: int, at: int) -> int:
    """Return the sum of w * delta from the category at a position to all others of the bag."""
    total, own = 0, depth[bags.node[at]]
    common = own
    for i in range(at + 1, bags.start[bag + 1]):
        common = min(common, shared[i - 1])
        total += bags.times[i] * delta(scale, own, depth[bags.node[i]], common)
    common = own
    for i in range(at - 1, bags.start[bag] - 1, -1):
        common = min(common, shared[i])
        total += bags.times[i] * delta(scale, own, depth[bags.node[i]], common)
    return total


@kernel
def _contributions(
    pooled: Pooled,
    cluster_start: Ints64,
    weight: Ints64,
    centre: Ints32,
    parent: Ints32,
    depth: Ints32,
    scale: Scale,
) -> Ints32:
    """Return how often each category of each union is in the representative."""
    times = np.zeros(len(pooled.unions.node), np.int32)
    longest = 0
    for member in range(len(weight)):
        longest = max(longest, pooled.members.start[member + 1] - pooled.members.start[member])
    waiting = Heap(np.empty(longest, np.int64), np.empty(longest, np.int64), np.zeros(1, np.int64))
    quota = np.zeros(len(weight), np.int64)
    for cluster in range(len(centre)):
        if centre[cluster] == NONE:
            continue
        _share_out(weight, quota, cluster_start[cluster], cluster_start[cluster + 1])
        for member in range(cluster_start[cluster], cluster_start[cluster + 1]):
            _await(pooled.members, member, centre[cluster], parent, depth, scale, waiting)
            left = quota[member]
            while left > 0:
                at = pop_least(waiting)
                part = min(left, pooled.members.times[at])
                times[pooled.place[at]] += part
                left -= part
            waiting.number[0] = 0
    return times


@helper
def _share_out(weight: Ints64, quota: Ints64, first: int, stop: int) -> None:
    """Write the quotas of a cluster's members (equation 7), rounded by largest remainder."""
    size, total, given = stop - first, 0, 0
    for member in range(first, stop):
        total += weight[member]
        quota[member] = weight[member] // size
        given += quota[member]
    wanted = max((2 * total + size) // (2 * size), 1)
    while given < wanted:
        best, largest = first, -1
        for member in range(first, stop):
            # A member that was rounded up already has a remainder below 0.
            remainder = weight[member] - quota[member] * size
            if remainder > largest:
                best, largest = member, remainder
        quota[best] += 1
        given += 1


@helper
def _await(
    members: Categories, member: int, centre: int, parent: Ints32, depth: Ints32, scale: Scale, waiting: Heap
) -> None:
    """Put a member's categories into the heap, those nearest to the centre first."""
    for at in range(members.start[member], members.start[member + 1]):
        common = _common_depth(parent, depth, members.node[at], centre)
        push(waiting, delta(scale, depth[members.node[at]], depth[centre], common), at)
