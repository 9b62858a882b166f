"""A schema with policies, prepared once: values' codes by their text, and minima as whole numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from incrowd.core.bounded import keep
from incrowd.core.types import Ints64
from incrowd.errors import BadInputError
from incrowd.generalizer.lattice import Lattice
from incrowd.generalizer.policy import Policy
from incrowd.generalizer.schema import Attribute, Schema, text_of

__all__ = ["Plan", "plan_of"]

_LARGEST = 2**63 - 1
_MOST_PLANS = 256

Lookups = tuple[tuple[str, dict[str, int], Attribute], ...]


class Plan:
    """A schema with policies, prepared for decisions."""

    def __init__(self, schema: Schema, policies: Sequence[Policy]) -> None:
        self.schema = schema
        self.policies = tuple(policies)  # keeps them alive, so that their ids stay unique
        self.protected = tuple(policy.attribute for policy in policies)
        if not self.protected or len(set(self.protected)) < len(self.protected):
            raise BadInputError("policies must protect at least one attribute, and each only once")
        self.minima = np.array([_minimum(schema, policy) for policy in policies], dtype=np.int64)
        self.fractions = tuple((policy.minimum.numerator, policy.minimum.denominator) for policy in policies)
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
        # Protected values are looked up too, so that an invalid one is reported.
        hidden: tuple[str, ...] = ()
        for name in self.protected:
            if name in codes:
                del codes[name]
                hidden += (name,)
        return codes, hidden

    def counts(self, lattices: Sequence[Lattice]) -> Ints64:
        """Return lattices x (totals, guesses of each policy) x states."""
        if len(lattices) == 1 and lattices[0].protected == self.protected:
            return lattices[0].counts
        stacked = [[each.totals, *(each.guesses[name] for name in self.protected)] for each in lattices]
        return np.array(stacked, dtype=np.int64)

    def holds(self, rows: int, *guesses: int) -> bool:
        """Return whether all policies hold for a number of rows and the sum of i * c_i of each protected attribute."""
        for found, (num, den) in zip(guesses, self.fractions, strict=True):
            if found * den < num * rows:
                return False
        return rows > 0

    def exact_minima(self, rows: int) -> Ints64:
        """Return `minima` for a table with the given number of rows; an error if products could overflow 64 bits."""
        if rows > self.minima[:, 2].min():
            raise self.too_many_digits()
        return self.minima

    def too_many_digits(self) -> BadInputError:
        """Return the error for a policy whose numbers do not fit 64 bits."""
        worst = min(zip(self.minima[:, 2].tolist(), self.protected, strict=True))[1]
        return _too_many_digits(worst)


def _minimum(schema: Schema, policy: Policy) -> tuple[int, int, int]:
    """Return a policy's Gmin as numerator and denominator, and the most rows with which all products fit 64 bits."""
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


_plans: dict[tuple[int, ...], Plan] = {}


def plan_of(schema: Schema, policies: Sequence[Policy]) -> Plan:
    """Return the plan of a schema and policies. Both are immutable, so they are identified by their ids."""
    who = (id(schema), *map(id, policies))
    plan = _plans.get(who)
    if plan is None:
        plan = keep(_plans, who, Plan(schema, policies), _MOST_PLANS)
    return plan
