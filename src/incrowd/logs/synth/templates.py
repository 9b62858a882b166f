"""Templates of a made-up log's queries: words as they stand, and slots for what is drawn."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incrowd.core.types import Bools, Floats, Ints32, Ints64
from incrowd.logs.synth.draws import weighted
from incrowd.logs.synth.terms import NOTHING, Terms

__all__ = ["KINDS", "SLOTS", "Templates"]

SLOTS = 8
# What a slot may hold; a query is about the first of these that it has. Kind 0 is a template's own words.
KINDS = (
    "", "thing", "brand", "last", "noun", "title", "place", "code", "state", "zip", "phone",
    "first", "adj", "aspect", "verb", "tverb", "st", "year",
)  # fmt: skip
TOPICAL = ("thing", "brand", "noun")
# The topic of queries with such a slot, unless they are about a thing of another topic.
TOPIC_OF = {
    "title": "music", "last": "family", "place": "local", "code": "computers", "zip": "local", "phone": "local",
    "state": "local",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Templates:
    """The templates of queries in numbers, an entry or row for each.

    Parameters
    ----------
    weight
        How often it is used.
    words
        The piece of the template's own words in each slot, or `NOTHING`.
    kind
        What is drawn in each slot, as a number in `KINDS`; 0 is nothing.
    main
        Which slot says what the query is about.
    topic
        The topic that the template belongs to, or -1.
    topical
        Whether what the query is about is of a topic, and not a name or a place.
    """

    weight: Floats
    words: Ints32
    kind: npt.NDArray[np.int8]
    main: Ints64
    topic: Ints64
    topical: Bools

    @classmethod
    def of(cls, terms: Terms) -> Templates:
        """Compile the templates that the terms come with."""
        own = terms.pieces[terms.first("words") :][: terms.count("words")]
        piece = {text: terms.first("words") + place for place, text in enumerate(own)}
        shape = len(terms.templates), SLOTS
        words, kind = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int8)
        for row, (_, text) in enumerate(terms.templates):
            for slot, part in enumerate(filter(None, map(str.strip, re.split("({[a-z]+})", text)))):
                if part.startswith("{"):
                    kind[row, slot] = KINDS.index(part[1:-1])
                else:
                    words[row, slot] = piece[part]
        main = np.argmin(np.where(kind == 0, len(KINDS), kind), axis=1)
        names = [{KINDS[number] for number in row} for row in kind.tolist()]
        return cls(
            weight=np.array([weight for weight, _ in terms.templates]),
            words=words,
            kind=kind,
            main=main,
            topic=np.array([_topic(terms, some) for some in names]),
            topical=np.isin(kind[np.arange(len(kind)), main], [KINDS.index(name) for name in TOPICAL]),
        )

    def draw(self, rng: np.random.Generator, count: int, most_slots: int) -> Ints64:
        """Draw templates that have not too many slots."""
        slots = ((self.kind > 0) | (self.words != NOTHING)).sum(axis=1)
        weight = np.where(slots <= most_slots, self.weight, 0)
        return weighted(rng, weight, count)


def _topic(terms: Terms, kinds: set[str]) -> int:
    return next((terms.topics.index(topic) for kind, topic in TOPIC_OF.items() if kind in kinds), -1)
