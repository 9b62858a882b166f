"""Say less: turn a query into one from which the protected attributes cannot be guessed.

Protected attributes are dropped first, always. Strategy strict, the default, then keeps of all queries that fix the
same attributes the same (`incrowd.online.strict`). The others look at the query's values, so that a provider who knows
the algorithm learns from what was dropped: how much, `incrowd.online.minimality` says.

Of what is left, such a strategy chooses what to take up a rung of its
ladder (without a ladder: to drop) until every policy holds. G is not monotone, so a greedy strategy may run
out of attributes: then brute force is tried. If no generalization holds, the query is refused.

With several protected attributes the *score* of a query stands for G: the least G / Gmin over them. All
policies hold exactly if the score is at least 1, and with one protected attribute the order of scores is the
order of G. Scores are compared as integers, never rounded. Equal scores: the query that keeps the most
attributes, then the one with the fewest steps up, then the one that keeps the attributes first in the schema.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import BadInputError, check_choice
from incrowd.online.choose import NONE, NUMBERS, RANDOM_FIT, TOO_LARGE, choose, only_if_private
from incrowd.online.counters import Counter, Scan
from incrowd.online.decision import STRICT, Decision
from incrowd.online.lattice import Lattice, Lattices, Rungs
from incrowd.online.plan import Plan, plan_of
from incrowd.online.policy import Policy
from incrowd.online.schema import AuxiliaryTable, Schema, text_of
from incrowd.online.settle import settle
from incrowd.online.strict import strict_choice

__all__ = ["LEAST_KEY", "STRATEGIES", "Decision", "decide", "fixed_codes", "fixed_state", "generalize"]

STRATEGIES = tuple(NUMBERS)
"""The strategies that look at a query's values; strict is not among them."""
LEAST_KEY = 16
"""The fewest bytes of a key: shorter ones can be tried out."""

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
        What an outsider may know: the auxiliary table, or who counts its rows.
    policies
        What to protect, at least one; all must hold.
    strategy
        "strict" or one of `STRATEGIES`.
    key, user
        What random-fit draws from, together with the query: asked again, the same person gets the same
        choice, and nobody without the key can foretell it.
    """
    if isinstance(counter, AuxiliaryTable):
        counter = Scan(counter)
    plan = plan_of(counter.schema, policies)
    codes = plan.codes(query)
    if strategy == STRICT:
        return settle(plan, codes, counter, strict_choice(counter.table, policies).rungs_for(tuple(codes[0])))
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
    """Decide as `generalize` does by one of `STRATEGIES`, over lattices of the query that are already there.

    They have one shape: the query by itself, and the query together with what was told before, say. A state
    is private only if it is in all of them; its score is the least.
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
    """Decide on a state that was fixed in advance, whatever the query's values: it is sent or refused.

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
    """Choose a state; `how` is the strategy, and the key and the user that random-fit draws from."""
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
def _sizes(shape: Rungs) -> NDArray[np.int64]:
    """Return a shape as an array."""
    return np.array(shape, dtype=np.int64)


def _draws(
    key: bytes, user: str, fixed: Mapping[str, int], schema: Schema, shape: Iterable[int]
) -> NDArray[np.uint32]:
    """Return a number for each step of random-fit, from the key, the user and the query alone (HMAC-SHA256).

    Policies and protected values have no part in them: asking again with a stricter policy, or with the
    protected attribute left out, goes further along the same way instead of showing another side.
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
