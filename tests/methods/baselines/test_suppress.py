"""Rare items removed, against a naive count; nothing is promised."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference
import reference_clump as naive
from incrowd.core.classes import WITHHELD
from incrowd.errors import BadInputError
from incrowd.methods.baselines.suppress import suppress
from incrowd.methods.registry import METHODS
from incrowd.metrics.losses import measure_losses
from strategies import Case, cases, in_names, large_cases

TREE = {"R": ["X", "Y"], "X": ["a", "b"], "Y": ["c", "d"]}


def by_row(case: Case) -> list[dict[str, int] | None]:
    """Return what each row publishes; None for a row that is withheld."""
    data = case.attached()
    shown: list[dict[str, int] | None] = [None] * len(case.rows)
    classes = suppress(data.transactions, data.taxonomy, k=case.k)
    for first, stop in pairwise(classes.start.tolist()):
        assert (np.diff(classes.nodes[first:stop]) > 0).all()
    for rows, bag in in_names(data.taxonomy, classes):
        for row in rows:
            shown[row] = bag
    return shown


def test_is_listed_and_promises_nothing():
    assert METHODS["suppress"].run is suppress
    assert METHODS["suppress"].promise == "none"


@settings(max_examples=80)
@given(st.one_of(cases(), large_cases()))
def test_equals_the_naive_count(case):
    assume(sum(map(bool, case.rows)) >= case.k)
    assert by_row(case) == naive.suppress(case.bags(), case.k)


@settings(max_examples=40)
@given(large_cases())
def test_loss_is_what_was_removed(case):
    """What is published is published exactly, so GGD counts the occurrences that are gone."""
    assume(sum(map(bool, case.rows)) >= case.k)
    assume(case.tree().size > 1)
    data, bags = case.attached(), case.bags()
    classes = suppress(data.transactions, data.taxonomy, k=case.k)
    losses = measure_losses(data.transactions, data.taxonomy, classes)
    expected = reference.ggd(case.tree(), bags, naive.suppress(bags, case.k))
    assert losses.ggd == pytest.approx(float(expected), abs=1e-9)
    assert losses.ggd == pytest.approx(losses.ncp * data.transactions.occurrences, abs=1e-9)


def test_rows_count_and_not_copies():
    """Seven copies in one row are one row's: <b> goes, though it occurs more often than <a>."""
    case = Case(TREE, [["a", "b", "b", "b", "b", "b", "b", "b"], ["a", "a"], ["c"]], 2)
    assert by_row(case) == [{"a": 1}, {"a": 2}, None]


def test_an_item_of_exactly_k_rows_stays():
    rows = [["a", "d"], ["a"], ["a", "c"], ["c"]]
    assert by_row(Case(TREE, rows, 3)) == [{"a": 1}, {"a": 1}, {"a": 1}, None]


def test_an_inner_node_that_is_an_item_is_an_item_of_its_own():
    """Rows with X and rows with a below it do not add up."""
    rows = [["X", "a"], ["X", "b"], ["a"]]
    own = reference.itself("X")
    assert by_row(Case(TREE, rows, 2)) == [{own: 1, "a": 1}, {own: 1}, {"a": 1}]


def test_rows_may_stay_unique():
    """Every item is shared, every combination is not: this is why nothing is promised."""
    case = Case(TREE, [["a", "b"], ["b", "c"], ["c", "a"]], 2)
    assert by_row(case) == case.bags()


def test_nothing_may_be_left():
    data = Case(TREE, [["a"], ["b"], ["c"]], 2).attached()
    classes = suppress(data.transactions, data.taxonomy, k=2)
    assert (len(classes), classes.withheld) == (0, 3)
    assert (classes.of_row == WITHHELD).all()
    assert classes.start.tolist() == [0]


@settings(max_examples=20)
@given(cases())
def test_leaves_its_input_alone(case):
    data = case.attached()
    tx = data.transactions
    before = [array.copy() for array in (tx.indptr, tx.items, tx.counts)]
    suppress(tx, data.taxonomy, k=case.k)
    after = (tx.indptr, tx.items, tx.counts)
    assert all(np.array_equal(old, new) for old, new in zip(before, after, strict=True))


def test_refuses_a_k_above_the_rows():
    data = Case(TREE, [["a"], ["b"], []], 2).attached()
    with pytest.raises(BadInputError, match="k must be at most 2"):
        suppress(data.transactions, data.taxonomy, k=3)
