"""Bags of items as compressed sparse rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.activity import Activity
from incrowd.core.ragged import list_ids
from incrowd.core.transactions import Transactions, Weeks

bags = st.lists(st.lists(st.sampled_from("abcdé\U0001f600￿"), max_size=6), max_size=12)


@given(bags)
def test_rows_come_back(rows):
    tx = Transactions.from_rows(rows)
    assert [tx.row(i) for i in range(len(tx))] == [dict(Counter(row)) for row in rows]
    assert tx.occurrences == sum(map(len, rows))
    assert tx.empty_rows == sum(not row for row in rows)


@given(bags, st.dictionaries(st.sampled_from("abcdé"), st.sampled_from("abxy")))
def test_renamed_items_of_the_same_text_become_one(rows, names):
    tx = Transactions.from_rows(rows)
    tx = replace(tx, places=np.arange(len(tx.items), dtype=np.uint8))
    texts = pa.array([names.get(item, item) for item in tx.vocabulary.to_pylist()], pa.string())
    made = tx.renamed(texts, note="renamed")
    expected = [Counter(names.get(item, item) for item in row) for row in rows]
    assert [made.row(i) for i in range(len(made))] == [dict(row) for row in expected]
    assert made.vocabulary.to_pylist() == sorted({item for row in expected for item in row})
    assert all((np.diff(made.items[a:b]) > 0).all() for a, b in pairwise(made.indptr.tolist()))
    first = {}
    for place, (row, item) in enumerate(zip(list_ids(tx.indptr).tolist(), tx.items.tolist(), strict=True)):
        first.setdefault((row, texts[item].as_py()), place)
    seen = zip(list_ids(made.indptr).tolist(), made.items.tolist(), made.places.tolist(), strict=True)
    assert {(row, made.vocabulary[item].as_py()): place for row, item, place in seen} == first


def test_meanings_of_queries_are_renamed_with_the_items():
    tx = Transactions.from_rows([["a", "b"], ["b", "c"]]).with_events()
    made = tx.renamed(pa.array(["x", "x", "a"]), note="renamed")
    assert made.vocabulary.to_pylist() == ["a", "x"]
    assert made.events.concept.tolist() == [1, 1, 0]


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


def with_everything():
    """Return transactions with all that rows may have: people, events, activity, weeks, places."""
    rows = Transactions.from_rows([["a", "b"], [], ["b", "b", "c"], ["d"]], people=["p", "q", "p", "r"])
    return replace(
        rows.with_events(),
        activity=Activity(np.array([1, 2, 3, 4], np.int32), 0, 9),
        weeks=Weeks(np.array([0, 1, 1, 3, 4]), np.array([5, 6, 7, 8], np.int32), 9),
        places=np.arange(5, dtype=np.uint8),
    )


def test_rows_are_read_one_by_one():
    data = with_everything()
    assert (len(data), dict(data[2]), dict(data[-1])) == (4, {"b": 2, "c": 1}, {"d": 1})
    assert [dict(row) for row in data] == [data.row(i) for i in range(4)]
    assert data[0]["a"] == data[0].get("a") == 1
    assert "z" not in data[0]
    for index in (4, -5):
        with pytest.raises(IndexError, match="there are 4 rows"):
            _ = data[index]


def test_a_row_prints_nothing_of_its_content():
    row = Transactions.from_rows([["secret", "secret", "x"]])[0]
    assert str(row) == repr(row) == "Row(2 distinct items, 3 occurrences; dict(row) shows them)"
    with pytest.raises(KeyError) as caught:
        _ = row["another secret"]
    assert "secret" not in str(caught.value)


@given(bags, st.slices(12))
def test_a_slice_is_the_transactions_of_its_rows(rows, chosen):
    part = Transactions.from_rows(rows)[chosen]
    assert [dict(row) for row in part] == [dict(Counter(row)) for row in rows[chosen]]
    assert part.vocabulary.to_pylist() == sorted({item for row in rows[chosen] for item in row})
    assert part.owners.to_pylist() == [str(i + 1) for i in range(len(rows))][chosen]
    assert part.account[-1] == f"Took {len(part):,} of {len(rows):,} rows."


def test_a_slice_keeps_all_that_rows_have():
    data, part = with_everything(), with_everything()[2:]
    assert part.people.to_pylist() == ["p", "r"]
    assert part.activity.days.tolist() == [3, 4]
    assert (part.weeks.start.tolist(), part.weeks.week.tolist()) == ([0, 2, 3], [6, 7, 8])
    assert part.places.tolist() == data.places[2:].tolist() == [2, 3, 4]
    events = part.events
    assert events.start.tolist() == [0, 3, 4]
    assert [events.texts[q].as_py() for q in events.query] == ["b", "b", "c", "d"]
    assert part.vocabulary.take(events.concept).to_pylist() == ["b", "c", "d"]
