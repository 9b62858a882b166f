"""Noise for (eps, delta)-differential privacy: its scale and threshold, and exact sampling (docs/papers/korolova.md)."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from incrowd.core.types import Bools, Ints64, Words64

__all__ = [
    "LEAST_EPS",
    "MILLION",
    "Words",
    "bernoulli_exp",
    "discrete_laplace",
    "geometric",
    "noise_rate",
    "secure_words",
    "threshold",
]

Words = Callable[[int], Words64]  # returns the given number of uniform 64-bit words

MILLION = 1_000_000  # eps is a whole number of millionths and d is at most a million, so products fit 64 bits
LEAST_EPS = 1 / MILLION
ROUNDING = 1e-12  # far above what logarithms of doubles are wrong by


def secure_words(count: int) -> Words64:
    """Draw 64-bit words from the system's cryptographic source."""
    return np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64)


def noise_rate(d: int, eps: float) -> Fraction:
    """Return eps / d, the inverse of the noise's scale b, with eps cut to millionths."""
    return Fraction(math.floor(Fraction(str(eps)) * MILLION), MILLION * d)


def threshold(d: int, eps: float, delta: float) -> int:
    """Return the least threshold K that noisy counts must exceed.

    With a = e^(-eps / d), a query with c events, all of one row, passes with probability a^(K + 1 - c) / (1 + a).
    The chance that any of a row's own queries passes is largest if the row has d queries once each, or one query d
    times; K makes both chances at most delta.
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
        rest = _below(int(size), len(waiting), words)
        accepted = bernoulli_exp(rest, size, words)
        size_drawn = (rest[accepted] + size * geometric(int(accepted.sum()), words)) // step
        negative = (words(len(size_drawn)) & np.uint64(1)).astype(np.bool_)
        # Zero has no sign: it would be drawn in two ways, so one of them is rejected.
        valid = ~(negative & (size_drawn == 0))
        accepted[accepted] = valid
        drawn[waiting[accepted]] = np.where(negative, -size_drawn, size_drawn)[valid]
        waiting = waiting[~accepted]
    return drawn


def geometric(count: int, words: Words) -> Ints64:
    """Count successes of probability 1/e before the first failure."""
    successes = np.zeros(count, dtype=np.int64)
    alive = np.arange(count)
    while len(alive):
        alive = alive[bernoulli_exp(np.ones(len(alive), dtype=np.int64), np.int64(1), words)]
        successes[alive] += 1
    return successes


def bernoulli_exp(part: Ints64, whole: np.int64, words: Words) -> Bools:
    """Draw events of probability e^(-part / whole), for 0 <= part <= whole.

    The first failure of events of probabilities g/1, g/2, g/3, ... is an odd one with probability e^-g.
    """
    odd = np.zeros(len(part), dtype=np.bool_)
    alive, turn = np.arange(len(part)), np.int64(1)
    while len(alive):
        odd[alive] = turn % 2 == 1
        alive = alive[_below(int(whole * turn), len(alive), words) < part[alive]]
        turn += 1
    return odd


def _below(bound: int, count: int, words: Words) -> Ints64:
    """Draw integers evenly from 0 to below a bound."""
    word, limit = words(count), np.uint64(bound)
    uneven = np.uint64(2**64 % bound)  # so many words would make small remainders likelier; they are rejected
    while len(again := np.flatnonzero(word < uneven)):
        word = word.copy()
        word[again] = words(len(again))
    # Division by one number is much faster than the remainder.
    drawn: Ints64 = (word - word // limit * limit).astype(np.int64)
    return drawn
