"""What the people of a made-up log come back to: their interests, the families they know, and where they live."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.core.types import Ints64
from incrowd.logs.synth.draws import powered, scrambled, skewed, some
from incrowd.logs.synth.terms import Terms

__all__ = [
    "FAMILIES",
    "INTERESTS",
    "TOPICS",
    "TOWNS",
    "People",
    "draw_places",
    "draw_surnames",
    "draw_terms",
    "draw_things",
    "name_parts",
    "states_of",
]

TOPICS, INTERESTS, FAMILIES = 6, 48, 8
# The share of things that are on the topic's own list; the others are words of WordNet.
LISTED = 0.45
# The share of places that are cities, and how many made-up towns and surnames there are.
CITY, TOWNS, SURNAMES = 0.25, 6_000, 40_000


@dataclass(frozen=True, eq=False)
class People:
    """The habits of a chunk of people, a row for each.

    Parameters
    ----------
    topics, things, nouns
        Their interests, the strongest first: a topic, and a thing and another noun of it.
    surnames
        The numbers of the families that they know.
    places
        The numbers of the places that they have to do with, and search for most: one or more.
    """

    topics: Ints64
    things: Ints64
    nouns: Ints64
    surnames: Ints64
    places: Ints64

    @classmethod
    def draw(cls, terms: Terms, rng: np.random.Generator, count: int) -> People:
        """Draw the habits of `count` people."""
        few = skewed(rng, len(terms.topics), power=1, shape=(count, TOPICS))
        topics = few[:, np.arange(INTERESTS) % TOPICS]
        things = draw_things(terms, rng, topics)
        nouns = draw_terms(terms, rng, "nouns", topics, power=2)
        surnames = draw_surnames(rng, (count, FAMILIES))
        return cls(topics, things, nouns, surnames, draw_places(terms, rng, count)[:, None])


def draw_terms(terms: Terms, rng: np.random.Generator, name: str, topic: Ints64, *, power: int) -> Ints64:
    """Draw a term of a topic's list for each entry of `topic`."""
    return terms.start[name][topic] + skewed(rng, terms.size[name][topic], power=power)


def draw_things(terms: Terms, rng: np.random.Generator, topic: Ints64) -> Ints64:
    """Draw a thing to search for, for each entry of `topic`."""
    listed = rng.random(topic.shape) < LISTED
    own, other = (
        draw_terms(terms, rng, name, topic, power=power) for name, power in (("things", 1), ("nouns", 2))
    )
    return np.where(listed, own, other)


def draw_surnames(rng: np.random.Generator, shape: int | tuple[int, ...]) -> Ints64:
    """Draw the numbers of made-up surnames."""
    return skewed(rng, SURNAMES, power=4, shape=shape)


def draw_places(terms: Terms, rng: np.random.Generator, count: int) -> Ints64:
    """Draw the numbers of places: cities come first, made-up towns after them."""
    cities = terms.count("cities")
    city = skewed(rng, cities, power=1, shape=count)
    town = cities + skewed(rng, TOWNS, power=2, shape=count)
    return np.where(some(rng, CITY, count), city, town)


def name_parts(terms: Terms, number: Ints64, *lists: str) -> list[Ints64]:
    """Return the pieces of made-up names, one of each list; different numbers have different ones."""
    sizes = [terms.count(name) for name in lists]
    digits = np.unravel_index(number * 1_000_003 % int(np.prod(sizes)), sizes)
    return [terms.first(name) + digit for name, digit in zip(lists, digits, strict=True)]


def states_of(terms: Terms, place: Ints64) -> Ints64:
    """Return the number of each place's state; a town's is made up, and always the same."""
    cities = terms.count("cities")
    of_town = (terms.count("states") * powered(scrambled(place), 2)).astype(np.int64)
    return np.where(place < cities, terms.city_state[np.minimum(place, cities - 1)], of_town)
