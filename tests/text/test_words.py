from __future__ import annotations

import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import strings
from incrowd.taxonomy.sources.wordnet import lexicon
from incrowd.text.words import (
    LISTED,
    OTHER,
    STOP,
    STOP_WORDS,
    TERM,
    UNLISTED,
    _rows_beyond_plain_ascii,
    find_nouns,
    find_terms,
    normalise,
    split_terms,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Cheap Flights", "cheap flights"),
        ("  new \t york\r\n", "new york"),
        ("a  b", "a b"),
        ("nul\0l", "null"),
        ("\0", ""),
        ("bell\x07 \x7f", "bell"),
        ("\uff26\uff35\uff2c\uff2c\u3000width", "full width"),
        ("\ufb01sh", "fish"),
        ("non\u00a0breaking\u2003blank\u2028line\u0085next", "non breaking blank line next"),
        ("CAFE\u0301", "caf\u00e9"),
        ("\u00c9t\u00c9", "\u00e9t\u00e9"),
        ("H\u0331", "\u1e96"),  # only the small letter has a composed form
        ("\u03a5\u0308\u0301", "\u03b0"),  # and here, beyond ASCII
        ("\ufeffbom soft\u00adhyphen", "bom softhyphen"),
        ("\u202eevil\u202c", "evil"),
        (
            "\u200f\u05e9\u05dc\u05d5\u05dd  \u05e2\u05d5\u05dc\u05dd",
            "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
        ),
        ("I \u2764\ufe0f NY \U0001f355", "i \u2764\ufe0f ny \U0001f355"),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f468\u200d\U0001f469\u200d\U0001f467"),
        ("\u00b4", "\u0301"),
        ("", ""),
        ("   ", ""),
        (None, None),
    ],
)
def test_normalise(text, expected):
    assert normalise(strings(text)).to_pylist() == [expected]
    # Amid other rows, and as a slice of a longer array.
    amid = strings("A", "\u00c9", text, None, "", "b  ", " c")
    assert normalise(amid).to_pylist() == ["a", "\u00e9", expected, None, "", "b", "c"]
    assert normalise(amid.slice(2, 2)).to_pylist() == [expected, None]


@pytest.mark.parametrize("texts", [[], [None], [None, None], [""]])
def test_normalise_keeps_the_type_of_next_to_nothing(texts):
    result = normalise(strings(*texts))
    assert result.type == pa.string()
    assert result.to_pylist() == texts


def test_rows_beyond_plain_ascii_of_a_slice():
    texts = strings("\u00e9", "plain", "two  blanks", "", "\u00e9").slice(1)
    assert _rows_beyond_plain_ascii(texts).tolist() == [False, True, False, True]


def test_normalise_leaves_its_input_alone():
    texts = strings("  ABC ", "\u00c9")
    normalise(texts)
    assert texts.to_pylist() == ["  ABC ", "\u00c9"]


@given(st.lists(st.one_of(st.none(), st.text())))
def test_normalise_is_idempotent(texts):
    once = normalise(strings(*texts))
    assert normalise(once).to_pylist() == once.to_pylist()


@given(st.lists(st.text()))
def test_normalised_text_has_single_blanks_and_no_controls(texts):
    for text in normalise(strings(*texts)).to_pylist():
        assert "  " not in text
        assert text == text.strip()
        assert not {unicodedata.category(c) for c in text} & {"Cc", "Zl", "Zp"}
        assert {c for c in text if c.isspace()} <= {" "}


@pytest.mark.parametrize("around", ["{}", "a{}\u0331\u0301"])
def test_normalise_is_idempotent_for_every_character(around):
    everything = [around.format(chr(c)) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    once = normalise(strings(*everything))
    assert normalise(once).equals(once)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cheap flights", ["cheap", "flights"]),
        ("+md", ["md"]),
        ("www.google.com", ["www.google.com"]),
        ("jane@x.org,", ["jane@x.org"]),
        ("don't", ["don't"]),
        ("'quoted' \u201cwords\u201d \u00bfqu\u00e9?", ["quoted", "words", "qu\u00e9"]),
        ("... - a", ["a"]),
        ("--", []),
        ("", []),
        ("i \u2764\ufe0f \U0001f355!", ["i", "\u2764\ufe0f", "\U0001f355"]),
        (
            "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd?",
            ["\u05e9\u05dc\u05d5\u05dd", "\u05e2\u05d5\u05dc\u05dd"],
        ),
        (None, None),
    ],
)
def test_split_terms(text, expected):
    assert split_terms(strings(text)).to_pylist() == [expected]
    amid = strings("a, b", None, text, "", "c")
    assert split_terms(amid).to_pylist() == [["a", "b"], None, expected, [], ["c"]]
    assert split_terms(amid.slice(1, 2)).to_pylist() == [None, expected]


def test_split_terms_of_nothing():
    result = split_terms(strings())
    assert result.type == pa.list_(pa.string())
    assert len(result) == 0


@given(st.lists(st.one_of(st.none(), st.text(alphabet="ab .,'@"))))
def test_split_terms_equals_plain_python(texts):
    def split(text: str) -> list[str]:
        return [word.strip(".,'@") for word in text.split(" ") if word.strip(".,'@")]

    expected = [None if text is None else split(text) for text in texts]
    assert split_terms(strings(*texts)).to_pylist() == expected


def test_stop_words_are_normalised_words():
    words = sorted(STOP_WORDS)
    assert 150 <= len(words) <= 250
    assert split_terms(normalise(pa.array(words))).to_pylist() == [[word] for word in words]


@pytest.mark.parametrize(
    "word", ["us", "will", "may", "html", "net", "back", "home", "man", "time", "mine", "world"]
)
def test_nouns_that_people_search_for_are_not_stop_words(word):
    assert word not in STOP_WORDS
    assert lexicon().nodes_of(pa.array([word]))[0] >= 0


def test_find_nouns():
    nouns = find_nouns(strings("mice", "in", "cheap", "went", "zzxqy", "dog", "the", "1984", "http"))
    assert nouns.item.to_pylist() == ["mouse", None, None, None, "zzxqy", "dog", None, "1984", None]
    assert nouns.kind.tolist() == [LISTED, STOP, OTHER, OTHER, UNLISTED, LISTED, STOP, UNLISTED, STOP]
    assert nouns.kind.dtype == np.int8
    assert nouns.item.type == pa.string()


def test_find_terms():
    terms = find_terms(strings("mice", "in", "cheap", "zzxqy"))
    assert terms.item.to_pylist() == ["mice", None, "cheap", "zzxqy"]
    assert terms.kind.tolist() == [TERM, STOP, TERM, TERM]
    assert terms.kind.dtype == np.int8


@pytest.mark.parametrize("find", [find_nouns, find_terms])
def test_find_in_no_words(find):
    found = find(strings())
    assert found.item.type == pa.string()
    assert len(found.item) == len(found.kind) == 0
