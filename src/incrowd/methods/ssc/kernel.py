"""SSC's loop: clusters grow around a seed by the nearest row to their centre (Liu & Wang, ICDM 2010, Algorithm 1).

A centre is a bag of hyper-terms, bags of one term from each of the cluster's l rows. A term is relevant to a hyper-term
if it is to every member; the weight is the sum of the distances. A row's distance to a centre is the cost of the best
matching: the weights of matched pairs, and l * omega for each unmatched hyper-term and occurrence. Matching
a pair gains ``2 * l * omega - weight`` over leaving both. The model of maximum matchings is the same with a gain so
large that one more pair always pays, and with no charge for unmatched terms.

The search skips rows that cannot be nearest. No occurrence gains more than its best hyper-term gives and no hyper-term more than
its best term, so sums of those bound the gain of a row from above and its distance from below. Lists of rows by term
give the bounds of all rows that have anything relevant; of the others only the first among the shortest can win.
Rows are matched by ascending bound until none left can be nearer than the nearest found, or as near and earlier.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from incrowd.core.ragged import list_sums, starts_of, take_lists
from incrowd.core.types import Bools, Ints32, Ints64, Progress
from incrowd.kernels.jit import helper, kernel
from incrowd.kernels.matching import Heap, distance_of, extended, match_row, matched, pop_least, push
from incrowd.kernels.terms import (
    Bags,
    Centre,
    Model,
    Near,
    Pool,
    Reach,
    clear_reach,
    first_centre,
    lower_bounds,
    pool_centres,
    reach_of,
    replace_centre,
)

__all__ = ["Clusters", "ssc_clusters"]


NONE = -1
FAR = np.iinfo(np.int64).max
PEOPLE, ROWS, CONSIDERED, COMPUTED = 0, 1, 2, 3  # places in State.tally


class State(NamedTuple):
    """The rows that have no cluster yet, and working arrays.

    Rows of term i are ``row[start[i]:stop[i]]`` with ``times``; those that have left are dropped when the list is next
    read. ``after`` and ``before`` chain the rows from short to long (in the maximum model: from first to last); the
    place behind the last row is both ends. ``rows_of`` counts the rows of each person, ``taken`` is the seed of the
    cluster that last took one. ``bound`` adds up gains; ``best`` and ``first`` are a reach's working arrays, the others are lists.
    """

    present: Bools
    length: Ints64
    person: Ints32
    rows_of: Ints64
    taken: Ints64
    start: Ints64
    stop: Ints64
    row: Ints32
    times: Ints32
    after: Ints64
    before: Ints64
    bound: Ints64
    touched: Ints64
    waiting: Heap
    best: Ints64
    first: Ints32
    tally: Ints64


class Clusters(NamedTuple):
    """The clusters that were found.

    ``of_row`` is the cluster of each row (-1: none); cluster c has rows ``member[start[c]:start[c + 1]]`` in the order
    in which they joined and hyper-terms ``hyper_start[c] .. hyper_start[c + 1] - 1``. Hyper-term h is the terms
    ``term[term_start[h]:term_start[h + 1]]`` in that same order, ``times`` copies of it. Of ``considered`` pairs of a row
    and a centre, ``computed`` were matched in search of the nearest.
    """

    of_row: Ints32
    start: Ints64
    member: Ints64
    hyper_start: Ints64
    term_start: Ints64
    term: Ints32
    times: Ints64
    considered: int
    computed: int


def ssc_clusters(
    bags: Bags,
    near: Near,
    order: Ints64,
    person: Ints32,
    *,
    k: int,
    omega: int,
    model: Literal["perfect", "maximum"] = "perfect",
    farthest: bool = False,
    progress: Progress | None = None,
) -> Clusters:
    """Put rows into clusters of rows of at least k people.

    Parameters
    ----------
    bags
        The rows.
    near
        The relevant terms of each term.
    order
        The rows to cluster. "First" and ties go by this order.
    person
        The person of each row, numbered from 0. A cluster takes at most one row of a person while there are rows of
        k others; the remaining rows join the nearest cluster.
    k
        The least number of people in a cluster. With fewer people in all, no row has a cluster.
    omega
        What a row pays for each occurrence that is not matched, in the unit of the distances; more than half of
        the largest distance in `near`. The maximum model has no use for it.
    model
        ``"perfect"``: the least cost, unmatched terms included. ``"maximum"``: as many pairs as there can be, then
        the least cost of those alone.
    farthest
        Seeds are the rows farthest from the cluster before, the first one is the longest; otherwise the first row.
    progress
        Called with the number of rows done and of all, after each cluster and each row that joins one later.
    """
    rows = _in_order(bags, order)
    rates = Model(omega if model == "perfect" else 0, int(near.distance.max(initial=0)))
    state = _begun(rows, person[order], len(near.start) - 1, rates)
    seed = int(state.length.argmax()) if farthest and len(order) else 0
    report = progress or (lambda _done, _rows: None)
    members: list[list[int]] = []
    centres: list[Centre] = []
    while state.tally[PEOPLE] >= k:
        joined, centre, seed = _grow(rows, near, rates, state, seed, k, farthest)
        members.append(joined.tolist())
        centres.append(centre)
        report(len(order) - int(state.tally[ROWS]), len(order))
    if members:
        _place_rest(rows, near, rates, state, members, centres, report)
    return _result(len(bags.start) - 1, order, state, members, centres)


def _in_order(bags: Bags, order: Ints64) -> Bags:
    """Return the rows in that order: from here on a row's number is its rank."""
    start, source = take_lists(bags.start, order)
    return Bags(start, bags.term[source], bags.times[source])


