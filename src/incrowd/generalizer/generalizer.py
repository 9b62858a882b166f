"""Generalize a query so that the protected attributes cannot be guessed from what is sent.

Protected attributes are always dropped first. Strategy strict, the default, then keeps the same rungs for all queries that
fix the same attributes (`incrowd.generalizer.strict`). The other strategies (Oh, Kim & Obi, IEICE Trans. Inf. & Syst. 2012,
section 4) depend on the query's values, so a provider who knows the algorithm learns from what was dropped;
`incrowd.generalizer.minimality` measures how much.

Those strategies move one attribute after another up a rung of its ladder (without a ladder: drop it) until every policy
holds. G is not monotone, so a greedy strategy may run out of attributes; then brute force is tried. If no generalization
meets all policies, the query is refused.

With several protected attributes the *score* of a query takes the place of G: the least G / Gmin over them. All
policies hold exactly if the score is at least 1, and with one protected attribute the order of scores is the
order of G. Scores are compared as exact integers. Ties: the query that keeps the most attributes, then the one with
the fewest steps up, then the one that keeps the attributes that come first in the schema.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from incrowd.core.types import Ints64
from incrowd.errors import BadInputError, check_choice
from incrowd.generalizer.counters import Counter, Scan
from incrowd.generalizer.decision import STRICT, Decision
from incrowd.generalizer.entropy import as_fraction
from incrowd.generalizer.lattice import Lattice, Lattices, Rungs
from incrowd.generalizer.plan import Plan, plan_of
from incrowd.generalizer.policy import Policy
from incrowd.generalizer.schema import AuxiliaryTable, Schema, text_of
from incrowd.generalizer.strategies import NONE, NUMBERS, RANDOM_FIT, TOO_LARGE, choose, only_if_private
from incrowd.generalizer.strict import strict_choice

__all__ = [
    "LEAST_KEY",
    "STRATEGIES",
    "decide",
    "decide_rungs",
    "fixed_codes",
    "fixed_state",
    "generalize",
]

STRATEGIES = tuple(NUMBERS)
"""The strategies that depend on a query's values; strict does not."""
LEAST_KEY = 16
"""The fewest bytes of a key: shorter ones could be found by brute force."""

_DRAW = np.dtype(">u4")
_NO_DRAWS = np.zeros(0, dtype=np.uint32)


def generalize(
    query: Mapping[str, object],
    counter: Counter | AuxiliaryTable,
    policies: Sequence[Policy],
    *,
    strategy: str = STRICT,
    key: bytes = b"",
    user: str = "",
) -> Decision:
    """Decide what to send in place of a query.

    Parameters
    ----------
    query
        Attribute -> value. None is "don't care".
    counter
        The auxiliary table (what an outsider may know), or a counter of its rows.
    policies
        What to protect, at least one; all must hold.
    strategy
        "strict" or one of `STRATEGIES`.
    key, user
        Together with the query, the seed of random-fit's choice: the same person and query always give the same
        choice, which cannot be predicted without the key.
    """
    if isinstance(counter, AuxiliaryTable):
        counter = Scan(counter)
    plan = plan_of(counter.schema, policies)
    codes = plan.codes(query)
    if strategy == STRICT:
        return decide_rungs(
            plan, codes, counter, strict_choice(counter.table, policies).rungs_for(tuple(codes[0]))
        )
    check_choice("strategy", strategy, (STRICT, *STRATEGIES))
    return _decide(plan, *codes, (counter.lattice(codes[0], plan.protected),), (strategy, key, user))


def decide(
    query: Mapping[str, object],
    schema: Schema,
    lattices: Sequence[Lattice],
    policies: Sequence[Policy],
    *,
    strategy: str,
    key: bytes = b"",
    user: str = "",
) -> Decision:
    """Decide as `generalize` does with one of `STRATEGIES`, over lattices of the query that were already counted.

    They all have the same shape: the query by itself and, for example, the query together with past disclosures. A
    state is private only if it is private in all of them; its score is the least.
    """
    plan = plan_of(schema, policies)
    return _decide(plan, *plan.codes(query), lattices, (strategy, key, user))


