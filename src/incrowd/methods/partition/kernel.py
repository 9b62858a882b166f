"""Partition's loops: Algorithm 1 of He and Naughton, PVLDB 2(1), 2009, with a stack instead of recursion.

Every row of a partition hits exactly the same nodes of the partition's cut. So a partition needs no more than a slice of
``order`` and one list of nodes. That bounds the space as well: a cut is no longer than the shortest row, so all cuts together
hold at most 1 / k of the items. Partitions wait on a stack, their cuts one behind another in a pool, the topmost last.

Gains are integers (M * NCP), so the gain of the largest part of a split is exactly what the other parts' gains leave of the
whole. Each row is therefore scanned again O(log n) times, not once for each split.

Partitions are independent. Large ones are split until few rows are left in each; those are finished on a
compact copy of their rows, which stays in the processor's cache, and by several threads at once.

A partition of fewer than 2k rows can be refined, but never split: if a node is expanded and not all rows hit the same
children, fewer than 2k rows cannot make two parts of k, and all of them end in the leftover partition. So a node is expanded
if and only if all rows hit the same children of it, whatever happens to the other nodes. No gains and no order are needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.arrays import Rows, Tree, compact, first_at_least
from incrowd.kernels.generalize import Groups
from incrowd.kernels.jit import helper, kernel
from incrowd.methods.partition.buckets import Scratch, children_hit, largest_part, scratch, split

__all__ = [
    "CLOSED",
    "add_gains",
    "best_node",
    "finish",
    "joined",
    "settled",
    "split_rows",
    "whole",
    "write_cut",
]

CLOSED = -1  # gain of a node that cannot be expanded: a leaf, or one that failed to split its rows


class Stack(NamedTuple):
    """Partitions still to be split: slices of ``order``, and their cuts with what each node would gain."""

    row_start: Ints64
    row_stop: Ints64
    cut_start: Ints64
    nodes: Ints32
    gains: Ints64


def whole(tree: Tree, order: Ints64) -> Groups:
    """Return all the rows listed in `order` (ascending, none empty) as one group, generalized to the root."""
    closed = tree.weight[0] == 0  # the root is the only choice, so its gain does not matter
    gains = np.array([CLOSED if closed else 0])
    return Groups(np.array([0, len(order)]), order, np.array([0, 1]), np.zeros(1, np.int32), gains)


def finish(rows: Rows, tree: Tree, members: Ints64, nodes: Ints32, gains: Ints64, k: int) -> Groups:
    """Split one group to the end, on a compact copy of its rows."""
    alone = Groups(np.array([0, len(members)]), members, np.array([0, len(nodes)]), nodes, gains)
    if (gains == CLOSED).all():
        return alone
    parts = split_rows(compact(rows, members), tree, alone._replace(rows=np.arange(len(members))), k, 0)
    return parts._replace(rows=members[parts.rows])


def joined(parts: list[Groups]) -> Groups:
    """Return all groups of some lists of groups as one list."""
    return Groups(
        np.cumsum(np.concatenate([[0], *(np.diff(part.row_start) for part in parts)])),
        np.concatenate([part.rows for part in parts]),
        np.cumsum(np.concatenate([[0], *(np.diff(part.node_start) for part in parts)])),
        np.concatenate([part.nodes for part in parts]),
        np.concatenate([part.gains for part in parts]),
    )


@kernel
def split_rows(rows: Rows, tree: Tree, group: Groups, k: int, enough: int) -> Groups:
    """Split one group (of at least k rows) until its parts are final or have at most `enough` rows."""
    order = group.rows.copy()
    items = 0
    for row in order:
        items += rows.start[row + 1] - rows.start[row]
    most, longest = len(order) // k + 1, items // k + 1
    work, stack, done = scratch(len(order), items), _stack(most, longest), _groups(most, longest, order)
    stack.row_start[0], stack.row_stop[0] = 0, len(order)
    stack.cut_start[0], stack.cut_start[1] = 0, len(group.nodes)
    for j in range(len(group.nodes)):
        stack.nodes[j], stack.gains[j] = group.nodes[j], group.gains[j]
    waiting, groups = 1, 0
    while waiting > 0:
        waiting -= 1
        cut = slice(stack.cut_start[waiting], stack.cut_start[waiting + 1])
        nodes, gains = stack.nodes[cut].copy(), stack.gains[cut].copy()
        best, size = _best_node(gains), stack.row_stop[waiting] - stack.row_start[waiting]
        if best < 0 or size <= enough:
            groups = _emit(done, groups, stack.row_stop[waiting], nodes, gains)
        elif size >= 2 * k:
            waiting = _expand(rows, tree, order, nodes, gains, best, k, work, stack, waiting)
        else:
            part = order[stack.row_start[waiting] : stack.row_stop[waiting]]
            groups = _emit_settled(
                rows, tree, part, nodes, gains, work, done, groups, stack.row_stop[waiting]
            )
    return _trimmed(done, groups)


@helper
def _groups(most: int, longest: int, order: Ints64) -> Groups:
    """Allocate arrays for that many groups and nodes of cuts."""
    return Groups(
        np.zeros(most + 1, np.int64),
        order,
        np.zeros(most + 1, np.int64),
        np.empty(longest, np.int32),
        np.empty(longest, np.int64),
    )


@helper
def _emit(done: Groups, groups: int, row_stop: int, nodes: Ints32, gains: Ints64) -> int:
    """Add a group behind the last one; return how many there are now."""
    start = done.node_start[groups]
    for j in range(len(nodes)):
        done.nodes[start + j], done.gains[start + j] = nodes[j], gains[j]
    done.node_start[groups + 1] = start + len(nodes)
    done.row_start[groups + 1] = row_stop
    return groups + 1


@helper
def _emit_settled(
    rows: Rows,
    tree: Tree,
    part: Ints64,
    nodes: Ints32,
    gains: Ints64,
    work: Scratch,
    done: Groups,
    groups: int,
    row_stop: int,
) -> int:
    """Add a group of fewer than 2k rows, refined as far as its rows agree; return how many groups there are."""
    filled = done.node_start[groups]
    for j in range(len(nodes)):
        if gains[j] == CLOSED:
            done.nodes[filled] = nodes[j]
            filled += 1
        else:
            filled = _settle(rows, tree, part, nodes[j], work.waiting, work.sequence, done.nodes, filled)
    for at in range(done.node_start[groups], filled):
        done.gains[at] = CLOSED
    done.node_start[groups + 1], done.row_start[groups + 1] = filled, row_stop
    return groups + 1


@helper
def _trimmed(done: Groups, groups: int) -> Groups:
    """Return the groups in arrays of their own size."""
    nodes = done.node_start[groups]
    return Groups(
        done.row_start[: groups + 1].copy(),
        done.rows,
        done.node_start[: groups + 1].copy(),
        done.nodes[:nodes].copy(),
        done.gains[:nodes].copy(),
    )


@helper
def _stack(most: int, longest: int) -> Stack:
    """Allocate the stack for that many partitions and nodes of cuts."""
    return Stack(
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most + 1, np.int64),
        np.empty(longest, np.int32),
        np.empty(longest, np.int64),
    )


def best_node(gains: Ints64) -> int:
    """Return the position of the highest gain, the first in pre-order of equal ones; -1 if all are closed."""
    best = -1
    for j in range(len(gains)):
        if gains[j] != CLOSED and (best < 0 or gains[j] > gains[best]):
            best = j
    return best


_best_node = helper(best_node)


@helper
def _expand(
    rows: Rows,
    tree: Tree,
    order: Ints64,
    nodes: Ints32,
    gains: Ints64,
    best: int,
    k: int,
    work: Scratch,
    stack: Stack,
    waiting: int,
) -> int:
    """Split the partition at stack position `waiting` at its node `best` and push the parts in its place."""
    start = stack.row_start[waiting]
    part = order[start : stack.row_stop[waiting]]
    buckets = split(rows, tree, part, nodes[best], k, work)
    largest = largest_part(buckets, k, work)
    largest_at, spent = 0, np.zeros(len(nodes), np.int64)
    gains_matter = work.size[largest] >= 2 * k  # smaller parts are settled without them
    # The first part is pushed last, so that groups come out in the order of their rows.
    for bucket in range(buckets, -1, -1):
        if work.size[bucket] < k:
            continue
        hit = children_hit(bucket, buckets, work)
        at = stack.cut_start[waiting]
        stop = at + len(nodes) + max(len(hit) - 1, 0)
        new_nodes, new_gains = stack.nodes[at:stop], stack.gains[at:stop]
        _write_cut(tree, nodes, gains, best, hit, new_nodes, new_gains)
        first, last = work.place[bucket] - work.size[bucket], work.place[bucket]
        if not gains_matter or _no_choice(new_gains, best, len(hit)):
            largest_at = at if bucket == largest else largest_at
        elif bucket == largest:
            largest_at = at
            fresh = slice(best, best + len(hit))
            add_gains(rows, tree, part[first:last], new_nodes[fresh], new_gains[fresh])
        else:
            add_gains(rows, tree, part[first:last], new_nodes, new_gains)
            _spend(spent, new_gains, best, len(hit))
        stack.row_start[waiting], stack.row_stop[waiting] = start + first, start + last
        waiting += 1
        stack.cut_start[waiting] = stop
    if gains_matter:
        _leave(stack.gains[largest_at:], gains, spent, best, len(children_hit(largest, buckets, work)))
    return waiting


@helper
def _no_choice(gains: Ints64, best: int, hits: int) -> bool:
    """Return whether a single node is open and it is new: then it is the next one, whatever it gains."""
    still_open = 0
    for j in range(len(gains)):
        if gains[j] != CLOSED:
            still_open += 1
            if j < best or j >= best + hits:
                return False
    return still_open == 1


def write_cut(
    tree: Tree, nodes: Ints32, gains: Ints64, best: int, hit: Ints32, new_nodes: Ints32, new_gains: Ints64
) -> None:
    """Write the cut of a part to `new_nodes`: `nodes` with the one at `best` replaced by the children that are hit.

    Without any (in the leftover partition) that node stays and is closed. Open nodes start with a gain of 0.
    """
    shift = max(len(hit) - 1, 0)
    for j in range(len(nodes)):
        at = j if j <= best else j + shift
        new_nodes[at] = nodes[j]
        new_gains[at] = CLOSED if gains[j] == CLOSED or j == best else 0
    for j in range(len(hit)):
        new_nodes[best + j] = hit[j]
        new_gains[best + j] = CLOSED if tree.weight[hit[j]] == 0 else 0


_write_cut = helper(write_cut)


@kernel
def add_gains(rows: Rows, tree: Tree, order: Ints64, nodes: Ints32, gains: Ints64) -> None:
    """Sum, over the rows, what expanding each node would gain; nodes whose gain is CLOSED stay so."""
    start, leaf, times, weights = rows.start, rows.leaf, rows.times, tree.weight
    for j in range(len(nodes)):
        if gains[j] == CLOSED:
            continue
        first, last, weight = tree.first_leaf[nodes[j]], tree.last_leaf[nodes[j]], weights[nodes[j]]
        child_above = tree.way[tree.depth[nodes[j]] + 1]
        gain = 0
        for row in order:
            stop = start[row + 1]
            at = first_at_least(leaf, start[row], stop, first)
            while at < stop and leaf[at] < last:
                gain += (weight - weights[child_above[leaf[at]]]) * times[at]
                at += 1
        gains[j] = gain


@helper
def _spend(spent: Ints64, new_gains: Ints64, best: int, hits: int) -> None:
    """Add a part's gains at the old nodes to what the largest part does not have."""
    shift = max(hits - 1, 0)
    for j in range(len(spent)):
        if j != best:
            spent[j] += new_gains[j if j < best else j + shift]


