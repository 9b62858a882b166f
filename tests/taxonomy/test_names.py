"""What many words are, as columns, whatever is remembered of earlier ones."""

from __future__ import annotations

import pyarrow as pa
import pytest

from incrowd.taxonomy.words import KINDS, name_words, names_of
from incrowd.taxonomy.words import names as module

WORDS = [
    "bbc.co.uk",
    "resturant",
    "555-1234",
    "xqzvbn",
    "paris",
    "москва",
    "johnsmith",
    "",
    "xqzvbn",
    "honda's",
]


def rows(words):
    kinds = list(KINDS)
    table = names_of(pa.array(words, pa.string()))
    return [
        None if kind < 0 else (kinds[kind], item, parent)
        for kind, item, parent in zip(
            *(table[name].to_pylist() for name in ("kind", "item", "parent")), strict=True
        )
    ]


def expected(words):
    return [entry and (entry.kind, entry.item, entry.parent) for entry in name_words(words)]


def test_columns_say_what_the_rules_say():
    assert rows(WORDS) == expected(WORDS)
    table = names_of(pa.array(WORDS))
    assert table["word"].to_pylist() == WORDS
    assert table["item"][3].as_py() == "xqzvbn"  # nothing is known of it


def test_words_are_named_once(monkeypatch):
    names_of(pa.array(WORDS))
    seen = []
    monkeypatch.setattr(module, "name_words", lambda words: seen.extend(words) or name_words(words))
    assert rows([*WORDS, "newer"]) == expected([*WORDS, "newer"])
    assert seen == ["newer"]


@pytest.mark.parametrize("most", [0, 3])
def test_what_is_forgotten_is_found_again(monkeypatch, most):
    monkeypatch.setattr(module, "REMEMBERED", most)
    assert rows(WORDS[:5]) == expected(WORDS[:5])
    assert rows(WORDS) == expected(WORDS)
    assert rows(WORDS[3:]) == expected(WORDS[3:])


def test_no_words():
    assert len(names_of(pa.array([], pa.string()))) == 0
