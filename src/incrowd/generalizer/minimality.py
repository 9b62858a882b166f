"""The minimality attack: what a provider that knows the table and the algorithm can guess.

Among the people who match a disclosure, such a provider keeps only those whose own query would have been generalized to
exactly that. The distribution of the protected attribute among them is the *posterior*. A query that is private in the
table may still be below the policy's minimum in the posterior.

The posterior is computed exactly. What is sent depends only on a person's values on the *template* (the attributes that
the query fixes), so the strategy decides once for each combination of values that occurs; people are then counted by
what they send and by protected value. Two providers are considered:

- *template known*: it knows which attributes the original query fixed, for example because a form always has them;
- *template not known*: it weights all templates by how frequent they are.

For random-fit the provider does not know the key: each person is counted with the probability that their query is
generalized to this disclosure. These are real numbers, compared with a tolerance of 1e-9; for all other strategies
everything is a whole number. Each row of the table is a person who sends a first query with their own values. Linked
queries are not considered.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.core.types import Bools, Ints64
from incrowd.errors import BadInputError, check_choice
from incrowd.generalizer.cells import Cells, cells_of, guesses_left, reaches
from incrowd.generalizer.decision import STRICT
from incrowd.generalizer.lattice import Rungs, check_states
from incrowd.generalizer.plan import plan_of
from incrowd.generalizer.policy import Policy
from incrowd.generalizer.schema import AuxiliaryTable
from incrowd.generalizer.strategies import NUMBERS, RANDOM_FIT, chances, choose_each
from incrowd.generalizer.strict import StrictChoice

__all__ = ["Posterior", "Templates", "posterior", "usual_templates"]

Templates = Mapping[tuple[str, ...], int]
"""The relative frequency of each template, as whole numbers."""

_BLOCK = 1 << 21  # counts that a strategy chooses among at a time
_PENDING = 1 << 22  # entries of the posterior that are collected before they are added up
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Posterior:
    """The result of the attack, as shares between 0 and 1; each disclosure is weighted by its template's frequency.

    Parameters
    ----------
    known
        The share of disclosures below the policy's minimum for a provider that knows the template.
    unknown
        The same for a provider that does not know the template.
    refused
        The share of queries that are refused.
    fetched
        The share of the table that matches what is sent, on average over the disclosures.
    """

    known: float
    unknown: float
    refused: float
    fetched: float


def usual_templates(names: Sequence[str]) -> dict[tuple[str, ...], int]:
    """Return all templates of some attributes, where each is fixed with probability 2/3, as in the experiments."""
    return {
        some: 2 ** len(some)
        for size in range(len(names), -1, -1)
        for some in itertools.combinations(names, size)
    }


def posterior(
    table: AuxiliaryTable, policies: Sequence[Policy], strategy: str, templates: Templates
) -> Posterior:
    """Let every row of a table send a query with its own values, and attack what is sent.

    Parameters
    ----------
    table
        What the provider knows, and the people who send queries.
    policies
        What is protected; a disclosure is below the minimum if some policy does not hold.
    strategy
        How queries are generalized.
    templates
        The attributes that queries fix, and how frequent each template is. Protected ones are never sent.
    """
    check_choice("strategy", strategy, (STRICT, *NUMBERS))
    if not table.rows:
        raise BadInputError("table must have rows")
    attack = _Attack(table, policies, strategy)
    for template, weight in templates.items():
        attack.add_template(template, weight)
    return attack.result()


@dataclass(frozen=True)
class _Disclosures:
    """What people send with one template.

    Parameters
    ----------
    person
        Groups of people with the same values on the template, in order, once for every query that they may send.
    number
        The number of that query, among all queries of all templates.
    chance
        The probability that these people send it.
    rows
        How many rows of the table it matches.
    """

    person: Ints64
    number: Ints64
    chance: NDArray[Any]
    rows: Ints64


class _Posteriors:
    """People counted by what they send and by protected value, over all templates."""

    def __init__(self) -> None:
        self.parts: list[tuple[NDArray[Any], ...]] = []

    def add(self, number: Ints64, value: Ints64, weight: NDArray[Any]) -> None:
        self.parts.append((number, value, weight))
        if sum(len(part[0]) for part in self.parts) > _PENDING:
            self.parts = [self.all()]

    def all(self) -> tuple[NDArray[Any], ...]:
        """Return the entries, with the weights of the same query and value added up."""
        number, value, weight = (np.concatenate(columns) for columns in zip(*self.parts, strict=True))
        order = np.lexsort((value, number))
        number, value, weight = number[order], value[order], weight[order]
        new = np.ones(len(number), dtype=bool)
        new[1:] = (np.diff(number) != 0) | (np.diff(value) != 0)
        starts = np.flatnonzero(new)
        return number[starts], value[starts], np.add.reduceat(weight, starts)


class _Attack:
    """Counts what people send, one template after another."""

    def __init__(self, table: AuxiliaryTable, policies: Sequence[Policy], strategy: str) -> None:
        self.table = table
        self.policies = tuple(policies)
        self.strategy = strategy
        self.minima = plan_of(table.schema, self.policies).exact_minima(table.rows)
        self.choice = StrictChoice(table, self.policies)
        self.cells: dict[tuple[tuple[str, int], ...], tuple[int, Cells]] = {}
        self.queries = 0
        self.counted = [_Posteriors() for _ in self.policies]
        self.issued, self.sent, self.below, self.fetched = 0, 0.0, 0.0, 0.0

    def add_template(self, template: Sequence[str], weight: int) -> None:
        """Let every person send a query with a template."""
        schema, protected = self.table.schema, {policy.attribute for policy in self.policies}
        for name in template:
            schema[name]  # an unknown name is an error
        names = [name for name in schema.names if name in template and name not in protected]
        _, people = self._parted(tuple((name, 0) for name in names))
        disclosures = self._disclosures(names, people)
        self.issued += weight * self.table.rows
        if not len(disclosures.person):
            return
        carried = people.totals[disclosures.person] * disclosures.chance
        self.sent += weight * float(carried.sum())
        self.fetched += weight * float(carried @ disclosures.rows)
        entries = [self._entries(disclosures, people.ids, policy.attribute) for policy in self.policies]
        self.below += weight * self._below(entries)
        for counted, (number, value, many) in zip(self.counted, entries, strict=True):
            counted.add(number, value, many * weight)

    def result(self) -> Posterior:
        """Return the shares."""
        sent = self.sent or 1.0
        unknown = self._below([counted.all() for counted in self.counted]) if self.sent else 0.0
        return Posterior(
            known=self.below / sent,
            unknown=unknown / sent,
            refused=1 - self.sent / self.issued if self.issued else 0.0,
            fetched=self.fetched / sent / self.table.rows,
        )

    def _below(self, entries: Sequence[tuple[NDArray[Any], ...]]) -> float:
        """Return the weight of all disclosures for which some policy does not hold among the people who send them."""
        below: Bools | None = None
        for policy, (number, value, weight) in zip(self.policies, entries, strict=True):
            totals, guesses = guesses_left(number, value, weight)
            some = _falls_below(guesses, totals, policy)
            below = some if below is None else below | some
        return float(totals[below].sum())

    def _entries(self, disclosures: _Disclosures, ids: Ints64, attribute: str) -> tuple[NDArray[Any], ...]:
        """Return query, protected value and number of people, for everything that may be sent."""
        values = len(self.table.schema[attribute].domain)
        pairs, people = np.unique(
            ids.astype(np.int64) * values + self.table.columns[attribute], return_counts=True
        )
        person, value = pairs // values, pairs % values
        many = np.bincount(disclosures.person, minlength=int(person[-1]) + 1)
        first = np.cumsum(many) - many
        pair = np.repeat(np.arange(len(pairs)), many[person])
        start = np.repeat(np.cumsum(many[person]) - many[person], many[person])
        send = first[person[pair]] + np.arange(len(pair)) - start
        return disclosures.number[send], value[pair], people[pair] * disclosures.chance[send]

    def _disclosures(self, names: Sequence[str], people: Cells) -> _Disclosures:
        one_of = np.empty(len(people.totals), dtype=np.int64)
        one_of[people.ids] = np.arange(self.table.rows)
        tops = tuple(self.table.schema[name].top for name in names)
        if self.strategy == STRICT:
            start, cells = self._parted(_kept(names, self.choice.rungs_for(names), tops))
            place = cells.ids[one_of]
            person = np.flatnonzero(cells.private(self.policies)[place])
            place = place[person].astype(np.int64)
            return _Disclosures(person, start + place, np.ones(len(person), np.int64), cells.totals[place])
        sizes = np.array([top + 1 for top in tops], dtype=np.int64)
        check_states(math.prod(sizes.tolist()), len(names))
        states = [
            self._parted(_kept(names, rungs, tops))
            for rungs in itertools.product(*(range(top + 1) for top in tops))
        ]
        block = max(_BLOCK // (len(states) * (len(self.policies) + 1)), 1)
        parts = [
            self._chosen(states, sizes, one_of[start : start + block], start)
            for start in range(0, len(one_of), block)
        ]
        return _Disclosures(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _chosen(
        self,
        states: Sequence[tuple[int, Cells]],
        sizes: Ints64,
        rows: Ints64,
        first: int,
    ) -> tuple[NDArray[Any], ...]:
        """Let the strategy choose for groups of people, given by a row of each; return the columns of `_Disclosures`."""
        places = np.array([cells.ids[rows] for _, cells in states])
        counts = np.empty((len(self.policies) + 1, *places.shape), dtype=np.int64)
        for which, (_, cells) in enumerate(states):
            for column, numbers in enumerate((cells.totals, *cells.guesses)):
                counts[column, which] = numbers[places[which]]
        number = NUMBERS[self.strategy]
        if number == RANDOM_FIT:
            found = chances(counts, sizes, self.minima)
            person, state = np.nonzero(found)
            chance: NDArray[Any] = found[person, state]
        else:
            chosen = choose_each(counts, sizes, self.minima, number)
            person = np.flatnonzero(chosen >= 0)
            state, chance = chosen[person], np.ones(len(person), np.int64)
        starts = np.array([start for start, _ in states])
        sent = starts[state] + places[state, person]
        return person + first, sent, chance, counts[0, state, person]

    def _parted(self, kept: tuple[tuple[str, int], ...]) -> tuple[int, Cells]:
        """Return the number of the first query of a state's cells, and the cells."""
        if kept not in self.cells:
            cells = cells_of(self.table, dict(kept), self.policies)
            narrow = replace(cells, ids=cells.ids.astype(np.int32))
            self.cells[kept] = self.queries, narrow
            self.queries += len(cells.totals)
        return self.cells[kept]


def _kept(names: Sequence[str], rungs: Rungs, tops: Rungs) -> tuple[tuple[str, int], ...]:
    return tuple((name, rung) for name, rung, top in zip(names, rungs, tops, strict=True) if rung < top)


def _falls_below(guesses: NDArray[Any], totals: NDArray[Any], policy: Policy) -> Bools:
    """Return where G is below the minimum; for real numbers, by more than the rounding error."""
    if guesses.dtype.kind == "i":
        return ~reaches(guesses, totals, policy.minimum)
    return np.asarray(guesses < totals * float(policy.minimum) * (1 - _ROUNDING))
