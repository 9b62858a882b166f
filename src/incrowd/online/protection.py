"""One face for everything that decides on a query: the counter, the strategy, strict mode, the told past."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from incrowd.online.counters import Counter
from incrowd.online.generalizer import Decision, decide, fixed_codes, fixed_state, generalize
from incrowd.online.linked import linked_lattices, stored, told_nodes
from incrowd.online.policy import Policy
from incrowd.online.schema import AuxiliaryTable
from incrowd.online.strict import StrictChoice

__all__ = ["Protection"]

Policies = tuple[Policy, ...]


class Protection:
    """Decides what is sent in place of queries.

    Parameters
    ----------
    counter
        Who knows the guessing entropies.
    strategy, key
        How to choose, see `generalize`.
    strict
        The auxiliary table, if what is kept shall depend on which attributes a query fixes and not on their
        values: then an adversary who knows the algorithm learns nothing from what was dropped.
    """

    def __init__(
        self,
        counter: Counter,
        *,
        strategy: str = "worst-fit",
        key: bytes = b"",
        strict: AuxiliaryTable | None = None,
    ) -> None:
        self.counter = counter
        self.schema = counter.schema
        self.strategy = strategy
        self._key = key
        self._strict = strict
        self._choices: dict[Policies, StrictChoice] = {}

    def decide(
        self,
        query: Mapping[str, object],
        policies: Policies,
        *,
        user: str = "",
        disclosed: Mapping[str, frozenset[str]] | None = None,
    ) -> Decision:
        """Decide on a query of somebody who has disclosed what the ledger says."""
        if not disclosed and self._strict is None:
            return generalize(query, self.counter, policies, strategy=self.strategy, key=self._key, user=user)
        fixed = fixed_codes(query, self.schema, policies)
        protected = [policy.attribute for policy in policies]
        told = told_nodes(disclosed or {}, self.schema)
        lattices = linked_lattices(self.counter, fixed, protected, told)
        if self._strict is not None:
            rungs = self._choice(policies).rungs_for(list(fixed))
            return fixed_state(query, self.schema, lattices, policies, rungs)
        return decide(
            query, self.schema, lattices, policies, strategy=self.strategy, key=self._key, user=user
        )

    def compile(self, policies: Policies) -> None:
        """Have the machine code ready, so that the first person need not wait for it."""
        protected = {policy.attribute for policy in policies}
        free = [each for each in self.schema.attributes if each.name not in protected]
        query = {each.name: each.domain[0] for each in free[:1]}
        told = stored(dict.fromkeys(query, (0, 0)), self.schema)
        disclosed = {name: frozenset({text}) for name, text in told.items()}
        for past in ({}, disclosed):
            self.decide(query, policies, disclosed=past)

    def warm_up(self, templates: Iterable[Sequence[str]], policies: Iterable[Policies]) -> None:
        """Work out beforehand what strict mode keeps of every query that fixes some of a template's attributes."""
        if self._strict is None:
            return
        for those in policies:
            choice = self._choice(those)
            protected = {policy.attribute for policy in those}
            for template in templates:
                names = [name for name in self.schema.names if name in template and name not in protected]
                for size in range(len(names) + 1):
                    for some in itertools.combinations(names, size):
                        choice.rungs_for(some)

    def _choice(self, policies: Policies) -> StrictChoice:
        if self._strict is None:
            raise AssertionError
        if policies not in self._choices:
            self._choices[policies] = StrictChoice(self._strict, policies)
        return self._choices[policies]
