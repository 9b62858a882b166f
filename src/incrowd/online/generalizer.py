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
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import BadInputError, check_choice
from incrowd.online.lattice import Lattice, Rungs, build_lattice
from incrowd.online.policy import Policy
from incrowd.online.schema import AuxiliaryTable, Schema

__all__ = ["LEAST_KEY", "STRATEGIES", "Decision", "decide", "fixed_codes", "generalize"]

STRATEGIES = ("brute-force", "best-fit", "worst-fit", "random-fit")
LEAST_KEY = 16
"""The fewest bytes of a key: shorter ones can be tried out."""

_WITHIN_ROUNDING = 1 + 1e-9  # far above the error of one division of doubles
_WIDEST_INT64 = 2**63

Choice = Callable[[list[Rungs]], Rungs]


@dataclass(frozen=True)
class Decision:
    """What is sent in place of a query, and why. No value of the query is in its repr or its reason.

    Parameters
    ----------
    strategy
        The strategy that was asked for.
    refused
        Nothing may be sent. (An empty `kept` that is not refused is a query for everything.)
    kept
        The query to send: attribute -> value, coarser than asked where its rung is above 0.
    rungs
        For each kept attribute its rung.
    dropped
        The fixed attributes that are not sent, in the schema's order.
    entropy_before, entropy_after
        G by protected attribute, of the query without its protected attributes and of the one to send
        (empty if refused). 0 if no row matches.
    rows_before, rows_after
        The rows of the auxiliary table that match these two queries.
    reason
        A sentence that says why.
    """

    strategy: str
    refused: bool
    kept: Mapping[str, Any] = field(repr=False)
    rungs: Mapping[str, int]
    dropped: tuple[str, ...]
    entropy_before: Mapping[str, Fraction]
    entropy_after: Mapping[str, Fraction]
    rows_before: int
    rows_after: int
    reason: str

    def explain(self, *, show_values: bool = False) -> str:
        """Return the reason, and what would be sent if `show_values` (for the person's own eyes)."""
        if not show_values or self.refused:
            return self.reason
        sent = ", ".join(f"{name} = {value}" for name, value in self.kept.items())
        return f"{self.reason} Sent: {sent or 'a query for everything'}."


