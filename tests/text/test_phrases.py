"""Noun phrases of queries as people type them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import strings
from incrowd.taxonomy.sources.wordnet import lexicon
from incrowd.text.phrases import are_stop_words, noun_lemmas, noun_phrases, split_words
from incrowd.text.words import STOP_WORDS


def phrases_of(*queries: str | None) -> list[list[str]]:
    return noun_phrases(strings(*queries)).texts().to_pylist()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # the paper's examples
        ("diving in the Mediterranean", ["diving", "mediterranean"]),
        ("windsurfing in the Mediterranean", ["windsurfing", "mediterranean"]),
        ("stores offering bargain Apple computers", ["stores", "bargain apple computers"]),
        ("this water sports", ["water sports"]),
        ("exciting water sports", ["exciting water sports"]),
        # lists of words: a plural or an adjective after a noun ends a phrase
        ("computers apple store bargain", ["computers", "apple store bargain"]),
        ("cars trucks motorcycles", ["cars", "trucks", "motorcycles"]),
        ("cheap flights new york", ["cheap flights", "new york"]),
        ("shoes leather brown", ["shoes", "leather brown"]),
        ("car cheap", ["car"]),
        ("physics teacher", ["physics teacher"]),  # no plural
        # verbs
        ("how to train a puppy", ["puppy"]),
        ("puppy train", ["puppy train"]),
        ("rent a car", ["car"]),
        ("car for rent", ["car", "rent"]),
        ("buying a house", ["house"]),
        ("house buying", ["house buying"]),
        ("how to fix a leaking tap", ["leaking tap"]),
        ("make money", ["money"]),
        ("water skiing lessons", ["water skiing lessons"]),
        ("kids clothing", ["kids", "clothing"]),
        # adjectives that WordNet lists as nouns, too
        ("free", []),
        ("lose weight fast", ["weight"]),
        ("best of zanoblix", ["zanoblix"]),
        # numbers, letters, addresses, unknown words
        ("world cup 2006", ["world cup"]),
        ("2006", []),
        ("plan b", ["plan"]),
        ("www.zanoblix.com jobs", ["jobs"]),
        ("someone@zanoblix.com", []),
        ("zanoblix trask", ["zanoblix trask"]),
        ("don't panic!!!", []),
        ("women's shoes", ["women's shoes"]),
        ("women\u2019s shoes", ["women's shoes"]),
        ("hot-water tank/boiler", ["hot water tank boiler"]),
        ("x-ray T-shirts", ["xray tshirts"]),
        # other languages
        ("recette de pain au chocolat", []),
        ("wie ist das wetter in berlin", []),
        ("la paz", ["paz"]),
        ("hotel de zanoblix", ["hotel", "zanoblix"]),
        ("\u043f\u043e\u0433\u043e\u0434\u0430", ["\u043f\u043e\u0433\u043e\u0434\u0430"]),
        ("\u6771\u4eac \U0001f355", ["\u6771\u4eac"]),  # an emoji is no word
        # nothing
        ("", []),
        ("   ", []),
        ("the of and", []),
        ("?!", []),
        (None, []),
    ],
)
def test_phrases_of_a_query(query, expected):
    assert phrases_of(query) == [expected]


def test_queries_do_not_touch_each_other():
    assert phrases_of("to", "train", None, "stores", "offering bargain", "") == [
        [],
        ["train"],
        [],
        ["stores"],
        ["offering bargain"],
        [],
    ]


def test_no_query_at_all():
    found = noun_phrases(strings())
    assert found.texts().to_pylist() == []
    assert found.start.tolist() == found.word_start.tolist() == [0]


def test_a_slice_of_an_array():
    assert noun_phrases(strings("a cat", "the dog", "mice")[1:]).texts().to_pylist() == [["dog"], ["mice"]]


def test_words_are_kept_without_stop_words():
    found = noun_phrases(strings("statue of the liberty", "go to the zoo"))
    words = found.vocabulary.take(pa.array(found.word)).to_pylist()
    assert words == ["statue", "liberty", "go", "zoo"]
    assert found.word_start.tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("word", "lemma"),
    [
        ("shoes", "shoe"),
        ("men", "man"),
        ("flies", "fly"),
        ("mice", "mouse"),
        ("glasses", "glasses"),
        ("dog's", "dog"),
        ("zanos", "zanos"),
        ("quickly", "quickly"),
    ],
)
def test_lemmas(word, lemma):
    base, is_noun = noun_lemmas(strings(word))
    assert base.to_pylist() == [lemma]
    assert is_noun.tolist() == [lexicon().nodes_of(strings(lemma))[0] >= 0]


def test_every_plain_plural_has_a_singular():
    from incrowd.text import phrases  # noqa: PLC0415 - the list is not offered

    plurals = strings(*phrases._PLAIN_PLURALS.split())
    base, is_noun = noun_lemmas(plurals)
    assert is_noun.all()
    assert not set(base.to_pylist()) & set(plurals.to_pylist())
    # If WordNet did not list them as nouns of their own they need not be named.
    assert set(plurals.to_pylist()) <= set(lexicon().lemmas.to_pylist())


WORDS = st.sampled_from(
    [
        "the",
        "to",
        "a",
        "of",
        "new",
        "cheap",
        "cat",
        "cats",
        "train",
        "diving",
        "offering",
        "zanoblix",
        "de",
        "42",
    ]
)


@settings(max_examples=50)
@given(st.lists(st.lists(WORDS, max_size=8), max_size=4))
def test_phrases_lie_within_their_query_in_order(queries):
    texts = [" ".join(query) for query in queries]
    found = noun_phrases(strings(*texts))
    assert len(found.start) == len(found.word_start) == len(texts) + 1
    for q, text in enumerate(texts):
        spans = [(found.first[p], found.end[p]) for p in range(found.start[q], found.start[q + 1])]
        edges = [edge for span in spans for edge in span]
        assert edges == sorted(edges)
        assert all(found.word_start[q] <= first < end <= found.word_start[q + 1] for first, end in spans)
        assert all(f" {phrase} " in f" {text} " for phrase in found.texts()[q].as_py())
        assert phrases_of(text) == [found.texts()[q].as_py()]


@given(st.lists(st.text(max_size=30) | st.none(), max_size=5))
def test_any_text_works(queries):
    assert len(noun_phrases(strings(*queries)).texts()) == len(queries)


def test_words_of_texts():
    assert split_words(strings("Hot-Dog_stand", None, "e-mail")).to_pylist() == [
        ["hot", "dog", "stand"],
        [],
        ["email"],
    ]


def test_stop_words():
    assert np.array_equal(are_stop_words(strings("the", "theatre")), [True, False])
    assert are_stop_words(strings(*STOP_WORDS)).all()