@helper
def _leave(new_gains: Ints64, gains: Ints64, spent: Ints64, best: int, hits: int) -> None:
    """Write the largest part's gains at the old nodes: the whole partition's less the other parts'."""
    shift = max(hits - 1, 0)
    for j in range(len(gains)):
        if j != best and gains[j] != CLOSED:
            new_gains[j if j < best else j + shift] = gains[j] - spent[j]


@kernel
def settled(rows: Rows, tree: Tree, row_start: Ints64, members: Ints64) -> Groups:
    """Return given groups of rows (none empty), each with its cut: the root, refined as far as all rows of the group agree."""
    groups, most, longest = len(row_start) - 1, 0, 0
    for i in range(len(members)):
        length = rows.start[members[i] + 1] - rows.start[members[i]]
        longest = max(longest, length)
    for group in range(groups):
        first = members[row_start[group]]
        most += rows.start[first + 1] - rows.start[first]
    waiting, hit = np.empty(longest + 1, np.int32), np.empty(longest + 1, np.int32)
    node_start, nodes = np.zeros(groups + 1, np.int64), np.empty(most, np.int32)
    for group in range(groups):
        part = members[row_start[group] : row_start[group + 1]]
        filled = _settle(rows, tree, part, 0, waiting, hit, nodes, node_start[group])
        node_start[group + 1] = filled
    nodes = nodes[: node_start[groups]].copy()
    return Groups(row_start, members, node_start, nodes, np.full(len(nodes), CLOSED, np.int64))


