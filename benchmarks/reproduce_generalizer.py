"""The experiment of Oh, Kim & Obi (IEICE Trans. Inf. & Syst. 2012, section 5): what generalized queries cost in traffic.

    python benchmarks/reproduce_generalizer.py [--quick] [--out DIR]

Table 2, figure 2 and the correlation of figure 3, on a synthetic table like the paper's (66,270 loans) and on UCI Adult
(read from ``INCROWD_DATA``, default ``../shared/data`` from the project's root). As in the paper the provider's
database is the auxiliary table, there are 100 queries for each protected attribute, and each other attribute is fixed
with probability 2/3. The paper's values are "randomly selected in the given domain"; a person, however, queries
their own values. So both are measured: any values of the domains, and the values of a random row. Results:
docs/experiments.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

from incrowd.generalizer import (
    AuxiliaryTable,
    Lattice,
    Policy,
    build_lattice,
    decide,
    encode,
    fixed_codes,
    guess_sum,
    is_private,
    schema_of,
)
from incrowd.generalizer.synthetic import synthetic_loans
from plots import Experiment, Measure, Style, publish, read_options
from public_data import DATA, read_adult

QUERIES, QUICK_QUERIES = 100, 6
LOANS, QUICK_LOANS = 66_270, 2_000
CORRELATED, QUICK_CORRELATED = 5_000, 100
FIXED = 2 / 3
POINTS = 10
RECORD_BYTES = 9  # the paper's record: three integers of two bytes and three of one
KEY = b"the key of this experiment"
STRATEGIES = ("brute-force", "best-fit", "worst-fit", "random-fit")  # the paper's
ORIGINAL, IF_NEEDED, LEAST = "original", "brute-force if needed", "least-rows"
DRAWN_FROM = {"own values": True, "any values": False}
# Gmin is 1 and nine of these steps above it: the paper's table 2; for Adult up to what the whole table has.
LOAN_STEPS = {"loan": "2", "income": ".5", "reason": ".2", "race": ".05", "gender": ".05", "county": ".25"}
ADULT_STEPS = {"age": "2", "hours": ".6", "education": ".25", "marital": ".09", "race": ".02", "sex": ".03"}
ADULT_COLUMNS = {"age": 0, "hours": 12, "education": 3, "marital": 5, "race": 8, "sex": 9}
PRINTED = {
    "loan": (1.0000, 1.0286, 1.0460, 1.0739, 1.1020, 1.2032, 1.2949, 1.3957, 2.6448, 3.3003),
    "income": (1.0000, 1.0199, 1.0397, 1.0404, 1.0540, 1.0776, 1.1839, 1.2763, 1.8444, 1.9672),
    "reason": (1.0000, 1.0056, 1.0480, 1.0501, 1.2978, 1.3400, 1.4195, 1.4619, 1.5629, 2.5791),
    "race": (1.0000, 1.0811, 1.1477, 1.1501, 1.1502, 1.5614, 1.5668, 2.2858, 2.3662, 2.6099),
    "gender": (1.0000, 1.0082, 1.0100, 1.0726, 1.0728, 1.0886, 1.1035, 1.2875, 1.5578, 1.7649),
    "county": (1.0000, 1.0040, 1.0081, 1.0164, 1.0644, 1.1092, 1.1112, 1.1252, 1.2455, 1.2658),
}
STYLES = {
    ORIGINAL: Style("#000000", "", "--"),
    "brute-force": Style("#0072B2", "^"),
    IF_NEEDED: Style("#0072B2", "", "--"),
    "best-fit": Style("#CC79A7", "D"),
    "worst-fit": Style("#D55E00", "s"),
    "random-fit": Style("#009E73", "o"),
}

LINES = (*STRATEGIES, IF_NEEDED, LEAST)

Query = dict[str, object]


@dataclass(frozen=True)
class Population:
    """A table that is both what an outsider knows and the provider's database, and the Gmin to try."""

    title: str
    table: AuxiliaryTable
    steps: Mapping[str, str]

    def grid(self, protected: str) -> list[Fraction]:
        return [1 + place * Fraction(self.steps[protected]) for place in range(POINTS)]

    def whole(self, protected: str) -> Fraction:
        """Return G of the query for all rows, which is reached by dropping all attributes."""
        return Fraction(*guess_sum(np.bincount(self.table.columns[protected])))

    def answer(self, query: Mapping[str, object]) -> tuple[int, int]:
        """Return how many rows the provider returns, and how many bytes they are as lines of JSON."""
        agree = np.ones(self.table.rows, dtype=bool)
        for name, value in query.items():
            agree &= self.table.columns[name] == self.table.schema[name].code(value)
        return int(np.count_nonzero(agree)), int(self._line_bytes[agree].sum())

    @cached_property
    def _line_bytes(self) -> NDArray[np.int64]:
        """The bytes of each row as a line of JSON."""
        names = self.table.schema.names
        frame = json.dumps(dict.fromkeys(names, 0), separators=(",", ":")) + "\n"
        total = np.full(self.table.rows, len(frame) - len(names))
        for attribute in self.table.schema.attributes:
            widths = np.array([len(json.dumps(value)) for value in attribute.domain])
            total += widths[self.table.columns[attribute.name]]
        return total


