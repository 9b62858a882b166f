"""Words that hang below other classes than the taxonomy has them: only their own leaves move, and none is there twice."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.kinds import typed
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError
from incrowd.taxonomy import attach, balanced, open_taxonomy, read_taxonomy
from incrowd.taxonomy.kinds import attach_kinds
from incrowd.taxonomy.look import class_named, look_up
from incrowd.taxonomy.moves import check_move, read_moves
from incrowd.taxonomy.sources.wordnet import wordnet_tree
from incrowd.taxonomy.words import named_tree
from strategies import cases, taxonomy_of

ANIMALS = {"animal": ["dog", "cat", "bird"], "dog": ["pug", "hound"], "bird": ["owl"]}
BOATS = "1 - Boats\n2 - Boats > Oars\n3 - Boats > Parts\n4 - Rakes\n5 - Rakes > Parts\n"


def moved(rows, moves, *, unlisted="refuse", tree=None):
    tree = taxonomy_of(ANIMALS) if tree is None else tree
    return attach(Transactions.from_rows(rows), tree, unlisted=unlisted, moves=read_moves(moves))


def way_of(attached, item):
    """Return the labels from an item's leaf up to the root."""
    tree = attached.taxonomy
    node = tree.leaf_nodes[tree.item_leaf[tree.items.to_pylist().index(item)]]
    way = []
    while node >= 0:
        way.append(tree.labels[int(node)].as_py())
        node = tree.parent[node]
    return way


def moved_items(attached):
    """Return the labels of the nodes that are marked as moved."""
    return attached.taxonomy.labels.filter(pa.array(attached.taxonomy.moved)).to_pylist()


def test_a_leaf_goes_with_its_word():
    data = moved([["pug", "cat"], ["hound"]], {"pug": "cat"})
    assert way_of(data, "pug") == ["pug", "cat", "animal"]
    assert way_of(data, "cat") == ["cat", "cat", "animal"]  # it is a class now, and "exactly this"
    assert data.taxonomy.labels.to_pylist().count("pug") == 1
    assert moved_items(data) == ["pug"]
    assert data.found == {"listed": 3, "unlisted": 0, "other_case": 0, "moved": 1}


def test_an_inner_node_stays_where_it_is():
    data = moved([["dog", "pug"], ["cat"]], {"dog": "bird"})
    assert way_of(data, "dog") == ["dog", "bird", "animal"]
    assert way_of(data, "pug") == ["pug", "dog", "animal"]
    assert moved_items(data) == ["dog"]


def test_a_class_that_others_moved_out_of_leaves_no_second_leaf_of_its_name():
    """Where all below bird and bird itself have left, a leaf called bird would be left behind."""
    data = moved([["bird", "owl", "pug"]], {"owl": "dog", "bird": "cat"})
    assert way_of(data, "owl") == ["owl", "dog", "animal"]
    assert way_of(data, "bird") == ["bird", "cat", "animal"]
    assert data.taxonomy.labels.to_pylist().count("bird") == 1


def test_how_many_leaves_a_class_was_given_stays():
    before = attach(Transactions.from_rows([["pug", "owl", "bird"]]), taxonomy_of(ANIMALS)).taxonomy
    after = moved([["pug", "owl", "bird"]], {"pug": "bird", "owl": "cat", "bird": "dog"}).taxonomy

    def given_to(tree):
        classes = np.flatnonzero(~tree.is_leaf)
        return dict(
            zip(tree.labels_of(classes).to_pylist(), tree.given_leaves[classes].tolist(), strict=True)
        )

    for name in ("animal", "dog", "bird"):
        assert given_to(after)[name] == given_to(before)[name]
    assert given_to(after)["cat"] == 1  # a leaf of the tree as it was given
    assert (after.given_leaves[after.is_leaf] == 1).all()
    rows = [["pug", "hound", "dog"]]
    emptied = moved(
        rows, {"pug": "bird", "hound": "bird", "dog": "cat"}
    ).taxonomy  # the class of two goes with its word
    assert (emptied.given_leaves[emptied.is_leaf] == 1).all()


