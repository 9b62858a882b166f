"""Items and labels that differ in case: matched where it is no guess, counted, and published as they are in the data."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError
from incrowd.taxonomy import attach
from incrowd.taxonomy.matching import locate
from incrowd.taxonomy.sources.wordnet import wordnet_tree
from incrowd.taxonomy.tree import positions
from strategies import taxonomy_of

FOOD = {"Food": ["Milk", "BREAD", "bread", "Nut"], "Nut": ["Almond"]}


def attached(items, unlisted="refuse"):
    return attach(Transactions.from_rows([items]), taxonomy_of(FOOD), unlisted=unlisted)


def parent_of(data, item: str) -> tuple[str, str]:
    """Return the label of an item's leaf and of the node above it."""
    tree = data.taxonomy
    leaf = tree.leaf_nodes[tree.item_leaf[tree.items.to_pylist().index(item)]]
    return tree.labels[int(leaf)].as_py(), tree.labels[int(tree.parent[leaf])].as_py()


def test_an_item_in_another_case_is_a_leaf_below_its_node_and_stays_itself():
    data = attached(["milk", "MILK", "almond", "nut"])
    assert parent_of(data, "milk") == ("milk", "Milk")
    assert parent_of(data, "MILK") == ("MILK", "Milk")
    assert parent_of(data, "almond") == ("almond", "Almond")
    assert parent_of(data, "nut") == ("nut", "Nut")
    assert (data.listed, data.unlisted, data.other_case) == (4, 0, 4)


def test_an_exact_match_comes_first():
    data = attached(["Milk", "milk"])
    assert parent_of(data, "Milk") == ("Milk", "Milk")
    assert parent_of(data, "milk") == ("milk", "Milk")
    assert (data.listed, data.other_case) == (2, 1)
    assert attached(["Milk"]).other_case == 0


def test_two_labels_that_differ_only_in_case_are_matched_exactly_or_not_at_all():
    data = attached(["BREAD", "bread", "Bread"], "keep")
    assert parent_of(data, "BREAD") == ("BREAD", "Food")
    assert parent_of(data, "bread") == ("bread", "Food")
    assert parent_of(data, "Bread") == ("Bread", "unlisted")
    assert (data.listed, data.unlisted, data.other_case) == (2, 1, 0)
    with pytest.raises(BadInputError, match=r"lacks 1 of the 3 items \(1 of them name several nodes"):
        attached(["BREAD", "bread", "Bread"])


def test_the_account_says_how_many():
    notes = attached(["milk", "Milk", "almond", "x"], "drop").transactions.account
    assert notes[-2:] == (
        "Found 2 distinct items in the taxonomy in another case of letters only.",
        "Removed 1 distinct items that the taxonomy does not list (unlisted='drop').",
    )


def test_words_of_wordnet_in_another_case():
    data = attach(Transactions.from_rows([["Dog", "DOGS", "dog", "Qwzzx"]]), wordnet_tree(), unlisted="keep")
    assert parent_of(data, "Dog") == ("Dog", "dog")
    assert parent_of(data, "DOGS") == ("DOGS", "dog")
    assert parent_of(data, "Qwzzx") == ("Qwzzx", "unlisted")
    assert (data.listed, data.unlisted, data.other_case) == (3, 1, 2)


CASES = st.sampled_from(["a", "A", "aB", "AB", "ab", "\u00e9", "\u00c9", "c", "x"])


@given(st.lists(CASES, unique=True, min_size=1), st.lists(CASES, unique=True, min_size=1))
def test_equals_a_plain_search(labels, items):
    tree = taxonomy_of({"root": labels})
    found = locate(tree, Transactions.from_rows([items]).vocabulary)
    expected = []
    for item in sorted(items):
        alike = [label for label in labels if label.lower() == item.lower()]
        expected.append(item if item in labels else alike[0] if len(alike) == 1 else None)
    names = [tree.labels[node].as_py() if node >= 0 else None for node in found.node.tolist()]
    assert names == expected
    assert found.other_case.tolist() == [
        name is not None and name != item for name, item in zip(names, sorted(items), strict=True)
    ]


WORDS = st.sampled_from(["dog", "Dog", "cat", "", "\N{LATIN SMALL LETTER SHARP S}", None])


@given(st.lists(WORDS), st.lists(WORDS))
def test_positions_are_those_of_the_first_equal_text(items, texts):
    """Whichever are more; what is null is nowhere, and nothing is found in it."""
    found = positions(pa.array(items, pa.string()), pa.array(texts, pa.string()))
    assert found.tolist() == [
        texts.index(item) if item is not None and item in texts else -1 for item in items
    ]
    assert found.dtype == np.int32