@dataclass(frozen=True)
class Traffic:
    """What queries cost: for each line (a strategy, the original) Gmin by query. A refused query is not a number."""

    gmins: Sequence[Fraction]
    rows: Mapping[str, NDArray[np.float64]] = field(repr=False)
    nbytes: Mapping[str, NDArray[np.float64]] = field(repr=False)

    def refused(self) -> list[int]:
        return [int(count) for count in np.isnan(self.rows[ORIGINAL]).sum(axis=1)]

    def mean_rows(self, line: str) -> list[float]:
        return _over_answered(np.mean, self.rows[line])

    def mean_bytes(self, line: str) -> list[float]:
        return _over_answered(np.mean, self.nbytes[line])

    def ratio_of_means(self, line: str) -> list[float]:
        pairs = zip(self.mean_rows(line), self.mean_rows(ORIGINAL), strict=True)
        return [mean / original for mean, original in pairs]

    def mean_of_ratios(self, line: str) -> list[float]:
        return _over_answered(np.mean, self.rows[line] / self.rows[ORIGINAL])

    def median_of_ratios(self, line: str) -> list[float]:
        return _over_answered(np.median, self.rows[line] / self.rows[ORIGINAL])


def _over_answered(statistic: Callable[..., Any], numbers: NDArray[np.float64]) -> list[float]:
    """Return a statistic of each row over what is a number; NaN if there is none."""
    answered = [row[~np.isnan(row)] for row in numbers]
    return [float(statistic(row)) if row.size else math.nan for row in answered]


def random_query(table: AuxiliaryTable, protected: str, rng: np.random.Generator, *, of_a_row: bool) -> Query:
    """Fix each attribute but the protected one with probability 2/3."""
    row = int(rng.integers(table.rows))
    query: Query = {}
    for attribute in table.schema.attributes:
        any_code = int(rng.integers(len(attribute.domain)))
        code = int(table.columns[attribute.name][row]) if of_a_row else any_code
        if rng.random() < FIXED and attribute.name != protected:
            query[attribute.name] = attribute.domain[code]
    return query


def draw_queries(
    population: Population, protected: str, wanted: int, *, of_a_row: bool
) -> tuple[list[Query], list[Query]]:
    """Draw queries until enough have a matching row; return them, and those drawn that have none."""
    rng = np.random.default_rng([list(population.steps).index(protected), of_a_row])
    found: list[Query] = []
    empty: list[Query] = []
    while len(found) < wanted:
        query = random_query(population.table, protected, rng, of_a_row=of_a_row)
        (found if population.answer(query)[0] else empty).append(query)
    return found, empty


def measure(
    population: Population, protected: str, queries: Sequence[Query], gmins: Sequence[Fraction]
) -> Traffic:
    """Let every strategy generalize every query for every Gmin, and the provider answer."""
    lines = (ORIGINAL, *LINES)
    rows = {line: np.full((len(gmins), len(queries)), np.nan) for line in lines}
    nbytes = {line: np.full((len(gmins), len(queries)), np.nan) for line in lines}
    for column, query in enumerate(queries):
        answers: dict[frozenset[str], tuple[int, int]] = {}
        lattice = _lattice(population.table, query, protected)
        for place, gmin in enumerate(gmins):
            for line, kept in _sent(population, query, lattice, Policy(protected, gmin), user=str(column)):
                names = frozenset(kept)
                if names not in answers:
                    answers[names] = population.answer(kept)
                rows[line][place, column], nbytes[line][place, column] = answers[names]
    return Traffic(gmins, rows, nbytes)