@given(cases(), st.data())
def test_every_item_hangs_where_it_was_moved_or_where_the_tree_has_it(case, data):
    tree = taxonomy_of(case.children)
    labels = tree.labels.to_pylist()
    items = sorted({item for row in case.rows for item in row})
    moves = data.draw(st.dictionaries(st.sampled_from(items), st.sampled_from(labels), min_size=1))
    made = moved(case.rows, moves, tree=tree)
    now = made.taxonomy
    way_in = {label: tree.ancestors(np.array([node], np.int32)) for node, label in enumerate(labels)}
    for item in items:
        way = way_of(made, item)
        home = labels.index(item)
        above = tree.parent[home]
        own = {item} | ({labels[above]} if tree.is_leaf[home] and above >= 0 else set())
        is_moved = item in moves and moves[item] not in own
        expected = moves[item] if is_moved else item
        ancestors = [labels[node] for node in way_in[expected].tolist()[::-1]]
        assert way in ([item, *ancestors], ancestors)
        assert (item in moved_items(made)) == is_moved
    names = list(zip(now.labels.to_pylist(), now.is_leaf.tolist(), strict=True))
    assert len(set(names)) == len(names)
    assert now.leaf_nodes[now.item_leaf].tolist() == [
        names.index((item, True)) for item in made.transactions.vocabulary.to_pylist()
    ]


def test_words_that_the_tree_lacks_can_be_moved_into_it():
    for unlisted in ("keep", "drop", "refuse"):
        data = moved([["pug", "zorblax"]], {"zorblax": "cat"}, unlisted=unlisted)
        assert way_of(data, "zorblax") == ["zorblax", "cat", "animal"]
        assert (data.listed, data.unlisted) == (2, 0)
    data = moved([["pug", "zorblax", "other"]], {"zorblax": "cat"}, unlisted="drop")
    assert data.transactions.vocabulary.to_pylist() == ["pug", "zorblax"]
    assert moved_items(data) == ["zorblax"]


def test_a_move_to_where_a_word_hangs_is_none():
    for below in ("pug", "dog"):
        data = moved([["pug", "cat"]], {"pug": below})
        assert way_of(data, "pug") == ["pug", "dog", "animal"]
        assert moved_items(data) == []


def test_items_in_another_case_move_too_unless_a_move_is_about_them():
    data = moved([["Pug", "pug"]], {"pug": "cat"})
    assert way_of(data, "Pug") == ["Pug", "cat", "animal"]
    data = moved([["Pug", "pug"]], {"pug": "cat", "Pug": "owl"})
    assert way_of(data, "Pug") == ["Pug", "owl", "bird", "animal"]
    assert way_of(data, "pug") == ["pug", "cat", "animal"]


@pytest.mark.parametrize("unlisted", ["keep", "name"])
def test_words_of_wordnet(unlisted):
    moves = {"jaguar": "car", "zorblax": "motor vehicle", "kmart": "automobile", "dog": "furniture"}
    data = moved([[*moves, "pug"]], moves, tree=wordnet_tree(), unlisted=unlisted)
    assert [way_of(data, item)[1] for item in moves] == ["car", "motor vehicle", "car", "furniture"]
    assert way_of(data, "pug")[1] == "dog"
    assert sorted(moved_items(data)) == sorted(moves)
    assert data.taxonomy.labels.to_pylist().count("jaguar") == 1


def test_below_a_class_of_words_that_wordnet_lacks():
    rows = [["zorblax", "kmart"]]
    data = moved(rows, {"zorblax": "department store"}, tree=wordnet_tree(), unlisted="name")
    assert way_of(data, "zorblax")[1] == "department store"
    assert look_up(wordnet_tree(), "zorblax", read_moves({"zorblax": "surname"}))["found"][0]["path"][
        -2:
    ] == [
        "surname",
        "zorblax",
    ]


