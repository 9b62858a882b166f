"""The leftover rule: what a join leaves of either tile has no owner or k of them; else whole owners are held back from it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.jit import helper
from incrowd.methods.mosaic.cover import People
from incrowd.methods.mosaic.held import count_owners, owners_by_rank

__all__ = ["UNKNOWN", "Least", "Marks", "hold_back", "marks_for"]

UNKNOWN = -1


class Least(NamedTuple):
    """How many owners who count must hold the first tile, the second, and the new one: k, or more for some kinds."""

    first: int
    second: int
    new: int


class Marks(NamedTuple):
    """For each owner the step at which they kept units of the first and of the second tile, and were held back."""

    first: Ints64
    second: Ints64
    out: Ints64


@helper
def marks_for(people: People) -> Marks:
    """Return marks that no step has set."""
    owners = len(people.counts)
    return Marks(np.zeros(owners, np.int64), np.zeros(owners, np.int64), np.zeros(owners, np.int64))


@helper
def hold_back(
    both: Ints32,
    first: Ints32,
    second: Ints32,
    rest_first: int,
    rest_second: int,
    people: People,
    marks: Marks,
    step: int,
    least: Least,
    most: int,
) -> tuple[Ints32, int, int, int]:
    """Hold owners back until what is left of both tiles has none or k, and at most `most` owners share the new tile.

    Parameters
    ----------
    both, first, second
        The units, ascending, that hold both tiles, and those that hold either.
    rest_first, rest_second
        How many owners who count keep units of either tile, or a lower bound that is enough; UNKNOWN where it takes a look at
        its units.
    people, marks
        Whose the units are; room for marks.
    step
        A number from 1 that no earlier call had.
    least, most
        The least number of owners of each tile, and the greatest of the new one.

    Returns
    -------
    tuple
        The units that are joined, none where the pair is given up; how many owners were held back; and how many who count keep
        either tile, exactly where that was UNKNOWN.
    """
    some_first, some_second = rest_first != 0, rest_second != 0
    if rest_first == UNKNOWN:
        rest_first = _mark_rest(first, both, people, marks.first, step)
    if rest_second == UNKNOWN:
        rest_second = _mark_rest(second, both, people, marks.second, step)
    sharing = count_owners(both, people)
    out = 0
    for owner in owners_by_rank(both, people):
        short_first = some_first and rest_first < least.first
        short_second = some_second and rest_second < least.second
        if not short_first and not short_second and sharing - out <= most:
            break
        helps_first, helps_second = marks.first[owner] != step, marks.second[owner] != step
        helps = (short_first and helps_first) or (short_second and helps_second) or sharing - out > most
        if people.counts[owner] and helps:
            rest_first += helps_first
            rest_second += helps_second
            some_first = some_second = True
            marks.out[owner] = step
            out += 1
    short = (some_first and rest_first < least.first) or (some_second and rest_second < least.second)
    if short or sharing - out < least.new:
        return both[:0], 0, rest_first, rest_second
    return (_without(both, people, marks.out, step) if out else both), out, rest_first, rest_second


@helper
def _mark_rest(units: Ints32, both: Ints32, people: People, mark: Ints64, step: int) -> int:
    """Mark the owners of units that are not among both; return how many of them count."""
    number = at = 0
    for unit in units:
        while at < len(both) and both[at] < unit:
            at += 1
        owner = people.owner[unit]
        if (at == len(both) or both[at] != unit) and mark[owner] != step:
            mark[owner] = step
            number += people.counts[owner]
    return number


@helper
def _without(units: Ints32, people: People, mark: Ints64, step: int) -> Ints32:
    """Return the units whose owners are not marked."""
    kept = np.empty(len(units), np.int32)
    number = 0
    for unit in units:
        if mark[people.owner[unit]] != step:
            kept[number] = unit
            number += 1
    return kept[:number]
