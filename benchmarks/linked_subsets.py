"""Linked queries: what parts of a person's past disclosures reveal, what protecting them costs, what a refusal reveals.

    python benchmarks/linked_subsets.py [--quick] [--data DIR]

Prints three tables as Markdown. People of a synthetic table of loans and of UCI Adult (read from ``--data``, default
``INCROWD_DATA``, else ``../shared/data`` from the project's root) send ten queries about themselves, each of which fixes each
attribute with probability 2/3. Disclosures are stored as in the ledger: which values on which rungs, without order.

**Parts of past disclosures.** The share of people who have, among the queries that were sent for them, one query, a pair, a run of
queries in a row (the last few, a session), any subset, or all together from which the protected value takes fewer guesses than
the policy requires. It is counted by scans of the table that share no code with the decisions. *Linked*: ``no`` is a gateway without a
ledger, ``all`` one with ``parts: false``, ``parts`` one with ``parts: true``.

**What it costs.** Of the ten queries: how many were sent, how many of them disclosed anything, the share of the attributes
that were sent, and the share of the table that the answers had; how many of those that were sent would be sent the same if they
were repeated after the tenth; the median time of a decision.

**A refusal that the provider notices.** The provider knows the table, the algorithm, all disclosures, and the template of
the refused query. It keeps the people who match all disclosures and whose query would have been refused. Counted: refusals
after which the protected value takes fewer guesses than the policy requires.
"""

from __future__ import annotations

import itertools
import random
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.generalizer import AuxiliaryTable, Decision, Policy, encode, parse_policies, schema_of
from incrowd.generalizer.counters import Counter, choose_counter
from incrowd.generalizer.linked import stored
from incrowd.generalizer.protection import Protection
from incrowd.generalizer.synthetic import synthetic_loans
from public_data import read_adult, read_options

__all__ = ["Known", "Outcome", "People", "Person", "below", "parts", "refusal_tells", "run", "sent_by"]

ROOT = Path(__file__).resolve().parents[1]
ASKED, FIXED = 10, 2 / 3
PEOPLE, LOANS, REFUSALS = 100, 66_270, 60
QUICK_PEOPLE, QUICK_LOANS, QUICK_REFUSALS = 8, 500, 2
SHOWN = (2, 5, 10)
LINKED = ("no", "all", "parts")
STRATEGIES = ("strict", "worst-fit")
LOAN_POLICIES = ("income:g=3", "gender:g=3/2")
ADULT_POLICIES = ("education:g=3", "race:g=11/10")
ADULT_COLUMNS = {"age": 0, "education": 3, "marital": 5, "race": 8, "sex": 9, "income": 14}
MEMORY = 2 * 10**9

Known = frozenset[tuple[str, int, Any]]
"""What is known about a person: attribute, rung and the value on it, one for each attribute."""
Ladders = dict[str, dict[Any, list[Any]]]


# --- people ---