@pytest.mark.parametrize("word", ["johnsmith", "555-1234", "resturant", "JohnSmith"])
def test_words_that_are_not_published_as_themselves_cannot_be_moved(word):
    with pytest.raises(BadInputError) as caught:
        moved([["dog"]], {"dog": "car", word: "car"}, tree=wordnet_tree(), unlisted="name")
    assert str(caught.value).startswith(
        "moves, entry 2: with unlisted='name' that word is published as another"
    )
    assert word not in str(caught.value)
    assert moved_items(moved([[word, "dog"]], {word: "car"}, tree=wordnet_tree(), unlisted="keep")) == [word]


def test_beside_items_of_further_kinds():
    rows = Transactions.from_rows([["pug", typed("place", "London")], ["owl"]])
    moves = read_moves({"pug": "cat"})
    data = attach_kinds(rows, ["place"], lambda words: attach(words, taxonomy_of(ANIMALS), moves=moves))
    assert way_of(data, "pug") == ["pug", "cat", "animal", "all kinds"]
    assert moved_items(data) == ["pug"]


def test_a_tree_without_meanings_or_that_was_fitted_takes_no_moves():
    rows = Transactions.from_rows([["pug", "owl"]])
    with pytest.raises(
        BadInputError, match=r"balanced:5 is made from the items .* drop moves, or use taxonomy='wordnet'"
    ):
        open_taxonomy("balanced:5", rows, moves=read_moves({"pug": "owl"}))
    with pytest.raises(BadInputError, match="moves needs a taxonomy that is not fitted to data"):
        attach(rows, balanced(rows, 5), moves=read_moves({"pug": "owl"}))


@pytest.fixture
def boats(tmp_path):
    (tmp_path / "boats").write_text(BOATS, encoding="utf-8")
    return read_taxonomy(tmp_path / "boats")


@pytest.mark.parametrize("name", ["2", "Boats > Oars", "Oars", "oARS", " boats >  oars"])
def test_a_class_is_named_by_its_id_its_path_or_its_name(boats, name):
    assert boats.labels[class_named(boats, name)].as_py() == "Boats > Oars"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Parts", "2 nodes of boats have that name: say which, as 'Boats > Parts' or 'Rakes > Parts'"),
        ("Boat", "boats has no such class: say 'Boats', or look for one with 'incrowd taxonomy show'"),
        ("xyzzy", "boats has no such class: look for one with 'incrowd taxonomy show'"),
    ],
)
def test_a_class_that_is_none_or_several(boats, name, said):
    with pytest.raises(BadInputError) as caught:
        class_named(boats, name)
    assert str(caught.value) == said
    with pytest.raises(BadInputError) as caught:
        read_moves({"hook": "Rakes", "pin": name}).on(boats)
    assert str(caught.value) == f"moves, entry 2: {said}"


@pytest.mark.parametrize("name", ["vehicel", "tregoning", "555-1234"])
def test_what_rules_make_of_a_word_is_no_class(name):
    """A typing error must not become the class that is nearest, nor a name the class of names."""
    with pytest.raises(BadInputError, match="wordnet has no such class"):
        class_named(named_tree(), name)


def test_a_file_of_moves(tmp_path):
    path = tmp_path / "moves.tsv"
    path.write_bytes("\ufeff# mine\r\npug\tcat\r\n\r\n owl\t dog \r\npug\tbird\n".encode())
    moves = read_moves(path)
    assert dict(zip(moves.words, moves.classes, strict=True)) == {"pug": "bird", "owl": "dog"}
    assert (len(moves), repr(moves)) == (2, "Moves(2 words)")
    assert moves.digest == read_moves(path).digest
    path.write_text("pug\tcat\n", encoding="utf-8")
    assert moves.digest != read_moves(path).digest


