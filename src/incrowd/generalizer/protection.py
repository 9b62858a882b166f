"""Protection: decides on queries, with a counter, a strategy and past disclosures."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from incrowd.core.bounded import keep
from incrowd.errors import check_choice
from incrowd.generalizer.counters import Counter
from incrowd.generalizer.decision import STRICT, Decision
from incrowd.generalizer.generalizer import (
    STRATEGIES,
    decide,
    decide_rungs,
    fixed_codes,
    fixed_state,
    generalize,
)
from incrowd.generalizer.lattice import Lattice
from incrowd.generalizer.linked import linked_lattices, past_nodes, stored
from incrowd.generalizer.plan import plan_of
from incrowd.generalizer.policy import Policy
from incrowd.generalizer.schema import Node
from incrowd.generalizer.strict import StrictChoice, strict_choice

__all__ = ["Protection"]

Policies = tuple[Policy, ...]
Disclosed = Mapping[str, frozenset[str]]
_MOST_KEPT = 1 << 12


class Protection:
    """Decides what is sent in place of queries.

    Parameters
    ----------
    counter
        Counts the rows of the auxiliary table.
    strategy
        The strategy, see `generalize`. Strict, the default, needs the counter's table.
    key
        The key that seeds random-fit.
    parts
        Whether every part of a person's disclosures to a provider must be private, or only the new query and all of
        them together, see `incrowd.generalizer.linked`.
    """

    def __init__(
        self, counter: Counter, *, strategy: str = STRICT, key: bytes = b"", parts: bool = True
    ) -> None:
        check_choice("strategy", strategy, (STRICT, *STRATEGIES))
        self.counter = counter
        self.schema = counter.schema
        self.strategy = strategy
        self._key = key
        self._table = counter.table if strategy == STRICT else None
        self._parts = parts
        self._choices: dict[Policies, StrictChoice] = {}
        self._same: dict[tuple[int, ...], tuple[Policies, StrictChoice]] = {}
        self._nodes: dict[tuple[str, frozenset[str]], tuple[Node, ...]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what depends on the ids of policies, which are other objects in another process."""
        return self.__dict__ | {"_same": {}}

    def decide(
        self,
        query: Mapping[str, object],
        policies: Policies,
        *,
        user: str = "",
        disclosed: Disclosed | None = None,
    ) -> Decision:
        """Decide on a person's query; `disclosed` are the past disclosures in the ledger, None without a ledger."""
        linked = disclosed is not None and bool(disclosed or self._parts)
        if self.strategy == STRICT:
            plan = plan_of(self.schema, policies)
            codes = plan.codes(query)
            rungs = self._choice(policies).rungs_for(tuple(codes[0]))
            if not linked:
                return decide_rungs(plan, codes, self.counter, rungs)
            return fixed_state(
                query, self.schema, self._linked(codes[0], policies, disclosed), policies, rungs
            )
        if not linked:
            return generalize(query, self.counter, policies, strategy=self.strategy, key=self._key, user=user)
        lattices = self._linked(fixed_codes(query, self.schema, policies), policies, disclosed)
        return decide(
            query, self.schema, lattices, policies, strategy=self.strategy, key=self._key, user=user
        )

    def _linked(
        self, fixed: Mapping[str, int], policies: Policies, disclosed: Disclosed | None
    ) -> list[Lattice]:
        """Return the lattices in which a state of the query must be private together with past disclosures."""
        protected = [policy.attribute for policy in policies]
        return linked_lattices(
            self.counter, fixed, protected, self._past_nodes(disclosed or {}), parts=self._parts
        )

    def compile(self, policies: Policies) -> None:
        """Compile the kernels, so that the first request need not wait for it."""
        protected = {policy.attribute for policy in policies}
        free = [each for each in self.schema.attributes if each.name not in protected]
        query = {each.name: each.domain[0] for each in free[:1]}
        entries = stored(dict.fromkeys(query, (0, 0)), self.schema)
        disclosed = {name: frozenset({text}) for name, text in entries.items()}
        for past in (None, {}, disclosed):
            self.decide(query, policies, disclosed=past)

    def warm_up(self, templates: Iterable[Sequence[str]], policies: Iterable[Policies]) -> None:
        """Compute in advance what strategy strict keeps of every query that fixes some of a template's attributes."""
        if self.strategy != STRICT:
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
        """Return the strict choice for some policies, looked up by their ids, which is faster than comparing them."""
        which = tuple(map(id, policies))
        found = self._same.get(which)
        if found is None:
            if policies not in self._choices:
                self._choices[policies] = strict_choice(self._table, policies)
            found = keep(self._same, which, (policies, self._choices[policies]), _MOST_KEPT)
        return found[1]

    def _past_nodes(self, disclosed: Disclosed) -> dict[str, tuple[Node, ...]]:
        """Parse past disclosures, each text once."""
        past = {}
        for name, texts in disclosed.items():
            nodes = self._nodes.get((name, texts))
            if nodes is None:
                nodes = past_nodes({name: texts}, self.schema)[name]
                keep(self._nodes, (name, texts), nodes, _MOST_KEPT)
            past[name] = nodes
        return past
