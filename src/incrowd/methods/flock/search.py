"""Flock's local search: rows are exchanged with rows of other groups where that lowers the loss (docs/papers/flock.md, step 3).

A group's summary has the nodes that all of its rows, or all but one, have: the least count m(v), the second least, and which
row has the least. One pass over the summary and a row then gives W of the group with the row in place of any member.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.jit import helper, kernel
from incrowd.kernels.lcg import AncestorRows, worth_of

__all__ = ["improve_groups"]


NONE = -1
SEVERAL = -1  # which row has the least count, if several have it


class _Sums(NamedTuple):
    """The summary of each group: lists of nodes in a common pool, and W(m)."""

    start: Ints64
    length: Ints64
    node: Ints32
    least: Ints32
    second: Ints32
    whose: Ints32
    worth: Ints64
    filled: Ints64


class _Lists(NamedTuple):
    """For each node (by its number) the groups whose rows all had it at the beginning, and the least count."""

    nodes: Ints32
    start: Ints64
    group: Ints32
    times: Ints32
    worth: Ints64


class _Room(NamedTuple):
    """Arrays for the groups that a row may go to: their similarity to it, the best of them; and W there and back for members replaced."""

    likeness: Ints64
    best: Ints64
    fit: Ints64
    replaced: Ints64
    back: Ints64


@kernel
def improve_groups(
    bags: AncestorRows,
    weight: Ints64,
    members: Ints64,
    size: Ints64,
    groups: Ints64,
    k: int,
    tries: int,
    number: Ints32,
) -> int:
    """Go once through the rows of some groups and make for each the change that lowers the loss most; return the total gain.

    Parameters
    ----------
    bags, weight
        c_t of every row; w(v) of every node, in whole numbers.
    members, size
        The rows of every group, in a line each, and how many they are. Changed in place.
    groups
        The groups that may exchange rows with one another.
    k
        The least size of a group; the largest is the length of a line.
    tries
        With how many groups, those most similar to a row, a change is tried.
    number
        An array to number nodes in: `NONE` for every node, and again so afterwards.
    """
    sums = _summed_up(bags, weight, members, size, groups)
    lists = _listed(weight, sums, number)
    room = _Room(
        np.empty(len(groups), np.int64),
        np.empty(tries, np.int64),
        np.empty(tries, np.int64),
        np.empty(members.shape[1], np.int64),
        np.empty(members.shape[1], np.int64),
    )
    gained = 0
    for home in range(len(groups)):
        place = 0
        while place < size[groups[home]]:
            row = members[groups[home], place]
            own = worth_of(weight, bags.node, bags.times, bags.start[row], bags.start[row + 1])
            if own == sums.worth[home]:  # it loses nothing where it is
                place += 1
                continue
            found = _most_like(bags, weight, lists, number, home, row, room)
            away, other, gain = _best_change(
                bags, weight, members, size, groups, k, sums, home, place, found, room
            )
            if gain > 0:
                _change(members, size, groups[home], place, groups[away], other)
                _sum_up(bags, weight, members, size, groups, home, sums)
                _sum_up(bags, weight, members, size, groups, away, sums)
                gained += gain
            if gain == 0 or other != NONE:
                place += 1
    for node in lists.nodes:
        number[node] = NONE
    return gained


@helper
def _summed_up(bags: AncestorRows, weight: Ints64, members: Ints64, size: Ints64, groups: Ints64) -> _Sums:
    """Build the summary of every group. The pool has twice the size that all of them can need at once."""
    entries, longest = 0, 0
    for group in groups:
        for place in range(size[group]):
            length = bags.start[members[group, place] + 1] - bags.start[members[group, place]]
            entries, longest = entries + length, max(longest, length)
    pool = 2 * entries + 2 * longest
    sums = _Sums(
        np.zeros(len(groups), np.int64),
        np.zeros(len(groups), np.int64),
        np.empty(pool, np.int32),
        np.empty(pool, np.int32),
        np.empty(pool, np.int32),
        np.empty(pool, np.int32),
        np.zeros(len(groups), np.int64),
        np.zeros(1, np.int64),
    )
    for i in range(len(groups)):
        _sum_up(bags, weight, members, size, groups, i, sums)
    return sums


@helper
def _sum_up(
    bags: AncestorRows, weight: Ints64, members: Ints64, size: Ints64, groups: Ints64, i: int, sums: _Sums
) -> None:
    """Build the summary of one group, at the end of the pool."""
    group = groups[i]
    one, two = members[group, 0], members[group, 1]
    needed = bags.start[one + 1] - bags.start[one] + bags.start[two + 1] - bags.start[two]
    if sums.filled[0] + needed > len(sums.node):
        sums.length[i] = 0
        _tidy(sums)
    sums.start[i], sums.length[i] = sums.filled[0], 0
    sums.length[i] = _pair(bags, one, two, sums, sums.start[i])
    for place in range(2, size[group]):
        sums.length[i] = _third(bags, members[group, place], place, sums, sums.start[i], sums.length[i])
    sums.filled[0] = sums.start[i] + sums.length[i]
    sums.worth[i] = worth_of(weight, sums.node, sums.least, sums.start[i], sums.filled[0])


@helper
def _tidy(sums: _Sums) -> None:
    """Move all lists to the beginning of the pool, in their order there."""
    filled = 0
    for i in np.argsort(sums.start, kind="mergesort"):
        shift = sums.start[i] - filled
        for at in range(filled, filled + sums.length[i]):
            sums.node[at], sums.least[at] = sums.node[at + shift], sums.least[at + shift]
            sums.second[at], sums.whose[at] = sums.second[at + shift], sums.whose[at + shift]
        sums.start[i] = filled
        filled += sums.length[i]
    sums.filled[0] = filled


@helper
def _pair(bags: AncestorRows, one: int, two: int, sums: _Sums, filled: int) -> int:
    """Write the summary of two rows: every node of either; return how many."""
    first = filled
    i, end_i, j, end_j = bags.start[one], bags.start[one + 1], bags.start[two], bags.start[two + 1]
    while i < end_i or j < end_j:
        is_one = i < end_i and (j == end_j or bags.node[i] <= bags.node[j])
        is_two = j < end_j and (i == end_i or bags.node[j] <= bags.node[i])
        sums.node[filled] = bags.node[i] if is_one else bags.node[j]
        its, others = (bags.times[i] if is_one else 0), (bags.times[j] if is_two else 0)
        sums.least[filled], sums.second[filled] = min(its, others), max(its, others)
        sums.whose[filled] = SEVERAL if its == others else int(others < its)
        filled += 1
        i, j = i + int(is_one), j + int(is_two)
    return filled - first


@helper
def _third(bags: AncestorRows, row: int, place: int, sums: _Sums, first: int, length: int) -> int:
    """Add a further row to a summary and drop the nodes that two rows lack now; return how many are left."""
    at, stop = bags.start[row], bags.start[row + 1]
    kept = first
    for i in range(first, first + length):
        node, least, second, whose = sums.node[i], sums.least[i], sums.second[i], sums.whose[i]
        while at < stop and bags.node[at] < node:
            at += 1
        its = bags.times[at] if at < stop and bags.node[at] == node else 0
        if its < least:
            least, second, whose = its, least, place
        elif its < second:
            second = its
        if second > 0:
            sums.node[kept], sums.least[kept], sums.second[kept] = node, least, second
            sums.whose[kept] = SEVERAL if least == second else whose
            kept += 1
    return kept - first


@helper
def _listed(weight: Ints64, sums: _Sums, number: Ints32) -> _Lists:
    """Build the list of the groups whose rows all have a node, for each node."""
    nodes, found = np.empty(sums.filled[0], np.int32), 0
    for at in range(sums.filled[0]):
        node = sums.node[at]
        if sums.least[at] > 0 and weight[node] > 0 and number[node] == NONE:
            number[node], nodes[found] = found, node
            found += 1
    start = np.zeros(found + 1, np.int64)
    for at in range(sums.filled[0]):
        if sums.least[at] > 0 and number[sums.node[at]] != NONE:
            start[number[sums.node[at]] + 1] += 1
    for i in range(found):
        start[i + 1] += start[i]
    filled = start.copy()
    group, times = np.empty(start[found], np.int32), np.empty(start[found], np.int32)
    for i in range(len(sums.length)):
        for at in range(sums.start[i], sums.start[i] + sums.length[i]):
            node = number[sums.node[at]]
            if sums.least[at] > 0 and node != NONE:
                group[filled[node]], times[filled[node]] = i, sums.least[at]
                filled[node] += 1
    return _Lists(nodes[:found].copy(), start, group, times, sums.worth.copy())


@helper
def _most_like(
    bags: AncestorRows, weight: Ints64, lists: _Lists, number: Ints32, home: int, row: int, room: _Room
) -> int:
    """Find the groups to whose loss a row would add least; return how many. The lists are those of the beginning."""
    for i in range(len(room.likeness)):
        room.likeness[i] = -lists.worth[i]
    for at in range(bags.start[row], bags.start[row + 1]):
        node = number[bags.node[at]]
        if node != NONE:
            times, twice = bags.times[at], 2 * weight[bags.node[at]]
            for i in range(lists.start[node], lists.start[node + 1]):
                room.likeness[lists.group[i]] += twice * min(times, lists.times[i])
    found = 0
    for i in range(len(room.likeness)):
        fit = room.likeness[i]
        if i == home or (found == len(room.best) and fit <= room.fit[found - 1]):
            continue
        at = found if found < len(room.best) else found - 1
        found = min(found + 1, len(room.best))
        while at > 0 and room.fit[at - 1] < fit:
            room.fit[at], room.best[at] = room.fit[at - 1], room.best[at - 1]
            at -= 1
        room.fit[at], room.best[at] = fit, i
    return found


@helper
def _best_change(
    bags: AncestorRows,
    weight: Ints64,
    members: Ints64,
    size: Ints64,
    groups: Ints64,
    k: int,
    sums: _Sums,
    home: int,
    place: int,
    found: int,
    room: _Room,
) -> tuple[int, int, int]:
    """Return the group to which a row goes, the member that it replaces (`NONE`: none), and the gain (0: it stays)."""
    row, its_size = members[groups[home], place], size[groups[home]]
    without = _without(weight, sums, home, place)
    best, other, most = NONE, NONE, 0
    for away in room.best[:found]:
        group = groups[away]
        joined = _with(bags, weight, sums, away, row, size[group], room.replaced)
        had = its_size * sums.worth[home] + size[group] * sums.worth[away]
        if its_size > k and size[group] < members.shape[1]:
            gain = (its_size - 1) * without + (size[group] + 1) * joined - had
            if gain > most:
                best, other, most = away, NONE, gain
        for member in range(size[group]):
            there = size[group] * (joined + room.replaced[member]) - had
            # The group that the row leaves has at most W without the row, whichever row comes in exchange.
            if there + its_size * without > most:
                back = _with(bags, weight, sums, home, members[group, member], its_size, room.back)
                gain = there + its_size * (back + room.back[place])
                if gain > most:
                    best, other, most = away, member, gain
    return best, other, most


@helper
def _without(weight: Ints64, sums: _Sums, group: int, place: int) -> int:
    """Return W of a group without one of its rows."""
    worth = 0
    for at in range(sums.start[group], sums.start[group] + sums.length[group]):
        worth += weight[sums.node[at]] * (sums.second[at] if sums.whose[at] == place else sums.least[at])
    return worth


@helper
def _with(
    bags: AncestorRows, weight: Ints64, sums: _Sums, group: int, row: int, size: int, replaced: Ints64
) -> int:
    """Return W of a group and one more row, and write to `replaced` how much more it is if the row replaces each member."""
    for place in range(size):
        replaced[place] = 0
    worth = 0
    i, end = sums.start[group], sums.start[group] + sums.length[group]
    at, stop = bags.start[row], bags.start[row + 1]
    while i < end and at < stop:
        if sums.node[i] < bags.node[at]:
            i += 1
        elif sums.node[i] > bags.node[at]:
            at += 1
        else:
            least, times, each = sums.least[i], bags.times[at], weight[sums.node[i]]
            worth += each * min(least, times)
            if sums.whose[i] != SEVERAL and times > least:
                replaced[sums.whose[i]] += each * (min(sums.second[i], times) - least)
            i += 1
            at += 1
    return worth


@helper
def _change(members: Ints64, size: Ints64, home: int, place: int, away: int, other: int) -> None:
    """Exchange a row with a member of another group, or move it there."""
    row = members[home, place]
    if other != NONE:
        members[home, place], members[away, other] = members[away, other], row
        return
    members[away, size[away]] = row
    size[away] += 1
    size[home] -= 1
    members[home, place] = members[home, size[home]]