def test_words_are_cleaned_as_items_are(tmp_path):
    path = tmp_path / "moves.tsv"
    path.write_text("cafe\u0301\u200b\tcat\n", encoding="utf-8")
    assert read_moves(path).words == ("caf\u00e9",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"# none\n\n", " has no move: write a word, a tab and the class"),
        (b"ok\tcat\nsecret cat\n", " line 2 has no tab: write a word, a tab and the class"),
        (b"secret\tcat\tdog\n", " line 1 has several tabs: write"),
        (b"\n\tcat\n", " line 2 lacks the word or the class: write"),
        (b"secret\t \n", " line 1 lacks the word or the class: write"),
        (b"ok\tcat\nsecret\xff\tcat\n", " line 2 is not UTF-8: save the file as UTF-8"),
        (b"".join(b"w%d\tcat\n" % n for n in range(10_001)), " has 10,001 moves, and 10,000 are the most"),
        (b"#" * ((4 << 20) + 1), " is too large for a list of moved words: is it the input?"),
    ],
)
def test_what_is_no_file_of_moves_is_refused_by_its_line(tmp_path, text, said):
    path = tmp_path / "moves.tsv"
    path.write_bytes(text)
    with pytest.raises(BadInputError) as caught:
        read_moves(path)
    assert str(caught.value).startswith(f"moves {path}{said}")
    assert "secret" not in str(caught.value)
    for place, what in ((tmp_path, "is a directory"), (tmp_path / "none", "does not exist")):
        with pytest.raises(BadInputError, match=what):
            read_moves(place)


@pytest.mark.parametrize("given", [["pug"], {"pug": 1}, {}, {"": "cat"}])
def test_what_is_no_mapping_of_words_is_refused(given):
    with pytest.raises(BadInputError, match=r"^moves"):
        read_moves(given)


def test_a_single_move_is_checked_as_in_a_list():
    tree = taxonomy_of(ANIMALS)
    check_move(tree, "pug", "cat")
    for word, name, said in (
        ("", "cat", "needs a word and a class"),
        ("pug", " ", "needs a word and a class"),
        ("#pug", "cat", "begins with #"),
        ("pug", "anima", "has no such class: say 'animal'"),
    ):
        with pytest.raises(BadInputError, match=said):
            check_move(tree, word, name)
    with pytest.raises(BadInputError, match="published as another one"):
        check_move(named_tree(), "johnsmith", "car", named=True)


def test_a_moved_word_is_found_where_it_is_now(boats):
    moves = read_moves({"jaguar": "car", "dog": "furniture", "zorblax": "car", "auto": "furniture"})
    found = look_up(wordnet_tree(), "jaguar", moves)
    assert found["why"] == "It was moved below 'car'; the taxonomy has it below 'big cat'."
    assert (found["moved"], found["found_in_all"]) == (True, 1)
    assert found["found"][0]["path"][-3:] == ["motor vehicle", "car", "jaguar"]
    assert found["found"][0]["siblings_in_all"] > len(found["found"][0]["siblings"]) > 5
    dog = look_up(wordnet_tree(), "dog", moves)
    assert dog["why"] == "It was moved below 'furniture'; the taxonomy has it below 'canid'."
    assert [node["path"][-2:] for node in dog["found"]] == [["furniture", "dog"], ["canid", "dog"]]
    assert look_up(wordnet_tree(), "zorblax", moves)["why"].endswith("the taxonomy lacks it.")
    assert look_up(wordnet_tree(), "auto", moves)["why"].endswith("the taxonomy has it below 'car'.")
    assert "moved" not in look_up(wordnet_tree(), "cat", moves)
    assert look_up(boats, "Oars", read_moves({"Oars": "Rakes"}))["found"][0]["path"] == [
        "all categories",
        "Rakes",
        "Oars",
    ]
