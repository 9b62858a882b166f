"""The cells of a table: groups of rows that agree on some rungs, with the guessing entropy of protected values in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.core.types import Bools, Ints64
from incrowd.generalizer.entropy import guess_sums
from incrowd.generalizer.policy import Policy
from incrowd.generalizer.schema import AuxiliaryTable

__all__ = ["Cells", "cells_of", "guesses_left", "reaches"]

_WIDEST_INT64 = 2**63
_DENSE = 4
"""Numbers are looked up in an array if it is at most this many times as long as the table; else they are sorted."""


@dataclass(frozen=True)
class Cells:
    """The rows of a table, divided into cells of rows that agree on some attributes.

    Parameters
    ----------
    ids
        The cell of each row, numbered from 0.
    totals
        The number of rows of each cell.
    guesses
        For each policy and cell the sum of i * c_i over its protected values.
    """

    ids: Ints64
    totals: Ints64
    guesses: tuple[Ints64, ...]

    def private(self, policies: Sequence[Policy]) -> Bools:
        """Return for each cell whether all policies hold in it."""
        holds = np.ones(len(self.totals), dtype=bool)
        for policy, guesses in zip(policies, self.guesses, strict=True):
            holds &= reaches(guesses, self.totals, policy.minimum)
        return holds


def cells_of(table: AuxiliaryTable, kept: Mapping[str, int], policies: Sequence[Policy]) -> Cells:
    """Divide the rows of a table, which must not be empty, into cells.

    Parameters
    ----------
    table
        The auxiliary table.
    kept
        The attributes that rows of a cell agree on, each with the rung of its ladder.
    policies
        What is protected.
    """
    numbers, bound = np.zeros(table.rows, dtype=np.int64), 1
    for name, rung in kept.items():
        of_value: dict[Any, int] = {}
        attribute = table.schema[name]
        groups = [
            of_value.setdefault(attribute.value(code, rung) if rung else code, len(of_value))
            for code in range(len(attribute.domain))
        ]
        numbers, bound = _with_digit(numbers, bound, np.array(groups)[table.columns[name]], len(of_value))
    ids, cells = _dense(numbers, bound)
    guesses = tuple(
        _guesses(ids, cells, table.columns[policy.attribute], len(table.schema[policy.attribute].domain))
        for policy in policies
    )
    return Cells(ids, np.bincount(ids, minlength=cells), guesses)


def guesses_left(group: Ints64, value: Ints64, weight: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return for each group that occurs, in order, its weight and the sum of i * w_i over its values.

    Weights of the same group and value are added. Weights are whole numbers or real ones.
    """
    order = np.lexsort((value, group))
    group, value, weight = group[order], value[order], weight[order]
    new = np.ones(len(group), dtype=bool)
    new[1:] = (np.diff(group) != 0) | (np.diff(value) != 0)
    starts = np.flatnonzero(new)
    group, weight = group[starts], np.add.reduceat(weight, starts)
    order = np.lexsort((-weight, group))  # within each group the weights in falling order
    group, weight = group[order], weight[order]
    starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
    ranks = np.arange(1, len(group) + 1) - np.repeat(starts, np.diff(starts, append=len(group)))
    return np.add.reduceat(weight, starts), np.add.reduceat(ranks * weight, starts)


def reaches(guesses: Ints64, totals: Ints64, minimum: Fraction) -> Bools:
    """Return where G reaches the minimum. Uses machine integers where they are wide enough, else Python's."""
    left, right = minimum.denominator, minimum.numerator
    if max(int(guesses.max()) * left, int(totals.max()) * right) < _WIDEST_INT64:
        return np.asarray(guesses * left >= totals * right)
    pairs = zip(guesses.tolist(), totals.tolist(), strict=True)
    return np.array([each * left >= total * right for each, total in pairs])


def _with_digit(numbers: Ints64, bound: int, digit: NDArray[Any], base: int) -> tuple[Ints64, int]:
    """Append a digit to mixed-radix numbers; where they would be too wide, number the ones that occur first."""
    if bound * base >= _WIDEST_INT64:
        numbers, bound = _dense(numbers, bound)
    return numbers * base + digit, bound * base


def _dense(numbers: Ints64, bound: int) -> tuple[Ints64, int]:
    """Renumber the numbers that occur from 0, in order; return the new numbers and how many there are."""
    if bound <= _DENSE * len(numbers):
        occurs = np.zeros(bound, dtype=bool)
        occurs[numbers] = True
        places = np.cumsum(occurs) - 1
        return places[numbers], int(places[-1]) + 1
    found, places = np.unique(numbers, return_inverse=True)
    return places, len(found)


def _guesses(ids: Ints64, cells: int, column: NDArray[Any], values: int) -> Ints64:
    """Return for each cell the sum of i * c_i over its protected values."""
    if cells * values <= _DENSE * len(ids):
        counts = np.bincount(ids * values + column, minlength=cells * values)
        return guess_sums(counts.reshape(cells, values))
    return guesses_left(ids, column.astype(np.int64), np.ones(len(ids), dtype=np.int64))[1]
