"""The lattice of a query's generalizations equals scanning the table for each of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generalizer.naive import all_states, climb, make_table
from golden import GOLDEN
from incrowd.errors import BadInputError
from incrowd.generalizer import Lattice, build_lattice
from incrowd.generalizer.lattice import _BLOCK

PAPER = GOLDEN["generalizer"]
NAMES = ("a", "b", "c", "d")
COARSER = {value: (value // 2, value // 4) for value in range(6)}
DOMAINS = {name: list(range(6)) for name in NAMES}


def lattice_of(table, query, protected):
    fixed = {name: table.schema[name].code(value) for name, value in query.items()}
    return build_lattice(table, fixed, protected)


def test_the_papers_lattice():
    table = make_table(PAPER["columns"], PAPER["rows"])
    lattice = lattice_of(table, PAPER["query"], ["Income"])
    assert len(PAPER["lattice_derived"]) == lattice.totals.size
    for kept, entropy in PAPER["lattice_derived"].items():
        rungs = tuple(int(name not in kept.split(",")) for name in PAPER["query"])
        assert str(lattice.entropies(rungs)["Income"]) == entropy
    assert str(lattice.entropies((0, 0, 0))["Income"]) == PAPER["entropy_printed"]


@given(
    rows=st.lists(st.tuples(*[st.integers(0, 5)] * 4), max_size=30),
    query=st.dictionaries(st.sampled_from("abc"), st.integers(0, 5)),
    laddered=st.sets(st.sampled_from("abc")),
)
def test_it_is_a_scan_for_each_state(rows, query, laddered):
    ladders = dict.fromkeys(laddered, COARSER)
    # Rows of numbers need a type even when there are none.
    table = make_table(NAMES, rows, domains=DOMAINS, ladders=ladders) if rows else empty(ladders)
    lattice = lattice_of(table, query, ["d"])
    expected = all_states(NAMES, rows, query, "d", ladders)
    assert lattice.totals.size == len(expected)
    for rungs, (entropy, total) in expected.items():
        state = lattice.state(rungs)
        assert lattice.entropies(rungs) == {"d": entropy}
        assert lattice.totals[state] == total
        assert lattice.rungs(state) == rungs


def empty(ladders):
    table = make_table(NAMES, [(0, 0, 0, 0)], domains=DOMAINS, ladders=ladders)
    columns = {name: column[:0] for name, column in table.columns.items()}
    return type(table)(table.schema, 0, columns)


def test_twelve_attributes():
    names = [f"q{number}" for number in range(12)]
    rows = [(*((person >> bit) & 1 for bit in range(12)), person % 3) for person in range(0, 4096, 7)]
    table = make_table([*names, "x"], rows)
    lattice = lattice_of(table, dict.fromkeys(names, 1), ["x"])
    assert lattice.totals.size == 4096
    for rungs in ((0,) * 12, (1,) * 12, (0, 1) * 6, (1,) * 11 + (0,)):
        wanted = [
            row for row in rows if all(rung or value for rung, value in zip(rungs, row[:12], strict=True))
        ]
        assert lattice.totals[lattice.state(rungs)] == len(wanted)


@given(
    rows=st.lists(st.tuples(*[st.integers(0, 5)] * 4), min_size=1, max_size=30),
    query=st.dictionaries(st.sampled_from("abc"), st.integers(0, 5)),
    past=st.dictionaries(st.sampled_from("abcd"), st.tuples(st.integers(0, 5), st.integers(0, 2))),
)
def test_only_rows_that_agree_with_past_disclosures_count(rows, query, past):
    ladders = dict.fromkeys("abcd", COARSER)
    table = make_table(NAMES, rows, domains=DOMAINS, ladders=ladders)
    agree = [
        row
        for row in rows
        if all(
            climb(ladders, name, row[NAMES.index(name)], rung) == climb(ladders, name, value, rung)
            for name, (value, rung) in past.items()
        )
    ]
    expected = all_states(NAMES, agree, query, "d", ladders)
    lattice = build_lattice(table, query, ["d"], past)  # in these domains values are their own codes
    for rungs, (entropy, total) in expected.items():
        assert lattice.entropies(rungs) == {"d": entropy}
        assert lattice.totals[lattice.state(rungs)] == total


@pytest.mark.parametrize("count", [_BLOCK - 1, _BLOCK, 2 * _BLOCK + 7])
def test_many_rows_are_counted_block_by_block(count):
    table = make_table(("a", "x"), [(n % 5, n % 3) for n in range(count)])
    lattice = lattice_of(table, {"a": 2}, ["x"])
    assert lattice.totals.tolist() == [len(range(2, count, 5)), count]


def test_a_lattice_is_made_of_totals_and_guesses():
    counts = np.array([[[1, 2], [3, 4], [5, 6]]])
    parts = Lattice((2,), counts[0, 0], {"x": counts[0, 1], "y": counts[0, 2]})
    whole = Lattice.of_counts((2,), ("x", "y"), counts)
    for lattice in (parts, whole):
        assert lattice.totals.tolist() == [1, 2]
        assert {name: sums.tolist() for name, sums in lattice.guesses.items()} == {"x": [3, 4], "y": [5, 6]}
        assert lattice.entropies((1,)) == {"x": 2, "y": 3}
        assert repr(lattice) == "Lattice(shape=(2,), protected=('x', 'y'))"


def test_too_many_attributes_are_refused():
    names = [f"q{number}" for number in range(22)]
    table = make_table([*names, "x"], [(0,) * 23, (1,) * 23])
    with pytest.raises(BadInputError, match="fixes 22 attributes"):
        lattice_of(table, dict.fromkeys(names, 1), ["x"])
