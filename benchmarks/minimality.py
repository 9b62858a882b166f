"""The minimality attack on the query generalizer, and what strategies cost that withstand it.

    python benchmarks/minimality.py [--quick] [--data DIR]

A provider that knows the table and the algorithm keeps, of the people who match a disclosure, only those whose own query
would have been generalized to exactly that: `incrowd.generalizer.minimality`. Each row of UCI Adult (read from ``INCROWD_DATA``)
and of a synthetic table of loans sends a query with its own values; each attribute but the protected one is fixed with
probability 2/3. A policy of 80 % has Gmin = 1 + 0.8 * (G - 1), rounded down to hundredths, where G is that of the whole table.

The last table is about policies near the maximum, with every attribute fixed: what could be better than strict?

- strict, all: strict that refuses no query that some state could serve (coverage 1).
- drawn: the state is drawn for each template, from two, independently of the values.
- groups: strict with ladders of groups (`incrowd.generalizer.groups`), of two groups, or of eight and two.
- boxes: a fixed partition of all combinations of values, sent as a set of values for each attribute; the second number is
  how many requests that makes on average where a provider takes one value at a time.
- remainders: as fine as the people who send a query allow; the others of a cell send the coarser one.

What each of them guarantees: docs/papers/query-generalizer.md.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.generalizer import STRATEGIES, AuxiliaryTable, Policy, Schema, encode, guess_sum, schema_of
from incrowd.generalizer.cells import cells_of
from incrowd.generalizer.entropy import guess_sums, is_private
from incrowd.generalizer.groups import group_ladder
from incrowd.generalizer.minimality import posterior, usual_templates
from incrowd.generalizer.strict import COVERAGE, StrictChoice
from incrowd.generalizer.synthetic import synthetic_loans
from public_data import read_adult, read_options

ROOT = Path(__file__).resolve().parents[1]
ADULT = {"age": 0, "workclass": 1, "education": 3, "marital-status": 5, "race": 8, "sex": 9, "income": 14}
LOANS, QUICK_ROWS = 66_270, 150
LEVELS, HIGH_LEVELS = ("0.5", "0.8", "0.95"), ("0.8", "0.9", "0.95", "0.99")
QUICK_PROTECTED, QUICK_LEVELS = 1, ("0.95",)
GROUPS, QUICK_GROUPS = ((2,), (8, 2)), ((2,), (3,))
ALL = ("strict", *STRATEGIES)
HUNDREDTHS = 100

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Population:
    """A table that is what the provider knows, its database, and the people who send queries."""

    title: str
    table: AuxiliaryTable
    protected: tuple[str, ...]

    def policy(self, name: str, level: str) -> Policy:
        whole = Fraction(*guess_sum(np.bincount(self.table.columns[name])))
        wanted = 1 + Fraction(level) * (whole - 1)
        return Policy(name, Fraction(int(wanted * HUNDREDTHS), HUNDREDTHS))

    def others(self, name: str) -> tuple[str, ...]:
        return tuple(each for each in self.table.schema.names if each != name)


def loans(rows: int) -> Population:
    made = synthetic_loans(rows, 0)
    return Population(
        "Loans", encode(made, schema_of(made)), ("loan", "income", "reason", "county", "race", "gender")
    )


def adult(data: Path, rows: int | None) -> Population:
    """Read seven attributes of UCI Adult, or end with the remedy."""
    table = read_adult(data, ADULT, rows, numbers=["age"])
    return Population(
        "Adult",
        encode(table, schema_of(table)),
        ("income", "education", "marital-status", "race", "sex", "age"),
    )


# --- the attack ---


def attack_lines(
    populations: Iterable[Population], levels: Sequence[str], column: str
) -> Iterator[list[str]]:
    """Yield a line for each policy: the share below its minimum (template known / not known), or another share."""
    for population, name, level in policies(populations, levels):
        policy = population.policy(name, level)
        line = [population.title, name, f"{float(policy.minimum):g} ({percent(float(level), 0)})"]
        for strategy in ALL:
            found = attacked(population, policy, strategy)
            if column == "below":
                line.append(f"{share(found.known)} / {share(found.unknown)}")
            else:
                line.append(percent(getattr(found, column)))
        yield line


_found: dict[tuple[Any, ...], Any] = {}


def attacked(population: Population, policy: Policy, strategy: str) -> Any:
    """Attack a strategy, once for all tables that show something of it."""
    which = (population.title, str(policy), strategy)
    if which not in _found:
        templates = usual_templates(population.others(policy.attribute))
        _found[which] = posterior(population.table, (policy,), strategy, templates)
    return _found[which]


def policies(
    populations: Iterable[Population], levels: Sequence[str]
) -> Iterator[tuple[Population, str, str]]:
    for population in populations:
        yield from itertools.product([population], population.protected, levels)


# --- what could be better ---


@dataclass(frozen=True)
class Cost:
    """The share of the table that is fetched on average, and the share of refused queries."""

    fetched: float
    refused: float = 0.0

    def __str__(self) -> str:
        return percent(self.fetched) + (f" ({percent(self.refused)} refused)" if self.refused else "")


def better_lines(
    populations: Iterable[Population], levels: Sequence[str], groups: Sequence[Sequence[int]]
) -> Iterator[list[str]]:
    """Yield a line for each policy near the maximum, with every attribute fixed."""
    for population, name, level in policies(populations, levels):
        policy, table = population.policy(name, level), population.table
        names = population.others(name)
        costs = [of_strategy(table, policy, names, strategy) for strategy in ("worst-fit", "strict")]
        costs += [of_states(table, policy, names), drawn(table, policy, names)]
        costs += [of_strategy(grouped(table, name, sizes), policy, names, "strict") for sizes in groups]
        box, requests = boxes(table, policy, names)
        cells = [str(cost) for cost in (*costs, box, remainders(table, policy, names))]
        cells[-2] += f", {requests:,.0f}"
        yield [population.title, name, f"{float(policy.minimum):g} ({percent(float(level), 0)})", *cells]


def of_strategy(table: AuxiliaryTable, policy: Policy, names: Sequence[str], strategy: str) -> Cost:
    found = posterior(table, (policy,), strategy, {tuple(names): 1})
    return Cost(found.fetched, found.refused)


def grouped(table: AuxiliaryTable, protected: str, sizes: Sequence[int]) -> AuxiliaryTable:
    """Return a table whose attributes have ladders of groups."""
    attributes = []
    for each in table.schema.attributes:
        ladder = {} if each.name == protected else group_ladder(table, each.name, [protected], sizes=sizes)
        rungs = zip(*(ladder[value] for value in each.domain), strict=True) if ladder else ()
        attributes.append(replace(each, ladder=tuple(rungs)))
    return replace(table, schema=Schema(tuple(attributes)))


def of_states(table: AuxiliaryTable, policy: Policy, names: Sequence[str]) -> Cost:
    """Return what strict costs if it refuses no query that some state serves."""
    choice = StrictChoice(table, (policy,), Fraction(1))
    rungs = choice.rungs_for(names)
    kept = {name: rung for name, rung in zip(names, rungs, strict=True) if rung < table.schema[name].top}
    covered, traffic = _served(table, policy, kept)
    return Cost(traffic / max(covered, 1) / table.rows, 1 - covered / table.rows)


def drawn(table: AuxiliaryTable, policy: Policy, names: Sequence[str]) -> Cost:
    """Return the least that a draw between two states costs, with strict's coverage.

    The draw does not depend on values, so all people of a cell send it with the same probability: like strict, it discloses nothing more.
    """
    subsets = (some for size in range(len(names) + 1) for some in itertools.combinations(names, size))
    served = [_served(table, policy, dict.fromkeys(some, 0)) for some in subsets]
    states = [(covered / table.rows, traffic / table.rows**2) for covered, traffic in served]
    best = min(states, key=lambda state: (-state[0], state[1]))
    cost = Cost(best[1] / best[0] if best[0] else 0.0, 1 - best[0])
    least = min(float(COVERAGE), best[0])
    for (low, low_cost), (high, high_cost) in itertools.product(states, states):
        if high >= least and high > 0:
            part = 1.0 if low >= least else (high - least) / (high - low)  # of the state that serves fewer
            covered = part * low + (1 - part) * high
            fetched = (part * low_cost + (1 - part) * high_cost) / covered
            if fetched < cost.fetched:
                cost = Cost(fetched, 1 - covered)
    return cost


def _served(table: AuxiliaryTable, policy: Policy, kept: dict[str, int]) -> tuple[int, int]:
    """Return the rows in the private cells of a state, and the sum of their squares."""
    cells = cells_of(table, kept, (policy,))
    private = cells.totals[cells.private((policy,))]
    return int(private.sum()), int(private @ private)


def boxes(table: AuxiliaryTable, policy: Policy, names: Sequence[str]) -> tuple[Cost, float]:
    """Cut the table in two again and again, as long as both sides are private (Mondrian).

    Returns the cost, and the mean number of requests if a provider takes one value at a time.
    """
    column = table.columns[policy.attribute]
    everybody = np.arange(table.rows)
    if not _holds(column, everybody, policy):
        return Cost(0.0, 1.0), 0.0
    traffic, requests = 0, 0.0
    whole = {name: np.ones(len(table.schema[name].domain), dtype=bool) for name in names}
    waiting = [(everybody, whole)]
    while waiting:
        rows, box = waiting.pop()
        cuts = [cut for name in names for cut in _cuts(table, policy, name, rows)]
        if cuts:
            _, name, left = min(cuts, key=lambda cut: cut[0])
            on_left = left[table.columns[name][rows]]
            waiting.append((rows[on_left], box | {name: box[name] & left}))
            waiting.append((rows[~on_left], box | {name: box[name] & ~left}))
            continue
        traffic += len(rows) ** 2
        requests += len(rows) * float(np.prod([values.sum() for values in box.values() if not values.all()]))
    return Cost(traffic / table.rows**2), requests / table.rows


def _cuts(
    table: AuxiliaryTable, policy: Policy, name: str, rows: Rows
) -> Iterator[tuple[int, str, NDArray[np.bool_]]]:
    """Yield cost, attribute and values on the left side of the most even private cut, for two orders of the values."""
    values, width = len(table.schema[name].domain), len(table.schema[policy.attribute].domain)
    keys = table.columns[name][rows].astype(np.int64) * width + table.columns[policy.attribute][rows]
    counts = np.bincount(keys, minlength=values * width).reshape(values, width)
    occurring = np.flatnonzero(counts.sum(axis=1))
    by_share = occurring[
        np.argsort(counts[occurring].max(axis=1) / counts[occurring].sum(axis=1), kind="stable")
    ]
    # Values with low and high guessing entropy in turn: both sides of a cut are then like the whole.
    in_turn = np.array(
        [by_share[place // 2 if place % 2 == 0 else -1 - place // 2] for place in range(len(by_share))]
    )
    for order in (occurring, in_turn):
        left = np.cumsum(counts[order], axis=0)[:-1]
        if not len(left):
            continue
        sizes = left.sum(axis=1)
        good = _all_hold(left, policy) & _all_hold(counts.sum(axis=0) - left, policy)
        if good.any():
            costs = np.where(good, sizes**2 + (len(rows) - sizes) ** 2, np.iinfo(np.int64).max)
            place = int(np.argmin(costs))
            chosen = np.zeros(values, dtype=bool)
            chosen[order[: place + 1]] = True
            yield int(costs[place]), name, chosen


def remainders(table: AuxiliaryTable, policy: Policy, names: Sequence[str]) -> Cost:
    """Let people send a finer cell if it is private, they are private among themselves, and so are the remaining people."""
    everybody = np.arange(table.rows)
    if not _holds(table.columns[policy.attribute], everybody, policy):
        return Cost(0.0, 1.0)
    traffic = 0
    waiting: list[tuple[Rows, Rows, tuple[str, ...]]] = [(everybody, everybody, tuple(names))]
    while waiting:
        senders, cell, free = waiting.pop()
        finer = [part for name in free if (part := _finer(table, policy, name, senders, cell)) is not None]
        if not finer:
            traffic += len(senders) * len(cell)
            continue
        _, name, moved, rest = min(finer, key=lambda part: part[0])
        others = tuple(each for each in free if each != name)
        waiting += [(some, inner, others) for some, inner in moved]
        if len(rest):
            waiting.append((rest, cell, others))
    return Cost(traffic / table.rows**2)


def _finer(
    table: AuxiliaryTable, policy: Policy, name: str, senders: Rows, cell: Rows
) -> tuple[int, str, list[tuple[Rows, Rows]], Rows] | None:
    """Return what sending an attribute too would cost, who moves to finer cells, and who remains; None if no one can."""
    column, values = table.columns[policy.attribute], table.columns[name]
    sent, inner = values[senders], values[cell]
    moved, left = [], []
    for value in np.unique(sent):
        some, around = senders[sent == value], cell[inner == value]
        if _holds(column, some, policy) and _holds(column, around, policy):
            moved.append((some, around))
        else:
            left.append(some)
    moved.sort(key=lambda part: -len(part[0]))
    rest = np.concatenate(left) if left else senders[:0]
    while len(rest) and moved and not _holds(column, rest, policy):
        rest = np.concatenate([rest, moved.pop()[0]])  # the fewest people remain with them
    if not moved:
        return None
    cost = sum(len(some) * len(around) for some, around in moved) + len(rest) * len(cell)
    return cost, name, moved, rest


def _holds(column: NDArray[Any], rows: Rows, policy: Policy) -> bool:
    return is_private(*guess_sum(np.bincount(column[rows])), policy.minimum)


def _all_hold(counts: NDArray[np.int64], policy: Policy) -> NDArray[np.bool_]:
    low = policy.minimum
    return np.asarray(guess_sums(counts) * low.denominator >= counts.sum(axis=1) * low.numerator)


# --- the tables ---


def percent(number: float, digits: int = 1) -> str:
    return f"{100 * number:.{digits}f} %"


def share(number: float) -> str:
    """Format a share of disclosures below the policy's minimum; only an exact 0 is shown as 0."""
    if number and number < 0.0005:
        return "< 0.1"
    return f"{100 * number:.1f}" if number else "0"


