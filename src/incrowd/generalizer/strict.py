"""Strategy strict: what is kept of a query depends on which attributes it fixes, never on their values.

A provider that knows the algorithm also learns from what was *not* sent: among the people who match a disclosure, it can
exclude those whose own query would have been generalized differently (the minimality attack). The protected attribute
may be easier to guess among the remaining people than among all.

Here the *template*, the names of the fixed attributes, determines the rung on which each of them is sent. If the
resulting cell of the table is private, it is sent, else nothing is. All people of a cell who use one template send the
same, so the disclosure reveals no more than the cell. This also holds for linked queries: whether the next cell is sent
depends only on that cell and on the cells sent before. Protected attributes are not part of a template: whether a query
contains them changes nothing.

Two assumptions: which template a person uses does not depend on the protected value, and the provider does not learn
from another source that a query was refused.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from incrowd.core.bounded import keep
from incrowd.errors import BadInputError
from incrowd.generalizer.cells import cells_of
from incrowd.generalizer.lattice import Rungs
from incrowd.generalizer.policy import Policy
from incrowd.generalizer.schema import AuxiliaryTable

__all__ = ["COVERAGE", "MOST_STATES", "StrictChoice", "strict_choice"]

COVERAGE = Fraction(9, 10)
"""The share of people whose query should be sent rather than refused."""
MOST_STATES = 4096
"""The most states of a template that are tried."""

_MOST_CHOICES = 16


@dataclass(frozen=True)
class _Outcome:
    """The effect of a state: the rows in its private cells, and the sum of its cells' squared rows."""

    rungs: Rungs
    dropped: int
    covered: int
    traffic: int

    def cost(self) -> tuple[int, int, int, Rungs]:
        return self.traffic, self.dropped, sum(self.rungs), self.rungs

    def shortfall(self) -> tuple[int, int, int, int, Rungs]:
        return -self.covered, *self.cost()


class StrictChoice:
    """Chooses for each template the rungs on which its attributes are sent.

    Of all states (a rung for each attribute of the template) whose private cells hold at least the share
    `coverage` of the table's rows it takes the one with the least traffic: the average number of rows of an
    answer if each row of the table queries its own cell. Ties: the state that keeps the most attributes, then the one
    with the fewest steps up, then the one that keeps the attributes that come first in the schema. If no state reaches
    the coverage, it is the one with the largest share; if no cell of any state is private, it is "don't care" for
    everything, which is refused like every other cell.

    Each template is computed once, on first use; threads may share a choice.

    Parameters
    ----------
    table
        The auxiliary table.
    policies
        What to protect, at least one; all must hold.
    coverage
        The share of people whose query should be sent.
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
        self._parted: dict[tuple[tuple[str, int], ...], tuple[int, int]] = {}
        self._turn = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the lock out of the pickle."""
        return {name: value for name, value in vars(self).items() if name != "_turn"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _turn=threading.Lock())

    def rungs_for(self, names: Sequence[str]) -> Rungs:
        """Return the rungs on which a template's attributes are sent, in the schema's order, without protected ones."""
        known = self._chosen.get(tuple(names))
        if known is not None:
            return known
        for name in names:
            self.table.schema[name]  # an unknown name is an error
        protected = {policy.attribute for policy in self.policies}
        template = tuple(name for name in self.table.schema.names if name in names and name not in protected)
        if template not in self._chosen:
            with self._turn:  # one at a time, since each computation needs memory for whole columns
                if template not in self._chosen:
                    self._chosen[template] = self._choose(template)
        return self._chosen[template]

    def _choose(self, template: Sequence[str]) -> Rungs:
        tops = tuple(self.table.schema[name].top for name in template)
        states = math.prod(top + 1 for top in tops)
        if states > MOST_STATES:
            raise BadInputError(
                f"the query fixes {len(template)} attributes with {states} generalizations, more than strategy "
                f"strict tries ({MOST_STATES}); fix fewer"
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
        """Divide the rows into the cells of a state and count the private ones; templates share the results."""
        kept = tuple(
            (name, rung) for name, rung, top in zip(template, rungs, tops, strict=True) if rung < top
        )
        if kept not in self._parted:
            cells = cells_of(self.table, dict(kept), self.policies)
            covered = int(cells.totals[cells.private(self.policies)].sum())
            self._parted[kept] = covered, int(cells.totals @ cells.totals)
        return _Outcome(rungs, len(tops) - len(kept), *self._parted[kept])


_choices: dict[tuple[int, ...], StrictChoice] = {}


def strict_choice(table: AuxiliaryTable | None, policies: Sequence[Policy]) -> StrictChoice:
    """Return the strict choice for a table and policies; the last few are cached, with their templates."""
    if table is None:
        raise BadInputError(
            "strategy strict needs the auxiliary table, which is not pickled with a counter; "
            "create the Protection before pickling, or give the table itself"
        )
    # Both are immutable, so their ids identify them; the choice keeps them alive.
    which = (id(table), *map(id, policies))
    choice = _choices.get(which)
    if choice is None:
        choice = keep(_choices, which, StrictChoice(table, policies), _MOST_CHOICES)
    return choice
