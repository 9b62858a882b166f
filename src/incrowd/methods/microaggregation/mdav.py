"""MDAV: clusters of k around the records farthest from the centroid.

Batet et al., Information Sciences 2013, Algorithm 1. MDAV stands for "maximum distance to average vector".

    while 3k are left: c = the record with the least sum of distances to all that are left (equation 5),
                       a cluster of x_r, the farthest from c, and its k - 1 nearest;
                       a cluster of x_s, the farthest of the rest from x_r, and its k - 1 nearest
    if 2k are left:    c, x_r and its cluster once more
    the rest:          the last cluster

Distances are whole numbers, so sums are exact: each row's sum is kept, and rows that leave are subtracted. Of equals
the first row is always taken.

Several rows may be one person's. A cluster then takes one row each of k people; it goes on as long as k people are
left, and rows that are left after that join the cluster with the least mean distance. With one row a person this is
the algorithm above.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from incrowd.core.ragged import starts_of
from incrowd.core.types import Ints32, Ints64, Progress
from incrowd.kernels.jit import helper, kernel
from incrowd.kernels.matching import Heap, pop_least, push

__all__ = ["BLOCK_SIZE", "Clusters", "mdav", "mdav_in_blocks"]


NONE = -1
BLOCK_SIZE = 10_000  # rows whose distances to each other are held at once: 800 MB
ROWS, PEOPLE, CLUSTERS = 0, 1, 2  # places in State.tally


class Clusters(NamedTuple):
    """``of_row`` is the cluster of each row (-1: none); cluster c is ``member[start[c]:start[c + 1]]``, ascending."""

    of_row: Ints32
    start: Ints64
    member: Ints64


class State(NamedTuple):
    """The rows without a cluster, and working arrays.

    ``left`` lists the rows that are left, ascending; ``sums`` are their distances to all of them; ``rows_of`` counts
    those of each person. ``tally`` is the number of rows and people left and of clusters made. ``nearest`` holds a
    row of each person, ``met`` a list of people, ``close`` the nearest rows, the farthest of them on top.
    """

    left: Ints64
    sums: Ints64
    person: Ints32
    rows_of: Ints64
    tally: Ints64
    of_row: Ints32
    nearest: Ints64
    met: Ints64
    close: Heap


def mdav(distances: Ints64, person: Ints32, k: int) -> Clusters:
    """Put rows into clusters of rows of at least k people.

    Parameters
    ----------
    distances
        Of each row to each: symmetric, whole numbers from 0 to 2^40 in any unit, 0 on the diagonal.
    person
        Whose each row is; any numbers.
    k
        The least number of people in a cluster. With fewer in all, no row has a cluster.
    """
    people, whose = np.unique(person, return_inverse=True)
    rows = len(person)
    rows_of = np.bincount(whose, minlength=len(people)).astype(np.int64)
    heap = Heap(np.empty(max(k, 1), np.int64), np.empty(max(k, 1), np.int64), np.zeros(1, np.int64))
    state = State(
        left=np.arange(rows, dtype=np.int64),
        sums=distances.sum(axis=1, dtype=np.int64),
        person=whose.astype(np.int32),
        rows_of=rows_of,
        tally=np.array([rows, len(people), 0], dtype=np.int64),
        of_row=np.full(rows, NONE, dtype=np.int32),
        nearest=np.full(len(people), NONE, dtype=np.int64),
        met=np.empty(len(people), dtype=np.int64),
        close=heap,
    )
    _cluster(distances, state, k)
    return _clusters(state.of_row)


def mdav_in_blocks(
    distances_of: Callable[[Ints64], Ints64],
    order: Ints64,
    person: Ints32,
    *,
    k: int,
    block_size: int = BLOCK_SIZE,
    progress: Progress | None = None,
) -> Clusters:
    """Run MDAV on blocks of neighbours in an order, so that time and memory grow with the rows, not with their square.

    Blocks are clustered separately, so records near a block's edge may miss their nearest. With one block, the clusters
    are MDAV's.

    Parameters
    ----------
    distances_of
        Gives the distances of some rows to each other, as :func:`mdav` takes them.
    order
        The rows to cluster, similar ones near each other. Rows that are not in it have no cluster.
    person
        Whose each row is, listed in `order` or not.
    k
        The least number of people in a cluster.
    block_size
        The most rows of a block: the blocks are the least number that allows it, equally large. No block has fewer
        than 2k rows, nor rows of fewer than 2k people; this takes precedence.
    progress
        Called with the number of rows done and of all, after each block.
    """
    of_row, clusters, done = np.full(len(person), NONE, dtype=np.int32), 0, 0
    for block in _blocks(order, person, k, block_size):
        rows = np.sort(block)  # ties go by row, whatever the order
        found = mdav(distances_of(rows), person[rows], k)
        of_row[rows] = np.where(found.of_row == NONE, NONE, found.of_row + clusters)
        clusters, done = clusters + len(found.start) - 1, done + len(rows)
        if progress is not None:
            progress(done, len(order))
    return _clusters(of_row)


def _blocks(order: Ints64, person: Ints32, k: int, block_size: int) -> list[Ints64]:
    """Cut the order into blocks; one with too few people is joined with the next, the last with the one before."""
    rows = len(order)
    number = max(min(-(-rows // block_size), rows // (2 * k)), 1)
    blocks: list[Ints64] = []
    begun = 0
    for i in range(1, number + 1):
        part = order[begun : i * rows // number]
        if len(np.unique(person[part])) >= 2 * k:
            blocks.append(part)
            begun += len(part)
    if begun < rows:
        before = [blocks.pop()] if blocks else []
        blocks.append(np.concatenate([*before, order[begun:]]))
    return blocks


def _clusters(of_row: Ints32) -> Clusters:
    """List the members of each cluster."""
    chosen = np.flatnonzero(of_row != NONE)
    member = chosen[np.argsort(of_row[chosen], kind="stable")]
    number = int(of_row.max(initial=NONE)) + 1
    sizes = np.bincount(of_row[chosen], minlength=number)
    return Clusters(of_row, starts_of(sizes), member)


@kernel
def _cluster(distances: Ints64, state: State, k: int) -> None:
    """Give every row a cluster, if there are k people at all."""
    tally = state.tally
    seed, opposite = NONE, False  # whether the next cluster is that of x_s, opposite the last one's seed
    while tally[PEOPLE] >= k and tally[ROWS] > 0:
        if tally[ROWS] < 2 * k:
            for i in range(tally[ROWS]):
                state.of_row[state.left[i]] = tally[CLUSTERS]
            tally[ROWS] = 0
            return
        middle = seed if opposite else _centroid(state)
        opposite = not opposite and tally[ROWS] >= 3 * k
        seed = _farthest(distances, state, middle)
        _gather(distances, state, seed, k)
    if tally[CLUSTERS] > 0:
        _join(distances, state)


@helper
def _centroid(state: State) -> int:
    """Return the row with the least sum of distances to all that are left."""
    best: int = state.left[0]
    for i in range(1, state.tally[ROWS]):
        if state.sums[state.left[i]] < state.sums[best]:
            best = state.left[i]
    return best


@helper
def _farthest(distances: Ints64, state: State, row: int) -> int:
    """Return the row farthest from one, of those that are left."""
    best: int = state.left[0]
    for i in range(1, state.tally[ROWS]):
        if distances[row, state.left[i]] > distances[row, best]:
            best = state.left[i]
    return best


@helper
def _gather(distances: Ints64, state: State, seed: int, k: int) -> None:
    """Make a cluster of a row and the nearest rows of k - 1 other people."""
    _find_nearest(distances, state, seed, k - 1)
    _leave(state, seed)
    close = state.close
    for i in range(close.number[0]):
        _leave(state, -close.node[i])
    kept = 0
    for i in range(state.tally[ROWS]):
        row = state.left[i]
        if state.of_row[row] == NONE:
            state.left[kept] = row
            state.sums[row] -= distances[seed, row]
            kept += 1
    state.tally[ROWS] = kept
    state.tally[CLUSTERS] += 1
    for i in range(close.number[0]):
        member = -close.node[i]
        for at in range(kept):
            state.sums[state.left[at]] -= distances[member, state.left[at]]
    close.number[0] = 0


@helper
def _leave(state: State, row: int) -> None:
    """Put a row into the cluster that is being made."""
    state.of_row[row] = state.tally[CLUSTERS]
    state.rows_of[state.person[row]] -= 1
    if state.rows_of[state.person[row]] == 0:
        state.tally[PEOPLE] -= 1


@helper
def _find_nearest(distances: Ints64, state: State, seed: int, number: int) -> None:
    """Find the people nearest to a row, each by the nearest of their rows; `close` holds those rows with their sign turned."""
    people = 0
    for i in range(state.tally[ROWS]):
        row = state.left[i]
        whose = state.person[row]
        if whose == state.person[seed]:
            continue
        if state.nearest[whose] == NONE:
            state.met[people] = whose
            people += 1
            state.nearest[whose] = row
        elif distances[seed, row] < distances[seed, state.nearest[whose]]:
            state.nearest[whose] = row
    for i in range(people):
        row = state.nearest[state.met[i]]
        state.nearest[state.met[i]] = NONE
        _offer(state.close, distances[seed, row], row, number)


@helper
def _offer(close: Heap, distance: int, row: int, number: int) -> None:
    """Keep a row if it is among the nearest so far."""
    if close.number[0] == number:
        if number == 0 or -distance < close.key[0] or (-distance == close.key[0] and -row < close.node[0]):
            return
        pop_least(close)
    push(close, -distance, -row)


@helper
def _join(distances: Ints64, state: State) -> None:
    """Let each row that is left join the cluster with the least mean distance; all clusters have k rows at this time."""
    total = np.empty(state.tally[CLUSTERS], np.int64)
    joined = np.empty(state.tally[ROWS], np.int32)
    for i in range(len(joined)):
        for cluster in range(len(total)):
            total[cluster] = 0
        for row in range(len(state.of_row)):
            if state.of_row[row] != NONE:
                total[state.of_row[row]] += distances[state.left[i], row]
        best = 0
        for cluster in range(1, len(total)):
            if total[cluster] < total[best]:
                best = cluster
        joined[i] = best
    for i in range(len(joined)):
        state.of_row[state.left[i]] = joined[i]
