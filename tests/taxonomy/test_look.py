"""Looking a word up in a taxonomy."""

from __future__ import annotations

import pytest

from incrowd.errors import BadInputError
from incrowd.taxonomy import read_taxonomy
from incrowd.taxonomy.look import look_up
from incrowd.taxonomy.sources.wordnet import wordnet_tree

LIST = """1 - Boats
2 - Boats > Canoes
3 - Boats > Canoes > Accessories
4 - Boats > Canoes > Paddles
5 - Rakes
6 - Rakes > Accessories
"""


@pytest.fixture
def boats(tmp_path):
    (tmp_path / "boats").write_text(LIST, encoding="utf-8")
    return read_taxonomy(tmp_path / "boats")


@pytest.mark.parametrize("word", ["Canoes", "cANOES", " canoes ", "2", "boats  > canoes"])
def test_a_node_with_its_way_to_the_root_and_its_neighbours(boats, word):
    found = look_up(boats, word)
    assert found["found_in_all"] == 1
    assert found["found"] == [
        {
            "label": "Boats > Canoes",
            "id": "2",
            "path": ["all categories", "Boats", "Canoes"],
            "siblings": [],
            "siblings_in_all": 0,
            "children": ["Accessories", "Paddles"],
            "children_in_all": 2,
        }
    ]


def test_all_nodes_of_a_name(boats):
    found = look_up(boats, "accessories")
    assert [(node["label"], node["siblings"]) for node in found["found"]] == [
        ("Boats > Canoes > Accessories", ["Paddles"]),
        ("Rakes > Accessories", []),
    ]


def test_the_root_has_no_siblings(boats):
    (root,) = look_up(boats, "All Categories")["found"]
    assert (root["siblings_in_all"], root["children"], root["id"]) == (0, ["Boats", "Rakes"], None)


def test_long_lists_are_cut_and_counted(tmp_path):
    lines = [f"Top {top} > Parts > Part {part}" for top in range(7) for part in range(130)]
    (tmp_path / "t").write_text("\n".join(lines), encoding="utf-8")
    tree = read_taxonomy(tmp_path / "t")
    found = look_up(tree, "parts")
    assert (len(found["found"]), found["found_in_all"]) == (5, 7)
    assert (len(found["found"][0]["children"]), found["found"][0]["children_in_all"]) == (10, 130)
    found = look_up(tree, "Top 1 > Parts > Part 7")
    assert (len(found["found"][0]["siblings"]), found["found"][0]["siblings_in_all"]) == (10, 129)
    assert "Part 7" not in found["found"][0]["siblings"]


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("canoe", "; there are 'Canoes'"),
        ("rake", "; there are 'Rakes'"),
        ("padles", "; there are 'Paddles'"),
        ("qqqqqq", ""),
        ("", "; there are 'Boats', 'Rakes', 'Canoes', 'Paddles', 'Accessories'"),
    ],
)
def test_a_word_that_is_not_there(boats, word, says):
    with pytest.raises(BadInputError) as caught:
        look_up(boats, word)
    assert str(caught.value) == f"taxonomy boats has no node called '{word}'{says}"


def test_a_word_of_wordnet_is_found_by_its_synset():
    found = look_up(wordnet_tree(), "Mice")
    assert found["found"][0]["label"] == "mouse"
    assert found["found"][0]["path"][0] == "entity"
    assert found["found"][0]["path"][-2:] == ["rodent", "mouse"]
    assert look_up(wordnet_tree(), "automobile")["found"][0]["label"] == "car"