@helper
def _settle(
    rows: Rows, tree: Tree, order: Ints64, node: int, waiting: Ints32, hit: Ints32, final: Ints32, filled: int
) -> int:
    """Refine one node of the cut as far as all rows agree; write what it becomes behind ``final[:filled]``.

    `waiting` and `hit` are arrays to work in, as long as the shortest row and one family more. Returns how much
    of `final` is filled now; its nodes stay in pre-order.
    """
    waiting[0] = node
    left = 1
    while left > 0:
        left -= 1
        here = waiting[left]
        hits = 0 if tree.weight[here] == 0 else _common_children(rows, tree, order, here, hit)
        if hits == 0:
            final[filled] = here
            filled += 1
        for j in range(hits - 1, -1, -1):
            waiting[left] = hit[j]
            left += 1
    return filled


@helper
def _common_children(rows: Rows, tree: Tree, order: Ints64, node: int, hit: Ints32) -> int:
    """Write the children of `node` that all rows hit to `hit` and return their number; 0 if rows differ."""
    start, leaf = rows.start, rows.leaf
    first, last = tree.first_leaf[node], tree.last_leaf[node]
    child_above = tree.way[tree.depth[node] + 1]
    hits = 0
    for i in range(len(order)):
        stop = start[order[i] + 1]
        at = first_at_least(leaf, start[order[i]], stop, first)
        child, seen = -1, 0
        while at < stop and leaf[at] < last:
            if child_above[leaf[at]] != child:
                child = child_above[leaf[at]]
                if i == 0:
                    hit[seen] = child
                    hits += 1
                elif seen == hits or hit[seen] != child:
                    return 0
                seen += 1
            at += 1
        if seen < hits:
            return 0
    return hits
