"""The minimality attack: what is left to guess for a provider that knows the table and the algorithm.

Among the people whom a sent query fits, such a provider keeps only those whose own query would have been
generalized to exactly that. What it can guess of them is the *posterior*. A query that is private as far as the
table goes may still be below the demand there.

The posterior is worked out exactly. What is sent depends on a person's values on the *template* (the attributes
that her query fixes) alone, so the strategy decides once for each combination of values that occurs; people are
then counted by what they send and by protected value. Two providers are looked at:

- *template known*: it knows which attributes the original query fixed, since the form always asks for them, say;
- *template not known*: it weighs all templates by how usual they are.

For random-fit the provider does not know the key: each person is counted with the chance that her query is sent
so. These are real numbers, compared with a tolerance of 1e-9; for all other strategies everything is a whole number.
Each row of the table is a person who asks a first query with her own values. Linked queries are not looked at.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import BadInputError, check_choice
from incrowd.online.cells import Cells, cells_of, guesses_left, reaches
from incrowd.online.choose import NUMBERS, RANDOM_FIT, chances, choose_each
from incrowd.online.decision import STRICT
from incrowd.online.lattice import Rungs, check_states
from incrowd.online.plan import plan_of
from incrowd.online.policy import Policy
from incrowd.online.schema import AuxiliaryTable
from incrowd.online.strict import StrictChoice

__all__ = ["Posterior", "Templates", "posterior", "usual_templates"]

Templates = Mapping[tuple[str, ...], int]
"""How usual each template is, as whole numbers."""

_BLOCK = 1 << 21  # numbers that a strategy chooses among at a time
_PENDING = 1 << 22  # numbers of the posterior that are kept before they are added up
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Posterior:
    """What the attack finds, as shares between 0 and 1; every send weighs as much as its template is usual.

    Parameters
    ----------
    known
        The share of sends that leave less than is demanded to a provider that knows the template.
    unknown
        The same for a provider that does not know it.
    refused
        The share of queries that are refused.
    fetched
        The share of the table that matches what is sent, on average over the sends.
    """

    known: float
    unknown: float
    refused: float
    fetched: float


def usual_templates(names: Sequence[str]) -> dict[tuple[str, ...], int]:
    """Return all templates of some attributes where each is fixed with probability 2/3, as in the experiments."""
    return {
        some: 2 ** len(some)
        for size in range(len(names), -1, -1)
        for some in itertools.combinations(names, size)
    }


def posterior(
    table: AuxiliaryTable, policies: Sequence[Policy], strategy: str, templates: Templates
) -> Posterior:
    """Let every row of a table ask with its own values, and attack what is sent.

    Parameters
    ----------
    table
        What the provider knows, and the people who ask.
    policies
        What is protected; a send is below the demand if some policy does not hold.
    strategy
        How queries are generalized.
    templates
        The attributes that queries fix, and how usual that is. Protected ones are never sent.
    """
    check_choice("strategy", strategy, (STRICT, *NUMBERS))
    if not table.rows:
        raise BadInputError("table must have rows: without any there is nobody to ask")
    attack = _Attack(table, policies, strategy)
    for template, weight in templates.items():
        attack.ask(template, weight)
    return attack.result()


@dataclass(frozen=True)
class _Sends:
    """What people of one template send.

    Parameters
    ----------
    person
        The people who share their values on the template, in order, once for every query that they may send.
    number
        The number of that query, among all queries of all templates.
    chance
        How likely these people send it.
    rows
        How many rows of the table it matches.
    """

    person: NDArray[np.int64]
    number: NDArray[np.int64]
    chance: NDArray[Any]
    rows: NDArray[np.int64]


class _Counted:
    """People by what they send and by protected value, over all templates."""

    def __init__(self) -> None:
        self.parts: list[tuple[NDArray[Any], ...]] = []

    def add(self, number: NDArray[np.int64], value: NDArray[np.int64], weight: NDArray[Any]) -> None:
        self.parts.append((number, value, weight))
        if sum(len(part[0]) for part in self.parts) > _PENDING:
            self.parts = [self.all()]

    def all(self) -> tuple[NDArray[Any], ...]:
        """Return what was added, with the weights of the same query and value added up."""
        number, value, weight = (np.concatenate(columns) for columns in zip(*self.parts, strict=True))
        order = np.lexsort((value, number))
        number, value, weight = number[order], value[order], weight[order]
        new = np.ones(len(number), dtype=bool)
        new[1:] = (np.diff(number) != 0) | (np.diff(value) != 0)
        starts = np.flatnonzero(new)
        return number[starts], value[starts], np.add.reduceat(weight, starts)


class _Attack:
    """Counts what people send, template after template."""

    def __init__(self, table: AuxiliaryTable, policies: Sequence[Policy], strategy: str) -> None:
        self.table = table
        self.policies = tuple(policies)
        self.strategy = strategy
        self.minima = plan_of(table.schema, self.policies).exact_minima(table.rows)
        self.choice = StrictChoice(table, self.policies)
        self.cells: dict[tuple[tuple[str, int], ...], tuple[int, Cells]] = {}
        self.queries = 0
        self.counted = [_Counted() for _ in self.policies]
        self.asked, self.sent, self.below, self.fetched = 0, 0.0, 0.0, 0.0

    def ask(self, template: Sequence[str], weight: int) -> None:
        """Let everybody ask with a template."""
        schema, protected = self.table.schema, {policy.attribute for policy in self.policies}
        for name in template:
            schema[name]  # an unknown name is an error
        names = [name for name in schema.names if name in template and name not in protected]
        _, people = self._parted(tuple((name, 0) for name in names))
        sends = self._sends(names, people)
        self.asked += weight * self.table.rows
        if not len(sends.person):
            return
        carried = people.totals[sends.person] * sends.chance
        self.sent += weight * float(carried.sum())
        self.fetched += weight * float(carried @ sends.rows)
        entries = [self._entries(sends, people.ids, policy.attribute) for policy in self.policies]
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
            refused=1 - self.sent / self.asked if self.asked else 0.0,
            fetched=self.fetched / sent / self.table.rows,
        )

    def _below(self, entries: Sequence[tuple[NDArray[Any], ...]]) -> float:
        """Return the weight of all queries of which some policy does not hold among the people who send them."""
        below: NDArray[np.bool_] | None = None
        for policy, (number, value, weight) in zip(self.policies, entries, strict=True):
            totals, guesses = guesses_left(number, value, weight)
            some = _falls_below(guesses, totals, policy)
            below = some if below is None else below | some
        return float(totals[below].sum())

    def _entries(self, sends: _Sends, ids: NDArray[np.int64], attribute: str) -> tuple[NDArray[Any], ...]:
        """Return query, protected value and people, for all that may be sent."""
        values = len(self.table.schema[attribute].domain)
        pairs, people = np.unique(
            ids.astype(np.int64) * values + self.table.columns[attribute], return_counts=True
        )
        person, value = pairs // values, pairs % values
        many = np.bincount(sends.person, minlength=int(person[-1]) + 1)
        first = np.cumsum(many) - many
        pair = np.repeat(np.arange(len(pairs)), many[person])
        start = np.repeat(np.cumsum(many[person]) - many[person], many[person])
        send = first[person[pair]] + np.arange(len(pair)) - start
        return sends.number[send], value[pair], people[pair] * sends.chance[send]

    def _sends(self, names: Sequence[str], people: Cells) -> _Sends:
        one_of = np.empty(len(people.totals), dtype=np.int64)
        one_of[people.ids] = np.arange(self.table.rows)
        tops = tuple(self.table.schema[name].top for name in names)
        if self.strategy == STRICT:
            start, cells = self._parted(_kept(names, self.choice.rungs_for(names), tops))
            place = cells.ids[one_of]
            person = np.flatnonzero(cells.private(self.policies)[place])
            place = place[person].astype(np.int64)
            return _Sends(person, start + place, np.ones(len(person), np.int64), cells.totals[place])
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
        return _Sends(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _chosen(
        self,
        states: Sequence[tuple[int, Cells]],
        sizes: NDArray[np.int64],
        rows: NDArray[np.int64],
        first: int,
    ) -> tuple[NDArray[Any], ...]:
        """Let the strategy choose for some people, given by a row of each; return the columns of `_Sends`."""
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
        """Return the cells of what is kept, and the number of the first of them as a query."""
        if kept not in self.cells:
            cells = cells_of(self.table, dict(kept), self.policies)
            narrow = replace(cells, ids=cells.ids.astype(np.int32))
            self.cells[kept] = self.queries, narrow
            self.queries += len(cells.totals)
        return self.cells[kept]


def _kept(names: Sequence[str], rungs: Rungs, tops: Rungs) -> tuple[tuple[str, int], ...]:
    return tuple((name, rung) for name, rung, top in zip(names, rungs, tops, strict=True) if rung < top)


def _falls_below(guesses: NDArray[Any], totals: NDArray[Any], policy: Policy) -> NDArray[np.bool_]:
    """Tell where G is below the minimum; of real numbers, by more than rounding does."""
    if guesses.dtype.kind == "i":
        return ~reaches(guesses, totals, policy.minimum)
    return np.asarray(guesses < totals * float(policy.minimum) * (1 - _ROUNDING))
