"""The pairs of tiles that joining begins with. Finding them takes about half of the time; threads share it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from incrowd.core.ragged import starts_of
from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.jit import kernel
from incrowd.methods.mosaic.beside import IN_PEOPLE, IN_UNITS, beside_for, count_beside, forget, list_beside
from incrowd.methods.mosaic.cover import Labels, People
from incrowd.methods.mosaic.heap import (
    COLUMNS,
    OLDER,
    PAIR,
    SCORE,
    SEEN,
    UNITS,
    YOUNGER,
    Heap,
    begin_of,
    heap_of,
    with_begin,
    with_row,
)
from incrowd.methods.mosaic.slots import Meetings, meetings_of
from incrowd.methods.mosaic.state import State, score_of

__all__ = ["first_pairs"]

PARTS = 8  # for each thread; they take different times


class Found(NamedTuple):
    """Pairs as a heap has them, by the younger tile: what is known of each, without where its units begin; and its score."""

    line: Ints32
    entry: Ints64


def first_pairs(
    state: State, labels: Labels, people: People, power: float, *, number: int, units: int, threads: int
) -> tuple[Heap, Meetings]:
    """Return the pairs of the first `number` tiles that pay and have owners enough, with the units of each."""
    work = np.cumsum(state.tiles.units[:number])
    shares = np.linspace(0, work[-1] if number else 0, PARTS * threads + 1)[1:-1]
    bounds = [0, *np.searchsorted(work, shares).tolist(), number]

    def part(i: int) -> Found:
        return Found(*_find(bounds[i], bounds[i + 1], state, labels, people, units, power))

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(part, range(PARTS * threads)))
        ends = starts_of([len(one.line) for one in parts])
        line, entry = _in_one(parts, int(ends[-1]))
        found = line[: ends[-1]]
        begin = starts_of(found[:, UNITS])
        with_begin(found, begin[:-1])
        entry[: ends[-1], PAIR] = np.arange(len(found))
        pairs = meetings_of(int(begin[-1]))
        each = np.array_split(found, ends[1:-1])
        list(pool.map(lambda some: _list(some, state, number, pairs), each))
    return heap_of(line, entry, len(found)), pairs


def _in_one(parts: list[Found], number: int) -> Found:
    """Return the pairs of all parts, which are freed, in arrays with room for more: what is not written yet takes no memory."""
    line, entry = np.empty((2 * number + 1, COLUMNS), np.int32), np.empty((2 * number + 1, 2), np.int64)
    while parts:
        some = parts.pop()
        line[number - len(some.line) : number] = some.line
        entry[number - len(some.line) : number] = some.entry
        number -= len(some.line)
    return Found(line, entry)


@kernel
def _find(
    first: int, stop: int, state: State, labels: Labels, people: People, units: int, power: float
) -> tuple[Ints32, Ints64]:
    """Find the pairs of some tiles with older ones."""
    tiles, lists, held = state.tiles, state.lists.value, state.held
    line, entry, used = np.empty((1024, COLUMNS), np.int32), np.empty((1024, 2), np.int64), 0
    beside = beside_for(stop)
    for tile in range(first, stop):
        own, kinds = lists[tiles.begin[tile] : tiles.end[tile]], tiles.kinds[tile]
        need = labels.needs.people[kinds]
        touched = count_beside(tile, own, held, people, beside, tiles.people[tile], need)
        for i in range(touched):
            other = beside.touched[i]
            if beside.counted[other, IN_PEOPLE] >= labels.needs.people[kinds | tiles.kinds[other]]:
                both = beside.counted[other, IN_UNITS]
                score = score_of(both, tile, other, tiles, labels, units, power)
                if score > 0:
                    line, entry = with_row(line, used), with_row(entry, used)
                    line[used, YOUNGER], line[used, OLDER] = tile, other
                    line[used, UNITS], line[used, SEEN] = both, 0
                    entry[used, SCORE] = score
                    used += 1
        forget(beside, touched)
    return line[:used].copy(), entry[:used].copy()


@kernel
def _list(line: Ints32, state: State, number: int, pairs: Meetings) -> None:
    """Write down the units of some pairs, all those of each younger tile."""
    tiles, lists, beside = state.tiles, state.lists.value, beside_for(number)
    at = 0
    while at < len(line):
        tile, stop = line[at, YOUNGER], at
        while stop < len(line) and line[stop, YOUNGER] == tile:
            beside.to[line[stop, OLDER]] = begin_of(line[stop]) + 1
            stop += 1
        list_beside(tile, lists[tiles.begin[tile] : tiles.end[tile]], state.held, beside, pairs)
        for pair in range(at, stop):
            beside.to[line[pair, OLDER]] = 0
        at = stop
