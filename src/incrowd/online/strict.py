"""Strict mode: what is kept of a query depends on which attributes it fixes, never on their values.

Somebody who knows the algorithm learns from what was *not* sent: among the people whom a sent query fits,
those whose own query would have been generalized otherwise cannot be the one who asked (the minimality attack).
What is left of them may be easier to guess from than all of them.

In strict mode a *template*, the names of the fixed attributes, decides on which rung each of them is sent;
the cell of the table that the query then falls into is sent if it is private, and else nothing is. All people of
a cell who ask with one template send the same, so seeing it tells no more than the cell. That goes for linked
queries too: whether the next cell is sent depends on the cells sent before and on itself. Protected
attributes are no part of a template: whether somebody typed one changes nothing.

Two things are taken for granted: which template a person asks with does not depend on the protected value, and
the provider does not learn from elsewhere that a query was refused.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import BadInputError
from incrowd.online.lattice import Rungs
from incrowd.online.policy import Policy
from incrowd.online.schema import AuxiliaryTable

__all__ = ["COVERAGE", "MOST_STATES", "StrictChoice"]

COVERAGE = Fraction(9, 10)
"""The share of the people whose query is to be sent rather than refused."""
MOST_STATES = 4096
"""The most states of a template that are tried."""

_WIDEST_INT64 = 2**63


@dataclass(frozen=True)
class _Outcome:
    """What a state would do: the rows in its private cells, and the sum of its cells' squared rows."""

    rungs: Rungs
    dropped: int
    covered: int
    traffic: int

    def cost(self) -> tuple[int, int, int, Rungs]:
        return self.traffic, self.dropped, sum(self.rungs), self.rungs

    def shortfall(self) -> tuple[int, int, int, int, Rungs]:
        return -self.covered, *self.cost()


class StrictChoice:
    """Chooses for each template what is kept of its queries.

    Of all states (a rung for each attribute of the template) whose private cells hold at least the share
    `coverage` of the table's rows it takes the one with the least traffic: the rows that an answer has on
    average, where each row of the table asks for its own cell. Equal traffic: the state that keeps the most
    attributes, then the one with the fewest steps up, then the one that keeps the attributes first in the schema.
    If no state reaches the coverage, it is the one with the largest share; if no cell of any
    state is private, it is "don't care" for everything, which is refused as every cell is.

    Each template is worked out once, when it is first asked for; threads may share a choice.

    Parameters
    ----------
    table
        What an outsider may know.
    policies
        What to protect, at least one; all must hold.
    coverage
        The share of the people whose query is to be sent.
    """

    def __init__(
        self, table: AuxiliaryTable, policies: Sequence[Policy], coverage: Fraction = COVERAGE
    ) -> None:
        if not policies:
            raise BadInputError("policies must protect at least one attribute")
        if not 0 < coverage <= 1:
            raise BadInputError(f"coverage must be more than 0 and at most 1 (got {coverage})")
        self.table = table
        self.policies = tuple(policies)
        self.coverage = coverage
        self._chosen: dict[tuple[str, ...], Rungs] = {}
        self._turn = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Travel to another process without the lock."""
        return {name: value for name, value in vars(self).items() if name != "_turn"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _turn=threading.Lock())

    def rungs_for(self, names: Sequence[str]) -> Rungs:
        """Return the rungs on which a template's attributes are sent, in the schema's order, without protected ones."""
        for name in names:
            self.table.schema[name]  # an unknown name is an error
        protected = {policy.attribute for policy in self.policies}
        template = tuple(name for name in self.table.schema.names if name in names and name not in protected)
        if template not in self._chosen:
            with self._turn:  # one at a time: each needs memory for columns of its own
                if template not in self._chosen:
                    self._chosen[template] = self._choose(template)
        return self._chosen[template]

    def _choose(self, template: Sequence[str]) -> Rungs:
        tops = tuple(self.table.schema[name].top for name in template)
        states = math.prod(top + 1 for top in tops)
        if states > MOST_STATES:
            raise BadInputError(
                f"the query fixes {len(template)} attributes with {states} generalizations, more than strict "
                f"mode tries ({MOST_STATES}); fix fewer"
            )
        if not self.table.rows:
            return tops
        found = [
            self._outcome(template, rungs, tops)
            for rungs in itertools.product(*(range(top + 1) for top in tops))
        ]
        enough = [outcome for outcome in found if outcome.covered >= self.coverage * self.table.rows]
        best = min(enough, key=_Outcome.cost) if enough else min(found, key=_Outcome.shortfall)
        return best.rungs if best.covered else tops

    def _outcome(self, template: Sequence[str], rungs: Rungs, tops: Rungs) -> _Outcome:
        """Group the rows into the cells of a state and see which are private."""
        kept = {name: rung for name, rung, top in zip(template, rungs, tops, strict=True) if rung < top}
        cells, bound = _cells(self.table, kept)
        private: NDArray[np.bool_] | None = None
        for policy in self.policies:
            values = len(self.table.schema[policy.attribute].domain)
            totals, guesses = _cell_guesses(cells, bound, self.table.columns[policy.attribute], values)
            holds = _reaches(guesses, totals, policy.minimum)
            private = holds if private is None else private & holds
        return _Outcome(rungs, len(tops) - len(kept), int(totals[private].sum()), int(totals @ totals))


def _cells(table: AuxiliaryTable, kept: Mapping[str, int]) -> tuple[NDArray[np.int64], int]:
    """Return a number for each row that is the same exactly in the same cell, and a bound of the numbers."""
    cells, bound = np.zeros(table.rows, dtype=np.int64), 1
    for name, rung in kept.items():
        numbers: dict[Any, int] = {}
        attribute = table.schema[name]
        groups = [
            numbers.setdefault(attribute.value(code, rung), len(numbers))
            for code in range(len(attribute.domain))
        ]
        cells, bound = _with_digit(cells, bound, np.array(groups)[table.columns[name]], len(numbers))
    return cells, bound


def _with_digit(
    cells: NDArray[np.int64], bound: int, digit: NDArray[Any], base: int
) -> tuple[NDArray[np.int64], int]:
    """Append a digit to mixed-radix numbers; where they would be too wide, number the ones that occur first."""
    if bound * base >= _WIDEST_INT64:
        occurring, cells = np.unique(cells, return_inverse=True)
        bound = len(occurring)
    return cells * base + digit, bound * base


def _cell_guesses(
    cells: NDArray[np.int64], bound: int, column: NDArray[Any], values: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each cell that occurs, in order, its rows and the sum of i * c_i over its protected values."""
    keys, counts = np.unique(_with_digit(cells, bound, column, values)[0], return_counts=True)
    place = np.cumsum(np.diff(keys // values, prepend=-1) != 0) - 1
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    # Within each cell the counts in falling order, by one sort of whole numbers.
    most = int(counts.max())
    falling = most - np.sort(place * (most + 1) + (most - counts)) % (most + 1)
    ranks = np.arange(1, len(falling) + 1) - starts[place]
    return np.add.reduceat(falling, starts), np.add.reduceat(ranks * falling, starts)


def _reaches(guesses: NDArray[np.int64], totals: NDArray[np.int64], minimum: Fraction) -> NDArray[np.bool_]:
    """Tell where G reaches the minimum, in machine integers where they are wide enough, else in Python's."""
    left, right = minimum.denominator, minimum.numerator
    if max(int(guesses.max()) * left, int(totals.max()) * right) < _WIDEST_INT64:
        return guesses * left >= totals * right
    pairs = zip(guesses.tolist(), totals.tolist(), strict=True)
    return np.array([each * left >= total * right for each, total in pairs])