def _begun(rows: Bags, person: Ints32, terms: int, model: Model) -> State:
    """Return the state in which no row has a cluster."""
    number = len(rows.start) - 1
    length = list_sums(rows.start, rows.times)
    by_term = np.argsort(rows.term, kind="stable")
    start = starts_of(np.bincount(rows.term, minlength=terms))
    after, before = _chained(length * model.omega)
    rows_of = np.bincount(person).astype(np.int64)
    people = np.count_nonzero(rows_of)
    return State(
        present=np.ones(number, dtype=np.bool_),
        length=length,
        person=person,
        rows_of=rows_of,
        taken=np.full(len(rows_of), NONE, dtype=np.int64),
        start=start[:-1].copy(),
        stop=start[1:].copy(),
        row=np.repeat(np.arange(number, dtype=np.int32), np.diff(rows.start))[by_term],
        times=rows.times[by_term],
        after=after,
        before=before,
        bound=np.zeros(number, dtype=np.int64),
        touched=np.empty(number, dtype=np.int64),
        waiting=Heap(np.empty(number, np.int64), np.empty(number, np.int64), np.zeros(1, np.int64)),
        best=np.zeros(terms, dtype=np.int64),
        first=np.full(terms, NONE, dtype=np.int32),
        tally=np.array([people, number, 0, 0], dtype=np.int64),
    )


def _chained(key: Ints64) -> tuple[Ints64, Ints64]:
    """Chain rows by ascending key, equals as they are; return what follows and what precedes each row and the end."""
    chain = np.concatenate(([len(key)], np.argsort(key, kind="stable"), [len(key)])).astype(np.int64)
    after, before = np.empty(len(key) + 1, dtype=np.int64), np.empty(len(key) + 1, dtype=np.int64)
    after[chain[:-1]], before[chain[1:]] = chain[1:], chain[:-1]
    return after, before


@kernel
def _grow(
    rows: Bags,
    near: Near,
    model: Model,
    state: State,
    seed: int,
    k: int,
    farthest: bool,  # noqa: FBT001
) -> tuple[Ints64, Centre, int]:
    """Make a cluster of k around a seed; return its rows, its centre, and the next seed (any number if none is left)."""
    members, centre, following = np.empty(k, np.int64), first_centre(rows, seed), seed
    members[0] = seed
    _leave(state, seed, seed)
    barred = state.rows_of[state.person[seed]]
    for joined in range(1, k + 1):
        full = joined == k
        if full and (not farthest or state.tally[PEOPLE] < k):
            break
        reach = reach_of(near, centre, model, state.best, state.first)
        if full:
            _await_farthest(state, reach)
        else:
            _await_nearest(state, reach, seed)
        state.tally[CONSIDERED] += state.tally[ROWS] - (0 if full else barred)
        row = _first_of_waiting(rows, state, centre, reach, -1 if full else 1)
        if full:
            following = row
        else:
            centre = extended(matched(rows, row, centre, reach), centre)
            _leave(state, row, seed)
            members[joined] = row
            barred += state.rows_of[state.person[row]]
        clear_reach(reach)
    while not farthest and following < len(state.present) and not state.present[following]:
        following += 1
    return members, centre, following


@helper
def _leave(state: State, row: int, seed: int) -> None:
    """Move a row into the cluster of a seed; its person's other rows cannot join that cluster."""
    person = state.person[row]
    state.present[row], state.taken[person] = False, seed
    state.after[state.before[row]], state.before[state.after[row]] = state.after[row], state.before[row]
    state.rows_of[person] -= 1
    state.tally[ROWS] -= 1
    if state.rows_of[person] == 0:
        state.tally[PEOPLE] -= 1


@helper
def _first_of_waiting(rows: Bags, state: State, centre: Centre, reach: Reach, sign: int) -> int:
    """Return the waiting row of the least ``sign * distance`` to the centre, the first of equals.

    Rows wait in order of their lower bounds; the search ends once a bound cannot improve on the least.
    """
    heap, found, least = state.waiting, NONE, FAR
    while heap.number[0] > 0 and (heap.key[0] < least or (heap.key[0] == least and heap.node[0] < found)):
        row = pop_least(heap)
        distance = sign * distance_of(matched(rows, row, centre, reach), state.length[row], reach)
        state.tally[COMPUTED] += 1
        if distance < least or (distance == least and row < found):
            found, least = row, distance
    heap.number[0] = 0
    return found