def fixed_state(
    query: Mapping[str, object],
    schema: Schema,
    lattices: Sequence[Lattice],
    policies: Sequence[Policy],
    rungs: Rungs,
) -> Decision:
    """Decide on a state that does not depend on the query's values: it is sent or refused.

    Parameters
    ----------
    query, schema, lattices, policies
        As for `decide`.
    rungs
        The rung of each attribute that the query fixes and that is not protected, in the schema's order.
    """
    plan = plan_of(schema, policies)
    fixed, hidden = plan.codes(query)
    shape = lattices[0].shape
    if len(rungs) != len(shape) or not all(0 <= rung < size for rung, size in zip(rungs, shape, strict=True)):
        raise BadInputError(f"rungs must have a rung for each of the {len(shape)} attributes that are fixed")
    state = only_if_private(plan.counts(lattices), plan.minima, lattices[0].state(rungs))
    if state == TOO_LARGE:
        raise plan.too_many_digits()
    found = None if state == NONE else state
    return Decision(STRICT, plan.values, fixed, hidden, Lattices(lattices), state=found)


def fixed_codes(query: Mapping[str, object], schema: Schema, policies: Sequence[Policy]) -> dict[str, int]:
    """Return the query's attributes that may be sent, in the schema's order, with their values' codes."""
    return plan_of(schema, policies).codes(query)[0]


def _decide(
    plan: Plan,
    fixed: Mapping[str, int],
    hidden: Sequence[str],
    lattices: Sequence[Lattice],
    how: tuple[str, bytes, str],
) -> Decision:
    """Choose a state; `how` is the strategy, and the key and the user that seed random-fit."""
    strategy, key, user = how
    number = NUMBERS.get(strategy)
    if number is None:
        number = NUMBERS[check_choice("strategy", strategy, STRATEGIES)]
    shape = lattices[0].shape
    draws = _draws(key, user, fixed, plan.schema, shape) if number == RANDOM_FIT else _NO_DRAWS
    state, ran_out = choose(plan.counts(lattices), _sizes(shape), plan.minima, number, draws)
    if state == TOO_LARGE:
        raise plan.too_many_digits()
    found = None if state == NONE else state
    return Decision(strategy, plan.values, fixed, hidden, Lattices(lattices), state=found, ran_out=ran_out)


@lru_cache(maxsize=1 << 12)
def _sizes(shape: Rungs) -> Ints64:
    """Return a shape as an array."""
    return np.array(shape, dtype=np.int64)


def _draws(
    key: bytes, user: str, fixed: Mapping[str, int], schema: Schema, shape: Iterable[int]
) -> NDArray[np.uint32]:
    """Return a random number for each step of random-fit, seeded by the key, the user and the query (HMAC-SHA256).

    Policies and protected values are not part of the seed: the same query with a stricter policy, or without the
    protected attribute, is generalized further along the same path and discloses nothing else.
    """
    if len(key) < LEAST_KEY:
        raise BadInputError(f"key must have at least {LEAST_KEY} bytes for random-fit (got {len(key)})")
    steps = sum(shape)
    canonical = sorted([name, text_of(schema[name].domain[code])] for name, code in fixed.items())
    message = json.dumps([user, canonical]).encode()
    stream = b""
    while len(stream) < steps * _DRAW.itemsize:
        stream += hmac.digest(key, b"%d\n%b" % (len(stream), message), "sha256")
    return np.frombuffer(stream, dtype=_DRAW).astype(np.uint32)


_SENT = 1
"""The state that would be sent; 0 is the query itself."""


def decide_rungs(
    plan: Plan, codes: tuple[Mapping[str, int], Sequence[str]], counter: Counter, rungs: Rungs
) -> Decision:
    """Send the query's values on the given rungs if that is private, else refuse. Counts one cell, no other state.

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
    counted = _RungCounts(plan, fixed, counter, rungs)
    private = plan.holds(*counted.sent)
    return Decision(STRICT, plan.values, fixed, hidden, counted, state=_SENT if private else None)


class _RungCounts:
    """The counts of two states: the query itself, and the one that would be sent."""

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
