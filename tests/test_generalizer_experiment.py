"""The query generalizer's experiment runs on a tiny size and counts what a provider would really send."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from fractions import Fraction
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from benchmark_scripts import BENCHMARKS, run_script
from incrowd.generalizer import STRATEGIES, Policy, encode, generalize, schema_of
from incrowd.generalizer.synthetic import synthetic_loans
from test_experiments import check_plot, check_tables

ROWS = 500
GMINS = [Fraction(1), Fraction("1.4"), Fraction(2), Fraction(50)]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import reproduce_generalizer  # noqa: PLC0415 - a script, not a package

    return reproduce_generalizer


@pytest.fixture
def people():
    return synthetic_loans(ROWS, seed=5)


@pytest.fixture
def population(script, people):
    return script.Population("few", encode(people, schema_of(people)), script.LOAN_STEPS)


def matching(people, query):
    return [row for row in people.to_pylist() if all(row[name] == value for name, value in query.items())]


def subsets(query):
    for size in range(len(query) + 1):
        for names in itertools.combinations(query, size):
            yield {name: query[name] for name in names}


def entropy(rows, protected):
    counts = sorted(Counter(row[protected] for row in rows).values(), reverse=True)
    return Fraction(sum(place * count for place, count in enumerate(counts, 1)), max(len(rows), 1))


def test_an_answer_is_counted_as_lines_of_json(population, people):
    for query in (
        {},
        {"county": "Essex"},
        {"county": "Essex", "race": "White"},
        {"gender": "Not applicable"},
    ):
        rows = matching(people, query)
        text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
        assert population.answer(query) == (len(rows), len(text.encode()))


def test_how_queries_are_drawn(script, population, people):
    own, none = script.draw_queries(population, "race", 300, of_a_row=True)
    assert none == [], "who asks about herself is in the table"
    fixed = Counter(name for query in own for name in query)
    assert set(fixed) == {"loan", "income", "reason", "county", "gender"}
    assert all(abs(count / 300 - 2 / 3) < 0.1 for count in fixed.values())
    found, none = script.draw_queries(population, "race", 40, of_a_row=False)
    assert len(found) == 40
    assert all(matching(people, query) for query in found)
    assert none
    assert not any(matching(people, query) for query in none)
    genders = Counter(query.get("gender") for query in found + none)
    assert genders["Not applicable"] > genders["Male"] / 3, "rare values are drawn as often as frequent ones"
    assert script.draw_queries(population, "race", 300, of_a_row=True)[0] == own


def test_what_every_line_costs(script, population, people):
    queries, _ = script.draw_queries(population, "reason", 8, of_a_row=True)
    traffic = script.measure(population, "reason", queries, GMINS)
    for column, query in enumerate(queries):
        sizes = [(rows := matching(people, few), entropy(rows, "reason")) for few in subsets(query)]
        for place, gmin in enumerate(GMINS):
            private = [len(rows) for rows, guesses in sizes if rows and guesses >= gmin]
            found = {line: rows[place, column] for line, rows in traffic.rows.items()}
            if not private:
                assert np.isnan(list(found.values())).all()
                continue
            assert found["original"] == len(matching(people, query))
            assert found["least-rows"] == min(private)
            for strategy in STRATEGIES:
                user = {"key": script.KEY, "user": str(column)}
                decision = generalize(
                    query, population.table, [Policy("reason", gmin)], strategy=strategy, **user
                )
                assert found[strategy] == decision.rows_after
            events = matching(people, query)
            as_it_is = entropy(events, "reason") >= gmin
            assert found["brute-force if needed"] == (len(events) if as_it_is else found["brute-force"])
    assert traffic.refused() == [0, 0, 0, len(queries)]


def test_ratios_that_are_not_the_same(script):
    nothing = [np.nan] * 4
    rows = {
        "original": np.array([[1.0, 98.0, 1.0, np.nan], nothing]),
        "worst-fit": np.array([[101.0, 98.0, 1.0, np.nan], nothing]),
    }
    nbytes = {name: 12 * values for name, values in rows.items()}
    traffic = script.Traffic([Fraction(2), Fraction(3)], rows, nbytes)
    assert traffic.refused() == [1, 4]
    for found, wanted in (
        (traffic.ratio_of_means("worst-fit"), 2.0),
        (traffic.mean_of_ratios("worst-fit"), 103 / 3),
        (traffic.median_of_ratios("worst-fit"), 1.0),
        (traffic.mean_bytes("original"), 400.0),
    ):
        assert found[0] == pytest.approx(wanted)
        assert np.isnan(found[1])


def test_the_correlation_of_entropy_and_rows(script, population, people):
    queries, _ = script.draw_queries(population, "loan", 60, of_a_row=True)
    answers = [matching(people, query) for query in queries]
    guesses = [float(entropy(rows, "loan")) for rows in answers]
    wanted = np.corrcoef(guesses, [len(rows) for rows in answers])[0, 1]
    assert script.correlation(population, "loan", 60, of_a_row=True) == pytest.approx(wanted)


def write_adult(directory):
    """Write synthetic people where UCI Adult is expected."""
    rng = np.random.default_rng(2)
    lines = []
    for _ in range(600):
        line = ["?"] * 15
        line[0], line[12] = str(rng.integers(17, 80)), str(rng.choice([20, 40, 50]))
        line[3], line[5] = f"school {rng.integers(6)}", f"marital {rng.zipf(1.7) % 5}"
        line[8], line[9] = f"race {rng.zipf(2.0) % 4}", rng.choice(["F", "M"])
        lines.append(", ".join(line) + "\n")
    (directory / "tables").mkdir()
    (directory / "tables/adult.data").write_text("".join(lines) + "\n", encoding="ascii")


def run(data, out):
    return run_script("reproduce_generalizer", "--quick", "--out", out, data=data)


def test_from_end_to_end(script, tmp_path):
    write_adult(tmp_path)
    done = run(tmp_path, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    loans, adult = done.stdout.split("### Loans: set apart")
    for name, printed in (("loans", loans), ("adult", adult)):
        measures = {}
        path = tmp_path / f"out/reproduce-generalizer-{name}"
        for experiment in json.loads(path.with_suffix(".json").read_text(encoding="utf-8")):
            for measure in experiment["measures"]:
                title = f"{measure['title']}: {measure['name']}"
                measures[title] = measure | {"x": experiment["x"], "drawn": True}
        check_tables(measures, printed)
        plot = path.with_suffix(".svg").read_text(encoding="utf-8")
        ET.fromstring(plot)
        check_plot(measures, plot)
        ratios = measures[f"{'loan' if name == 'loans' else 'age'}, own values: ratio of means"]["lines"]
        assert ratios["worst-fit"][0] == 1.0, "one guess is always needed"
        assert all(np.less_equal(1.0, ratios["least-rows"]))
        assert all(np.less_equal(ratios["least-rows"], ratios["brute-force"]))
        table = loans.split("### Table 2")[1]
        assert f"| paper | {' | '.join(f'{ratio:.4f}' for ratio in script.PRINTED['loan'])} |" in table
    assert done.stdout.count("correlation of G") == 4


def test_without_the_data_it_says_what_to_set(tmp_path):
    done = run(tmp_path, tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.strip().endswith("set INCROWD_DATA to the directory of the public data sets")
    assert len(done.stderr.splitlines()) == 1
