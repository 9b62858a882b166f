"""How method `dp` spends eps and delta: a function of its parameters alone, which the audit computes again (docs/papers/dp.md)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from incrowd.core.gaussian import SIGMA, largest_mu, tail_point
from incrowd.core.types import Floats

__all__ = [
    "LEAST_DELTA",
    "LEAST_EPS",
    "MOST_ITEMS",
    "MOST_WEEKS",
    "PROPORTIONS",
    "Round",
    "Spending",
    "spend",
]

LEAST_EPS, LEAST_DELTA = 0.01, 1e-12  # below these the margin of the grid would not be enough
MOST_ITEMS = 10_000  # the largest d, for the same reason
MOST_WEEKS = 520
PROPORTIONS = (0.09, 0.3, 1.0)  # of the last rounds; one round is the last of them (Swanberg et al. 2023)
NINETEEN_OF_TWENTY = 1.96  # standard deviations


class Round(NamedTuple):
    """One round of the set union: what a person adds in all, as a Euclidean length, and what a sum must reach with its noise."""

    length: int
    threshold: int

    def weight(self, items: int) -> int:
        """Return what each of a person's items gets where the person has so many: rounded down, so the length is kept."""
        return math.isqrt(self.length**2 // items)


class Spending(NamedTuple):
    """The rounds, and what a person adds to the count of each of their items; noise has a standard deviation of SIGMA.

    Parameters
    ----------
    d
        How many items of a person count, at most, in each round and in the counts.
    rounds
        The rounds that find items.
    unit
        What one person adds to a count; 0 where there are no counts.
    missed
        The probability that an item of a single person is published, at most: the part of delta that thresholds spend.
    weeks
        For how many weeks there are counts; 1 where they are of the whole time.
    """

    d: int
    rounds: tuple[Round, ...]
    unit: int
    missed: float
    weeks: int = 1

    @property
    def column(self) -> tuple[int, ...]:
        """What one person adds to the noisy sum of their week and of each later one: the square root of "all weeks so far"."""
        return tuple(self.unit * math.comb(2 * late, late) >> 2 * late for late in range(self.weeks))

    @property
    def rho(self) -> float:
        """What it costs in zero-concentrated differential privacy (Bun and Steinke 2016), thresholds apart; rounded up."""
        squares = sum(one.length**2 for one in self.rounds) + self.d * sum(each**2 for each in self.column)
        return math.nextafter(squares / (2 * SIGMA**2), math.inf)

    @property
    def error(self) -> float:
        """The standard deviation of a published count, of the last week if there are several."""
        return float(SIGMA * np.linalg.norm(_response(self)))

    @property
    def error_of_sums(self) -> float:
        """The standard deviation of a sum of counts of weeks in a row, however many, at most."""
        until = np.cumsum(_response(self))  # of all weeks up to the last
        late = (np.concatenate((np.zeros(number), until[:-number])) for number in range(1, self.weeks))
        return SIGMA * max(float(np.linalg.norm(until - one)) for one in (np.zeros(self.weeks), *late))

    @property
    def error_bar(self) -> int:
        """How far the noise of a count goes in 19 of 20 cases, at most."""
        return math.ceil(NINETEEN_OF_TWENTY * self.error)

    @property
    def sums_bar(self) -> int:
        """How far the noise of a sum of weeks in a row goes in 19 of 20 cases, at most."""
        return math.ceil(NINETEEN_OF_TWENTY * self.error_of_sums)


def _response(spending: Spending) -> Floats:
    """Return how much of the noise of the last week, of the one before, and so on, is in the count of the last week."""
    column = np.array(spending.column, dtype=np.float64)
    response = np.zeros(spending.weeks)
    response[0] = 1 / column[0]
    for late in range(1, spending.weeks):
        response[late] = -np.dot(column[1 : late + 1], response[late - 1 :: -1][:late]) / column[0]
    return response


@lru_cache(maxsize=64)
def spend(
    *, d: int, eps: float, delta: float, rounds: int, counts: float, weeks: int | None = None
) -> Spending:
    """Divide eps and delta among the rounds and the counts, which are of so many weeks, or of the whole time.

    Half of delta is for the noise and half for the thresholds. Noise of several steps is as good as one with
    mu^2 = the sum of theirs: `counts` is the share of mu^2 that counts get, and the rounds share the rest as PROPORTIONS says.
    """
    several = weeks or 1
    mu = largest_mu(eps, delta / 2, sums=d * (rounds + several))
    proportions = PROPORTIONS[-rounds:]
    shares = [one / sum(proportions) for one in proportions]
    lengths = [math.floor(SIGMA * mu * math.sqrt((1 - counts) * share)) for share in shares]
    found = tuple(_round(length, delta / 2 * share, d) for length, share in zip(lengths, shares, strict=True))
    square = math.fsum((math.comb(2 * late, late) / 4**late) ** 2 for late in range(several))
    unit = math.isqrt(math.floor((SIGMA * mu) ** 2 * counts / square) // d)
    return Spending(d, found, unit, delta / 2, several)


def _round(length: int, missed: float, d: int) -> Round:
    """Return a round in which the items of a single person pass with a probability of at most `missed`, however many they are."""
    bare = Round(length, 0)
    each = (-math.expm1(math.log1p(-missed) / items) for items in range(1, d + 1))
    return Round(length, max(bare.weight(n) + tail_point(chance) for n, chance in enumerate(each, 1)))
