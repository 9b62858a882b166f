"""Frequent Chinese nouns, each with the node of WordNet that is its most usual sense: a list of our own, ``chinese.tsv``.

It is read when the first word in Chinese characters comes, and never for other words.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from incrowd.taxonomy.sources.wordnet import lexicon

__all__ = ["ChineseNoun", "chinese_noun", "chinese_nouns"]

FIRST, LAST = "\u4e00", "\u9fff"  # of the characters that the list's words begin with
SHORTEST_PART = 2  # of a compound
LONGEST_COMPOUND = 8


class ChineseNoun(NamedTuple):
    """The label of the node that a word hangs under, and how that was found."""

    parent: str
    why: str


def chinese_noun(word: str) -> ChineseNoun | None:
    """Return where a word of the list belongs, or a word of two such words, which hangs under the last; None for all others."""
    if not FIRST <= word[:1] <= LAST:
        return None
    nouns = chinese_nouns()
    noun = word if word in nouns else _last_part(word)
    if noun is None:
        return None
    english, known = nouns[noun], lexicon()
    node = known.node(english)  # of its first sense; what is no lemma is the label of a node
    parent = english if node is None else str(known.labels[node].as_py())
    what = "a Chinese noun that" if noun == word else "two Chinese nouns in one, of which the last"
    return ChineseNoun(parent, f"{what} means '{english}'")


def _last_part(word: str) -> str | None:
    """Return the second of two words of the list that a word can be cut into; None if it cannot, or in several ways."""
    if len(word) > LONGEST_COMPOUND:
        return None
    nouns = chinese_nouns()
    ends = range(SHORTEST_PART, len(word) - SHORTEST_PART + 1)
    found = [word[end:] for end in ends if word[:end] in nouns and word[end:] in nouns]
    return found[0] if len(found) == 1 else None


@cache
def chinese_nouns() -> dict[str, str]:
    """Return the list (read once per process): each word with an English noun, or the label of a node."""
    text = (files("incrowd.data") / "chinese.tsv").read_text(encoding="utf-8")
    return dict(line.split("\t") for line in text.splitlines() if not line.startswith("#"))