def generalize(
    query: Mapping[str, object],
    table: AuxiliaryTable,
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
    table
        What an outsider may know.
    policies
        What to protect, at least one; all must hold.
    strategy
        One of `STRATEGIES`.
    key, user
        What random-fit draws from, together with the query: asked again, the same person gets the same
        choice, and nobody without the key can foretell it.
    """
    fixed = fixed_codes(query, table.schema, policies)
    lattice = build_lattice(table, fixed, [policy.attribute for policy in policies])
    return decide(query, table.schema, lattice, policies, strategy=strategy, key=key, user=user)


def fixed_codes(query: Mapping[str, object], schema: Schema, policies: Sequence[Policy]) -> dict[str, int]:
    """Return the query's attributes that may be sent, in the schema's order, with their values' codes."""
    protected = [policy.attribute for policy in policies]
    if not protected or len(set(protected)) < len(protected):
        raise BadInputError("policies must protect at least one attribute, and each only once")
    for name in (*query, *protected):
        schema[name]  # an unknown name is an error
    # A protected value is looked up too: what is no value at all is a mistake to tell of.
    codes = {name: schema[name].code(query[name]) for name in schema.names if query.get(name) is not None}
    return {name: code for name, code in codes.items() if name not in protected}


def decide(
    query: Mapping[str, object],
    schema: Schema,
    lattice: Lattice,
    policies: Sequence[Policy],
    *,
    strategy: str = "worst-fit",
    key: bytes = b"",
    user: str = "",
) -> Decision:
    """Decide as `generalize` does, over a lattice of the query's entropies that is already there."""
    check_choice("strategy", strategy, STRATEGIES)
    fixed = fixed_codes(query, schema, policies)
    scores = _Scores(lattice, policies)
    chosen = None
    if strategy != "brute-force":
        chosen = _walk(scores, _choice(strategy, scores, _Draws(key, user, fixed, schema)))
    ran_out = chosen is None and strategy != "brute-force"
    if chosen is None:
        chosen = _brute_force(scores)
    return _decision(query, schema, fixed, lattice, chosen, strategy=strategy, ran_out=ran_out)


class _Scores:
    """The least G / Gmin of every state, as integers: ``least / (totals * unit)``."""

    def __init__(self, lattice: Lattice, policies: Sequence[Policy]) -> None:
        self.lattice = lattice
        self.unit = math.lcm(*(policy.minimum.numerator for policy in policies))
        scaled = []
        for policy in policies:
            factor = policy.minimum.denominator * (self.unit // policy.minimum.numerator)
            scaled.append(_times(lattice.guesses[policy.attribute], factor))
        self.least = np.minimum.reduce(scaled)
        self.private = (self.least >= _times(lattice.totals, self.unit)) & (lattice.totals > 0)

    def is_private(self, rungs: Rungs) -> bool:
        return bool(self.private[self.lattice.state(rungs)])

    def of(self, rungs: Rungs) -> Fraction:
        """Return a state's score times the unit: a number to compare, 0 if no row matches."""
        state = self.lattice.state(rungs)
        total = int(self.lattice.totals[state])
        return Fraction(int(self.least[state]), total) if total else Fraction(0)

    def tie_break(self, rungs: Rungs) -> tuple[int, int, Rungs]:
        """Return what is least for the query that keeps most."""
        dropped = sum(rung == size - 1 for rung, size in zip(rungs, self.lattice.shape, strict=True))
        return dropped, sum(rungs), rungs


def _times(numbers: NDArray[np.int64], factor: int) -> NDArray[Any]:
    """Multiply exactly: in machine integers where they are wide enough, else in Python's."""
    fits = int(numbers.max()) * factor < _WIDEST_INT64
    return numbers * factor if fits else numbers.astype(object) * factor


def _brute_force(scores: _Scores) -> Rungs | None:
    """Return the private state with the least score, or None if there is none."""
    states = np.flatnonzero(scores.private)
    if not states.size:
        return None
    # Doubles find the few states that may be the least; exact fractions decide among them.
    rough = scores.least[states].astype(np.float64) / scores.lattice.totals[states]
    near = states[rough <= rough.min() * _WITHIN_ROUNDING]
    candidates = [scores.lattice.rungs(int(state)) for state in near]
    return min(candidates, key=lambda rungs: (scores.of(rungs), scores.tie_break(rungs)))


def _walk(scores: _Scores, choose: Choice) -> Rungs | None:
    """Go up one rung of one attribute at a time until the state is private; None if nothing is left to do."""
    shape = scores.lattice.shape
    rungs = (0,) * len(shape)
    while not scores.is_private(rungs):
        ways = [
            (*rungs[:place], rungs[place] + 1, *rungs[place + 1 :])
            for place, size in enumerate(shape)
            if rungs[place] + 1 < size
        ]
        if not ways:
            return None
        rungs = choose(ways)
    return rungs


def _choice(strategy: str, scores: _Scores, draws: _Draws) -> Choice:
    """Return how a greedy strategy chooses among the states that are one rung up."""
    if strategy == "random-fit":
        draws.check_key()
        return draws.choose
    sign = 1 if strategy == "best-fit" else -1
    return lambda ways: min(ways, key=lambda rungs: (sign * scores.of(rungs), scores.tie_break(rungs)))


class _Draws:
    """Draws that depend on the key, the user and the query alone (HMAC-SHA256).

    Policies and protected values have no part in them: asking again with a stricter policy, or with the
    protected attribute left out, goes further along the same way instead of showing another side.
    """

    def __init__(self, key: bytes, user: str, fixed: Mapping[str, int], schema: Schema) -> None:
        self.key = key
        canonical = [[name, str(schema[name].domain[code])] for name, code in fixed.items()]
        self.message = json.dumps([user, sorted(canonical)]).encode()

    def check_key(self) -> None:
        if len(self.key) < LEAST_KEY:
            raise BadInputError(
                f"key must have at least {LEAST_KEY} bytes for random-fit (got {len(self.key)})"
            )

    def choose(self, ways: list[Rungs]) -> Rungs:
        """Draw one of the states that are one rung up; they tell by themselves which draw it is."""
        step = json.dumps(ways).encode()
        digest = hmac.digest(self.key, self.message + b"\n" + step, "sha256")
        return ways[int.from_bytes(digest, "big") % len(ways)]


def _decision(
    query: Mapping[str, object],
    schema: Schema,
    fixed: Mapping[str, int],
    lattice: Lattice,
    chosen: Rungs | None,
    *,
    strategy: str,
    ran_out: bool,
) -> Decision:
    """Write down what was chosen; None is a refusal."""
    start = (0,) * len(lattice.shape)
    state = zip(fixed, chosen or (), strict=False)
    rungs = {name: rung for name, rung in state if rung < schema[name].top}
    dropped = tuple(name for name in schema.names if query.get(name) is not None and name not in rungs)
    return Decision(
        strategy=strategy,
        refused=chosen is None,
        kept={name: schema[name].value(fixed[name], rung) for name, rung in rungs.items()},
        rungs=rungs,
        dropped=dropped,
        entropy_before=lattice.entropies(start),
        entropy_after={} if chosen is None else lattice.entropies(chosen),
        rows_before=int(lattice.totals[lattice.state(start)]),
        rows_after=0 if chosen is None else int(lattice.totals[lattice.state(chosen)]),
        reason=_reason(dropped, rungs, refused=chosen is None, ran_out=ran_out),
    )


def _reason(dropped: Sequence[str], rungs: Mapping[str, int], *, refused: bool, ran_out: bool) -> str:
    """Say why in a sentence that names attributes and no values."""
    if refused:
        return "Refused: no generalization of the query is hard enough to guess from, so nothing is sent."
    coarser = [name for name, rung in rungs.items() if rung]
    if not dropped and not coarser:
        return "Sent as asked: the query already meets every requirement."
    done = [f"{', '.join(dropped)} dropped"] if dropped else []
    done += [f"{', '.join(coarser)} made coarser"] if coarser else []
    how = ", found by brute force as the greedy way ran out of attributes" if ran_out else ""
    return f"Generalized ({'; '.join(done)}) so that every requirement is met{how}."
