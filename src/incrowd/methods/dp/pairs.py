"""Pairs of items in one row of a person, for method `dp`: of people with many, some are drawn before any pair is made.

A person with n items in a row has n (n - 1) / 2 pairs there, and gives d of all at most. So of a person with more than LOOKED_AT d pairs,
repeats counted, LOOKED_AT d are drawn from all evenly, and the person's set is what was drawn: a choice from the person's own pairs alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.noise import Words, secure_words
from incrowd.core.ragged import list_sums, pairs_within, starts_of, take_lists
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints, Ints32, Ints64
from incrowd.methods.dp.sets import AT_ONCE, Sets, joined, sets_of

__all__ = ["LOOKED_AT", "Rows", "rows_of_people", "sets_of_pairs"]

LOOKED_AT = 4


class Rows(NamedTuple):
    """The rows of people, who ascend: row r has ``item[start[r]:start[r + 1]]``, ascending, and is of ``person[r]``, below `people`."""

    start: Ints64
    item: Ints32
    person: Ints
    people: int


def rows_of_people(transactions: Transactions) -> Rows:
    """Return the rows in the order of people."""
    start, item, person = transactions.indptr, transactions.items, transactions.person
    people = int(person.max(initial=-1)) + 1
    if np.any(np.diff(person) < 0):
        order = np.argsort(person, kind="stable")
        start, at = take_lists(start, order)
        item, person = item[at], person[order]
    return Rows(start, item, person, people)


def sets_of_pairs(rows: Rows, width: int, d: int, words: Words = secure_words) -> Sets:
    """Return the pairs of each person, as ``first * width + second``; `width` is the number of items."""
    lengths = np.diff(rows.start)
    pairs = starts_of(lengths * (lengths - 1) // 2)  # before each row, repeats counted
    ends = np.searchsorted(rows.person, np.arange(rows.people + 1))
    wanted = starts_of(np.minimum(np.diff(pairs[ends]), LOOKED_AT * d))  # of each person
    parts, low = [], 0
    while low < rows.people:
        high = max(low + 1, int(np.searchsorted(wanted, wanted[low] + AT_ONCE, side="right")) - 1)
        some = _rows_of(rows, low, high, ends)
        person, code = _pairs_of(some, width, LOOKED_AT * d, words)
        parts.append(sets_of(person, code, max(width, 1) ** 2, d=d, people=some.people, words=words))
        low = high
    return joined(parts)


def _rows_of(rows: Rows, low: int, high: int, ends: Ints64) -> Rows:
    """Return the rows of some people, who are numbered from 0."""
    first, last = int(ends[low]), int(ends[high])
    start = rows.start[first : last + 1]
    item = rows.item[start[0] : start[-1]]
    return Rows(start - start[0], item, rows.person[first:last] - low, high - low)


def _pairs_of(rows: Rows, width: int, most: int, words: Words) -> tuple[Ints64, Ints64]:
    """Return pairs with the person of each: all of a person who has at most so many, else so many draws."""
    lengths = np.diff(rows.start)
    ends = np.searchsorted(rows.person, np.arange(rows.people + 1))
    number = list_sums(ends, lengths * (lengths - 1) // 2)
    drawn = number > most
    few = _only(rows, ~drawn[rows.person])
    row, first, second = pairs_within(few.start)
    some_row, some_first, some_second = _drawn(rows, np.flatnonzero(drawn), most, words)
    person = np.concatenate((few.person[row], rows.person[some_row])).astype(np.int64)
    one = np.concatenate((few.item[first], rows.item[some_first])).astype(np.int64)
    other = np.concatenate((few.item[second], rows.item[some_second]))
    return person, one * width + other


def _only(rows: Rows, keep: Bools) -> Rows:
    """Return some of the rows."""
    start, at = take_lists(rows.start, np.flatnonzero(keep))
    return rows._replace(start=start, item=rows.item[at], person=rows.person[keep])


def _drawn(rows: Rows, chosen: Ints64, most: int, words: Words) -> tuple[Ints64, Ints64, Ints64]:
    """Draw pairs of some people evenly, with repeats: the row of each, and the positions of its first and second."""
    lengths = np.diff(rows.start)
    before = starts_of(lengths * (lengths - 1) // 2)
    ends = np.searchsorted(rows.person, np.arange(rows.people + 1))
    first, number = before[ends[chosen]], before[ends[chosen + 1]] - before[ends[chosen]]
    chance = (words(len(chosen) * most) >> np.uint64(24)) * 2.0**-40
    # Even but for 2^-40 or so: which of the own pairs a person gives is no part of the proof.
    place = np.repeat(first, most) + (chance * np.repeat(number, most)).astype(np.int64)
    row = np.searchsorted(before, place, side="right") - 1
    rank = place - before[row]
    # Pairs (i, j), i < j, in the order of j: the first of j is number j (j - 1) / 2. Roots of squares are exact, and far enough from others.
    j = ((1 + np.sqrt(1 + 8 * rank.astype(np.float64))) // 2).astype(np.int64)
    return row, rows.start[row] + rank - j * (j - 1) // 2, rows.start[row] + j
