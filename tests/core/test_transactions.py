"""Bags of items as compressed sparse rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.transactions import Transactions

bags = st.lists(st.lists(st.sampled_from("abcdé\U0001f600￿"), max_size=6), max_size=12)


@given(bags)
def test_rows_come_back(rows):
    tx = Transactions.from_rows(rows)
    assert [tx.row(i) for i in range(len(tx))] == [dict(Counter(row)) for row in rows]
    assert tx.occurrences == sum(map(len, rows))
    assert tx.empty_rows == sum(not row for row in rows)


@given(bags)
def test_arrays_are_as_promised(rows):
    tx = Transactions.from_rows(rows)
    assert (tx.indptr.dtype, tx.items.dtype, tx.counts.dtype) == (np.int64, np.int32, np.int32)
    assert tx.vocabulary.to_pylist() == sorted({item for row in rows for item in row})
    assert tx.indptr[0] == 0
    assert tx.indptr[-1] == len(tx.items) == len(tx.counts)
    assert (tx.counts >= 1).all()
    for start, stop in zip(tx.indptr[:-1], tx.indptr[1:], strict=True):
        assert (np.diff(tx.items[start:stop]) > 0).all()


@given(bags)
def test_as_sets(rows):
    tx = Transactions.from_rows(rows)
    sets = tx.as_sets()
    assert [sets.row(i) for i in range(len(sets))] == [
        dict.fromkeys(row, 1) for row in map(sorted, map(set, rows))
    ]
    assert tx.occurrences == sum(map(len, rows))


@given(bags, st.sets(st.sampled_from("abcdé")))
def test_without_items(rows, unwanted):
    tx = Transactions.from_rows(rows)
    mask = np.array([item in unwanted for item in tx.vocabulary.to_pylist()], dtype=np.bool_)
    kept = tx.without_items(mask, note="gone")
    assert [kept.row(i) for i in range(len(kept))] == [
        dict(Counter(i for i in row if i not in unwanted)) for row in rows
    ]
    assert kept.vocabulary.to_pylist() == sorted({i for row in rows for i in row} - unwanted)
    assert kept.owners.equals(tx.owners)
    assert kept.account == ("gone",)
    assert tx.account == ()
    assert (kept.indptr.dtype, kept.items.dtype, kept.counts.dtype) == (np.int64, np.int32, np.int32)


@pytest.mark.parametrize("name", ["indptr", "items", "counts"])
def test_arrays_cannot_be_written(name):
    tx = Transactions.from_rows([["a", "b"], ["a"]])
    with pytest.raises(ValueError, match="read-only"):
        getattr(tx, name)[0] = 7


def test_fields_cannot_be_replaced():
    with pytest.raises(AttributeError):
        Transactions.from_rows([["a"]]).unit = "user"


def test_owners():
    assert Transactions.from_rows([["a"], []]).owners.to_pylist() == ["1", "2"]
    assert Transactions.from_rows([["a"], []], owners=["x", "y"]).owners.to_pylist() == ["x", "y"]


def test_no_rows_at_all():
    tx = Transactions.from_rows([])
    assert (len(tx), tx.occurrences, tx.empty_rows, len(tx.vocabulary)) == (0, 0, 0, 0)
    assert repr(tx) == "Transactions(0 records, 0 distinct items, 0 occurrences, 0.00 a row)"


def test_shows_its_size_and_no_item():
    tx = Transactions.from_rows([["secret", "secret"], ["other"]])
    assert repr(tx) == "Transactions(2 records, 2 distinct items, 3 occurrences, 1.50 a row)"


def test_places_stay_with_their_items():
    tx = Transactions.from_rows([["a", "b", "c"], ["b"]])
    placed = replace(tx, places=np.array([2, 1, 0, 7], dtype=np.uint8))
    kept = placed.without_items(np.array([False, True, False]), note="gone")
    assert kept.places.tolist() == [2, 0]
    assert placed.as_sets().places.tolist() == [2, 1, 0, 7]
    assert tx.without_items(np.array([True, False, False]), note="gone").places is None
