"""How method `dp` spends eps and delta: a function of its parameters alone, which the audit computes again (docs/papers/dp.md)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from incrowd.core.gaussian import SIGMA, largest_mu, tail_point

__all__ = ["LEAST_DELTA", "LEAST_EPS", "MOST_ITEMS", "PROPORTIONS", "Round", "Spending", "spend"]

LEAST_EPS, LEAST_DELTA = 0.01, 1e-12  # below these the margin of the grid would not be enough
MOST_ITEMS = 10_000  # the largest d, for the same reason
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
    """

    d: int
    rounds: tuple[Round, ...]
    unit: int
    missed: float

    @property
    def rho(self) -> float:
        """What it costs in zero-concentrated differential privacy (Bun and Steinke 2016), thresholds apart; rounded up."""
        squares = sum(one.length**2 for one in self.rounds) + self.d * self.unit**2
        return math.nextafter(squares / (2 * SIGMA**2), math.inf)

    @property
    def error(self) -> float:
        """The standard deviation of a published count."""
        return SIGMA / self.unit

    @property
    def error_bar(self) -> int:
        """How far the noise of a count goes in 19 of 20 cases, at most."""
        return math.ceil(NINETEEN_OF_TWENTY * self.error)


@lru_cache(maxsize=64)
def spend(*, d: int, eps: float, delta: float, rounds: int, counts: float) -> Spending:
    """Divide eps and delta among the rounds and the counts.

    Half of delta is for the noise and half for the thresholds. Noise of several steps is as good as one with
    mu^2 = the sum of theirs: `counts` is the share of mu^2 that counts get, and the rounds share the rest as PROPORTIONS says.
    """
    mu = largest_mu(eps, delta / 2)
    proportions = PROPORTIONS[-rounds:]
    shares = [one / sum(proportions) for one in proportions]
    lengths = [math.floor(SIGMA * mu * math.sqrt((1 - counts) * share)) for share in shares]
    found = tuple(_round(length, delta / 2 * share, d) for length, share in zip(lengths, shares, strict=True))
    unit = math.isqrt(math.floor((SIGMA * mu) ** 2 * counts) // d)
    return Spending(d, found, unit, delta / 2)


def _round(length: int, missed: float, d: int) -> Round:
    """Return a round in which the items of a single person pass with a probability of at most `missed`, however many they are."""
    bare = Round(length, 0)
    each = (-math.expm1(math.log1p(-missed) / items) for items in range(1, d + 1))
    return Round(length, max(bare.weight(n) + tail_point(chance) for n, chance in enumerate(each, 1)))
