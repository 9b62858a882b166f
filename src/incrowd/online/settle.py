"""Decide on a state that was fixed in advance: only the cell that it falls into is counted, no other state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from incrowd.online.counters import Counter
from incrowd.online.decision import STRICT, Decision
from incrowd.online.entropy import as_fraction
from incrowd.online.lattice import Rungs
from incrowd.online.plan import Plan

__all__ = ["settle"]

_SENT = 1
"""The state that would be sent; 0 is the query itself."""


def settle(
    plan: Plan, codes: tuple[Mapping[str, int], Sequence[str]], counter: Counter, rungs: Rungs
) -> Decision:
    """Send the query's values on the given rungs if that is private, or refuse it.

    Parameters
    ----------
    plan
        The schema and the policies.
    codes
        The query, see `Plan.codes`.
    counter
        What counts the rows.
    rungs
        The rung of each attribute that the query fixes and that is not protected, in the schema's order.
    """
    fixed, hidden = codes
    counted = _Settled(plan, fixed, counter, rungs)
    private = plan.holds(*counted.sent)
    return Decision(STRICT, plan.values, fixed, hidden, counted, state=_SENT if private else None)


class _Settled:
    """Counts the cells of two states: the query itself, and what would be sent."""

    __slots__ = ("_counter", "_fixed", "_plan", "_rungs", "sent")

    def __init__(self, plan: Plan, fixed: Mapping[str, int], counter: Counter, rungs: Rungs) -> None:
        self._plan = plan
        self._fixed = fixed
        self._counter = counter
        self._rungs = rungs
        self.sent = self._cell(rungs)
        """The rows of the state that would be sent, and the guesses of each protected attribute."""

    def rungs(self, state: int) -> Rungs:
        """Return the rungs of a state."""
        return self._rungs if state == _SENT else (0,) * len(self._rungs)

    def rows(self, state: int) -> int:
        """Return the rows that match a state."""
        return self._counts(state)[0]

    def entropies(self, state: int) -> dict[str, Fraction]:
        """Return G by protected attribute."""
        rows, *guesses = self._counts(state)
        return {
            name: as_fraction(found, rows) for name, found in zip(self._plan.protected, guesses, strict=True)
        }

    def _counts(self, state: int) -> tuple[int, ...]:
        return self.sent if state == _SENT else self._cell(self.rungs(state))

    def _cell(self, rungs: Rungs) -> tuple[int, ...]:
        values = self._plan.values
        nodes = {
            name: (code, rung)
            for (name, code), rung in zip(self._fixed.items(), rungs, strict=True)
            if rung < len(values[name])
        }
        return self._counter.cell(nodes, self._plan.protected)
