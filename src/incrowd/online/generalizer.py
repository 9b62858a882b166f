"""Say less: turn a query into one from which the protected attributes cannot be guessed.

Protected attributes are dropped first, always. Of what is left, a strategy chooses what to take up a rung of its
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
from incrowd.online.lattice import Lattice, Rungs
from incrowd.online.policy import Policy
from incrowd.online.schema import Attribute, AuxiliaryTable, Schema, text_of

__all__ = ["LEAST_KEY", "STRATEGIES", "Decision", "decide", "fixed_codes", "fixed_state", "generalize"]

STRATEGIES = tuple(NUMBERS)
LEAST_KEY = 16
"""The fewest bytes of a key: shorter ones can be tried out."""

_LARGEST = 2**63 - 1
_MOST_PLANS = 256
_DRAW = np.dtype(">u4")
_NO_DRAWS = np.zeros(0, dtype=np.uint32)

Lookups = tuple[tuple[str, dict[str, int], Attribute], ...]


def generalize(
    query: Mapping[str, object],
    counter: Counter | AuxiliaryTable,
    policies: Sequence[Policy],
    *,
    strategy: str = "worst-fit",
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
        One of `STRATEGIES`.
    key, user
        What random-fit draws from, together with the query: asked again, the same person gets the same
        choice, and nobody without the key can foretell it.
    """
    if isinstance(counter, AuxiliaryTable):
        counter = Scan(counter)
    plan = _plan(counter.schema, policies)
    fixed, hidden = plan.codes(query)
    lattice = counter.lattice(fixed, plan.protected)
    return _decide(plan, fixed, hidden, (lattice,), (strategy, key, user))


def decide(
    query: Mapping[str, object],
    schema: Schema,
    lattices: Sequence[Lattice],
    policies: Sequence[Policy],
    *,
    strategy: str = "worst-fit",
    key: bytes = b"",
    user: str = "",
) -> Decision:
    """Decide as `generalize` does, over lattices of the query that are already there.

    They have one shape: the query by itself, and the query together with what was told before, say. A state
    is private only if it is in all of them; its score is the least.
    """
    plan = _plan(schema, policies)
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
    plan = _plan(schema, policies)
    fixed, hidden = plan.codes(query)
    shape = lattices[0].shape
    if len(rungs) != len(shape) or not all(0 <= rung < size for rung, size in zip(rungs, shape, strict=True)):
        raise BadInputError(f"rungs must have a rung for each of the {len(shape)} attributes that are fixed")
    state = only_if_private(plan.counts(lattices), plan.minima, lattices[0].state(rungs))
    if state == TOO_LARGE:
        raise plan.too_many_digits()
    return Decision(STRICT, plan.values, fixed, hidden, lattices, state=None if state == NONE else state)


def fixed_codes(query: Mapping[str, object], schema: Schema, policies: Sequence[Policy]) -> dict[str, int]:
    """Return the query's attributes that may be sent, in the schema's order, with their values' codes."""
    return _plan(schema, policies).codes(query)[0]


class _Plan:
    """What a schema and policies come to, worked out once."""

    def __init__(self, schema: Schema, policies: Sequence[Policy]) -> None:
        self.schema = schema
        self.policies = tuple(policies)  # held: as long as they live, nothing else has their identity
        self.protected = tuple(policy.attribute for policy in policies)
        if not self.protected or len(set(self.protected)) < len(self.protected):
            raise BadInputError("policies must protect at least one attribute, and each only once")
        self.minima = np.array([_minimum(schema, policy) for policy in policies], dtype=np.int64)
        self.lookups = _lookups(schema)
        self.values = {each.name: (each.domain, *each.ladder) for each in schema.attributes}

    def codes(self, query: Mapping[str, object]) -> tuple[dict[str, int], Sequence[str]]:
        """Return the codes of the values that may be sent, in the schema's order, and the protected ones' names."""
        codes = {}
        for name, by_text, attribute in self.lookups:
            value = query.get(name)
            if value is not None:
                code = by_text.get(value) if value.__class__ is str else None
                codes[name] = attribute.code(value) if code is None else code
        if len(codes) < len(query):
            for name in query:
                self.schema[name]  # an unknown name is an error, None is "don't care"
        # A protected value was looked up too: what is no value at all is a mistake to tell of.
        hidden: tuple[str, ...] = ()
        for name in self.protected:
            if name in codes:
                del codes[name]
                hidden += (name,)
        return codes, hidden

    def counts(self, lattices: Sequence[Lattice]) -> NDArray[np.int64]:
        """Return lattices x (totals, guesses of each policy) x states."""
        if len(lattices) == 1 and lattices[0].protected == self.protected:
            return lattices[0].counts
        stacked = [[each.totals, *(each.guesses[name] for name in self.protected)] for each in lattices]
        return np.array(stacked, dtype=np.int64)

    def too_many_digits(self) -> BadInputError:
        """Return what is wrong with numbers that do not fit."""
        worst = min(zip(self.minima[:, 2].tolist(), self.protected, strict=True))[1]
        return _too_many_digits(worst)


def _minimum(schema: Schema, policy: Policy) -> tuple[int, int, int]:
    """Return a policy's Gmin = num / den, and the most rows with which all products fit 64 bits."""
    num, den = policy.minimum.numerator, policy.minimum.denominator
    most = _LARGEST // (max(len(schema[policy.attribute].domain), 1) * max(num, den))
    if not most:
        raise _too_many_digits(policy.attribute)
    return num, den, most


def _too_many_digits(attribute: str) -> BadInputError:
    return BadInputError(
        f"protect {attribute}: its number cannot be compared exactly over so many rows; write it with fewer digits"
    )


def _lookups(schema: Schema) -> Lookups:
    """Return for each attribute the codes of its values by their text; all plans of a schema share them."""
    # By identity: equal schemas may have different texts, as True == 1.
    for plan in list(_plans.values()):
        if plan.schema is schema:
            return plan.lookups
    return tuple(
        (each.name, {text_of(value): code for code, value in enumerate(each.domain)}, each)
        for each in schema.attributes
    )


_plans: dict[tuple[int, ...], _Plan] = {}


def _plan(schema: Schema, policies: Sequence[Policy]) -> _Plan:
    """Return the plan of a schema and policies. Neither can change, so who they are says what they are."""
    who = (id(schema), *map(id, policies))
    plan = _plans.get(who)
    if plan is None:
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()
        plan = _plans[who] = _Plan(schema, policies)
    return plan


def _decide(
    plan: _Plan,
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
    return Decision(strategy, plan.values, fixed, hidden, lattices, state=found, ran_out=ran_out)


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
