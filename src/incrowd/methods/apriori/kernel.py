"""Apriori's loops: bottom-up, global generalization (Terrovitis et al., VLDB 2008; He & Naughton, VLDB 2009, section 5).

The data is kept generalized to the present cut, twice: as rows of nodes, and as the rows that hold each node.
Both shrink in place when the cut moves up, because the nodes below a node are neighbours in either.

Two facts make one sweep per size enough. Generalizing never makes an itemset rarer, so an itemset with enough rows
keeps them. And a cut is an antichain in pre-order, so moving it up keeps the order of itemsets:
the image of the first rare one, while it is rare, is again the first rare one, and nothing before it becomes
rare. Itemsets are therefore counted under their first node, one node after the other, and never stored.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.ragged import distinct, starts_of
from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.arrays import Rows, Tree, first_at_least
from incrowd.kernels.jit import helper, kernel

__all__ = ["Cover", "cover", "lift_rare"]


OPENED = -1


class Cover(NamedTuple):
    """The data generalized to a cut; it changes in place.

    Row r is ``node[start[r] : start[r] + length[r]]``, ascending. The rows that hold a node v of the cut are
    the first ``support[v]`` from ``holder_start[first_leaf[v]]`` on in ``holder``. ``loss`` is M * NCP now,
    summed over the occurrences below each node, and ``full_loss`` what it is if that node is on the cut.
    """

    start: Ints64
    length: Ints64
    node: Ints32
    holder_start: Ints64
    holder: Ints64
    support: Ints64
    on_cut: Ints32  # the cut's node above each leaf
    loss: Ints64
    full_loss: Ints64
    lifted_to: Ints32  # the last node that each row was generalized to
    person: Ints32  # the person of each row; the rows of a person are adjacent
    people: Ints64  # different people who hold each node of the cut
    several: bool  # whether a person may have several rows


class Scratch(NamedTuple):
    """Working space of a search: counters of rows and people for each node (0 between uses), the nodes counted.

    ``last`` is the person counted last for each node: a person's rows come one after the other.
    """

    times: Ints64
    people: Ints64
    last: Ints64
    counted: Ints32


class Stack(NamedTuple):
    """Prefixes of itemsets that are still to be searched, each with the rows that hold it, the topmost last.

    Part p is a beginning of ``depth[p] + 1`` nodes, the last of which is ``node[p]``; its rows, and the place
    in each behind that node, are those from ``begin[p]`` to ``begin[p + 1]``. A part stays below the parts
    that continue it, with the depth OPENED.
    """

    node: Ints32
    depth: Ints64
    begin: Ints64
    row: Ints64
    place: Ints64


def cover(rows: Rows, tree: Tree, person: Ints32, several: bool) -> Cover:  # noqa: FBT001
    """Return the data before generalization: every leaf is on the cut. The rows of a person must be adjacent."""
    nodes, leaves, length = len(tree.parent), len(tree.leaf_nodes), np.diff(rows.start)
    held = np.bincount(rows.leaf, minlength=leaves)
    occurrences = np.zeros(leaves + 1, np.int64)
    np.add.at(occurrences, rows.leaf + 1, rows.times)
    below = np.cumsum(occurrences)
    support = np.zeros(nodes, np.int64)
    support[tree.leaf_nodes] = held
    people = support.copy()
    if several:
        pairs = distinct(rows.leaf * (person.max() + np.int64(1)) + np.repeat(person, length))
        people[tree.leaf_nodes] = np.bincount(pairs // (person.max() + np.int64(1)), minlength=leaves)
    return Cover(
        rows.start,
        length,
        tree.leaf_nodes[rows.leaf],
        starts_of(held),
        np.repeat(np.arange(len(length)), length)[np.argsort(rows.leaf, kind="stable")],
        support,
        tree.leaf_nodes.copy(),
        np.zeros(nodes, np.int64),
        tree.weight * (below[tree.last_leaf] - below[tree.first_leaf]),
        np.full(len(length), -1, np.int32),
        person,
        people,
        several,
    )


@kernel
def lift_rare(data: Cover, tree: Tree, k: int, size: int) -> None:
    """Move the cut up until at least k people share each itemset of `size` nodes that occurs.

    This must already hold for all smaller itemsets, and at least k people must have a non-empty row.
    """
    nodes = len(tree.parent)
    work = Scratch(
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
        np.full(nodes, -1, np.int64),
        np.empty(len(tree.leaf_nodes), np.int32),
    )
    found = np.empty(size, np.int32)
    leaf = 0
    while leaf < len(data.on_cut):
        while _find_rare(data, tree, data.on_cut[leaf], k, found, work):
            _lift(data, tree, _cheapest_parent(data, tree, found))
        leaf = tree.last_leaf[data.on_cut[leaf]]


@helper
def _find_rare(data: Cover, tree: Tree, first: int, k: int, found: Ints32, work: Scratch) -> bool:
    """Find the first rare itemset whose first node is `first`; write it to `found`."""
    found[0], size = first, len(found)
    if size == 1:
        return bool(0 < data.people[first] < k)
    stack, parts = _holders(data, tree, first, size), 1
    while parts > 0:
        top = parts - 1
        depth = stack.depth[top]
        if depth == OPENED:
            parts -= 1
            continue
        found[depth] = stack.node[top]
        room = size - depth - 2
        counted = _count_next(data, stack, top, room, work)
        if room > 0:
            parts = _push_next(data, stack, top, room, counted, work)
        else:
            found[depth + 1] = _first_below(work, counted, k)
            if found[depth + 1] >= 0:
                return True
            parts -= 1
    return False


@helper
def _holders(data: Cover, tree: Tree, first: int, size: int) -> Stack:
    """Return a stack of one part: the rows that hold `first` and enough nodes behind it."""
    support, start = data.support[first], data.holder_start[tree.first_leaf[first]]
    rows, places = np.empty(support, np.int64), np.empty(support, np.int64)
    filled, behind = 0, 0
    for i in range(start, start + support):
        row = data.holder[i]
        begin, stop = data.start[row], data.start[row] + data.length[row]
        if stop - begin >= size:
            place = first_at_least(data.node, begin, stop, first) + 1
            if stop - place >= size - 1:
                rows[filled], places[filled] = row, place
                filled += 1
                behind += stop - place
    most = (size - 2) * behind  # each depth holds a row at most once for each node behind the first
    stack = _stack(1 + min(most, (size - 2) * len(tree.leaf_nodes)), filled + most)
    stack.node[0], stack.depth[0], stack.begin[0], stack.begin[1] = first, 0, 0, filled
    for i in range(filled):
        stack.row[i], stack.place[i] = rows[i], places[i]
    return stack


@helper
def _stack(parts: int, entries: int) -> Stack:
    """Allocate room for that many parts and rows in them."""
    return Stack(
        np.empty(parts, np.int32),
        np.empty(parts, np.int64),
        np.empty(parts + 1, np.int64),
        np.empty(entries, np.int64),
        np.empty(entries, np.int64),
    )


@helper
def _count_next(data: Cover, stack: Stack, part: int, room: int, work: Scratch) -> int:
    """Count the nodes that may come next in a part, with `room` more behind; return how many there are."""
    times, counted, distinct = work.times, work.counted, 0
    people, last = work.people, work.last
    start, length, nodes = data.start, data.length, data.node
    for i in range(stack.begin[part], stack.begin[part + 1]):
        row = stack.row[i]
        person = data.person[row]
        for at in range(stack.place[i], start[row] + length[row] - room):
            node = nodes[at]
            if times[node] == 0:
                counted[distinct] = node
                distinct += 1
                last[node] = -1
            times[node] += 1
            if last[node] != person:
                last[node] = person
                people[node] += 1
    return distinct


@helper
def _push_next(data: Cover, stack: Stack, part: int, room: int, counted: int, work: Scratch) -> int:
    """Push a part for each node that may come next, the first one last; return how many parts there are.

    The counters are used as the places to write to, then cleared.
    """
    times, top, end = work.times, part + 1, stack.begin[part + 1]
    _sort_down(work.counted, counted)
    for i in range(counted):
        node = work.counted[i]
        stack.node[top + i], stack.depth[top + i], stack.begin[top + i] = node, stack.depth[part] + 1, end
        times[node], end = end, end + times[node]
    stack.begin[top + counted] = end
    for i in range(stack.begin[part], stack.begin[part + 1]):
        row = stack.row[i]
        for at in range(stack.place[i], data.start[row] + data.length[row] - room):
            place = times[data.node[at]]
            stack.row[place], stack.place[place] = row, at + 1
            times[data.node[at]] += 1
    for i in range(counted):
        times[work.counted[i]] = work.people[work.counted[i]] = 0
    stack.depth[part] = OPENED
    return top + counted


@helper
def _first_below(work: Scratch, counted: int, k: int) -> int:
    """Return the first node that fewer than k people have, or -1; clear the counters."""
    first = -1
    for i in range(counted):
        node = work.counted[i]
        if work.people[node] < k and (first < 0 or node < first):
            first = node
        work.times[node] = work.people[node] = 0
    return first


@helper
def _sort_down(values: Ints32, length: int) -> None:
    """Sort the first `length` values in place, highest first (Shell's sort)."""
    gap = length // 2
    while gap > 0:
        for i in range(gap, length):
            moving, at = values[i], i
            while at >= gap and values[at - gap] < moving:
                values[at] = values[at - gap]
                at -= gap
            values[at] = moving
        gap //= 2


@helper
def _cheapest_parent(data: Cover, tree: Tree, itemset: Ints32) -> int:
    """Return the parent of one of the nodes that costs least to move up to; ties: the first in pre-order."""
    best, least = -1, 0
    for i in range(len(itemset)):
        parent = tree.parent[itemset[i]]
        increase = data.full_loss[parent] - data.loss[parent]
        if best < 0 or increase < least or (increase == least and parent < best):
            best, least = parent, increase
    return best


@helper
def _lift(data: Cover, tree: Tree, node: int) -> None:
    """Move the cut up to `node`: it takes the place of all that is below it."""
    first, last = tree.first_leaf[node], tree.last_leaf[node]
    filled = data.holder_start[first]
    leaf = first
    while leaf < last:
        old = data.on_cut[leaf]
        start = data.holder_start[leaf]
        for i in range(start, start + data.support[old]):
            row = data.holder[i]
            if data.lifted_to[row] != node:
                data.lifted_to[row] = node
                data.holder[filled] = row
                filled += 1
                _replace(data, tree, row, node)
        leaf = tree.last_leaf[old]
    data.support[node] = filled - data.holder_start[first]
    _count_people(data, node, data.holder_start[first], filled)
    for leaf in range(first, last):
        data.on_cut[leaf] = node
    increase, above = data.full_loss[node] - data.loss[node], node
    while above >= 0:
        data.loss[above] += increase
        above = tree.parent[above]


@helper
def _count_people(data: Cover, node: int, begin: int, stop: int) -> None:
    """Count the different people among a node's rows; where there may be fewer than rows, put them in order."""
    data.people[node] = stop - begin
    if not data.several:
        return
    holder = data.holder
    gap = (stop - begin) // 2
    while gap > 0:  # Shell's sort
        for i in range(begin + gap, stop):
            moving, at = holder[i], i
            while at - gap >= begin and holder[at - gap] > moving:
                holder[at] = holder[at - gap]
                at -= gap
            holder[at] = moving
        gap //= 2
    data.people[node] = 0
    for i in range(begin, stop):
        if i == begin or data.person[holder[i]] != data.person[holder[i - 1]]:
            data.people[node] += 1


@helper
def _replace(data: Cover, tree: Tree, row: int, node: int) -> None:
    """Put `node` in the place of the nodes below it in a row that has some."""
    stop = data.start[row] + data.length[row]
    place = first_at_least(data.node, data.start[row], stop, node)
    at = place
    while at < stop and tree.first_leaf[data.node[at]] < tree.last_leaf[node]:
        at += 1
    data.node[place] = node
    place += 1
    while at < stop:
        data.node[place] = data.node[at]
        place += 1
        at += 1
    data.length[row] = place - data.start[row]
