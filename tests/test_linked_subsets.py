"""benchmarks/linked_subsets.py finds what a hand-made past holds, and the whole script runs."""

from __future__ import annotations

import random
import sys
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pyarrow as pa
import pytest

from benchmark_scripts import loaded_script

TITLES = ("Parts of past disclosures", "What it costs", "A refusal that the provider notices")


@pytest.fixture(scope="module")
def subsets():
    with loaded_script("linked_subsets") as module:
        yield module


def test_the_parts_of_a_past(subsets):
    """A county is finer than its state; a run is in a row; subsets are all of them."""
    state, county = frozenset({("c", 1, "MA")}), frozenset({("c", 0, "Essex")})
    race, sex = frozenset({("r", 0, 1)}), frozenset({("s", 0, 1)})
    sent = [state, race, county, sex]
    found = subsets.parts(sent)
    assert found["one"] == set(sent)
    assert county in found["a pair"]
    assert state | race in found["a pair"]
    assert race | sex in found["a pair"] - found["a run"]
    assert race | county | sex in found["a run"]
    assert found["all"] == {race | county | sex}
    every = chain.from_iterable(combinations(sent, size) for size in range(1, 5))
    assert found["a subset"] == {subsets.union(some) for some in every}


def test_a_pair_that_gives_away_more_than_all(subsets):
    """Among all with a and b, nine of ten have x = 0; with c as well, one of two."""
    rows = [(1, 1, 1, 0), (1, 1, 1, 1), *[(1, 1, 0, 0)] * 8, *[(1, 0, 0, 1)] * 8, *[(0, 1, 0, 1)] * 8]
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate("abcx")})
    [policy] = subsets.parse_policies(["x:g=3/2"])
    people = subsets.People("made", table, policy)
    a, b, c = (frozenset({(name, 0, 1)}) for name in "abc")
    assert people.guesses(people.who(a | b)) == Fraction(11, 10)
    assert subsets.below(people, [a, c, b]) == {
        "one": False,
        "a pair": True,
        "a run": False,
        "a subset": True,
        "all": False,
    }


def test_a_refusal_tells_who_would_be_refused(subsets):
    """Who has a = 1 always has x = 0 and is refused; a provider that knows of the refusal knows x."""
    rows = [(0, place % 2) for place in range(36)] + [(1, 0)] * 4
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate("ax")})
    [policy] = subsets.parse_policies(["x:g=3/2"])
    people = subsets.People("made", table, policy)
    outcome = subsets.run(people, "strict", "parts", 40)
    refused = [person.row for person in outcome.persons if person.refusals]
    assert refused
    found = subsets.refusal_tells(outcome, 50)
    assert found.below > 0
    protection = subsets.protection_of(people, "strict", "parts")
    who = subsets.would_be_refused(people, protection, ("a",), {}, frozenset())
    assert np.flatnonzero(who).tolist() == [36, 37, 38, 39]


@pytest.mark.parametrize("strategy", ["strict", "worst-fit"])
def test_no_part_of_a_past_is_below_the_minimum(subsets, strategy):
    """On the loans, by scans that share no code with what decides; without protection of parts some are."""
    people = subsets.loans(3_000, "gender:g=3/2", ladders=True)
    shares = {
        linked: subsets.run(people, strategy, linked, 40).shares_below(10) for linked in ("all", "parts")
    }
    assert not any(shares["parts"].values())
    assert shares["all"]["all"] == 0
    assert shares["all"]["a subset"] >= 0.05


def test_the_whole_script_on_a_tiny_size(subsets, tmp_path, monkeypatch, capsys):
    (tmp_path / "tables").mkdir()
    random_ = random.Random(0)
    marital = ["Married-civ-spouse", "Never-married", "Divorced"]
    lines = [
        f"{random_.randint(17, 80)}, P, 1, E{n % 4}, 9, {marital[n % 3]}, O, R, Race{n % 7 // 3}, S{n % 2}, 0, 0, 40, U, I{n % 2}"
        for n in range(300)
    ]
    (tmp_path / "tables/adult.data").write_text("\n".join(lines) + "\n\n", encoding="ascii")
    monkeypatch.setattr(sys, "argv", ["linked_subsets.py", "--quick", "--data", str(tmp_path)])
    subsets.main()
    tables = dict(part.split("\n\n", 1) for part in capsys.readouterr().out.split("## ")[1:])
    assert tuple(tables) == TITLES
    cells = [
        [line.strip("| ").split(" | ") for line in table.splitlines()[2:] if line]
        for table in tables.values()
    ]
    assert [len(lines) for lines in cells[:2]] == [24, 24]
    assert all(set(line[5:]) == {"0.0 %"} for line in cells[0] if line[4] == "parts")
    assert all(line[9] == "100.0 %" for line in cells[1] if line[3] == "strict")


def test_data_that_is_not_there_is_named(subsets, tmp_path):
    with pytest.raises(
        SystemExit, match="does not exist; set INCROWD_DATA to the directory of the public data sets"
    ):
        subsets.adult(tmp_path, None, "income:g=11/10", ladders=False)