def _lattice(table: AuxiliaryTable, query: Query, protected: str) -> Lattice:
    policy = Policy(protected, Fraction(1))
    return build_lattice(table, fixed_codes(query, table.schema, [policy]), [protected])


def _sent(
    population: Population, query: Query, lattice: Lattice, policy: Policy, *, user: str
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield what is sent on each line, nothing if refused."""
    schema = population.table.schema
    kept: dict[str, Mapping[str, object]] = {ORIGINAL: query}
    for strategy in (*STRATEGIES, LEAST):
        decision = decide(query, schema, [lattice], [policy], strategy=strategy, key=KEY, user=user)
        if decision.refused:
            return
        kept[strategy] = decision.kept
    alone = int(lattice.guesses[policy.attribute][0]), int(lattice.totals[0])
    kept[IF_NEEDED] = query if is_private(*alone, policy.minimum) else kept["brute-force"]
    yield from kept.items()


def panel(population: Population, protected: str, drawn_from: str, traffic: Traffic) -> list[Experiment]:
    """Return a panel of figure 2, and the ratios and bytes as tables only."""
    title = f"{protected}, {drawn_from}"
    x = [f"{float(gmin):g}" for gmin in traffic.gmins]
    rows = Measure("rows", ",.0f", {line: traffic.mean_rows(line) for line in STYLES}, title)
    bytes_ = {
        "original, JSON": traffic.mean_bytes(ORIGINAL),
        "worst-fit, JSON": traffic.mean_bytes("worst-fit"),
        "original, 9 a row": [RECORD_BYTES * mean for mean in traffic.mean_rows(ORIGINAL)],
        "worst-fit, 9 a row": [RECORD_BYTES * mean for mean in traffic.mean_rows("worst-fit")],
    }
    ratios = [
        Measure("ratio of means", ".4f", {line: traffic.ratio_of_means(line) for line in LINES}, title),
        Measure("mean of ratios", ".4f", {line: traffic.mean_of_ratios(line) for line in LINES}, title),
        Measure("median of ratios", ".2f", {line: traffic.median_of_ratios(line) for line in LINES}, title),
        Measure("mean bytes", ",.0f", bytes_, title),
    ]
    return [
        Experiment(population.title, "Gmin", x, [rows]),
        Experiment(population.title, "Gmin", x, ratios, drawn=False),
    ]


@dataclass(frozen=True)
class Outcome:
    """The results for one protected attribute and one way to draw queries."""

    population: Population
    protected: str
    drawn_from: str
    traffic: Traffic
    empty: int
    empty_rows: float
    refused: int


def outcome(population: Population, protected: str, drawn_from: str, count: int) -> Outcome:
    queries, empty = draw_queries(population, protected, count, of_a_row=DRAWN_FROM[drawn_from])
    grid = population.grid(protected)
    beyond = [population.whole(protected) * Fraction(11, 10)]
    without_match = measure(population, protected, empty[:count], [Fraction(1)])
    return Outcome(
        population,
        protected,
        drawn_from,
        measure(population, protected, queries, grid),
        len(empty),
        without_match.mean_rows("worst-fit")[0],
        measure(population, protected, queries, beyond).refused()[0],
    )


def experiments(outcomes: Iterator[Outcome], done: list[Outcome]) -> Iterator[Experiment]:
    """Yield panels and tables as outcomes arrive, and keep these."""
    for one in outcomes:
        done.append(one)
        yield from panel(one.population, one.protected, one.drawn_from, one.traffic)


def outcomes(population: Population, count: int) -> Iterator[Outcome]:
    for drawn_from in DRAWN_FROM:
        for protected in population.steps:
            yield outcome(population, protected, drawn_from, count)


def table_2(done: Sequence[Outcome]) -> str:
    """Return the paper's table 2, rows for each protected attribute, with our ratios of means below."""
    lines = ["### Table 2: rows of Worst-Fit / rows of the original", "", "| |" + " |" * (POINTS + 1)]
    lines.append("|" + "---|" * (POINTS + 2))
    for protected, printed in PRINTED.items():
        ours = [one for one in done if one.protected == protected]
        gmins = [f"{float(gmin):g}" for gmin in ours[0].traffic.gmins]
        lines.append(_row(f"**{protected}**", "Gmin", gmins))
        lines.append(_row("", "paper", [f"{ratio:.4f}" for ratio in printed]))
        for one in ours:
            ratios = one.traffic.ratio_of_means("worst-fit")
            lines.append(_row("", one.drawn_from, [f"{ratio:.4f}" for ratio in ratios]))
    return "\n".join(lines) + "\n"


def strategies(done: Sequence[Outcome], name: str, ratios: Callable[[Traffic, str], list[float]]) -> str:
    """Return each line's ratio over all Gmin above 1, and at how many of them a strategy is the best."""
    lines = [f"### {done[0].population.title}: {name}, mean over Gmin > 1 (at how many the least)", ""]
    lines += [_row("", "protected", LINES), "|" + "---|" * (len(LINES) + 2)]
    for one in done:
        values = {line: np.array(ratios(one.traffic, line)[1:]) for line in LINES}
        least = np.min([values[line] for line in STRATEGIES], axis=0)
        cells = [f"{values[line].mean():.2f}" for line in LINES]
        for place, line in enumerate(STRATEGIES):
            cells[place] += f" ({np.isclose(values[line], least).sum()})"
        lines.append(_row(one.drawn_from, one.protected, cells))
    return "\n".join(lines) + "\n"


def set_apart(done: Sequence[Outcome]) -> str:
    """Return what is not in the ratios: queries without a matching row, and refused ones."""
    heads = ["G of the whole table", "l", "no row", "rows sent for these, Gmin = 1", "refused on the grid"]
    lines = [f"### {done[0].population.title}: set apart", ""]
    lines += [_row("", "protected", [*heads, "refused at 1.1 G"]), "|" + "---|" * (len(heads) + 3)]
    for one in done:
        whole = one.population.whole(one.protected)
        sent = f"{one.empty_rows:,.0f}" if one.empty else "-"
        cells = [f"{float(whole):.3f}", str(int(2 * whole - 1)), str(one.empty), sent]
        refused = [str(sum(one.traffic.refused())), str(one.refused)]
        lines.append(_row(one.drawn_from, one.protected, [*cells, *refused]))
    return "\n".join(lines) + "\n"


def _row(*cells: str | Sequence[str]) -> str:
    flat = [text for cell in cells for text in ([cell] if isinstance(cell, str) else cell)]
    return f"| {' | '.join(flat)} |"


def correlation(population: Population, protected: str, count: int, *, of_a_row: bool) -> float:
    """Return Pearson's correlation of G and rows over random queries with a matching row (figure 3 b)."""
    queries, _ = draw_queries(population, protected, count, of_a_row=of_a_row)
    pairs = []
    for query in queries:
        lattice = _lattice(population.table, query, protected)
        total = int(lattice.totals[0])
        pairs.append((int(lattice.guesses[protected][0]) / total, total))
    return float(np.corrcoef(np.array(pairs).T)[0, 1])


def loans(rows: int) -> Population:
    made = synthetic_loans(rows, 0)
    return Population("Loans", encode(made, schema_of(made)), LOAN_STEPS)


def adult(rows: int | None) -> Population:
    """Read six attributes of UCI Adult, or end with the remedy."""
    table = read_adult(DATA, ADULT_COLUMNS, rows, numbers=["age", "hours"])
    return Population("Adult", encode(table, schema_of(table)), ADULT_STEPS)


def main() -> None:
    options = read_options(__doc__)
    count, rows, correlated = QUERIES, LOANS, CORRELATED
    if options.quick:
        count, rows, correlated = QUICK_QUERIES, QUICK_LOANS, QUICK_CORRELATED
    for population in (loans(rows), adult(rows if options.quick else None)):
        done: list[Outcome] = []
        name = f"reproduce-generalizer-{population.title.lower()}"
        with mpl.rc_context({"xtick.labelsize": 6}):  # ten Gmin under a small panel
            publish(experiments(outcomes(population, count), done), STYLES, name, options.out, columns=3)
        if population.title == "Loans":
            print(table_2(done))
        print(strategies(done, "ratio of means", Traffic.ratio_of_means))
        print(strategies(done, "mean of ratios", Traffic.mean_of_ratios))
        print(set_apart(done))
        for drawn_from, of_a_row in DRAWN_FROM.items():
            first = next(iter(population.steps))
            pearson = correlation(population, first, correlated, of_a_row=of_a_row)
            print(f"{population.title}, {drawn_from}: correlation of G({first}) and rows {pearson:.3f}\n")


if __name__ == "__main__":
    main()
