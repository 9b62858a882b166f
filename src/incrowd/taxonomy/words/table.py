"""The table of words that WordNet lacks, as it ships with the package; ``scripts/make_words.py`` makes it and says what is in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.core.types import Ints32
from incrowd.taxonomy.sources.wordnet import lexicon

__all__ = ["Listed", "WordTable", "word_table"]

_PART = re.compile("[A-Z][a-z]*")
_NONE_SHARED = ord("A")


class Listed(NamedTuple):
    """What the table says of a word: its kind, and the label of the node that it hangs under."""

    kind: str
    parent: str


@dataclass(frozen=True, eq=False)
class WordTable:
    """The words of the table by kind, and the inner nodes that it adds to WordNet's.

    Parameters
    ----------
    parents
        The label of the node above each added inner node; nodes come after their parents.
    countries
        The label of the node of each country's sites, by the country's domain (``de``).
    words
        Brands, given names, towns, frequent surnames and function words, none of them a noun of WordNet.
    rare_surnames
        Surnames that are published as their kind only.
    given_names, surnames
        All given names and all frequent surnames, those among them that are nouns or words of another kind (may, smith).
    towns
        Towns that are too small to be words of the tree: too often, such a word is something else.
    common
        Nouns of one word that WordNet's text corpus has: parts of compounds and aims of repairs.
    derived, derived_node
        Verbs and adjectives, as positions among WordNet's other words, and the noun synset that is derived from each.
    """

    parents: dict[str, str]
    countries: dict[str, str]
    words: dict[str, Listed]
    rare_surnames: frozenset[str]
    given_names: frozenset[str]
    surnames: frozenset[str]
    towns: frozenset[str]
    common: frozenset[str]
    derived: Ints32
    derived_node: Ints32

    @cached_property
    def noun_of(self) -> dict[str, int]:
        """The noun synset that WordNet derives from each verb and adjective."""
        words = lexicon().others.take(pa.array(self.derived)).to_pylist()
        return dict(zip(words, self.derived_node.tolist(), strict=True))


@cache
def word_table() -> WordTable:
    """Load the table (once per process)."""
    buffer = pa.py_buffer((files("incrowd.data") / "words.arrow").read_bytes())
    row = pa.ipc.open_file(buffer).get_batch(0)
    column = {name: lists.values for name, lists in zip(row.schema.names, row.columns, strict=True)}
    texts = {name: values.to_pylist() for name, values in column.items() if pa.types.is_string(values.type)}
    words: dict[str, Listed] = {}
    for kind, parent, coded in zip(
        *(texts[f"group_{name}"] for name in ("kind", "parent", "words")), strict=True
    ):
        words |= dict.fromkeys(_decoded(coded), Listed(kind, parent))
    names = {
        kind: [word for word, listed in words.items() if listed.kind == kind]
        for kind in ("given name", "surname")
    }
    common = np.cumsum(column["common"].to_numpy())
    return WordTable(
        parents=dict(zip(texts["node"], texts["node_parent"], strict=True)),
        countries=dict(zip(texts["domain"], texts["domain_node"], strict=True)),
        words=words,
        rare_surnames=frozenset(_decoded(texts["rare_surnames"][0])),
        given_names=frozenset([*names["given name"], *_decoded(texts["listed_given"][0])]),
        surnames=frozenset([*names["surname"], *_decoded(texts["listed_surnames"][0])]),
        towns=frozenset(_decoded(texts["towns"][0])),
        common=frozenset(lexicon().lemmas.take(pa.array(common)).to_pylist()),
        derived=np.cumsum(column["derived"].to_numpy()).astype(np.int32),
        derived_node=column["derived_node"].to_numpy(),
    )


def _decoded(text: str) -> list[str]:
    """Return the words of a front-coded text: each begins with a capital that says how many letters it shares with the one before."""
    words, word = [], ""
    for part in _PART.findall(text):
        word = word[: ord(part[0]) - _NONE_SHARED] + part[1:]
        words.append(word)
    return words
