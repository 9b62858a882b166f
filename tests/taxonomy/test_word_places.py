"""Words that WordNet lacks, attached to its tree: those of a kind below it, the rest in a branch of their own."""

from __future__ import annotations

import pytest

from helpers import strings
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError
from incrowd.taxonomy import attach, wordnet_tree
from incrowd.taxonomy.look import look_up
from incrowd.text.words import LISTED, NAMED, UNLISTED, find_nouns, find_terms
from strategies import taxonomy_of

ROWS = [
    ["dog", "kmart", "foo.com", "555-1234", "555-9876", "zzyzxqqq"],
    ["restaurant's", "resturant", "restaurant", "ukiah", "auto"],
]


def places(rows):
    """Return the data, and the labels from each item's leaf up to the root."""
    made = attach(Transactions.from_rows(rows), wordnet_tree(), unlisted="name")
    tree, ways = made.taxonomy, {}
    for item, leaf in zip(tree.items.to_pylist(), tree.item_leaf.tolist(), strict=True):
        nodes = tree.ancestors(tree.leaf_nodes[[leaf]])
        ways[item] = tree.labels_of(nodes).to_pylist()[::-1]
    return made, ways


def test_every_item_has_a_leaf_below_the_node_of_its_kind():
    made, ways = places(ROWS)
    assert ways["kmart"][:2] == ["kmart", "department store"]
    assert ways["foo.com"][:3] == ["foo.com", "commercial site", "web site"]
    assert ways["ukiah"][:3] == ["ukiah", "town in california", "town in the united states"]
    assert ways["dog"][:2] == ["dog", "dog"]
    assert ways["auto"][:2] == ["auto", "car"]
    assert ways["zzyzxqqq"][1].startswith("unlisted")
    assert (made.listed, made.unlisted) == (len(ways) - 1, 1)


def test_words_in_another_case_stay_as_they_are_unless_nothing_of_them_is_published():
    made, ways = places([["Kmart", "kmart", "JANE@EXAMPLE.ORG"]])
    assert ways["Kmart"][:3] == ["Kmart", "kmart", "department store"]
    assert ways.keys() == {"Kmart", "kmart", "e-mail address"}
    assert made.other_case == 1


def test_what_is_published_as_something_else_is_merged_before_anything_is_counted():
    made, ways = places(ROWS)
    assert made.transactions.row(0)["phone number"] == 2
    assert made.transactions.row(1)["restaurant"] == 3
    assert not {"555-1234", "555-9876", "restaurant's", "resturant"} & ways.keys()
    assert "Merged 4 distinct items" in made.transactions.account[-1]


def test_attaching_again_changes_nothing():
    made, _ = places(ROWS)
    again = attach(made.transactions, wordnet_tree(), unlisted="name")
    assert again.transactions is made.transactions
    assert again.taxonomy.labels.equals(made.taxonomy.labels)


def test_leaves_do_not_depend_on_the_data():
    (few, _), (many, _) = (
        places([["dog", "ukiah"]]),
        places([["dog", "ukiah", "margaret", "foo.com", "bar.com"]]),
    )
    counts = [
        dict(zip(made.taxonomy.labels.to_pylist(), made.taxonomy.given_leaves.tolist(), strict=True))
        for made in (few, many)
    ]
    assert counts[0]["town in california"] == counts[1]["town in california"] > 50
    assert counts[0]["first name"] == counts[1]["first name"] > 4_000


@pytest.mark.parametrize("tree", ["file", "fitted"])
def test_only_wordnet_names_words(tree):
    data = Transactions.from_rows([["pug", "kmart"]])
    given = (
        taxonomy_of({"animal": ["pug"]})
        if tree == "file"
        else attach(Transactions.from_rows([["pug"]]), wordnet_tree()).taxonomy
    )
    with pytest.raises(BadInputError, match="use taxonomy='wordnet'"):
        attach(data, given, unlisted="name")


def test_words_of_a_log_are_named_as_items_of_data_are():
    words = strings("cats", "kmart", "restaurant's", "555-1234", "educational", "zzyzxqqq", "the")
    nouns, terms = find_nouns(words, named=True), find_terms(words, named=True)
    assert nouns.item.to_pylist() == ["cat", "kmart", "restaurant", "phone number", None, "zzyzxqqq", None]
    assert terms.item.to_pylist() == [
        "cats",
        "kmart",
        "restaurant",
        "phone number",
        "educational",
        "zzyzxqqq",
        None,
    ]
    assert nouns.kind[0] == LISTED
    assert nouns.kind[5] == UNLISTED
    assert (nouns.kind[1:4] >= NAMED).all()


@pytest.mark.parametrize(
    ("word", "label", "why"),
    [
        ("ukiah", "ukiah", "a place that the table lists; published as 'ukiah', below 'town in california'"),
        (
            "Foo.com",
            "commercial site",
            "the address of a site; published as 'foo.com', below 'commercial site'",
        ),
        (
            "555-1234",
            "phone number",
            "like a telephone number: published as its kind only, 'phone number'.",
        ),
        (
            "resturant",
            "restaurant",
            "nearest to 'restaurant', and to no other word that is known; published as 'restaurant', a node",
        ),
        ("auto", "car", "The first sense of WordNet's noun 'auto'."),
        ("town in texas", "town in texas", "It is the name of a node."),
    ],
)
def test_why_a_word_is_where_it_is(word, label, why):
    found = look_up(wordnet_tree(), word)
    assert found["found"][0]["label"] == label
    assert why in found["why"]
    assert found["found"][0]["path"][0] == "entity"


def test_why_a_word_has_no_place():
    with pytest.raises(BadInputError) as caught:
        look_up(wordnet_tree(), "Contect")
    assert str(caught.value).startswith(
        "taxonomy wordnet has no node called 'Contect': 7 known words are one typing error away ('confect', "
    )
    assert ", and with unlisted='name' it stays in the branch 'unlisted'; there are 'context'" in str(
        caught.value
    )
