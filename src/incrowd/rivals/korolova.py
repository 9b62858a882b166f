"""Queries with noisy counts, (eps, delta)-differentially private (Korolova et al., WWW 2009).

Each row keeps its first d askings. Every query that is left gets noise on its count, and is published with the
noisy count if that exceeds a threshold. The proof, with the threshold, is in ``docs/papers/korolova.md``.

The noise is discrete and drawn exactly, from whole numbers and secure random bits alone: noise from floating-point
numbers has gaps that tell the count beneath (Mironov, CCS 2012).
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.asked import Asked
from incrowd.claims import MOST_DELTA, MOST_EPS
from incrowd.errors import BadInputError
from incrowd.lists import list_of
from incrowd.rivals import ranks_within

__all__ = [
    "LEAST_EPS",
    "NoisyCounts",
    "Words",
    "check_korolova",
    "discrete_laplace",
    "korolova",
    "noise_rate",
    "secure_words",
    "threshold",
]

Flags = npt.NDArray[np.bool_]
Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]
Words64 = npt.NDArray[np.uint64]
Words = Callable[[int], Words64]  # gives so many uniform 64-bit words

MILLION = 1_000_000  # eps is a whole number of millionths, and d at most so many: all products fit 64 bits
LEAST_EPS = 1 / MILLION
MOST_COUNT = 2**31 - 1  # what a file of records can hold; larger noisy counts are published as this
WIDEST_EPS = 1_000  # what the arithmetic can do
ROUNDING = 1e-12  # far above what logarithms of doubles are wrong by


class NoisyCounts(NamedTuple):
    """What is published: queries (positions in the texts, ascending) and their noisy counts."""

    query: Ints32
    times: Ints64
    threshold: int


def secure_words(count: int) -> Words64:
    """Draw 64-bit words from the system's cryptographic source."""
    return np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64)


def korolova(asked: Asked, *, d: int, eps: float, delta: float, words: Words = secure_words) -> NoisyCounts:
    """Publish the queries whose noisy counts exceed a threshold.

    Parameters
    ----------
    asked
        What was asked. A row is what is protected: give it one row for each person.
    d
        A row's first d askings count, repetitions included; the others are left out.
    eps, delta
        Any two logs that differ by one whole row give any set of releases with probabilities P <= e^eps Q + delta.
        Digits of eps beyond the millionth are cut off, which protects more.
    words
        Where random bits come from. Anything but the default is for tests: it promises nothing.
    """
    _check_arithmetic(d, eps, delta)
    counted = asked.query[ranks_within(list_of(asked.start)) < d]
    query, times = np.unique(counted, return_counts=True)
    noisy = times + discrete_laplace(len(query), noise_rate(d, eps), words)
    least = threshold(d, eps, delta)
    passed = noisy > least
    # Cutting what is noisy already tells nothing more.
    return NoisyCounts(query[passed].astype(np.int32), np.minimum(noisy[passed], MOST_COUNT), least)


def check_korolova(*, d: int, eps: float, delta: float, **_: object) -> None:
    """Refuse parameters out of range, and those that would promise next to nothing."""
    if not 1 <= d <= MILLION:
        raise BadInputError(f"d must be between 1 and {MILLION:,} (got {d})")
    if not LEAST_EPS <= eps <= MOST_EPS:
        raise BadInputError(
            f"eps must be between {LEAST_EPS:f} and {MOST_EPS:g}: more would promise nothing (got {eps:g})"
        )
    if not 0 < delta < MOST_DELTA:
        raise BadInputError(
            f"delta must be greater than 0 and less than {MOST_DELTA}: more would promise nothing (got {delta:g})"
        )
    if threshold(d, eps, delta) >= MOST_COUNT:
        raise BadInputError(
            f"d = {d:,} with eps = {eps:g} needs counts above {MOST_COUNT:,}: use a smaller d or a greater eps"
        )


