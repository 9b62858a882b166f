"""What stands in the slots of a made-up log's queries, as rows of three pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from incrowd.core.types import Bools, Ints64
from incrowd.logs.synth.draws import scrambled, skewed, some
from incrowd.logs.synth.people import (
    FAMILIES,
    INTERESTS,
    TOPICS,
    People,
    draw_places,
    draw_surnames,
    draw_terms,
    draw_things,
    name_parts,
    states_of,
)
from incrowd.logs.synth.terms import NOTHING, Terms

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PIECES", "Slots"]

PIECES = 3
# The share of queries about the same thing as the query before.
SAME_THING = 0.30
# The shares of terms that a person comes back to, of nouns that are of another topic, and of places that are home.
HABITUAL, STRAY, AT_HOME = 0.75, 0.08, 0.55
# The share of templates with a topic of their own whose things are of it, too.
OWN_TOPIC = 0.6
# The shares of adjectives and the like that are of the topic, and of nouns and things in the plural.
OF_TOPIC, PLURAL_NOUN, PLURAL_THING = 0.35, 0.30, 0.20


class Slots:
    """Draws what stands in the slots of queries that are asked in this order.

    Parameters
    ----------
    terms, rng
        Where terms and random numbers come from.
    own_topic
        The topic of each query's template, or -1.
    person, people
        Who asks each query, and their habits.
    """

    def __init__(
        self,
        terms: Terms,
        rng: np.random.Generator,
        own_topic: Ints64,
        *,
        person: Ints64,
        people: People,
    ) -> None:
        self.terms, self.rng, self.person, self.people = terms, rng, person, people
        self.topic, self.interest, self.thing, self.plural = self._things(own_topic)
        away = draw_places(terms, rng, len(person))
        self.place = np.where(some(rng, AT_HOME, len(person)), self._own_places(), away)
        self.kinds: dict[str, Callable[[Ints64], Ints64]] = {
            "thing": self._thing, "noun": self._noun, "brand": self._brand, "last": self._surname,
            "adj": self._either("adjectives"), "aspect": self._either("aspects"),
            "verb": lambda row: draw_terms(terms, rng, "verbs", self.topic[row], power=2),
            "first": self._shared("first_names", 2), "title": self._shared("title_words", 1),
            "tverb": self._shared("title_verbs", 2), "year": self._shared("years", 2),
            "place": self._place, "state": self._state("states"), "st": self._state("state_codes"),
            "code": self._parts("letters", "number"), "zip": self._parts("three", "two"),
            "phone": self._parts("three", "555", "two"),
        }  # fmt: skip

    def _own_places(self) -> Ints64:
        """Return a place for each query that its person has to do with, each of theirs equally often."""
        which = self.people.places.shape[1] * scrambled(np.arange(len(self.person)), salt=6)
        own: Ints64 = self.people.places[self.person, which.astype(np.int64)]
        return own

    def draw(self, kind: str, row: Ints64) -> Ints64:
        """Draw the pieces of a kind of slot for some queries."""
        drawn = self.kinds[kind](row)
        return drawn if drawn.ndim > 1 else _rows(drawn)

    def shared(self, name: str, count: int, *, power: int) -> Ints64:
        """Draw terms of a list that all topics share."""
        return self.terms.first(name) + skewed(self.rng, self.terms.count(name), power=power, shape=count)

    def _things(self, own: Ints64) -> tuple[Ints64, Ints64, Ints64, Bools]:
        """Draw each query's topic, interest (or -1), thing, and if it is a plural; often those of the query before."""
        count = len(self.person)
        interest = skewed(self.rng, INTERESTS, power=2, shape=count)
        to_own = (own >= 0) & some(self.rng, OWN_TOPIC, count)
        topic = np.where(to_own, own, self.people.topics[self.person, interest])
        habitual = ~to_own & some(self.rng, HABITUAL, count)
        new = draw_things(self.terms, self.rng, topic)
        thing = np.where(habitual, self.people.things[self.person, interest], new)
        same = some(self.rng, SAME_THING, count) & (np.diff(self.person, prepend=-1) == 0)
        source = np.maximum.accumulate(np.where(same, 0, np.arange(count)))
        plural = some(self.rng, PLURAL_THING, count)
        interest = np.where(to_own, -1, interest)
        return topic[source], interest[source], thing[source], plural[source]

    def _thing(self, row: Ints64) -> Ints64:
        return self._with_s(self.thing[row], self.plural[row])

    def _noun(self, row: Ints64) -> Ints64:
        anything = skewed(self.rng, len(self.terms.topics), power=1, shape=len(row))
        topic = np.where(some(self.rng, STRAY, len(row)), anything, self.topic[row])
        noun = draw_terms(self.terms, self.rng, "nouns", topic, power=1)
        own = self.people.nouns[self.person[row], self._interest_in_topic(row)]
        own = np.where(some(self.rng, HABITUAL, len(row)), own, noun)
        repeats = own == self.thing[row]
        repeats[1:] |= (own[1:] == own[:-1]) & (row[1:] == row[:-1])
        noun = np.where(repeats, noun, own)
        return self._with_s(noun, some(self.rng, PLURAL_NOUN, len(row)))

    def _interest_in_topic(self, row: Ints64) -> Ints64:
        """Draw interests of the queries' persons: in the same topic, or in any if the topic is the template's."""
        interest, count = self.interest[row], len(row)
        other = skewed(self.rng, INTERESTS, power=2, shape=count)
        return np.where(interest < 0, other, interest % TOPICS + other // TOPICS * TOPICS)

    def _with_s(self, piece: Ints64, wanted: Bools) -> Ints64:
        return _rows(piece, np.where(wanted & self.terms.takes_s[piece], self.terms.first("plural"), NOTHING))

    def _brand(self, row: Ints64) -> Ints64:
        """Draw brands: mostly the one that the person likes best in the topic."""
        topic, person = self.topic[row], self.person[row]
        liked = scrambled(self.people.nouns[person, 0] * 64 + topic)
        own = (self.terms.size["brands"][topic] * liked).astype(np.int64)
        other = skewed(self.rng, self.terms.size["brands"][topic], power=1)
        return self.terms.start["brands"][topic] + np.where(some(self.rng, HABITUAL, len(row)), own, other)

    def _either(self, name: str) -> Callable[[Ints64], Ints64]:
        def draw(row: Ints64) -> Ints64:
            own = draw_terms(self.terms, self.rng, name, self.topic[row], power=1)
            return np.where(
                some(self.rng, OF_TOPIC, len(row)), own, self.shared(f"any {name}", len(row), power=2)
            )

        return draw

    def _shared(self, name: str, power: int) -> Callable[[Ints64], Ints64]:
        return lambda row: self.shared(name, len(row), power=power)

    def _parts(self, *names: str) -> Callable[[Ints64], Ints64]:
        return lambda row: _rows(*(self.shared(name, len(row), power=1) for name in names))

    def _surname(self, row: Ints64) -> Ints64:
        known = self.people.surnames[self.person[row], skewed(self.rng, FAMILIES, power=2, shape=len(row))]
        number = np.where(some(self.rng, HABITUAL, len(row)), known, draw_surnames(self.rng, len(row)))
        return self._composed(number, "name_starts", "surname_middles", "surname_ends")

    def _place(self, row: Ints64) -> Ints64:
        place, cities = self.place[row], self.terms.count("cities")
        town = self._composed(place - cities, "name_starts", "town_ends")
        return np.where((place < cities)[:, None], _rows(self.terms.first("cities") + place), town)

    def _state(self, name: str) -> Callable[[Ints64], Ints64]:
        return lambda row: self.terms.first(name) + states_of(self.terms, self.place[row])

    def _composed(self, number: Ints64, *lists: str) -> Ints64:
        return _rows(*name_parts(self.terms, number, *lists))


def _rows(*columns: Ints64) -> Ints64:
    """Return rows of three pieces, the last ones nothing."""
    rows = np.zeros((len(columns[0]), PIECES), dtype=np.int64)
    for place, column in enumerate(columns):
        rows[:, place] = column
    return rows
