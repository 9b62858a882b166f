"""The terms that a made-up log is written with: people's topics from a file, rarer words from WordNet.

Every term is a *piece* of text with a number. Pieces lie in one table, list after list, so that a term of
a list is drawn by adding a number below the list's length to its start.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.types import Bools, Ints64
from incrowd.errors import BadInputError
from incrowd.taxonomy.sources.wordnet import ADJECTIVE, Lexicon, lexicon

__all__ = ["NOTHING", "Terms", "read_terms"]

NOTHING = 0
# How many are used, the most common first: a topic's nouns of one word and of two, and adjectives.
NOUNS, PHRASES, ADJECTIVES = 600, 450, 300
COMMON = 3
NO_S = "0123456789hsxyz"  # a plural does not only add an s to these
KEPT_AS_THEY_ARE = {" ", "-555-01"}
TOPIC_LISTS = ("things", "verbs", "aspects", "adjectives", "brands", "sites")
PLAIN_TERM = re.compile("[a-z]{3,12}( [a-z]{3,12})?")
# Brands, people and rude words among the lemmas of the topics' subtrees.
AVOIDED = {
    "abortion", "aertex", "amd", "anal", "arse", "ass", "bastard", "bitch", "blackburn", "boob",
    "bordello", "brothel", "bugger", "burberry", "bvd", "camp", "chamber", "chopin", "cock", "coitus",
    "colbert", "condom", "coon", "coonskin", "courtelle", "crapette", "cretin", "cuckold", "dacron",
    "deepfreeze", "dildo", "dodgem", "dong", "drambuie", "dubonnet", "dumpster", "dyke", "enema",
    "erotic", "exocet", "fag", "faggot", "galliano", "genital", "ghetto", "golliwog", "golliwogg",
    "gonorrhea", "gypsy", "herpes", "hitler", "homo", "human", "humvee", "idiot", "incest", "john",
    "kahlua", "kamasutra", "kike", "leprosy", "linotype", "lucy", "montezuma", "moron", "mount", "murder",
    "naked", "nazi", "negro", "nude", "orlon", "parcheesi", "penis", "pepsi", "pernod", "pianola", "pid",
    "piss", "porn", "pornography", "postum", "pullman", "pussy", "rape", "rapeseed", "reich", "rolodex",
    "sam", "scientology", "sex", "sexual", "sheraton", "shit", "shittah", "slave", "slut", "squaw", "std",
    "stetson", "stripper", "suicide", "syph", "syphilis", "terylene", "testicular", "tit", "titty",
    "turd", "ultrasuede", "urogenital", "vagina", "velcro", "velveeta", "victrola", "viyella", "whore",
    "wog", "xxx", "zamboni",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Terms:
    """All pieces of text, and where each list of them begins.

    Parameters
    ----------
    pieces
        The texts; the first is empty, which stands for nothing.
    glued
        For each piece, the one that has the same letters and no blanks, as in an address.
    takes_s, dotted
        Which pieces have a plural that only adds an s, and which hold a dot, as full addresses do.
    start, size
        Where each list begins and how long it is: one entry, or one for each topic.
    topics
        The topics' names, the most popular first.
    topic_of
        The topic of each glued piece of a topic's thing, noun, brand or site, the first that has it; of others -1.
    city_state
        The number of each city's state.
    templates
        The weight and the text of each template of a query.
    """

    pieces: list[str]
    glued: Ints64
    takes_s: Bools
    dotted: Bools
    start: dict[str, Ints64]
    size: dict[str, Ints64]
    topics: list[str]
    topic_of: Ints64
    city_state: Ints64
    templates: list[tuple[float, str]]

    def first(self, name: str) -> int:
        """Return the first piece of a list that all topics share."""
        return int(self.start[name][0])

    def count(self, name: str) -> int:
        """Return the length of a list that all topics share."""
        return int(self.size[name][0])


@cache
def read_terms() -> Terms:
    """Read the file of topics, and the words of WordNet that it refers to."""
    data = tomllib.loads((files(__package__) / "topics.toml").read_text(encoding="utf-8"))
    templates = [line.split(" ", 1) for line in data["templates"]["lines"].split("\n") if line]
    lists = _lists(data)
    literals = sorted({part for _, text in templates for part in _own_words(text)})
    table = _Table()
    for name, parts in (lists | {"words": [literals]}).items():
        table.add(name, parts)
    states = lists["states"][0]
    proper = {
        noun
        for topic, some in zip(data["topic"], lists["nouns"], strict=True)
        if topic.get("proper")
        for noun in some
    }
    glued = table.glue()
    return Terms(
        pieces=table.pieces,
        glued=glued,
        takes_s=np.array([piece[-1:] not in NO_S and piece not in proper for piece in table.pieces]),
        dotted=np.array(["." in piece for piece in table.pieces]),
        start={name: np.array(start) for name, start in table.start.items()},
        size={name: np.array(size) for name, size in table.size.items()},
        topics=[topic["name"] for topic in data["topic"]],
        topic_of=_topic_of(table, glued),
        city_state=np.array(
            [states.index(state) for state, some in data["cities"].items() for _ in _split(some)]
        ),
        templates=[(float(weight), text) for weight, text in templates],
    )


def _own_words(template: str) -> list[str]:
    """Return what stands between the braces of a template."""
    return [part.strip() for part in re.split("{[a-z]+}", template) if part.strip()]


def _lists(data: dict[str, Any]) -> dict[str, list[list[str]]]:
    """Return the lists of terms: in one part, or in a part for each topic."""
    topics = data["topic"]
    by_topic = {name: [_split(topic[name]) for topic in topics] for name in TOPIC_LISTS}
    shared = {
        f"any {name}" if name in by_topic else name: [_split(some)] for name, some in data["lists"].items()
    }
    made = {
        "plural": ["s"],
        "blank": [" "],
        "www": ["www."],
        "after": [".com", ".net", ".org"],
        "letters": [a + b for a in ("", *"abcdefghjklmnpqrstvwx") for b in "abcdeghklmnprstvxz"],
        "number": [str(number) for number in range(1, 10_000)],
        "years": [str(year) for year in range(2006, 1930, -1)],
        "three": [f"{number:03}" for number in range(1_000)],
        "two": [f"{number:02}" for number in range(100)],
        "555": ["-555-01"],
        "cities": [city for some in data["cities"].values() for city in _split(some)],
    }
    shared["any adjectives"][0].extend(_adjectives(set(shared["any adjectives"][0])))
    nouns = {"nouns": _nouns([_split(topic["nouns"]) for topic in topics])}
    return by_topic | nouns | shared | {name: [some] for name, some in made.items()}


def _split(terms: str) -> list[str]:
    return terms.split(", ")


@dataclass
class _Table:
    """The pieces so far, and where the lists of them begin."""

    pieces: list[str] = field(default_factory=lambda: [""])
    start: dict[str, list[int]] = field(default_factory=dict)
    size: dict[str, list[int]] = field(default_factory=dict)

    def add(self, name: str, parts: list[list[str]]) -> None:
        self.size[name] = [len(part) for part in parts]
        self.start[name] = []
        for part in parts:
            self.start[name].append(len(self.pieces))
            self.pieces += part

    def glue(self) -> Ints64:
        """Add every piece of several words once more without blanks, and return for each piece which one that is.

        Pieces of the same text have the same one.
        """
        texts = [
            piece if piece in KEPT_AS_THEY_ARE else re.sub("[^a-z0-9.]", "", piece) for piece in self.pieces
        ]
        number: dict[str, int] = {}
        for place, piece in enumerate(self.pieces):
            number.setdefault(piece, place)
        for text in texts:
            if text not in number:
                number[text] = len(self.pieces)
                self.pieces.append(text)
        glued = [number[text] for text in texts]
        return np.append(glued, np.arange(len(glued), len(self.pieces)))


def _topic_of(table: _Table, glued: Ints64) -> Ints64:
    topic_of = np.full(len(glued), -1)
    for name in ("sites", "brands", "nouns", "things"):
        for topic, (start, size) in reversed(
            list(enumerate(zip(table.start[name], table.size[name], strict=True)))
        ):
            topic_of[glued[start : start + size]] = topic
    return topic_of


def _nouns(subtrees: list[list[str]]) -> list[list[str]]:
    """Return for each topic the plain words and compounds of its subtrees of WordNet, common ones first."""
    nouns = lexicon()
    in_tree_order = np.argsort(nouns.lemma_node, kind="stable")
    node = nouns.lemma_node[in_tree_order]
    lemmas = nouns.lemmas.take(pa.array(in_tree_order))
    common = _compounds(nouns.lemmas)
    known = set(nouns.lemmas.to_pylist()) | set(nouns.others.to_pylist())
    others = set(nouns.others.to_pylist())
    seen: set[str] = set()
    topics = []
    for names in subtrees:
        bounds = [np.searchsorted(node, _subtree(nouns, name)) for name in names]
        found = {term for first, end in bounds for term in lemmas[first:end].to_pylist()} - seen
        seen |= found
        terms = [
            term
            for term in found
            if _is_plain(term, known) and (_commonness(term, common) > 0 or term in others)
        ]
        terms.sort(key=lambda term: (-_commonness(term, common), len(term), term))
        words, phrases = ([term for term in terms if (" " in term) is several] for several in (False, True))
        topics.append(words[:NOUNS] + phrases[:PHRASES])
    return topics


def _adjectives(known: set[str]) -> list[str]:
    """Return the adjectives of WordNet that are most often part of a compound noun."""
    nouns = lexicon()
    common = _compounds(nouns.lemmas)
    words = nouns.others.filter(pa.array(nouns.other_kind & ADJECTIVE > 0)).to_pylist()
    plain = [word for word in words if PLAIN_TERM.fullmatch(word) and word not in known | AVOIDED]
    return sorted(plain, key=lambda word: (-common.get(word, 0), word))[:ADJECTIVES]


def _is_plain(term: str, known: set[str]) -> bool:
    """Return whether a term is a word or two, all of them English (names of species are not), and none avoided."""
    words = term.split()
    return bool(PLAIN_TERM.fullmatch(term)) and not AVOIDED & set(words) and known.issuperset(words)


def _commonness(term: str, compounds: dict[str, int]) -> float:
    """Return how common a term is: as its rarest word; a word that is written of two common ones lies between."""
    return min(compounds.get(word, 0) or 0.5 * _is_written_of_two(word, compounds) for word in term.split())


def _is_written_of_two(word: str, compounds: dict[str, int]) -> bool:
    return any(
        compounds.get(word[:cut], 0) >= COMMON and compounds.get(word[cut:], 0) >= COMMON
        for cut in range(3, len(word) - 2)
    )


def _compounds(lemmas: pa.StringArray) -> dict[str, int]:
    """Count the lemmas of several words that each word is part of: a measure of how common the word is."""
    parts = pc.split_pattern(lemmas.filter(pc.match_substring(lemmas, " ")), " ").flatten()
    counts = pc.value_counts(parts)
    return dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))


def _subtree(nouns: Lexicon, name: str) -> tuple[int, int]:
    """Return the interval of nodes below and with a lemma's: in pre-order it ends where a parent lies before it."""
    node = nouns.node(name)
    if node is None:
        raise BadInputError("the lexicon lacks a subtree that the made-up log draws from; reinstall incrowd")
    outside: Bools = nouns.parent[node + 1 :] < node
    return node, node + 1 + (int(np.argmax(outside)) if outside.any() else len(outside))