def print_table(title: str, head: Sequence[str], lines: Iterator[list[str]]) -> None:
    begun = time.perf_counter()
    print(f"### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for line in lines:
        print(f"| {' | '.join(line)} |", flush=True)
    print()
    print(f"{title}: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)


def main() -> None:
    options = read_options(__doc__)
    rows = QUICK_ROWS if options.quick else None
    populations = [adult(options.data, rows), loans(rows or LOANS)]
    levels, high, groups = LEVELS, HIGH_LEVELS, GROUPS
    if options.quick:
        populations = [replace(each, protected=each.protected[-QUICK_PROTECTED:]) for each in populations]
        levels, high, groups = QUICK_LEVELS, QUICK_LEVELS, QUICK_GROUPS
    head = ("data", "protects", "Gmin (of the maximum)")
    print_table(
        "Disclosures below the policy in %, template known / not known",
        (*head, *ALL),
        attack_lines(populations, levels, "below"),
    )
    print_table("Share of the table fetched", (*head, *ALL), attack_lines(populations, levels, "fetched"))
    print_table("Share of queries refused", (*head, *ALL), attack_lines(populations, levels, "refused"))
    better = (
        "worst-fit",
        "strict",
        "strict, all",
        "drawn",
        "2 groups",
        "8 and 2 groups",
        "boxes, requests",
        "remainders",
    )
    print_table(
        "Policies near the maximum, every attribute fixed",
        (*head, *better),
        better_lines(populations, high, groups),
    )


if __name__ == "__main__":
    main()
