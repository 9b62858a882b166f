"""The lattice of a query's generalizations equals scanning the table for each of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden import GOLDEN
from incrowd.errors import BadInputError
from incrowd.online import build_lattice
from online.naive import all_states, make_table

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


def test_too_many_attributes_are_refused():
    names = [f"q{number}" for number in range(22)]
    table = make_table([*names, "x"], [(0,) * 23, (1,) * 23])
    with pytest.raises(BadInputError, match="fixes 22 attributes"):
        lattice_of(table, dict.fromkeys(names, 1), ["x"])
