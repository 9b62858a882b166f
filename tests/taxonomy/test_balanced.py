"""Made trees: the order of their items, their shape, and labels that quote nobody."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError
from incrowd.taxonomy import balanced
from strategies import fragments


def leaves_of(items, fan_out=5) -> list[str]:
    tree = balanced(Transactions.from_rows([items]), fan_out)
    return tree.labels_of(tree.leaf_nodes).to_pylist()


def shape_of(items, fan_out) -> list[int]:
    return balanced(Transactions.from_rows([items]), fan_out).parent.tolist()


@pytest.mark.parametrize(
    ("items", "order"),
    [
        (["10", "9", "-3", "100"], ["-3", "9", "10", "100"]),
        (["10.5", "9", "-3", "9.25"], ["-3", "9", "9.25", "10.5"]),
        (["10", "9", "x"], ["10", "9", "x"]),
        (["b", "B", "é", "z", "\U0001f600", "￿"], ["B", "b", "z", "é", "￿", "\U0001f600"]),
        (["7", "07", "007"], ["007", "07", "7"]),
        (["1000000000000000000001", "5"], ["5", "1000000000000000000001"]),
        (["1\n", "05", "2"], ["05", "1\n", "2"]),
    ],
    ids=[
        "integers",
        "decimals",
        "not-all-numbers",
        "code-points",
        "equal-numbers",
        "beyond-64-bits",
        "newline",
    ],
)
def test_order_of_the_items(items, order):
    assert leaves_of(items) == order


@given(st.lists(st.integers(-(10**17), 10**17), min_size=1, max_size=30, unique=True))
def test_integers_are_sorted_by_value(numbers):
    assert leaves_of([str(number) for number in numbers]) == [str(number) for number in sorted(numbers)]


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=30, unique=True))
def test_texts_are_sorted_by_code_point(texts):
    if not all(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text) for text in texts):
        assert leaves_of(texts) == sorted(texts)


@given(st.integers(1, 200), st.integers(2, 9))
def test_shape(count, fan_out):
    """Each F neighbours have a parent, level by level, up to one root."""
    items = [f"{i:03}" for i in range(count)]
    tree = reference.Tree(reference.balanced(items, fan_out))
    expected = [tree.order[way[-2]] if len(way) > 1 else -1 for way in tree.path.values()]
    assert shape_of(items, fan_out) == expected


@pytest.mark.parametrize(
    ("count", "parent"),
    [
        (1, [-1, 0]),
        (2, [-1, 0, 0]),
        (3, [-1, 0, 0, 0]),
        (4, [-1, 0, 1, 1, 1, 0, 5]),
        (9, [-1, 0, 1, 1, 1, 0, 5, 5, 5, 0, 9, 9, 9]),
        (10, [-1, 0, 1, 2, 2, 2, 1, 6, 6, 6, 1, 10, 10, 10, 0, 14, 15]),
    ],
    ids=["one", "below-F", "exactly-F", "F+1", "F*F", "F*F+1"],
)
def test_shape_by_hand(count, parent):
    assert shape_of([str(i) for i in range(count)], 3) == parent


def test_each_item_knows_its_leaf():
    tx = Transactions.from_rows([["10", "9", "8"]])
    tree = balanced(tx, 2)
    assert tree.labels_of(tree.leaf_nodes[tree.item_leaf]).to_pylist() == tx.vocabulary.to_pylist()
    assert tree.name == "balanced:2"


@pytest.mark.parametrize("fan_out", [1, 0, -5, 1_000_001, 2**63, 10**30])
def test_a_fan_out_out_of_range(fan_out):
    with pytest.raises(BadInputError) as caught:
        balanced(Transactions.from_rows([["a"]]), fan_out)
    assert str(caught.value) == f"balanced:F needs a fan-out F from 2 to 1,000,000 (got {fan_out})"


def test_a_fan_out_beyond_the_number_of_items_makes_one_family():
    assert shape_of(["a", "b", "c"], 1_000_000) == [-1, 0, 0, 0]


def test_no_items():
    with pytest.raises(BadInputError, match=r"^balanced: there are no items"):
        balanced(Transactions.from_rows([[], []]))


def made_labels(items, fan_out) -> list[str]:
    tree = balanced(Transactions.from_rows([items]), fan_out)
    return [label for label, leaf in zip(tree.labels.to_pylist(), tree.is_leaf, strict=True) if not leaf]


@given(fragments(), st.integers(2, 4))
def test_made_labels_are_unique_and_say_only_where_a_node_stands(items, fan_out):
    labels = made_labels(items, fan_out)
    assert len(set(labels)) == len(
        labels
    )  # an item may be spelt like a class: it is told apart by being a leaf
    assert all(re.fullmatch(r"group [0-9]+\.[0-9]+|anything", label) for label in labels)


@given(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, unique=True),
    st.integers(2, 4),
)
def test_made_labels_depend_on_the_number_of_items_alone(items, fan_out):
    """Labels that are the same for every other vocabulary of that size quote no item."""
    assert made_labels(items, fan_out) == made_labels([f"{i:05}" for i in range(len(items))], fan_out)
