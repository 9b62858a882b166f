"""Who counts: scan, sample and cube give the same or less, and the choice among them says why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from generalizer.naive import make_table
from incrowd.errors import BadInputError
from incrowd.generalizer import (
    Attribute,
    AuxiliaryTable,
    Policy,
    Sample,
    Scan,
    Schema,
    build_lattice,
    choose_counter,
    describe,
    generalize,
    predicted_bytes,
)
from incrowd.generalizer.counters import slack
from incrowd.generalizer.cube.layout import Layout

ROWS = [(n % 6, n * n % 3, n % 5 % 4) for n in range(90)]
TABLE = make_table(("a", "b", "x"), ROWS)
NEEDED = predicted_bytes(TABLE.schema, TABLE.rows, ["x"])


@dataclass
class Size:
    rows: int
    error: float


def test_a_scan_counts_every_row():
    scan = Scan(TABLE)
    past = {"b": (1, 0)}
    expected = build_lattice(TABLE, {"a": 1}, ["x"], past)
    assert scan.lattice({"a": 1}, ["x"], past).counts.tolist() == expected.counts.tolist()
    assert (scan.kind, scan.rows, scan.schema) == ("scan", 90, TABLE.schema)
    assert scan.nbytes == 3 * 90


# The choice.


def test_a_cube_is_chosen_if_it_fits(tmp_path):
    for directory in (None, tmp_path):
        counter = choose_counter(TABLE, ["x"], memory=NEEDED, directory=directory, sample=Size(9, 0.1))
        assert (counter.kind, counter.nbytes, counter.rows) == ("cube", NEEDED, 90)
    assert [path.stat().st_size for path in tmp_path.glob("*.cube")] == [NEEDED]
    assert describe(counter) == (
        "Entropies are looked up in cubes: 1 cube(s) take 4.2 KB, the memory budget is 4.2 KB."
    )


def test_a_scan_is_chosen_if_it_does_not():
    for memory in (0, NEEDED - 1):
        assert choose_counter(TABLE, ["x"], memory=memory).kind == "scan"
    assert choose_counter(TABLE, ["x", "a"], memory=NEEDED + 10).kind == "scan"
    line = describe(choose_counter(TABLE, ["x"], memory=0))
    assert line.startswith("Entropies are counted by a scan of 90 rows for each query")
    assert line.endswith("1 cube(s) take 4.2 KB, the memory budget is 0 bytes.")


def test_a_sample_is_chosen_only_if_it_is_configured():
    counter = choose_counter(TABLE, ["x"], memory=0, sample=Size(50, 0.25))
    assert (counter.kind, counter.rows) == ("sample", 50)
    assert "50 drawn rows for each query, as lower bounds: 1 cube(s) take" in describe(counter)


def test_counting_one_slab_must_fit_too():
    """Few cells with very many protected values: while it is built the cube is far larger than after."""
    schema = Schema((Attribute("a", (0, 1)), Attribute("x", tuple(range(100_000)))))
    columns = {"a": np.zeros(3, np.uint8), "x": np.arange(3, dtype=np.uint32)}
    table = AuxiliaryTable(schema, 3, columns)
    assert predicted_bytes(schema, 3, ["x"]) < 5000
    counter = choose_counter(table, ["x"], memory=5000)
    assert counter.kind == "scan"
    assert "building the cubes takes 400.0 KB, the memory budget is 5.0 KB" in describe(counter)
    assert choose_counter(table, ["x"], memory=400_000).kind == "cube"


def test_ten_attributes_fall_back_to_a_scan():
    names = [f"q{place}" for place in range(10)]
    table = make_table(names, [tuple((n * k) % 30 for k in range(1, 11)) for n in range(30)])
    counter = choose_counter(table, ["q0"], memory=2 * 10**9)
    assert counter.kind == "scan"
    assert "GB, the memory budget is 2.0 GB" in describe(counter)
    assert generalize({"q1": 0, "q2": 0}, counter, [Policy("q0", Fraction(2))]).kept is not None


def test_something_must_be_protected():
    with pytest.raises(BadInputError, match="protect must name"):
        choose_counter(TABLE, [], memory=0)


# Sampling.

SKEWED = make_table(
    ("a", "x"),
    [(0, x) for x in [0] * 70 + [1] * 30]
    + [(1, x) for x in [0] * 500 + [n for n in range(1, 6) for _ in range(10)]],
    domains={"a": [0, 1], "x": range(6)},
)


def test_the_slack_is_the_formula():
    for total, values, doubt in ((100, 6, 3.0), (12345, 2, 0.7), (1, 9, 20.0)):
        exact = (values - 1) * math.sqrt(doubt / (2 * total)) * total
        assert slack(np.array([total]), values, doubt).tolist() == [math.ceil(exact)]
    assert slack(np.array([0, 50]), 1, 5.0).tolist() == [0, 0]


@pytest.mark.parametrize(("code", "values"), [(0, 2), (1, 6)])
def test_one_bound_fails_no_more_often_than_it_may(code, values):
    """The inequality by itself, without the union bound that makes failures too rare to see."""
    lattice = build_lattice(SKEWED, {"a": code}, ["x"])
    truth = lattice.entropies((0,))["x"]
    column = SKEWED.columns["x"][SKEWED.columns["a"] == code]
    chance = np.random.default_rng(5)
    error, drawn, trials, above, too_high = 0.1, 60, 3000, 0, 0
    for _ in range(trials):
        counts = np.sort(np.bincount(chance.choice(column, drawn), minlength=values))[::-1]
        sums = int(counts @ np.arange(1, len(counts) + 1))
        too_high += Fraction(sums, drawn) > truth
        bound = sums - int(slack(np.array([drawn]), values, math.log(1 / error))[0])
        above += Fraction(bound, drawn) > truth
    assert above <= error * trials
    assert too_high > error * trials  # without the slack it would fail too often


def test_no_state_of_a_sample_is_above_the_truth():
    """Half of the samples may have a wrong bound somewhere; in fact almost none has."""
    truth = [build_lattice(SKEWED, {"a": code}, ["x"]) for code in (0, 1)]
    wrong = 0
    for seed in range(300):
        sample = Sample(SKEWED, ["x"], 200, 0.5, seed)
        for code, exact in enumerate(truth):
            found = sample.lattice({"a": code}, ["x"])
            assert found.totals[-1] == 200
            assert all(found.guesses["x"] >= found.totals)  # nothing costs less than one guess
            wrong += any(found.entropies(rungs)["x"] > exact.entropies(rungs)["x"] for rungs in ((0,), (1,)))
    assert wrong <= 3


def test_a_sample_is_of_use():
    """Enough rows come near to the truth and allow what the truth allows."""
    rows = [(n % 3, n % 8) for n in range(24_000)]
    table = make_table(("a", "x"), rows)
    sample = Sample(table, ["x"], 100_000, 0.001, seed=1)
    found = sample.lattice({"a": 1}, ["x"]).entropies((0,))["x"]
    assert Fraction(43, 10) < found < Fraction(9, 2)
    policies = [Policy("x", Fraction(4))]
    assert generalize({"a": 1}, sample, policies).kept == {"a": 1}
    assert generalize({"a": 1}, Sample(table, ["x"], 50, 0.001), policies).refused


def test_a_bound_holds_for_all_queries_together():
    """The slack grows with the number of states of all possible queries, not with those of one query."""
    small = Sample(SKEWED, ["x"], 10, 0.1)
    cells = Layout.of(SKEWED.schema, 1, "x").cells * (6 + 1)
    assert small._log_inverse_error == pytest.approx(math.log(cells / 0.1))
    both = Sample(SKEWED, ["x", "a"], 10, 0.1)
    assert both._log_inverse_error == pytest.approx(math.log(2 * cells / 0.1))


def test_a_sample_is_drawn_by_its_seed():
    def counts(seed):
        return Sample(TABLE, ["x"], 40, 0.1, seed).lattice({"a": 1}, ["x"]).counts.tolist()

    assert counts(1) == counts(1) != counts(2)


def test_a_sample_of_nothing_finds_nothing():
    empty = AuxiliaryTable(TABLE.schema, 0, {name: column[:0] for name, column in TABLE.columns.items()})
    assert Sample(empty, ["x"], 10, 0.1).lattice({"a": 1}, ["x"]).totals.tolist() == [0, 0]


@pytest.mark.parametrize(("rows", "error"), [(0, 0.1), (5, 0), (5, 1), (5, math.nan)])
def test_bad_sizes(rows, error):
    with pytest.raises(BadInputError, match=r"sample: (rows|error) must be"):
        Sample(TABLE, ["x"], rows, error)


def test_what_the_sample_does_not_allow_for_is_refused():
    with pytest.raises(BadInputError, match="attribute 'b' was not declared for the sample"):
        Sample(TABLE, ["x"], 5, 0.1).lattice({"a": 1}, ["b"])
