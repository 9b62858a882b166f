"""Flock: similar rows are gathered into blocks, grouped greedily, and exchanged between groups while that lowers the loss.

Our own method; docs/papers/flock.md derives it. The steps after reading (`equal_groups`, `grow`, `improve`) are functions of
arrays: the local method applies them to all rows, :mod:`incrowd.spark.flock` to the rows of a shard.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from incrowd.core.classes import WITHHELD, Classes, Generalizations, filled_rows
from incrowd.core.ragged import starts_of
from incrowd.core.transactions import Transactions
from incrowd.core.types import Floats, Ints32, Ints64, Progress
from incrowd.errors import BadInputError
from incrowd.kernels.arrays import Rows, Tree, leaf_rows, tree_arrays
from incrowd.kernels.lcg import (
    AncestorRows,
    ancestor_rows,
    common_counts,
    common_generalization,
    taken_rows,
)
from incrowd.methods.flock.blocks import Blocks, by_content, same_as_before, split_blocks
from incrowd.methods.flock.growing import NONE, grow_groups, join_leftovers
from incrowd.methods.flock.search import improve_groups
from incrowd.taxonomy.tree import Taxonomy

__all__ = [
    "Problem",
    "Sizes",
    "check_flock",
    "equal_groups",
    "flock",
    "flock_records",
    "grow",
    "improve",
    "listed",
    "measure",
    "one_by_one",
    "sizes_for",
    "weights",
]

Result = TypeVar("Result")

SCALE = 1 << 32  # weights are whole numbers of this part of 1: sums are exact, and ties are ties
BLOCK = 8_000
LEAST_GROUPS = 200  # in a block, so that a large k still has a choice
NEIGHBOURHOOD = 6_000  # rows in the groups that may exchange rows with one another
ROUNDS = 4
TRIES = 8


class Sizes(NamedTuple):
    """The least size of a group, the largest of a block in rows, and the largest of a neighbourhood in groups."""

    k: int
    block: int
    neighbours: int


class Problem(NamedTuple):
    """What all steps work on: c_t of every row, w(v) of every node in whole numbers, and the sizes."""

    bags: AncestorRows
    weight: Ints64
    sizes: Sizes


class ForEach(Protocol):
    """Applies a function to every block and returns the results in the order of the blocks.

    The function also gets room to number nodes: an array that holds `NONE` for each node, and again so afterwards. The third
    argument is how many rows a member of a block stands for, for a report of progress.
    """

    def __call__(
        self, blocks: Blocks, work: Callable[[Ints64, Ints32], Result], rows_each: int, /
    ) -> list[Result]: ...


@dataclass
class _OnAllCores:
    """Works on blocks in threads. Blocks have nothing in common, so the number of threads does not change the result."""

    pool: ThreadPoolExecutor
    rooms: SimpleQueue[Ints32]
    total: int
    progress: Progress | None
    done: int = 0

    def __call__(
        self, blocks: Blocks, work: Callable[[Ints64, Ints32], Result], rows_each: int, /
    ) -> list[Result]:
        def one(block: Ints64) -> Result:
            room = self.rooms.get()
            try:
                return work(block, room)
            finally:
                self.rooms.put(room)

        results = []
        for result, size in zip(self.pool.map(one, blocks.each()), np.diff(blocks.start), strict=True):
            results.append(result)
            self.done += int(size) * rows_each
            if self.progress:
                self.progress(min(self.done, self.total), self.total)
        return results


def one_by_one(nodes: int) -> ForEach:
    """Return a function that works on blocks in turn, for a tree of so many nodes."""
    room = np.full(nodes, NONE, dtype=np.int32)

    def for_each(
        blocks: Blocks, work: Callable[[Ints64, Ints32], Result], _rows_each: int, /
    ) -> list[Result]:
        return [work(block, room) for block in blocks.each()]

    return for_each


def flock(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    specificity: float = 0.85,
    seed: int = 0,  # noqa: ARG001 - every method has a seed; this one makes no random choice
    progress: Progress | None = None,
) -> Classes:
    """Group similar rows so that little is lost, and publish the least common generalization of each group.

    Parameters
    ----------
    transactions, taxonomy
        The data, and a tree to whose leaves its items are attached.
    k
        The least number of rows in a group; the largest group has 2k - 1.
    specificity
        From 0 to 1: what counts as loss. 0 is LM, which counts leaves and hardly cares about exact terms; 1 is
        IC = log leaves(v) / log M, which keeps as many terms exactly as it can and generalizes the others more.
    seed
        Has no effect: flock makes no random choice.
    progress
        Called with how many rows of how many are done, each counted once for growing groups and once for each round.
    """
    check_flock(specificity=specificity)
    filled = filled_rows(transactions, k)
    rows, tree = leaf_rows(transactions, taxonomy), tree_arrays(taxonomy)
    problem = Problem(ancestor_rows(rows, tree), weights(taxonomy, specificity), sizes_for(k))
    threads = os.cpu_count() or 1
    rooms: SimpleQueue[Ints32] = SimpleQueue()
    for _ in range(threads):
        rooms.put(np.full(len(taxonomy), NONE, dtype=np.int32))
    with ThreadPoolExecutor(threads) as pool:
        start, members = listed(
            _grouped(problem, filled, _OnAllCores(pool, rooms, (1 + ROUNDS) * len(filled), progress))
        )
    published = common_generalization(problem.bags, tree, start, members)
    of_row = np.full(len(transactions), WITHHELD, dtype=np.int32)
    of_row[members] = np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))
    return Classes(of_row, published.start, published.nodes, published.counts)


def flock_records(rows: Rows, tree: Tree, row_start: Ints64, members: Ints64, **_: object) -> Generalizations:
    """Return what given groups of rows publish: their least common generalizations."""
    return common_generalization(ancestor_rows(rows, tree), tree, row_start, members)


def _grouped(problem: Problem, rows: Ints64, for_each: ForEach) -> Ints64:
    """Return groups of all rows, a group a line: equal rows first, then the others greedily, then some rounds of search."""
    members, others = equal_groups(problem.bags, by_content(problem.bags, rows), problem.sizes.k)
    if len(others):
        members = np.concatenate((members, grow(problem, others, for_each)))
    for number in range(ROUNDS):
        if not improve(problem, members, number, for_each):
            break
    return members


def check_flock(*, specificity: float, **_: object) -> None:
    """Raise BadInputError for a parameter out of range."""
    if not 0 <= specificity <= 1:
        raise BadInputError(f"specificity must be between 0 and 1 (got {specificity})")


def weights(taxonomy: Taxonomy, specificity: float) -> Ints64:
    """Return w(v) = loss(parent v) - loss(v), in whole numbers; above the root everything is lost."""
    loss = (1 - specificity) * taxonomy.lm + specificity * taxonomy.ic
    drop = np.where(taxonomy.parent < 0, 1.0, loss[np.maximum(taxonomy.parent, 0)]) - loss
    weight: Ints64 = np.rint(np.maximum(drop, 0.0) * SCALE).astype(np.int64)
    return weight


def measure(weight: Ints64, number: int) -> Floats:
    """Return the weights by which similar groups are found in a round of the search: w(v) and its square root by turns.

    Groups that one measure puts into different neighbourhoods may come together by the other. Rows are split by the first.
    """
    by = weight / SCALE
    return by if number % 2 == 0 else np.sqrt(by)


def sizes_for(k: int) -> Sizes:
    """Return the sizes of groups, blocks and neighbourhoods."""
    return Sizes(k, max(BLOCK, LEAST_GROUPS * k), max(NEIGHBOURHOOD // k, LEAST_GROUPS))


def listed(members: Ints64) -> tuple[Ints64, Ints64]:
    """Return where each group begins, and all rows, group by group, of groups that have a line each."""
    is_member = members != NONE
    return starts_of(is_member.sum(axis=1)), members[is_member]


def equal_groups(bags: AncestorRows, rows: Ints64, k: int) -> tuple[Ints64, Ints64]:
    """Return groups of k to 2k - 1 equal rows, a group a line, and the rows that are in none.

    `rows` has equal rows side by side. The last group of k takes what is left over of its kind. Where fewer than k rows would
    be in no group, the rows of the last kind are set free to join them.
    """
    starts = np.flatnonzero(~same_as_before(bags, rows))
    copies = np.diff(starts, append=len(rows))
    is_common = copies >= k
    if 0 < copies[~is_common].sum() < k and is_common.any():
        is_common[np.flatnonzero(is_common)[-1]] = False
    groups = np.where(is_common, copies // k, 0)
    first = np.cumsum(groups) - groups
    kind = np.repeat(np.arange(len(starts)), copies)
    place = np.arange(len(rows)) - starts[kind]
    number = np.minimum(place // k, groups[kind] - 1)
    members = np.full((int(groups.sum()), 2 * k - 1), NONE, dtype=np.int64)
    mine = is_common[kind]
    members[(first[kind] + number)[mine], (place - number * k)[mine]] = rows[mine]
    return members, rows[~mine]


def grow(problem: Problem, rows: Ints64, for_each: ForEach) -> Ints64:
    """Return greedy groups of the rows, a group a line, block by block."""
    blocks = split_blocks(problem.bags, measure(problem.weight, 0), rows, problem.sizes.block)
    return np.concatenate(for_each(blocks, partial(_grow_block, problem), 1))


def _grow_block(problem: Problem, block: Ints64, room: Ints32) -> Ints64:
    """Group the rows of a block; those that remain join the group to whose loss they add least."""
    k, taken = problem.sizes.k, taken_rows(problem.bags, block)
    group = grow_groups(taken, problem.weight, SCALE, np.arange(len(block)), k, room)
    members = np.full((len(block) // k, 2 * k - 1), NONE, dtype=np.int64)
    members[:, :k] = np.argsort(group, kind="stable")[len(block) % k :].reshape(-1, k)
    join_leftovers(taken, problem.weight, members, np.flatnonzero(group == NONE), k)
    return np.where(members == NONE, NONE, block[members])


def improve(problem: Problem, members: Ints64, number: int, for_each: ForEach) -> int:
    """Exchange rows between similar groups where that lowers the loss, in place; return how much it fell in this round."""
    least = common_counts(problem.bags, *listed(members))
    by, most = measure(problem.weight, number), problem.sizes.neighbours
    neighbours = split_blocks(least, by, np.arange(len(members)), most)
    return sum(for_each(neighbours, partial(_improve_some, problem, members), problem.sizes.k))


def _improve_some(problem: Problem, members: Ints64, some: Ints64, room: Ints32) -> int:
    """Exchange rows between some groups, on a copy of their rows that fits into the cache; return the gain."""
    theirs = members[some]
    is_member = theirs != NONE
    rows, size = theirs[is_member], is_member.sum(axis=1)
    theirs[is_member] = np.arange(len(rows))
    taken, groups = taken_rows(problem.bags, rows), np.arange(len(some))
    gain = improve_groups(taken, problem.weight, theirs, size, groups, problem.sizes.k, TRIES, room)
    is_member = np.arange(theirs.shape[1]) < size[:, None]
    members[some] = np.where(is_member, rows[theirs], NONE)
    return int(gain)