def _check_arithmetic(d: int, eps: float, delta: float) -> None:
    """Refuse what the mechanism cannot compute with."""
    if not (1 <= d <= MILLION and LEAST_EPS <= eps <= WIDEST_EPS and 0 < delta < 1):
        raise BadInputError(
            f"d must be from 1 to {MILLION:,}, eps from {LEAST_EPS:f} to {WIDEST_EPS:,} and delta between 0 and 1 "
            f"(got {d}, {eps:g} and {delta:g})"
        )


def noise_rate(d: int, eps: float) -> Fraction:
    """Return eps / d, the inverse of the noise's scale b, with eps cut to millionths."""
    return Fraction(math.floor(Fraction(str(eps)) * MILLION), MILLION * d)


def threshold(d: int, eps: float, delta: float) -> int:
    """Return the least K that noisy counts may be asked to exceed.

    With a = e^(-eps / d), a query with c askings, all of one row, passes with probability a^(K + 1 - c) / (1 + a).
    That any of a row's own queries passes is most likely if the row asked d queries once each, or one query d times;
    K makes both at most delta.
    """
    rate = float(noise_rate(d, eps))
    both_signs = math.log1p(math.exp(-rate))
    each_of_d = -math.expm1(math.log1p(-delta) / d)
    many = -(math.log(each_of_d) + both_signs) / rate
    one = d - 1 - (math.log(delta) + both_signs) / rate
    most = max(many, one)
    return max(math.ceil(most + ROUNDING * max(1, abs(most))), d - 1)


def discrete_laplace(count: int, rate: Fraction, words: Words = secure_words) -> Ints64:
    """Draw integers x with probabilities proportional to e^(-rate |x|), exactly.

    Canonne, Kamath and Steinke (The discrete Gaussian for differential privacy, 2020, algorithm 2), for many draws
    at once: a remainder U below t is accepted with probability e^(-U/t), V counts successes of probability 1/e, and
    (U + t V) // s has the right geometric distribution for rate = s / t.
    """
    step, size = np.int64(rate.numerator), np.int64(rate.denominator)
    drawn = np.zeros(count, dtype=np.int64)
    waiting = np.arange(count)
    while len(waiting):
        rest = _below(np.full(len(waiting), size), words)
        accepted = _bernoulli_exp(rest, size, words)
        far = (rest[accepted] + size * _geometric(int(accepted.sum()), words)) // step
        negative = (words(len(far)) & np.uint64(1)).astype(np.bool_)
        # Zero has no sign: of its two ways to come about, one is sent back.
        valid = ~(negative & (far == 0))
        accepted[accepted] = valid
        drawn[waiting[accepted]] = np.where(negative, -far, far)[valid]
        waiting = waiting[~accepted]
    return drawn


def _geometric(count: int, words: Words) -> Ints64:
    """Count successes of probability 1/e before the first failure."""
    successes = np.zeros(count, dtype=np.int64)
    alive = np.arange(count)
    while len(alive):
        alive = alive[_bernoulli_exp(np.ones(len(alive), dtype=np.int64), np.int64(1), words)]
        successes[alive] += 1
    return successes


def _bernoulli_exp(part: Ints64, whole: np.int64, words: Words) -> Flags:
    """Draw events of probability e^(-part / whole), for 0 <= part <= whole.

    The first failure of events of probabilities g/1, g/2, g/3, ... is an odd one with probability e^-g.
    """
    odd = np.zeros(len(part), dtype=np.bool_)
    alive, turn = np.arange(len(part)), np.int64(1)
    while len(alive):
        odd[alive] = turn % 2 == 1
        alive = alive[_below(np.full(len(alive), whole * turn), words) < part[alive]]
        turn += 1
    return odd


def _below(bound: Ints64, words: Words) -> Ints64:
    """Draw integers evenly from 0 to below each bound."""
    bounds = bound.astype(np.uint64)
    drawn = np.zeros(len(bound), dtype=np.int64)
    waiting = np.arange(len(bound))
    while len(waiting):
        word, limit = words(len(waiting)), bounds[waiting]
        # 2^64 mod limit words would make small remainders likelier; they are sent back.
        even = word >= (np.uint64(0) - limit) % limit
        drawn[waiting[even]] = (word[even] % limit[even]).astype(np.int64)
        waiting = waiting[~even]
    return drawn
