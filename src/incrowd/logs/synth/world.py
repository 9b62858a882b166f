"""What every chunk of a made-up log shares: words by topic, names composed of syllables, and their spelling in pieces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.types import Bools, Floats, Ints32, Ints64
from incrowd.errors import BadInputError
from incrowd.taxonomy.sources.wordnet import lexicon

__all__ = ["DAYS", "LEADS", "RANKS", "TAILS", "Bools", "Floats", "Ints64", "World"]


TOPIC_WORDS = 20
FIRST_DAY = datetime(2006, 3, 1, tzinfo=UTC)
DAYS = 92
SHORT_NAMED_SITES = 2_000
RANKS = 500

# Subtrees of WordNet with inoffensive words; each is found by its lemma's first sense, and none contains another.
SUBTREES = (
    "food", "bird", "fish", "insect", "mammal", "flower", "tree", "vehicle", "clothing", "furniture",
    "musical instrument", "tool", "container", "machine", "fabric", "jewelry", "game", "sport", "music", "illness",
    "discipline", "city", "state", "island", "body of water", "room", "shop", "dwelling", "weather",
    "metallic element", "book", "home appliance", "monetary unit", "vegetable", "fruit", "trade",
)  # fmt: skip
LEADS = (
    "how to make ", "how to ", "cheap ", "best ", "free ", "pictures of ", "the ", "used ", "new ", "what is ",
    "where to find ", "buy ", "discount ", "history of ", "online ", "homemade ", "antique ", "funny ", "small ",
    "old ", "blue ", "black ", "white ", "red ", "green ", "american ", "wild ", "natural ", "famous ", "big ",
)  # fmt: skip
TAILS = (
    " for sale", " recipes", " pictures", " reviews", " online", " lyrics", " 2006", " for kids", " prices", " store",
    " club", " and", " games", " supplies", " near me", " treatment", " by mail", " in the", " symptoms", " of the",
    " jobs", " parts", " school", " county", " map", " for beginners", " rental", " repair", " catalog", " coupons",
)  # fmt: skip

# Names are composed: open syllables, then an ending that no known name has. No k, g, p and no "zi" keeps slurs out.
SYLLABLES = tuple(c + v for c in "bdlmnrstvz" for v in "aeiou" if c + v not in {"zi", "ra"})
ENDINGS = (
    "blix", "brund", "crelm", "dalv", "drosk", "felm", "flonk", "frask", "glorn", "grelt", "hesk", "jolm", "jund",
    "kelph", "klorn", "krint", "lorv", "lumf", "morv", "plask", "plorn", "quolt", "skelm", "spund", "stelv", "trask",
    "velph", "vrint", "wexl", "wolm", "zelk", "zorn",
)  # fmt: skip
FIRST_NAME_ENDINGS = ("lwen ", "mbrik ", "ndrul ", "rvost ", "shdel ", "thmar ", "vlisk ", "zhend ")
SITE_NAMES = len(SYLLABLES) ** 3 * len(ENDINGS)

PLAIN_WORD = re.compile("[a-z]{3,10}")
# Brands, people and rude words among the lemmas of those subtrees.
AVOIDED = {
    "aertex", "amd", "blackburn", "burberry", "bvd", "chopin", "colbert", "coonskin", "courtelle", "crapette",
    "dacron", "deepfreeze", "dodgem", "dong", "drambuie", "dubonnet", "dumpster", "exocet", "galliano",
    "humvee", "kahlua", "linotype", "lucy", "montezuma", "orlon", "parcheesi", "pepsi", "pernod", "pianola",
    "pid", "postum", "pullman", "rape", "rapeseed", "rolodex", "sam", "sheraton", "shittah", "std", "stetson",
    "syph", "syphilis", "terylene", "ultrasuede", "velcro", "velveeta", "victrola", "viyella", "zamboni",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class World:
    """What all chunks share: the pieces of text, the topics, and how active people are.

    Parameters
    ----------
    pieces
        Every piece of text; the first is empty.
    start
        Where each kind of piece begins.
    words
        The topics' words, the most wanted first within a topic; a piece each, and each once more after a blank.
    topic_start, topic_size
        Which words a topic has; the most popular topic comes first.
    site_shift
        What makes another seed's sites have other names.
    """

    pieces: pa.StringArray
    start: dict[str, int]
    words: list[str]
    topic_start: Ints64
    topic_size: Ints64
    site_shift: int

    @classmethod
    def of(cls, rng: np.random.Generator) -> World:
        """Build the world of one seed from the lexicon."""
        topics = _topics(rng)
        size = np.array([len(topic) for topic in topics])
        words = [word for topic in topics for word in topic]
        kinds = _kinds_of_pieces(words)
        start = dict(zip(kinds, np.cumsum([0, *map(len, kinds.values())]).tolist(), strict=False))
        pieces = pa.array([piece for kind in kinds.values() for piece in kind], pa.string())
        return cls(pieces, start, words, np.cumsum(size) - size, size, int(rng.random() * SITE_NAMES))

    @cached_property
    def activity(self) -> Floats:
        """The distribution function of submissions a user: log-normal, median 15, mean 43, at most 4,000."""
        count = np.arange(1, 4_001)
        density = np.exp(-((np.log(count) - 2.65) ** 2) / (2 * 1.5**2)) / count
        return np.asarray(np.cumsum(density / density.sum())[:-1])

    @cached_property
    def takes_s(self) -> Bools:
        """Which words have a plural that only adds an s."""
        return np.array([word[-1] not in "hsxyz" for word in self.words])

    def site_pieces(self, site: Ints64) -> Ints64:
        """Return the pieces of sites' names: three syllables (two for the best known) and an ending."""
        short = site < SHORT_NAMED_SITES
        names = np.where(short, SITE_NAMES // len(SYLLABLES), SITE_NAMES)
        rest, ending = np.divmod((site * 1_000_003 + self.site_shift) % names, len(ENDINGS))
        syllables = self._syllables(rest, 3)
        syllables[short, 2] = 0
        return np.column_stack([syllables, self.start["ending"] + ending])

    def person_pieces(self, person: Ints64) -> Ints64:
        """Return the pieces of made-up people's first and last names."""
        rest, ending = np.divmod((person * 1_000_003 + self.site_shift), len(ENDINGS))
        rest, first_ending = np.divmod(rest, len(FIRST_NAME_ENDINGS))
        syllables = self._syllables(rest, 4)
        first = np.column_stack([syllables[:, :2], self.start["first name"] + first_ending])
        return np.column_stack([first, syllables[:, 2:], self.start["ending"] + ending])

    def time_pieces(self, time: Ints64) -> Ints64:
        """Return the pieces of times: day, minute, second."""
        minute, second = np.divmod(time, 60)
        day, minute = np.divmod(minute, 24 * 60)
        return np.column_stack(
            [self.start["day"] + day, self.start["minute"] + minute, self.start["second"] + second]
        )

    def click_pieces(self, rank: Ints64, site: Ints64) -> Ints64:
        """Return the pieces of the last two fields of a row; rank 0 is no click."""
        pieces = np.column_stack(
            [self.start["rank"] + rank, self.site_pieces(site), np.full(len(rank), self.start["end"])]
        )
        pieces[rank == 0, 1:] = 0
        return pieces

    def _syllables(self, number: Ints64, count: int) -> Ints64:
        base = len(SYLLABLES)
        return np.column_stack(
            [self.start["syllable"] + number // base**place % base for place in range(count)]
        )


def _kinds_of_pieces(words: list[str]) -> dict[str, list[str]]:
    """Return every piece of text that a line may hold, by kind; the first is empty."""
    days = [(FIRST_DAY + timedelta(days=day)).strftime("\t%Y-%m-%d ") for day in range(DAYS)]
    return {
        "nothing": [""],
        "word": words,
        "word after a blank": [f" {word}" for word in words],
        "lead": list(LEADS),
        "tail": list(TAILS),
        "plural": ["s"],
        "blank": [" "],
        "before": ["", "www.", "http://www."],
        "after": [".com", ".net", ".org"],
        "syllable": list(SYLLABLES),
        "ending": list(ENDINGS),
        "first name": list(FIRST_NAME_ENDINGS),
        "three": [f"{number:03}" for number in range(1_000)],
        "two": [f"{number:02}" for number in range(100)],
        "555": ["-555-01"],
        "day": days,
        "minute": [f"{minute // 60:02}:{minute % 60:02}:" for minute in range(24 * 60)],
        "second": [f"{second:02}\t" for second in range(60)],
        "rank": ["\t\n", *(f"{rank}\thttp://www." for rank in range(1, RANKS))],
        "end": [".com\n"],
    }


def _topics(rng: np.random.Generator) -> list[list[str]]:
    """Cut benign subtrees of WordNet into neighbourhoods of words, and put topics and words in order of popularity."""
    nouns = lexicon()
    in_tree_order = np.argsort(nouns.lemma_node, kind="stable")
    node = nouns.lemma_node[in_tree_order]
    lemmas = nouns.lemmas.take(pa.array(in_tree_order))
    topics = []
    for name in SUBTREES:
        first, end = np.searchsorted(node, _subtree(nouns.parent, nouns.node(name)))
        words = [
            word
            for word in lemmas[first:end].to_pylist()
            if PLAIN_WORD.fullmatch(word) and word not in AVOIDED
        ]
        topics += [part.tolist() for part in np.array_split(words, max(1, len(words) // TOPIC_WORDS))]
    common = _compounds(nouns.lemmas)
    return [
        sorted(topics[place], key=lambda word: -(0.3 + common.get(word, 0)) * rng.random())
        for place in np.argsort(rng.random(len(topics)), kind="stable")
    ]


def _compounds(lemmas: pa.StringArray) -> dict[str, int]:
    """Count the lemmas of several words that each word is part of: a measure of how common the word is."""
    parts = pc.split_pattern(lemmas.filter(pc.match_substring(lemmas, " ")), " ").flatten()
    counts = pc.value_counts(parts)
    return dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))


def _subtree(parent: Ints32, node: int | None) -> tuple[int, int]:
    """Return the interval of nodes below and with `node`: in pre-order it ends where a parent lies before it."""
    if node is None:
        raise BadInputError("the lexicon lacks a subtree that the made-up log draws from; reinstall incrowd")
    outside = parent[node + 1 :] < node
    return node, node + 1 + (int(np.argmax(outside)) if outside.any() else len(outside))
