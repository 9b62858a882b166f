"""Queries of a made-up log: templates filled with things, brands, places and names, and searches for a site."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.logs.synth.draws import skewed, some
from incrowd.logs.synth.misspelling import misspelled
from incrowd.logs.synth.people import People
from incrowd.logs.synth.sites import Visits
from incrowd.logs.synth.slots import PIECES, Slots
from incrowd.logs.synth.templates import KINDS, SLOTS, Templates
from incrowd.logs.synth.terms import NOTHING, Terms

__all__ = ["Queries", "QueryMaker"]

# Shares of fresh queries: for a site, and misspelled.
NAVIGATIONAL, MISSPELLED = 0.20, 0.06
# How many queries several people ask in the same words, their share, and how many slots they have at most.
POPULAR, OF_POPULAR, SHORT = 10_000, 0.08, 2


@dataclass(frozen=True, eq=False)
class Queries:
    """The fresh queries of a chunk of people, a row or an entry for each.

    Parameters
    ----------
    pieces
        The pieces of the text; `NOTHING` fills up.
    main
        The pieces, without blanks, of what the query is about: its part in the addresses that answer it.
    topic
        Which topic's sites answer it.
    site
        The piece of the site or brand that it names, or `NOTHING`.
    known
        Whether the person wants to go to a certain site.
    key
        A number that equal queries have in common.
    extra
        The texts of the pieces beyond the terms': misspelled terms.
    """

    pieces: Ints32
    main: Ints64
    topic: Ints64
    site: Ints64
    known: Bools
    key: Ints64
    extra: list[str]

    def put(self, row: Ints64, others: Queries, other: Ints64) -> None:
        """Replace some queries by others."""
        for name in ("pieces", "main", "topic", "site", "known", "key"):
            getattr(self, name)[row] = getattr(others, name)[other]


class QueryMaker:
    """Makes queries from terms and templates; some of them are popular, in the same words for all chunks of a log."""

    def __init__(self, terms: Terms, rng: np.random.Generator) -> None:
        self.terms = terms
        self.templates = Templates.of(terms)
        people = People.draw(terms, rng, POPULAR)
        self.popular = self._compose(rng, np.arange(POPULAR), people, most_slots=SHORT, share_misspelled=0.0)

    def draw(self, rng: np.random.Generator, person: Ints64, people: People) -> Queries:
        """Draw a query for each entry of `person`, in the order in which they are asked."""
        queries = self._compose(rng, person, people, most_slots=SLOTS, share_misspelled=MISSPELLED)
        row = np.flatnonzero(some(rng, OF_POPULAR, len(person)))
        chosen = POPULAR * rng.random(len(row)) * rng.random(len(row))
        queries.put(row, self.popular, chosen.astype(np.int64))
        return queries

    def _compose(
        self,
        rng: np.random.Generator,
        person: Ints64,
        people: People,
        *,
        most_slots: int,
        share_misspelled: float,
    ) -> Queries:
        terms, count = self.terms, len(person)
        template = self.templates.draw(rng, count, most_slots)
        slots = Slots(terms, rng, self.templates.topic[template], person=person, people=people)
        pieces = self._fill(slots, template)
        every, main_slot = np.arange(count), self.templates.main[template]
        main = terms.glued[pieces[every, main_slot, 1:]]
        main[main == terms.first("plural")] = NOTHING
        brand = self.templates.kind[template, main_slot] == KINDS.index("brand")
        site = np.where(brand, pieces[every, main_slot, 1], NOTHING)
        known = some(rng, NAVIGATIONAL, count)
        _visit(Visits.draw(terms, rng, slots.topic[known]), known, pieces, main, site)
        key = _keys(terms, pieces.reshape(count, -1))
        extra = _misspell(terms, rng, pieces, main_slot, ~known & some(rng, share_misspelled, count))
        of_main = np.where(known, terms.topic_of[main].max(axis=1), terms.topic_of[main[:, 0]])
        topic = np.where(known | self.templates.topical[template], of_main, self.templates.topic[template])
        return Queries(pieces.reshape(count, -1), main, topic, site, known, key, extra)

    def _fill(self, slots: Slots, template: Ints64) -> Ints32:
        """Return the pieces of each query's slots: a blank, and what stands in it."""
        pieces = np.zeros((len(template), SLOTS, 1 + PIECES), dtype=np.int32)
        pieces[:, :, 1] = self.templates.words[template]
        kind = self.templates.kind[template]
        for number, name in enumerate(KINDS[1:], start=1):
            row, slot = np.divmod(np.flatnonzero(kind.ravel() == number), SLOTS)
            pieces[row, slot, 1:] = slots.draw(name, row)
        pieces[:, 1:, 0] = np.where(pieces[:, 1:, 1] != NOTHING, self.terms.first("blank"), NOTHING)
        return pieces


def _visit(visits: Visits, known: Bools, pieces: Ints32, main: Ints64, site: Ints64) -> None:
    """Put queries for a site in the place of some queries."""
    pieces[known] = NOTHING
    row = np.flatnonzero(known)
    pieces[row, 0, 1:] = visits.text[:, :3]
    pieces[row, 1, :2] = visits.text[:, 3:]
    main[row], site[row] = visits.main, visits.site


def _keys(terms: Terms, pieces: Ints32) -> Ints64:
    """Return a number for each row of pieces, in which terms of the same letters count as the same."""
    weight = np.array([pow(1_000_003, power, 1 << 31) for power in range(1, pieces.shape[1] + 1)])
    key = np.zeros(len(pieces), dtype=np.int64)
    for column, factor in zip(pieces.T, weight.tolist(), strict=True):
        if column.any():
            key += terms.glued[column] * factor
    return key % (1 << 31)


def _misspell(
    terms: Terms, rng: np.random.Generator, pieces: Ints32, main_slot: Ints64, wanted: Bools
) -> list[str]:
    """Misspell what some queries are about; return the misspelled terms, which are new pieces."""
    row = np.flatnonzero(wanted)
    slot = main_slot[row]
    where, how = (skewed(rng, size, power=1, shape=len(row)).tolist() for size in (1_000, 4))
    originals = pieces[row, slot, 1].tolist()
    pieces[row, slot, 1] = len(terms.pieces) + np.arange(len(row))
    return [
        misspelled(terms.pieces[piece], place, way)
        for piece, place, way in zip(originals, where, how, strict=True)
    ]