@dataclass(frozen=True, eq=False)
class People:
    """A table, what is protected in it, and counts that share no code with the decisions."""

    title: str
    rows: pa.Table = field(repr=False)
    policy: Policy
    ladders: Ladders = field(default_factory=dict, repr=False)

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.rows.to_pylist()
        return found

    @cached_property
    def table(self) -> AuxiliaryTable:
        return encode(self.rows, schema_of(self.rows, ladders=self.ladders))

    @cached_property
    def counter(self) -> Counter:
        return choose_counter(self.table, [self.policy.attribute], memory=MEMORY)

    @cached_property
    def _columns(self) -> dict[tuple[str, int], tuple[dict[Any, int], NDArray[np.int64]]]:
        """For each attribute and rung the numbers of its values, and each person's."""
        columns = {}
        for name in self.rows.column_names:
            ways = self.ladders.get(name, {})
            values = [[value, *ways.get(value, [])] for value in self.rows[name].to_pylist()]
            for rung, column in enumerate(zip(*values, strict=True)):
                numbers = {value: number for number, value in enumerate(dict.fromkeys(column))}
                columns[name, rung] = numbers, np.array([numbers[value] for value in column])
        return columns

    def who(self, known: Known) -> NDArray[np.bool_]:
        """Return which people agree with all that is known."""
        agree = np.ones(self.rows.num_rows, dtype=bool)
        for name, rung, value in known:
            numbers, column = self._columns[name, rung]
            agree &= column == numbers[value]
        return agree

    def numbers(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return for each person the numbers of some attributes' values."""
        none = np.zeros(self.rows.num_rows, dtype=np.int64)  # for a query that fixes nothing
        return np.stack([none, *(self._columns[name, 0][1] for name in names)], axis=1)

    def guesses(self, who: NDArray[np.bool_]) -> Fraction:
        """Return how many guesses the protected value takes among some people, the most frequent first."""
        counts = sorted(np.bincount(self._columns[self.policy.attribute, 0][1][who]).tolist(), reverse=True)
        return Fraction(sum(place * count for place, count in enumerate(counts, start=1)), sum(counts))

    @cached_property
    def _judged(self) -> dict[Known, bool]:
        return {}

    def is_below(self, known: Known) -> bool:
        """Return whether the protected value takes fewer guesses than the policy requires, given what is known."""
        if known not in self._judged:
            self._judged[known] = self.guesses(self.who(known)) < self.policy.minimum
        return self._judged[known]


def loans(rows: int, protect: str, *, ladders: bool) -> People:
    """Return synthetic loans; with ladders, amounts have bands and counties have regions."""
    made = synthetic_loans(rows)
    ways: Ladders = {}
    if ladders:
        ways["loan"] = {
            value: [value // 50_000, value // 200_000] for value in made["loan"].unique().to_pylist()
        }
        ways["county"] = {value: [_region(value)] for value in made["county"].unique().to_pylist()}
    return _people("Loans", made, protect, ways)


def _people(title: str, rows: pa.Table, protect: str, ladders: Ladders) -> People:
    """Return people who protect an attribute; its own ladder is not used."""
    [policy] = parse_policies([protect])
    return People(
        title, rows, policy, {name: ways for name, ways in ladders.items() if name != policy.attribute}
    )


def _region(county: str) -> str:
    regions = {
        "west": ("Berkshire", "Franklin", "Hampden", "Hampshire", "Worcester"),
        "cape": ("Barnstable", "Dukes", "Nantucket", "Bristol", "Plymouth"),
    }
    return next((region for region, counties in regions.items() if county in counties), "boston")


def adult(directory: Path, rows: int | None, protect: str, *, ladders: bool) -> People:
    """Read six attributes of UCI Adult, or end with the remedy."""
    table = read_adult(directory, ADULT_COLUMNS, rows)
    ways: Ladders = {}
    if ladders:
        ways["age"] = {age: [int(age) // 10, int(age) // 30] for age in table["age"].unique().to_pylist()}
        ways["marital"] = {
            each: [each.startswith("Married")] for each in table["marital"].unique().to_pylist()
        }
    return _people("Adult", table, protect, ways)


# --- what is sent ---


@dataclass
class Person:
    """What happened to one person: for each query what was sent (None if refused), and the figures of the cost."""

    row: int
    sent: list[Known | None] = field(default_factory=list)
    disclosed: dict[str, frozenset[str]] = field(default_factory=dict)
    refusals: list[tuple[tuple[str, ...], dict[str, frozenset[str]], Known]] = field(default_factory=list)
    fixed: int = 0
    kept: int = 0
    fetched: float = 0.0
    again: int = 0
    seconds: list[float] = field(default_factory=list)


def protection_of(people: People, strategy: str, linked: str) -> Protection:
    """Return the protection of a gateway with such settings."""
    return Protection(people.counter, strategy=strategy, parts=linked == "parts")


def sent_by(people: People, protection: Protection, row: int, *, linked: bool) -> Person:
    """Let a person send queries about themselves, and store disclosures as the ledger does."""
    random_, person = random.Random(row), Person(row)
    names = [name for name in people.rows.column_names if name != people.policy.attribute]
    templates = [tuple(name for name in names if random_.random() < FIXED) for _ in range(ASKED)]
    for template in templates:
        decision = decide(people, protection, person, template, linked=linked)
        if decision.refused:
            person.refusals.append((template, dict(person.disclosed), union(person.sent)))
            person.sent.append(None)
            continue
        person.sent.append(known_by(decision))
        person.fixed += len(template)
        person.kept += len(decision.kept)
        person.fetched += decision.rows_after / people.rows.num_rows
        for name, text in stored(decision.sent_nodes, people.table.schema).items():
            person.disclosed[name] = person.disclosed.get(name, frozenset()) | {text}
    for template, sent in zip(templates, person.sent, strict=True):
        if sent is not None:
            person.again += known_by(decide(people, protection, person, template, linked=linked)) == sent
    return person


def decide(
    people: People, protection: Protection, person: Person, template: Sequence[str], *, linked: bool
) -> Decision:
    """Decide on a person's query about themselves."""
    query = {name: people.records[person.row][name] for name in template}
    before = time.perf_counter()
    decision = protection.decide(query, (people.policy,), disclosed=person.disclosed if linked else None)
    person.seconds.append(time.perf_counter() - before)
    return decision


def known_by(decision: Decision) -> Known | None:
    """Return what is sent; None if nothing is."""
    if decision.refused:
        return None
    return frozenset((name, rung, decision.kept[name]) for name, rung in decision.rungs.items())


def union(queries: Iterable[Known | None]) -> Known:
    """Return what some queries of a person disclose together: of each attribute the finest node."""
    finest: dict[str, tuple[int, Any]] = {}
    for name, rung, value in itertools.chain.from_iterable(query for query in queries if query is not None):
        if name not in finest or rung < finest[name][0]:
            finest[name] = rung, value
    return frozenset((name, rung, value) for name, (rung, value) in finest.items())


# --- parts of past disclosures ---


def parts(sent: Sequence[Known]) -> dict[str, set[Known]]:
    """Return what each part of some queries discloses: single ones, pairs, consecutive runs, all subsets, all together."""
    ends = itertools.combinations(range(len(sent) + 1), 2)
    subsets: set[Known] = set()
    for query in sent:
        subsets |= {union([query, some]) for some in subsets} | {query}
    return {
        "one": set(sent),
        "a pair": {union(pair) for pair in itertools.combinations(sent, 2)},
        "a run": {union(sent[start:stop]) for start, stop in ends},
        "a subset": subsets,
        "all": {union(sent)} if sent else set(),
    }


def below(people: People, sent: Sequence[Known]) -> dict[str, bool]:
    """Return for each kind of part whether some part is below the policy's minimum."""
    return {kind: any(map(people.is_below, some)) for kind, some in parts(sent).items()}


@dataclass(frozen=True)
class Outcome:
    """What happened to many people under one setting."""

    people: People
    strategy: str
    linked: str
    persons: Sequence[Person] = field(repr=False)
    protection: Protection = field(repr=False)

    def label(self) -> list[str]:
        policy, ladders = self.people.policy, "yes" if self.people.ladders else "no"
        return [
            self.people.title,
            f"{policy.attribute} {policy.minimum}",
            ladders,
            self.strategy,
            self.linked,
        ]

    def shares_below(self, first: int) -> dict[str, float]:
        """Return the share of people with a part below the policy's minimum among the disclosures of their first queries."""
        found = [
            below(self.people, [query for query in person.sent[:first] if query is not None])
            for person in self.persons
        ]
        return {kind: statistics.mean(each[kind] for each in found) for kind in found[0]}

    def cost(self) -> list[str]:
        """Return the cells of the second table."""
        queries = [query for person in self.persons for query in person.sent]
        sent = [query for query in queries if query is not None]
        shares = (
            len(sent) / len(queries),
            sum(map(bool, sent)) / len(queries),
            sum(person.kept for person in self.persons)
            / max(sum(person.fixed for person in self.persons), 1),
            sum(person.fetched for person in self.persons) / max(len(sent), 1),
            sum(person.again for person in self.persons) / max(len(sent), 1),
        )
        seconds = [each for person in self.persons[1:] for each in person.seconds]
        return [*map(_percent, shares), f"{statistics.median(seconds) * 1e6:,.0f}"]


def run(people: People, strategy: str, linked: str, number: int) -> Outcome:
    """Let people send queries."""
    protection = protection_of(people, strategy, linked)
    protection.compile((people.policy,))
    rows = random.Random(0).sample(range(people.rows.num_rows), number)
    persons = [sent_by(people, protection, row, linked=linked != "no") for row in rows]
    return Outcome(people, strategy, linked, persons, protection)


# --- refusals ---


class RefusalTells(NamedTuple):
    """The number of refusals evaluated, and how many of them reveal more than the policy allows."""

    refusals: int
    below: int
    below_before: int


def refusal_tells(outcome: Outcome, most: int) -> RefusalTells:
    """Keep for some refusals the people who match all disclosures and would have been refused as well."""
    refusals = [each for person in outcome.persons for each in person.refusals]
    some = random.Random(0).sample(refusals, min(most, len(refusals)))
    people, less, before = outcome.people, 0, 0
    for template, disclosed, known in some:
        refused = would_be_refused(people, outcome.protection, template, disclosed, known)
        less += people.guesses(refused) < people.policy.minimum
        before += people.is_below(known)
    return RefusalTells(len(some), less, before)


def would_be_refused(
    people: People,
    protection: Protection,
    template: Sequence[str],
    disclosed: Mapping[str, frozenset[str]],
    known: Known,
) -> NDArray[np.bool_]:
    """Return the people who match all that is known and whose query with a template would be refused."""
    fitting = np.flatnonzero(people.who(known))
    values = people.numbers(template)[fitting]
    _, first, which = np.unique(values, axis=0, return_index=True, return_inverse=True)
    answers = []
    for row in fitting[first].tolist():
        query = {name: people.records[row][name] for name in template}
        answers.append(protection.decide(query, (people.policy,), disclosed=disclosed).refused)
    refused = np.zeros(people.rows.num_rows, dtype=bool)
    refused[fitting] = np.array(answers)[which.ravel()]
    return refused


# --- tables ---

LABELS = ("table", "protects", "ladders", "strategy", "linked")


def table_of_parts(outcomes: Sequence[Outcome]) -> Iterator[str]:
    columns = [("a pair", first) for first in SHOWN]
    columns += [(kind, ASKED) for kind in ("one", "a run", "a subset", "all")]
    yield from _head(*LABELS, *(f"{kind} of {first}" for kind, first in columns))
    for outcome in outcomes:
        shares = {first: outcome.shares_below(first) for first in SHOWN}
        yield _row([*outcome.label(), *(_percent(shares[first][kind]) for kind, first in columns)])


def table_of_cost(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield from _head(
        *LABELS,
        "sent",
        "discloses something",
        "attributes sent",
        "of the table",
        "same again",
        "µs a decision",
    )
    for outcome in outcomes:
        yield _row([*outcome.label(), *outcome.cost()])


def table_of_refusals(outcomes: Sequence[Outcome], most: int) -> Iterator[str]:
    yield from _head(*LABELS, "refusals", "below, not noticed", "below, noticed")
    for outcome in outcomes:
        if outcome.linked == "no" or not any(person.refusals for person in outcome.persons):
            continue
        found = refusal_tells(outcome, most)
        shares = [_percent(each / found.refusals) for each in (found.below_before, found.below)]
        yield _row([*outcome.label(), str(found.refusals), *shares])


def _head(*names: str) -> Iterator[str]:
    yield _row(names)
    yield "|" + "---|" * len(names)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def main() -> None:
    options = read_options(__doc__)
    number, most = (QUICK_PEOPLE, QUICK_REFUSALS) if options.quick else (PEOPLE, REFUSALS)
    outcomes = []
    for people in everybody(options.data, quick=options.quick):
        outcomes += [run(people, *how, number) for how in itertools.product(STRATEGIES, LINKED)]
    tables = {
        "Parts of past disclosures": table_of_parts(outcomes),
        "What it costs": table_of_cost(outcomes),
        "A refusal that the provider notices": table_of_refusals(outcomes, most),
    }
    for title, lines in tables.items():
        print(f"## {title}\n")
        for line in lines:
            print(line, flush=True)
        print()


def everybody(directory: Path, *, quick: bool) -> Iterator[People]:
    """Yield the people of both tables under each policy (quick: the last), without ladders and with them."""
    last = slice(-1, None) if quick else slice(None)
    for ladders in (False, True):
        for protect in LOAN_POLICIES[last]:
            yield loans(QUICK_LOANS if quick else LOANS, protect, ladders=ladders)
        for protect in ADULT_POLICIES[last]:
            yield adult(directory, QUICK_LOANS if quick else None, protect, ladders=ladders)


if __name__ == "__main__":
    main()
