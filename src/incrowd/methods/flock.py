"""Flock: like rows are gathered, grouped greedily, and changed about while that pays. Our own method (docs/papers/flock.md)."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from incrowd.errors import BadInputError
from incrowd.kernels.arrays import leaf_rows, tree_arrays
from incrowd.kernels.blocks import Blocks, by_content, same_as_before, split_blocks
from incrowd.kernels.flock import NONE, grow_groups, join_leftovers
from incrowd.kernels.flock_search import improve_groups
from incrowd.kernels.lcg import (
    AncestorRows,
    ancestor_rows,
    common_counts,
    common_generalization,
    taken_rows,
)
from incrowd.methods.classes import WITHHELD, Classes, Progress, filled_rows
from incrowd.taxonomy.tree import Taxonomy
from incrowd.transactions import Transactions

__all__ = ["check_flock", "flock", "grown_block", "improve_some", "weights"]

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]
Result = TypeVar("Result")

SCALE = 1 << 32  # weights are whole numbers of this part of 1: sums are exact, and ties are ties
BLOCK = 8_000
LEAST_GROUPS = 200  # in a block, so that a large k still has a choice
NEIGHBOURHOOD = 6_000  # rows in the groups that may change rows with one another
ROUNDS = 4
TRIES = 8


@dataclass
class Tally:
    """How many rows of how many are done, for whoever wants to know."""

    total: int
    progress: Progress | None
    done: int = 0

    def add(self, rows: int) -> None:
        """Tell that more rows are done."""
        self.done += rows
        if self.progress:
            self.progress(min(self.done, self.total), self.total)


class Problem(NamedTuple):
    """What the kernels work on: c_t of every row, w(v) of every node, k, and room to number nodes, one for each thread."""

    bags: AncestorRows
    weight: Ints64
    k: int
    rooms: SimpleQueue[Ints32]
    tally: Tally


class Groups(NamedTuple):
    """Groups while they change: the rows of each, a group a line, and how many they are."""

    members: Ints64
    size: Ints64

    def listed(self) -> tuple[Ints64, Ints64]:
        """Return where each group begins, and all rows, group by group."""
        is_member = np.arange(self.members.shape[1]) < self.size[:, None]
        return np.concatenate(([0], np.cumsum(self.size))), self.members[is_member]


def flock(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    specificity: float = 0.85,
    seed: int = 0,  # noqa: ARG001 - every method has a seed; this one makes no random choice
    progress: Progress | None = None,
) -> Classes:
    """Gather rows that are alike, group them with the least loss, and publish what each group has in common.

    Parameters
    ----------
    transactions, taxonomy
        Data and a tree that is grounded in its items.
    k
        The least number of rows in a group; the largest group has 2k - 1.
    specificity
        From 0 to 1: what counts as loss. 0 is LM, which counts leaves and hardly cares about exact terms; 1 is
        IC = log leaves(v) / log M, which keeps as many terms exactly as it can and generalizes the others more.
    seed
        Has no effect: flock makes no random choice.
    progress
        Told how many rows of how many are done, each counted once for growing groups and once for each round.
    """
    check_flock(specificity=specificity)
    filled = filled_rows(transactions, k)
    rows, tree = leaf_rows(transactions, taxonomy), tree_arrays(taxonomy)
    threads = os.cpu_count() or 1
    rooms: SimpleQueue[Ints32] = SimpleQueue()
    for _ in range(threads):
        rooms.put(np.full(len(taxonomy), NONE, dtype=np.int32))
    tally = Tally((1 + ROUNDS) * len(filled), progress)
    problem = Problem(ancestor_rows(rows, tree), weights(taxonomy, specificity), k, rooms, tally)
    with ThreadPoolExecutor(threads) as pool:
        groups = _grouped(problem, by_content(problem.bags, filled), pool)
        _search(problem, groups, pool)
    start, members = groups.listed()
    published = common_generalization(problem.bags, tree, start, members)
    of_row = np.full(len(transactions), WITHHELD, dtype=np.int32)
    of_row[members] = np.repeat(np.arange(len(groups.size), dtype=np.int32), groups.size)
    return Classes(of_row, published.start, published.nodes, published.counts)


def check_flock(*, specificity: float, **_: object) -> None:
    """Refuse parameters out of range."""
    if not 0 <= specificity <= 1:
        raise BadInputError(f"specificity must be between 0 and 1 (got {specificity})")


def weights(taxonomy: Taxonomy, specificity: float) -> Ints64:
    """Return w(v) = loss(parent v) - loss(v), in whole numbers; above the root everything is lost."""
    loss = (1 - specificity) * taxonomy.lm + specificity * taxonomy.ic
    drop = np.where(taxonomy.parent < 0, 1.0, loss[np.maximum(taxonomy.parent, 0)]) - loss
    weight: Ints64 = np.rint(np.maximum(drop, 0.0) * SCALE).astype(np.int64)
    return weight


def _grouped(problem: Problem, rows: Ints64, pool: ThreadPoolExecutor) -> Groups:
    """Group rows that are the same, which costs nothing, and then the others."""
    free, rest = _free(problem, rows)
    parts = [free, *(_grown(problem, rest, pool) if len(rest) else [])]
    members = np.concatenate(parts)
    return Groups(members, np.count_nonzero(members != NONE, axis=1))


def _free(problem: Problem, rows: Ints64) -> tuple[Ints64, Ints64]:
    """Return groups of k to 2k - 1 rows that are the same, a group a line, and the rows that are in none.

    `rows` has rows that are the same side by side. Fewer than k rows cannot stay alone: then one kind joins them.
    """
    k = problem.k
    starts = np.flatnonzero(~same_as_before(problem.bags, rows))
    copies = np.diff(starts, append=len(rows))
    is_free = copies >= k
    if 0 < copies[~is_free].sum() < k and is_free.any():
        is_free[np.flatnonzero(is_free)[-1]] = False
    groups = np.where(is_free, copies // k, 0)
    first = np.cumsum(groups) - groups
    kind = np.repeat(np.arange(len(starts)), copies)
    place = np.arange(len(rows)) - starts[kind]
    number = np.minimum(place // k, groups[kind] - 1)
    members = np.full((int(groups.sum()), 2 * k - 1), NONE, dtype=np.int64)
    mine = is_free[kind]
    members[(first[kind] + number)[mine], (place - number * k)[mine]] = rows[mine]
    return members, rows[~mine]


def _grown(problem: Problem, rows: Ints64, pool: ThreadPoolExecutor) -> list[Ints64]:
    """Group the rows block by block; those that are left over join the group of their block that they spoil least."""
    k = problem.k
    blocks = split_blocks(problem.bags, problem.weight / SCALE, rows, max(BLOCK, LEAST_GROUPS * k))

    def grow(block: Ints64, room: Ints32) -> Ints64:
        return grown_block(problem.bags, problem.weight, block, k=k, room=room)

    return _for_each(blocks, grow, problem, pool, rows_each=1)


def grown_block(bags: AncestorRows, weight: Ints64, block: Ints64, *, k: int, room: Ints32) -> Ints64:
    """Group the rows of a block, a group a line; those that are left over join the group that they spoil least."""
    taken = taken_rows(bags, block)
    group = grow_groups(taken, weight, SCALE, np.arange(len(block)), k, room)
    members = np.full((len(block) // k, 2 * k - 1), NONE, dtype=np.int64)
    members[:, :k] = np.argsort(group, kind="stable")[len(block) % k :].reshape(-1, k)
    join_leftovers(taken, weight, members, np.flatnonzero(group == NONE), k)
    return np.where(members == NONE, NONE, block[members])


def improve_some(
    bags: AncestorRows, weight: Ints64, members: Ints64, some: Ints64, *, k: int, room: Ints32
) -> int:
    """Let rows of some groups change places once while that pays, in place; return the gain."""
    theirs = members[some]
    is_member = theirs != NONE
    rows, size = theirs[is_member], is_member.sum(axis=1)
    theirs[is_member] = np.arange(len(rows))
    taken, groups = taken_rows(bags, rows), np.arange(len(some))
    gain: int = improve_groups(taken, weight, theirs, size, groups, k, TRIES, room)
    is_member = np.arange(theirs.shape[1]) < size[:, None]
    members[some] = np.where(is_member, rows[theirs], NONE)
    return gain


def _search(problem: Problem, groups: Groups, pool: ThreadPoolExecutor) -> None:
    """Let rows change groups while that pays, among groups that are alike by one measure and then by another."""
    weight = problem.weight / SCALE

    def improve(some: Ints64, room: Ints32) -> int:
        gain = improve_some(problem.bags, problem.weight, groups.members, some, k=problem.k, room=room)
        groups.size[some] = np.count_nonzero(groups.members[some] != NONE, axis=1)
        return gain

    most = max(NEIGHBOURHOOD // problem.k, LEAST_GROUPS)
    for number in range(ROUNDS):
        least = common_counts(problem.bags, *groups.listed())
        by = weight if number % 2 == 0 else np.sqrt(weight)
        neighbours = split_blocks(least, by, np.arange(len(groups.size)), most)
        if not any(_for_each(neighbours, improve, problem, pool, rows_each=problem.k)):
            return


def _for_each(
    blocks: Blocks,
    work: Callable[[Ints64, Ints32], Result],
    problem: Problem,
    pool: ThreadPoolExecutor,
    *,
    rows_each: int,
) -> list[Result]:
    """Work on every block, on all cores. They have nothing in common, so threads do not change the result."""

    def one(number: int) -> Result:
        room = problem.rooms.get()
        try:
            return work(blocks.rows[blocks.start[number] : blocks.start[number + 1]], room)
        finally:
            problem.rooms.put(room)

    results = []
    for number, result in enumerate(pool.map(one, range(len(blocks.start) - 1))):
        results.append(result)
        problem.tally.add(int(blocks.start[number + 1] - blocks.start[number]) * rows_each)
    return results
