"""Every item on a leaf of its own: listed, inner or unlisted."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError
from incrowd.taxonomy import Attached, attach, balanced, read_taxonomy
from incrowd.taxonomy.sources.wordnet import lexicon, wordnet_tree
from strategies import cases, fragments, taxonomy_of

ANIMALS = {"animal": ["dog", "cat"], "dog": ["pug", "hound"]}


def attached(rows, unlisted="refuse", children=None) -> Attached:
    return attach(Transactions.from_rows(rows), taxonomy_of(children or ANIMALS), unlisted=unlisted)


def way_of(data: Attached, item: str) -> list[str]:
    """Return the labels from an item's leaf up to the root."""
    tree = data.taxonomy
    node = tree.leaf_nodes[tree.item_leaf[tree.items.to_pylist().index(item)]]
    way = []
    while node >= 0:
        way.append(tree.labels[int(node)].as_py())
        node = tree.parent[node]
    return way


def test_items_that_are_leaves_stay():
    data = attached([["pug", "cat"], ["hound"]])
    assert data.taxonomy.labels.to_pylist() == ["animal", "dog", "pug", "hound", "cat"]
    assert (data.listed, data.unlisted) == (3, 0)
    assert way_of(data, "pug") == ["pug", "dog", "animal"]


def test_an_inner_item_gets_a_leaf_with_the_nodes_own_label():
    data = attached([["dog", "pug"], ["animal"]])
    tree = data.taxonomy
    assert tree.labels.to_pylist() == ["animal", "dog", "pug", "hound", "dog", "cat", "animal"]
    assert way_of(data, "dog") == ["dog", "dog", "animal"]
    assert way_of(data, "animal") == ["animal", "animal"]
    assert tree.leaf_count == 5


@given(cases())
def test_equals_the_reference(case):
    data, tree = case.attached(), case.tree()
    names = [node.removesuffix(" itself") for node in tree.path]
    assert data.taxonomy.labels.to_pylist() == names
    assert data.taxonomy.parent.tolist() == [
        tree.order[way[-2]] if len(way) > 1 else -1 for way in tree.path.values()
    ]
    leaves = [node for node in tree.path if tree.is_leaf(node)]
    inner = {item for row in case.rows for item in row if case.children[item]}
    expected = [
        leaves.index(reference.itself(item) if item in inner else item)
        for item in data.transactions.vocabulary.to_pylist()
    ]
    assert data.taxonomy.item_leaf.tolist() == expected


def test_refuse():
    with pytest.raises(BadInputError) as caught:
        attached([["pug", "secret"], ["other"]])
    assert str(caught.value) == (
        "taxonomy test lacks 2 of the 3 items; use unlisted='keep' (they get a branch of their own) or unlisted='drop' "
        "(they are removed), or give another file; 'incrowd taxonomy show' looks for one"
    )


def test_drop():
    data = attached([["pug", "secret", "secret"], ["other"], ["dog"]], "drop")
    assert [data.transactions.row(i) for i in range(3)] == [{"pug": 1}, {}, {"dog": 1}]
    assert (data.listed, data.unlisted) == (2, 2)
    assert data.taxonomy.labels.to_pylist() == ["animal", "dog", "pug", "hound", "dog", "cat"]
    assert data.transactions.account[-1].startswith("Removed 2 distinct items")


def test_drop_everything():
    data = attached([["x"], ["y"]], "drop")
    assert (data.transactions.empty_rows, data.listed, data.unlisted) == (2, 0, 2)


def test_keep():
    data = attached([["pug", "zebra"], ["yak"]], "keep")
    assert (data.listed, data.unlisted) == (1, 2)
    assert way_of(data, "zebra") == ["zebra", "unlisted", "anything"]
    assert way_of(data, "pug") == ["pug", "dog", "animal", "anything"]


def test_keep_arranges_the_unlisted_alphabetically():
    words = [f"w{i:02}" for i in range(7)]
    data = attached([words], "keep")
    assert way_of(data, "w04") == ["w04", "unlisted 1.1", "unlisted", "anything"]
    assert way_of(data, "w05") == ["w05", "unlisted 1.2", "unlisted", "anything"]


def test_items_called_like_made_nodes():
    words = ["group 1.1", "group", "unlisted", "unlisted 1.1", "anything", "anything~", "a", "b"]
    for tree in (balanced(Transactions.from_rows([words]), 2), attached([words], "keep").taxonomy):
        labels = list(zip(tree.labels.to_pylist(), tree.is_leaf.tolist(), strict=True))
        assert len(set(labels)) == len(labels)
        assert not any("~" in label for label, leaf in labels if not leaf)


