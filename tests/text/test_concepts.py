"""From queries to nodes of a knowledge base: WordNet, category paths, the paper's example."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.taxonomy import Taxonomy, read_taxonomy, wordnet_tree
from incrowd.taxonomy.sources.wordnet import lexicon
from incrowd.text.concepts import Knowledge, find_concepts
from incrowd.text.phrases import noun_phrases
from incrowd.text.words import STOP_WORDS

TESTS = Path(__file__).resolve().parents[1]
GOLDEN = json.loads((TESTS / "golden/golden.json").read_text(encoding="utf-8"))["microaggregation"]
FORTY = [
    line.split("\t") for line in (TESTS / "text/forty_queries.tsv").read_text(encoding="utf-8").splitlines()
]


@pytest.fixture(scope="module")
def wordnet():
    return Knowledge.of(wordnet_tree())


def nodes_of(knowledge: Knowledge, *queries: str | None) -> list[list[int]]:
    found = find_concepts(pa.array(queries, pa.string()), knowledge)
    assert found.start.dtype == np.int64
    assert found.node.dtype == np.int32
    assert len(found.start) == len(queries) + 1
    return [part.tolist() for part in np.split(found.node, found.start[1:-1])]


def labels_of(knowledge: Knowledge, query: str | None) -> list[str]:
    return [knowledge.tree.labels[node].as_py() for node in nodes_of(knowledge, query)[0]]


def meant(lemmas: str) -> list[int | None]:
    return [lexicon().node(lemma) for lemma in lemmas.split("; ") if lemma]


def tree_of(*paths: str) -> Taxonomy:
    """Return the tree of some paths, all of which begin with the same root."""
    labels = list(dict.fromkeys("/".join(path.split("/")[: i + 1]) for path in paths for i in range(9)))
    parent = [labels.index(label.rpartition("/")[0]) if "/" in label else -1 for label in labels]
    return Taxonomy.from_parents(np.array(parent, dtype=np.int32), pa.array(labels), name="paths")


def test_there_are_forty_queries():
    assert len({query for query, _ in FORTY}) == len(FORTY) == 40
    assert all(None not in meant(lemmas) for _, lemmas in FORTY)


@pytest.mark.parametrize(("query", "lemmas"), FORTY)
def test_forty_queries_in_wordnet(wordnet, query, lemmas):
    assert nodes_of(wordnet, query) == [meant(lemmas)]


@pytest.mark.parametrize(
    ("query", "lemmas"),
    [
        ("water sports water sport", "water sport"),  # distinct
        ("dogs and cats and a dog", "dog; cat"),  # in order of appearance
        ("real estate agents", "real estate agent"),  # the longest
        ("united states of america maps", "united states of america; map"),
        ("the city", "city"),
        ("hague", "the hague"),
        ("poring", ""),  # not "poring over"
        ("new years eve", "new year's eve"),
        ("mother-in-law jokes", "mother-in-law; joke"),
        ("men's room", "men's room"),
        ("ladies", "lady"),
        ("fly-fishing", "fly-fishing"),
        ("x-rays", "x-ray"),
        ("vitamin c", "vitamin c"),
        ("st. paul", "st. paul"),
        ("entity", ""),  # the root says nothing
        ("he", ""),  # helium, for WordNet
        ("zanoblix", ""),
        ("bread zanoblix", ""),  # a phrase means its last word
        ("\u6771\u4eac\u306e\u5929\u6c17", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_more_queries_in_wordnet(wordnet, query, lemmas):
    assert nodes_of(wordnet, query) == [meant(lemmas)]


def test_every_lemma_of_plain_words_is_found_by_its_own_name(wordnet):
    """Also the plural of those whose head is a plain singular noun."""
    lemmas = ["motor vehicle", "bank", "hot dog", "chest of drawers", "pride of place", "man of letters"]
    assert nodes_of(wordnet, *lemmas) == [meant(lemma) for lemma in lemmas]


def test_a_word_is_not_used_twice(wordnet):
    # "night club" and "club soda" are both names; the one further right is taken, and "night" is left alone.
    assert meant("night club") != [None] != meant("club soda")
    assert nodes_of(wordnet, "night club soda") == [meant("club soda")]


def test_the_golden_example():
    ways = GOLDEN["generalizations"].values()
    knowledge = Knowledge.of(tree_of(*("/".join(["Top", *way]) for way in ways)))
    users = {
        "u1": ["diving in the Mediterranean"],
        "u2": ["windsurfing in the Mediterranean", "Mediterranean"],
    }
    for user, queries in users.items():
        found = [label.rpartition("/")[2] for query in queries for label in labels_of(knowledge, query)]
        assert {label: found.count(label) for label in found} == GOLDEN["users"][user]


SPORTS = (
    "Top/Shopping/Sports/Water_Sports",
    "Top/Sports/Water_Sports/Swimming_and_Diving",
    "Top/Sports/Winter/Skiing",
    "Top/Sports/Resources",
    "Top/Arts/Resources",
    "Top/Business/Store_Fixtures",
    "Top/Business/Food_&_Drink,_Retail",
    "Top/Business/Deep_Water/Diving_Bells",
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sports", ["Top/Sports"]),  # nearer to the root than Top/Shopping/Sports
        ("exciting water sport", ["Top/Sports/Water_Sports"]),
        ("swimming, diving", ["Top/Sports/Water_Sports/Swimming_and_Diving"]),
        ("Swimming_and_Diving", ["Top/Sports/Water_Sports/Swimming_and_Diving"]),
        (
            "scuba diving",
            ["Top/Sports/Water_Sports/Swimming_and_Diving"],
        ),  # a member comes before Diving_Bells
        ("drinks", ["Top/Business/Food_&_Drink,_Retail"]),
        ("ski", ["Top/Sports/Winter/Skiing"]),
        ("resource", ["Top/Sports/Resources"]),  # equally near: the first
        ("fixture", ["Top/Business/Store_Fixtures"]),
        ("ring the bells", ["Top/Business/Deep_Water/Diving_Bells"]),
        ("store in fixtures", ["Top/Business/Store_Fixtures"]),
        ("top", []),
        ("zanoblix", []),
    ],
)
def test_category_paths(query, expected):
    assert labels_of(Knowledge.of(tree_of(*SPORTS)), query) == expected


def test_plain_labels_with_a_slash_stay_whole():
    tree = Taxonomy.from_parents(np.array([-1, 0], dtype=np.int32), pa.array(["all", "TCP/IP"]), name="plain")
    assert labels_of(Knowledge.of(tree), "tcp/ip") == ["TCP/IP"]


def test_names_in_a_list_of_categories(tmp_path):
    (tmp_path / "t").write_text("Boats/Ships > Canoes\nTools > Rakes & Hoes\n", encoding="utf-8")
    knowledge = Knowledge.of(read_taxonomy(tmp_path / "t"))
    assert labels_of(knowledge, "red canoe") == ["Boats/Ships > Canoes"]
    assert labels_of(knowledge, "hoes") == ["Tools > Rakes & Hoes"]


def test_a_tree_of_a_root_alone_knows_nothing():
    tree = Taxonomy.from_parents(np.array([-1], dtype=np.int32), pa.array(["cats"]), name="root")
    assert nodes_of(Knowledge.of(tree), "cats", "") == [[], []]


def test_five_hundred_words(wordnet):
    words = ["cat", "and", "zanoblix", "water", "sports"] * 100
    assert nodes_of(wordnet, " ".join(words)) == [meant("cat; water sport")]
    assert nodes_of(wordnet, "night club soda " * 167) == [meant("club soda")]


@pytest.mark.data
def test_the_open_directory_of_three_levels(data_dir, tmp_path):
    given = (data_dir / "taxonomies/dmoz-3-levels.tsv").read_text(encoding="latin-1")
    (tmp_path / "dmoz").write_text(given, encoding="utf-8")
    knowledge = Knowledge.of(read_taxonomy(tmp_path / "dmoz"))
    for query, expected in {
        "diving": ["Top/Sports/Water_Sports/Swimming_and_Diving"],
        "exciting water sports": ["Top/Sports/Water_Sports"],
        "windsurfing": ["Top/Sports/Water_Sports/Windsurfing"],
        "computers": ["Top/Computers"],
    }.items():
        assert labels_of(knowledge, query) == expected


def naive_names(labels: list[str], parent: list[int]) -> dict[tuple[str, ...], int]:
    """Return the node of each name by a plain reading of the rules, for labels of single-blank words."""
    stem = Stemmer.Stemmer("english").stemWord
    level = [0] * len(labels)
    for node in range(1, len(labels)):
        level[node] = level[parent[node]] + 1
    found: dict[tuple[str, ...], tuple[int, int, int]] = {}
    for node, label in enumerate(labels):
        words = [
            [stem(word) for word in part.split() if word not in STOP_WORDS] for part in label.split(" and ")
        ]
        flat = [word for part in words for word in part]
        tiers = [[flat], words, [[word] for word in flat]]
        for tier, names in enumerate(tiers):
            for name in names:
                if name and node:
                    rank = (tier, level[node], node)
                    found[tuple(name)] = min(found.get(tuple(name), rank), rank)
    return {name: rank[2] for name, rank in found.items()}


def naive_concepts(names: dict[tuple[str, ...], int], query: str) -> list[int]:
    """Return a query's nodes: from the right, the longest name; single words only at the ends of phrases."""
    phrases = noun_phrases(pa.array([query]))
    stem = Stemmer.Stemmer("english").stemWord
    words = [stem(phrases.vocabulary[int(word)].as_py()) for word in phrases.word]
    heads, found, end = {int(end) for end in phrases.end}, [], len(words)
    while end:
        shortest = 1 if end in heads else 2
        fits = [start for start in range(end - shortest + 1) if tuple(words[start:end]) in names]
        if fits:
            found.append(names[tuple(words[fits[0] : end])])
        end = fits[0] if fits else end - 1
    return list(dict.fromkeys(reversed(found)))


NAME_WORDS = st.sampled_from(
    ["water", "sports", "diving", "cheap", "cat", "cats", "and", "of", "train", "to"]
)
LABELS = st.lists(NAME_WORDS, min_size=1, max_size=4).map(" ".join)


@settings(max_examples=50)
@given(st.data(), st.lists(LABELS, min_size=1, max_size=12, unique=True))
def test_any_tree_against_a_plain_reading(data, labels):
    parent = [-1, *(data.draw(st.integers(0, i - 1)) for i in range(1, len(labels)))]
    tree = Taxonomy.from_parents(np.array(parent, dtype=np.int32), pa.array(labels), name="made")
    names = naive_names(tree.labels.to_pylist(), tree.parent.tolist())
    queries = data.draw(st.lists(st.lists(NAME_WORDS, max_size=9).map(" ".join), max_size=4))
    assert nodes_of(Knowledge.of(tree), *queries)[: len(queries)] == [
        naive_concepts(names, q) for q in queries
    ]


@given(st.lists(st.text(max_size=40) | st.none(), max_size=5))
def test_any_text_works(queries):
    knowledge = Knowledge.of(tree_of(*SPORTS))
    assert len(find_concepts(pa.array(queries, pa.string()), knowledge).start) == len(queries) + 1
