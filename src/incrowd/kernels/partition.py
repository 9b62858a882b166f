"""Partition's loops: top-down, local generalization (partition.txt, section 4; Algorithm 1).

Every row of a partition hits exactly the same nodes of the partition's cut: that is what makes the rows
alike, and it is why a partition needs no more than a slice of ``order`` and one list of nodes. It also
bounds the space: a cut is no longer than the shortest row, so all cuts together hold at most 1 / k of the
items. Partitions wait on a stack, their cuts behind one another in a pool, the topmost last.

Gains are integers (M * NCP), so the gain of the largest part of a split is what the others leave over,
exactly. Each row is therefore rescanned O(log n) times, not once per split.

Partitions are independent. Large ones are split until few rows are left in each; those are finished on a
compact copy of their rows, which stays in the processor's cache, and by several threads at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.arrays import Rows, Tree, first_at_least
from incrowd.kernels.buckets import Scratch, children_hit, largest_part, scratch, split
from incrowd.kernels.jit import helper, kernel
from incrowd.kernels.settle import settle

__all__ = ["CLOSED", "Groups", "split_rows", "whole"]

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]

CLOSED = -1  # gain of a node that cannot be expanded: a leaf, or frozen


class Groups(NamedTuple):
    """Partitions: group g owns ``rows[row_start[g]:row_start[g + 1]]`` and the nodes of its cut likewise.

    ``gains`` says what expanding each node would gain; a group is final when all of its nodes are CLOSED.
    """

    row_start: Ints64
    rows: Ints64
    node_start: Ints64
    nodes: Ints32
    gains: Ints64


class Stack(NamedTuple):
    """Partitions that wait: slices of ``order``, and their cuts with what each node would gain."""

    row_start: Ints64
    row_stop: Ints64
    cut_start: Ints64
    nodes: Ints32
    gains: Ints64


def whole(tree: Tree, order: Ints64) -> Groups:
    """Return all the rows listed in `order` (ascending, none empty) as one group, generalized to the root."""
    closed = tree.weight[0] == 0  # there is no choice yet, so the root's gain does not matter
    gains = np.array([CLOSED if closed else 0])
    return Groups(np.array([0, len(order)]), order, np.array([0, 1]), np.zeros(1, np.int32), gains)


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
        best, size = _best(gains), stack.row_stop[waiting] - stack.row_start[waiting]
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
    """Allocate room for that many groups and nodes of cuts."""
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
            filled = settle(rows, tree, part, nodes[j], work.waiting, work.sequence, done.nodes, filled)
    for at in range(done.node_start[groups], filled):
        done.gains[at] = CLOSED
    done.node_start[groups + 1], done.row_start[groups + 1] = filled, row_stop
    return groups + 1


@helper
def _trimmed(done: Groups, groups: int) -> Groups:
    """Give back the room that was not needed."""
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


@helper
def _best(gains: Ints64) -> int:
    """Return the position of the highest gain, the first in pre-order among equals; -1 if all are closed."""
    best = -1
    for j in range(len(gains)):
        if gains[j] != CLOSED and (best < 0 or gains[j] > gains[best]):
            best = j
    return best


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
            _add_gains(rows, tree, part[first:last], new_nodes[fresh], new_gains[fresh])
        else:
            _add_gains(rows, tree, part[first:last], new_nodes, new_gains)
            _spend(spent, new_gains, best, len(hit))
        stack.row_start[waiting], stack.row_stop[waiting] = start + first, start + last
        waiting += 1
        stack.cut_start[waiting] = stop
    if gains_matter:
        _leave(stack.gains[largest_at:], gains, spent, best, len(children_hit(largest, buckets, work)))
    return waiting


@helper
def _no_choice(gains: Ints64, best: int, hits: int) -> bool:
    """Tell whether a single node is open and it is new: then it is the next one, whatever it gains."""
    still_open = 0
    for j in range(len(gains)):
        if gains[j] != CLOSED:
            still_open += 1
            if j < best or j >= best + hits:
                return False
    return still_open == 1


@helper
def _write_cut(
    tree: Tree, nodes: Ints32, gains: Ints64, best: int, hit: Ints32, new_nodes: Ints32, new_gains: Ints64
) -> None:
    """Write the cut of a part: `nodes` with the one at `best` replaced by the children hit.

    Without any (the leftovers), that node stays and is frozen. Open nodes start with a gain of 0.
    """
    shift = max(len(hit) - 1, 0)
    for j in range(len(nodes)):
        at = j if j <= best else j + shift
        new_nodes[at] = nodes[j]
        new_gains[at] = CLOSED if gains[j] == CLOSED or j == best else 0
    for j in range(len(hit)):
        new_nodes[best + j] = hit[j]
        new_gains[best + j] = CLOSED if tree.weight[hit[j]] == 0 else 0


@helper
def _add_gains(rows: Rows, tree: Tree, order: Ints64, nodes: Ints32, gains: Ints64) -> None:
    """Sum, over the rows, what expanding each node would gain; nodes whose gain is CLOSED are left alone."""
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
