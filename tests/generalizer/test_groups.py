"""Ladders of groups: what they are, and that strict fetches less with them and promises as much."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generalizer.naive import make_table
from incrowd.errors import BadInputError
from incrowd.generalizer import guess_sum, parse_policies
from incrowd.generalizer.groups import group_ladder
from incrowd.generalizer.minimality import posterior, usual_templates
from incrowd.generalizer.schema import encode, schema_of
from incrowd.generalizer.synthetic import synthetic_loans

SENT = ("county", "race", "reason")


@pytest.fixture(scope="module")
def loans():
    return synthetic_loans(6_000, 4)


def test_groups_are_named_by_their_values_and_nested():
    rows = [(n % 6, n % 2) for n in range(60)]
    ladder = group_ladder(make_table(("a", "x"), rows), "a", ["x"], sizes=(3, 2), separator="+")
    assert set(ladder) == set(range(6))
    for value, (fine, coarse) in ladder.items():
        assert str(value) in fine.split("+")
        assert set(fine.split("+")) <= set(coarse.split("+"))
    assert len({fine for fine, _ in ladder.values()}) == 3
    assert len({coarse for _, coarse in ladder.values()}) == 2


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=40
    ),
    sizes=st.lists(st.integers(1, 7), max_size=3),
)
def test_a_ladder_of_groups_is_one(rows, sizes):
    """The schema takes it: values that are in one group stay together, and no group is empty."""
    names = ("a", "x", "y")
    table = make_table(names, rows, domains={"a": range(6)})
    ladder = group_ladder(table, "a", ["x", "y"], sizes=sizes)
    laddered = make_table(names, rows, domains={"a": range(6)}, ladders={"a": ladder})
    for rung in laddered.schema["a"].ladder:
        members = [value for group in dict.fromkeys(rung) for value in group.split("|")]
        assert sorted(members) == [str(value) for value in range(6)]


def test_each_group_is_mixed_like_the_whole_table(loans):
    table = encode(loans, schema_of(loans))
    ladder = group_ladder(table, "county", ["reason"], sizes=(2,))
    guesses = []
    for group in {groups[0] for groups in ladder.values()}:
        members = [table.schema["county"].code(value) for value in group.split("|")]
        rows = np.isin(table.columns["county"], members)
        assert 0.4 < rows.mean() < 0.6
        found, many = guess_sum(np.bincount(table.columns["reason"][rows]))
        guesses.append(found / many)
    found, many = guess_sum(np.bincount(table.columns["reason"]))
    assert all(each == pytest.approx(found / many, rel=0.02) for each in guesses)


def test_strict_fetches_less_with_groups_and_leaves_nothing_below(loans):
    table = encode(loans, schema_of(loans))
    policies = parse_policies(["gender:g=1.58"])
    ladders = {name: group_ladder(table, name, ["gender"]) for name in SENT if name != "gender"}
    laddered = encode(loans, schema_of(loans, ladders={name: each for name, each in ladders.items() if each}))
    plain = posterior(table, policies, "strict", usual_templates(SENT))
    grouped = posterior(laddered, policies, "strict", usual_templates(SENT))
    assert (grouped.known, grouped.unknown) == (0, 0)
    assert grouped.fetched < 0.7 * plain.fetched


def test_mistakes_are_one_line():
    table = make_table(("a", "x"), [("b|c", 0), ("d", 1)])
    with pytest.raises(BadInputError, match="protected must name attributes other than 'a'"):
        group_ladder(table, "a", ["a"])
    with pytest.raises(BadInputError, match="protected must name"):
        group_ladder(table, "a", [])
    with pytest.raises(BadInputError, match=r"sizes must be at least 1 \(got 0\)"):
        group_ladder(table, "a", ["x"], sizes=(0,))
    with pytest.raises(BadInputError, match=r"separator '\|' is part of a value"):
        group_ladder(table, "a", ["x"])