@helper
def _await_nearest(state: State, reach: Reach, seed: int) -> None:
    """Put the rows that may be nearest into the heap by lower bounds, except rows of people who are in the cluster."""
    touched, end = _bound(state, reach, seed), len(state.present)
    short = state.after[end]  # of the rows with nothing relevant, the shortest is the nearest
    while short != end and (state.bound[short] > 0 or state.taken[state.person[short]] == seed):
        short = state.after[short]
    least = FAR
    if short != end:
        least = reach.charge * (state.length[short] + reach.total)
        push(state.waiting, least, short)
    for i in range(touched):
        row = state.touched[i]
        gains = min(state.bound[row], reach.most)
        state.bound[row] = 0
        bound = max(0, reach.charge * (state.length[row] + reach.total) - gains)
        if bound < least or (bound == least and row < short):
            push(state.waiting, bound, row)


@helper
def _bound(state: State, reach: Reach, seed: int) -> int:
    """Add up the best gains of each row's terms; return how many rows have any."""
    touched = 0
    for i in range(len(reach.term)):
        term = reach.term[i]
        best, kept = reach.best[term], state.start[term]
        for at in range(state.start[term], state.stop[term]):
            row, times = state.row[at], state.times[at]
            if not state.present[row]:
                continue
            state.row[kept], state.times[kept] = row, times
            kept += 1
            if state.taken[state.person[row]] == seed:
                continue
            if state.bound[row] == 0:
                state.touched[touched] = row
                touched += 1
            state.bound[row] += times * best
        state.stop[term] = kept
    return touched


@helper
def _await_farthest(state: State, reach: Reach) -> None:
    """Put all rows into the heap, by the negated upper bounds of their distances.

    No distance is above that of a row with nothing relevant; in the maximum model, above that of the widest pairs for all.
    """
    end = len(state.present)
    row = state.before[end]
    while row != end:
        bound = (
            reach.charge * (state.length[row] + reach.total) if reach.charge > 0 else reach.full * reach.total
        )
        push(state.waiting, -bound, row)
        row = state.before[row]


def _place_rest(
    rows: Bags,
    near: Near,
    model: Model,
    state: State,
    members: list[list[int]],
    centres: list[Centre],
    report: Progress,
) -> None:
    """Add each remaining row to the nearest cluster and update its centre."""
    pool, number = pool_centres(centres), len(state.present)
    rest = np.flatnonzero(state.present).tolist()
    for done, row in enumerate(rest, number - len(rest) + 1):
        cluster, centre = _nearest_cluster(rows, near, model, state, pool, centres, row)
        members[cluster].append(row)
        centres[cluster] = centre
        pool = replace_centre(pool, cluster, centre)
        report(done, number)


def _nearest_cluster(
    rows: Bags, near: Near, model: Model, state: State, pool: Pool, centres: list[Centre], row: int
) -> tuple[int, Centre]:
    """Return the cluster with the least distance / size for a row, the first of equals, and its centre with the row.

    The cluster of the least bound comes first, so that few others have to be matched.
    """
    bound = lower_bounds(rows, row, near, model, pool)
    nearest = promising = int((bound / pool.size).argmin())
    least, centre = match_row(rows, row, near, centres[nearest], model)
    state.tally[CONSIDERED] += len(bound)
    state.tally[COMPUTED] += 1
    # Fractions are compared by cross-multiplication, so ties are exact.
    for cluster in np.flatnonzero(bound * pool.size[nearest] <= least * pool.size).tolist():
        size, its_size = int(pool.size[cluster]), int(pool.size[nearest])
        if cluster == promising or (int(bound[cluster]) * its_size, cluster) >= (least * size, nearest):
            continue
        distance, grown = match_row(rows, row, near, centres[cluster], model)
        state.tally[COMPUTED] += 1
        if (distance * its_size, cluster) < (least * size, nearest):
            nearest, least, centre = cluster, distance, grown
    return nearest, centre


def _result(
    number: int, order: Ints64, state: State, members: list[list[int]], centres: list[Centre]
) -> Clusters:
    """Return the clusters in terms of the given row numbers."""
    sizes = np.array([len(rows) for rows in members], dtype=np.int64)
    start = starts_of(sizes)
    member = order[np.array([row for rows in members for row in rows], dtype=np.int64)]
    of_row = np.full(number, NONE, dtype=np.int32)
    of_row[member] = np.repeat(np.arange(len(members), dtype=np.int32), sizes)
    pool = pool_centres(centres)
    return Clusters(
        of_row=of_row,
        start=start,
        member=member,
        hyper_start=np.concatenate(([0], pool.stop)),
        term_start=np.concatenate((pool.first, [len(pool.term)])),
        term=pool.term,
        times=pool.times,
        considered=int(state.tally[CONSIDERED]),
        computed=int(state.tally[COMPUTED]),
    )
