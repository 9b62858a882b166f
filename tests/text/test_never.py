"""The list of words that are never published: what it finds, what it refuses, and that nothing quotes it."""

from __future__ import annotations

import pickle
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import BadInputError
from incrowd.text.never import NeverList, read_never

LIST = "# mine\n\n  HIV \nO'Brien\nstraße\n\N{CJK UNIFIED IDEOGRAPH-764C}\N{CJK UNIFIED IDEOGRAPH-75C7}\n\N{PISTOL}\n\N{FULLWIDTH LATIN CAPITAL LETTER W}ide\n"


def written(tmp_path, text):
    path = tmp_path / "never.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("hiv", True),
        ("HIV test", True),
        ("the hiv/aids day", True),
        ("archive", False),
        ("hivs", False),
        ("mr o'brien's house", True),
        ("o brien", True),
        ("brien", False),
        ("Straße 1", True),
        ("\N{CJK UNIFIED IDEOGRAPH-764C}\N{CJK UNIFIED IDEOGRAPH-75C7}\N{CJK UNIFIED IDEOGRAPH-6CBB}", True),
        ("my \N{PISTOL}x", True),
        ("world wide web", True),
        ("http://hiv.example.org/", True),
        ("http://example.org/all/hiv-test.html", True),
        ("http://example.org/all%2FHIV%2D1", True),
        ("http://archive.org/hive", False),
        ("100%", False),
        ("", False),
        (None, False),
    ],
)
def test_words_are_found_as_words(tmp_path, text, found):
    never = read_never(written(tmp_path, LIST))
    assert never.found_in(pa.array([text], pa.string())).tolist() == [found]


WORDS = st.lists(st.text("abc1", min_size=1, max_size=3), min_size=1, max_size=5, unique=True)


@given(WORDS, st.lists(st.text("abc1 -/.", max_size=8), max_size=8))
def test_words_are_found_as_a_naive_search_finds_them(words, texts):
    never = NeverList(tuple(words), (), (), "")
    naive = [any(re.search(rf"(?<![abc1]){one}(?![abc1])", text) for one in words) for text in texts]
    assert never.found_in(pa.array(texts, pa.string())).tolist() == naive


@given(st.lists(st.text("ab", min_size=1, max_size=2), min_size=2, max_size=3))
def test_phrases_are_found_as_a_naive_search_finds_them(pieces):
    never = NeverList((), (" ".join(pieces),), (), "")
    texts = ["-".join(pieces), "x" + "-".join(pieces), "a " + "'".join(pieces) + " b", "".join(pieces)]
    assert never.found_in(pa.array(texts)).tolist() == [True, False, True, False]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# nothing\n\n", "holds no word"),
        ("fine\njane doe\n", "line 2 holds several words"),
        (b"caf\xe9\n", "is not UTF-8"),
    ],
)
def test_what_is_no_list_is_refused_without_a_word_of_it(tmp_path, text, why):
    with pytest.raises(BadInputError, match=why) as refused:
        read_never(written(tmp_path, text))
    assert "jane" not in str(refused.value)
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(BadInputError, match="give a file with a word a line"):
            read_never(path)


def test_a_list_shows_its_length_alone_and_travels(tmp_path):
    never = read_never(written(tmp_path, LIST))
    assert repr(never) == "NeverList(6 words)"
    again = pickle.loads(pickle.dumps(never))
    assert again.found_in(pa.array(["hiv", "archive"])).tolist() == [True, False]
