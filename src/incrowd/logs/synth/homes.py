"""Where the people of a made-up log live, and where else they are: cities by Zipf's law, and many small towns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.core.types import Bools, Ints64
from incrowd.logs.synth.draws import powered, skewed, some, weighted
from incrowd.logs.synth.people import TOWNS, name_parts, states_of
from incrowd.logs.synth.terms import Terms

__all__ = ["ABROAD", "Homes"]

# Shares of people who live in a city, and abroad; the others live in towns, most of which few people share.
IN_CITY, IS_ABROAD = 0.60, 0.03
# The r-th largest city has the weight 1 / (r + this), the largest being number 0.
FLATTER = 2
# Places in other countries, the most frequent first.
ABROAD = (
    "GB/ENG/London", "CA/ON/Toronto", "GB/ENG/Manchester", "MX/CMX/Mexico City", "CA/QC/Montreal", "AU/NSW/Sydney",
    "GB/SCT/Glasgow", "CA/BC/Vancouver", "DE/BE/Berlin", "IE/L/Dublin", "FR/IDF/Paris", "GB/WLS/Tenby",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Homes:
    """Two places for each person: home, and where else they are now and then.

    A number stands for a place: cities come first, then made-up towns, as in queries, then places abroad.
    """

    home: Ints64
    second: Ints64

    @classmethod
    def draw(cls, terms: Terms, rng: np.random.Generator, count: int) -> Homes:
        """Draw the places of `count` people."""
        first_abroad = terms.count("cities") + TOWNS
        city, other_city = (_draw_cities(terms, rng, count) for _ in range(2))
        town, other_town = (
            terms.count("cities") + skewed(rng, TOWNS, power=2, shape=count) for _ in range(2)
        )
        abroad, other_abroad = (
            first_abroad + skewed(rng, len(ABROAD), power=2, shape=count) for _ in range(2)
        )
        kind = rng.random(count)
        near = _nearest_city(terms, rng, town, other_city)
        travels = np.where(some(rng, 0.5, count), other_city, other_town)
        return cls(
            home=np.where(kind < IN_CITY, city, np.where(kind < 1 - IS_ABROAD, town, abroad)),
            second=np.where(kind < IN_CITY, travels, np.where(kind < 1 - IS_ABROAD, near, other_abroad)),
        )

    def named(self, terms: Terms, other: Ints64) -> Ints64:
        """Return the places that people search for: home, the second place, and as often `other` ones, where their families live.

        Without the latter too many would search for the same cities. Queries name no place abroad.
        """
        here = ~self.is_abroad(terms)
        own = [np.where(here, place, other) for place in (self.home, self.home, self.second)]
        return np.stack([*own, other, other, other], axis=1)

    def is_abroad(self, terms: Terms) -> Bools:
        """Return who lives in another country."""
        return self.home >= terms.count("cities") + TOWNS

    def states(self, terms: Terms) -> Ints64:
        """Return the number of the state that each person lives in; abroad it means nothing."""
        return states_of(terms, self.home)

    def texts(self, terms: Terms) -> list[str]:
        """Return each person's home and then second place, as ``US/TX/Austin``."""
        return _paths(terms, np.stack([self.home, self.second], axis=1).ravel())


def _draw_cities(terms: Terms, rng: np.random.Generator, count: int) -> Ints64:
    """Draw cities by Zipf's law: the first of each state are the largest, then the second of each."""
    state = terms.city_state
    place_in_state = np.array([(state[:city] == state[city]).sum() for city in range(len(state))])
    by_size = np.argsort(place_in_state, kind="stable")
    return by_size[weighted(rng, 1 / (np.arange(len(state)) + FLATTER), count)]


def _nearest_city(terms: Terms, rng: np.random.Generator, town: Ints64, otherwise: Ints64) -> Ints64:
    """Draw a city in the state of each town, if there is one."""
    states = terms.count("states")
    size = np.bincount(terms.city_state, minlength=states)
    first = np.zeros(states, dtype=np.int64)
    first[terms.city_state[::-1]] = np.arange(len(terms.city_state))[::-1]
    state = states_of(terms, town)
    city = first[state] + (size[state] * powered(rng.random(len(town)), 2)).astype(np.int64)
    return np.where(size[state] > 0, city, otherwise)


def _paths(terms: Terms, place: Ints64) -> list[str]:
    cities = terms.count("cities")
    code = terms.first("state_codes") + states_of(terms, place)
    start, end = name_parts(terms, place - cities, "name_starts", "town_ends")
    pieces = terms.pieces
    return [
        ABROAD[number - cities - TOWNS]
        if number >= cities + TOWNS
        else f"US/{pieces[state].upper()}/{_name(terms, number, pieces[a] + pieces[b])}"
        for number, state, a, b in zip(*(some.tolist() for some in (place, code, start, end)), strict=True)
    ]


def _name(terms: Terms, place: int, town: str) -> str:
    is_city = place < terms.count("cities")
    return (terms.pieces[terms.first("cities") + place] if is_city else town).title()
