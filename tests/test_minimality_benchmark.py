"""The whole of benchmarks/minimality.py runs, and its alternatives to strict are what they are called."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from benchmark_scripts import loaded_script, run_script
from generalizer.naive import make_table
from incrowd.generalizer import Policy


@pytest.fixture(scope="module")
def script():
    with loaded_script("minimality") as module:
        yield module


def test_values_that_hide_x_together_are_a_box_and_a_group(script):
    """Towns 0 and 1 have different incomes, and so have 2 and 3: two of them hide the income, one alone does not."""
    table = make_table(("town", "x"), [(n % 4, n % 4 % 2) for n in range(80)])
    policy = Policy("x", Fraction(3, 2))
    assert script.of_strategy(table, policy, ["town"], "strict").fetched == 1
    box, requests = script.boxes(table, policy, ["town"])
    assert (box.fetched, box.refused, requests) == (0.5, 0, 2)
    grouped = script.grouped(table, "x", (2,))
    assert script.of_strategy(grouped, policy, ["town"], "strict") == script.Cost(0.5, 0)


def test_those_who_are_left_behind_must_be_hidden_too(script):
    """All people in town 0 could send it. Then a person who sends nothing would be known to earn 1."""
    policy = Policy("x", Fraction(13, 10))
    alone = make_table(("town", "x"), [(0, n % 2) for n in range(20)] + [(1, 1)] * 5)
    assert script.remainders(alone, policy, ["town"]).fetched == 1
    mixed = make_table(
        ("town", "x"), [(n % 2, n // 2 % 2) for n in range(40)] + [(2, n % 2) for n in range(8)]
    )
    assert script.remainders(mixed, policy, ["town"]).fetched == pytest.approx((20**2 * 2 + 8**2) / 48**2)


def test_a_draw_serves_as_many_as_strict_and_costs_no_more(script):
    dice = random.Random(3)
    rows = [(dice.randrange(3), dice.randrange(4), dice.choice([0, 0, 1, 2])) for _ in range(200)]
    table = make_table(("a", "b", "x"), rows)
    for minimum in (Fraction(3, 2), Fraction(8, 5), Fraction(7, 4)):
        policy = Policy("x", minimum)
        strict = script.of_strategy(table, policy, ["a", "b"], "strict")
        cost = script.drawn(table, policy, ["a", "b"])
        assert cost.fetched <= strict.fetched + 1e-9
        assert cost.refused <= max(0.1, strict.refused) + 1e-9


def test_the_whole_script_on_a_tiny_size(tmp_path):
    (tmp_path / "tables").mkdir()
    dice = random.Random(1)
    lines = [
        ", ".join(
            f"{dice.randrange(20, 50) if place == 0 else dice.choice('abc' if place < 12 else 'ab')}"
            for place in range(15)
        )
        for _ in range(200)
    ]
    (tmp_path / "tables/adult.data").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = run_script("minimality", "--quick", "--data", tmp_path)
    assert done.returncode == 0, done.stderr
    tables = [part.split("\n\n", 1) for part in done.stdout.split("### ")[1:]]
    below, fetched, refused, better = [
        [line.strip("| ").split(" | ") for line in text.splitlines()[2:] if line] for _, text in tables
    ]
    assert (len(below), len(fetched), len(refused), len(better)) == (2, 2, 2, 2)
    assert all(line[3] == "0 / 0" for line in below)  # strict
    assert any(line[6] != "0 / 0" for line in below)  # worst-fit


def test_data_that_is_not_there_is_named(tmp_path):
    done = run_script("minimality", "--quick", "--data", tmp_path)
    assert done.returncode == 1
    assert "does not exist; set INCROWD_DATA to the directory of the public data sets" in done.stderr