def test_classes_of_the_tree_itself_are_never_made_again():
    named = taxonomy_of(
        {"anything": ["unlisted", "unlisted 1.1"], "unlisted": ["pug"], "unlisted 1.1": ["cat"]}
    )
    data = attach(Transactions.from_rows([["pug", "cat", *"abcdefg"]]), named, unlisted="keep")
    labels = list(zip(data.taxonomy.labels.to_pylist(), data.taxonomy.is_leaf.tolist(), strict=True))
    assert len(set(labels)) == len(labels)
    assert ("unlisted~ 1.1", False) in labels


@given(fragments(), st.booleans())
def test_labels_stay_unique_and_quote_nobody(words, mixed):
    rows = [words, ["pug", "cat"] if mixed else []]
    data = attached(rows, "keep")
    tree, known = data.taxonomy, {"animal", "dog", "pug", "hound", "cat"}
    labels = tree.labels.to_pylist()
    apart = list(zip(labels, tree.is_leaf.tolist(), strict=True))
    assert len(set(apart)) == len(apart)
    made = [
        label for label, leaf in zip(labels, tree.is_leaf, strict=True) if not leaf and label not in known
    ]
    assert all(re.fullmatch(r"unlisted( [0-9]+\.[0-9]+)?|anything", label) for label in made)
    assert all(way_of(data, word)[0] == word for word in words)
    assert len(set(tree.item_leaf.tolist())) == len(tree.items)


def test_a_grounded_tree_is_left_alone():
    tx = Transactions.from_rows([["a", "b"]])
    tree = balanced(tx, 2)
    assert attach(tx, tree).taxonomy is tree


def test_a_tree_grounded_in_other_items_is_grounded_again():
    data = attached([["dog"]])
    again = attach(Transactions.from_rows([["dog"], ["pug"]]), data.taxonomy)
    assert way_of(again, "pug") == ["pug", "dog", "animal"]
    assert way_of(again, "dog")[-2:] == ["dog", "animal"]


@pytest.fixture
def categories(tmp_path):
    path = tmp_path / "t"
    path.write_text("Top/Arts/Film/Noir\nTop/Arts/Music\nTop/Games/Music\nTop/Games/Go\n", encoding="utf-8")
    return read_taxonomy(path)


@pytest.mark.parametrize(
    ("item", "way"),
    [
        ("Go", ["Go", "Top/Games/Go", "Top/Games", "Top"]),
        ("Top/Games/Go", ["Top/Games/Go", "Top/Games", "Top"]),
        ("Top/Games/Music", ["Top/Games/Music", "Top/Games", "Top"]),
        ("Film", ["Film", "Top/Arts/Film", "Top/Arts", "Top"]),
        ("Top/Arts", ["Top/Arts", "Top/Arts", "Top"]),
        ("Top", ["Top", "Top"]),
    ],
)
def test_items_are_found_by_path_or_by_a_last_step_that_is_unique(categories, item, way):
    assert way_of(attach(Transactions.from_rows([[item]]), categories), item) == way


@pytest.mark.parametrize("item", ["Music", "music", "Games/Go", "/Go"])
def test_items_that_no_path_or_several_end_in_are_lacking(categories, item):
    with pytest.raises(BadInputError, match=r"lacks 1 of the 1 items"):
        attach(Transactions.from_rows([[item]]), categories)


def test_wordnet_words_are_leaves_of_their_own():
    words = ["dog", "domestic dog", "puppy", "car", "automobile", "qwzzx"]
    data = attach(Transactions.from_rows([words]), wordnet_tree(), unlisted="keep")
    assert len(set(data.taxonomy.item_leaf.tolist())) == len(words)
    assert all(way_of(data, word)[0] == word for word in words)
    assert way_of(data, "puppy")[-2] == "entity"
    assert way_of(data, "qwzzx") == ["qwzzx", "unlisted", "anything"]


def test_wordnet_labels_stay_unambiguous_for_every_word():
    """A word's own leaf may repeat its parent's label, never that of a node elsewhere."""
    words = lexicon().lemmas.to_pylist()
    data = attach(Transactions.from_rows([words]), wordnet_tree(), unlisted="keep")
    labels, parent = data.taxonomy.labels.to_pylist(), data.taxonomy.parent
    first: dict[str, int] = {}
    clashes = [v for v, label in enumerate(labels) if first.setdefault(label, v) not in (v, parent[v])]
    assert clashes == []
