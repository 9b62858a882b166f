"""Gaussian noise for differential privacy: how much is needed, and exact sampling (docs/papers/dp.md has the proofs).

All noise is the discrete Gaussian of standard deviation SIGMA on whole numbers. What a person adds is scaled to it: with sensitivity S
the mechanism has mu = S / SIGMA, and mechanisms one after another have the root of the sum of squares.
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from incrowd.core.noise import Words, bernoulli_exp, discrete_laplace, geometric, secure_words
from incrowd.core.types import Ints64

__all__ = ["GRID", "SIGMA", "discrete_gaussian", "gaussian_delta", "largest_mu", "tail_point"]

SIGMA = 2**24
FARTHEST = 64  # in standard deviations; what lies beyond has a probability of e^-2048 and is never drawn
MARGIN = 1e-6  # for rounding, and for what the grid costs of delta: lemma 2 of docs/papers/dp.md
GRID = (
    1.01 * (16**2 + 2) / (24 * SIGMA**2)
)  # what it costs of eps for each noisy sum that a person touches, twice
HALVINGS = 100
AT_ONCE = 1 << 20  # draws; more at once take more memory and more time


def discrete_gaussian(count: int, words: Words = secure_words, sigma: int = SIGMA) -> Ints64:
    """Draw integers x with probabilities proportional to e^(-x^2 / (2 sigma^2)), exactly.

    Canonne, Kamath and Steinke (The discrete Gaussian for differential privacy, 2020), for many draws at once:
    x from the discrete Laplace distribution of scale sigma is accepted with probability e^-g, g = (|x| - sigma)^2 / (2 sigma^2).
    """
    some = (min(AT_ONCE, count - done) for done in range(0, count, AT_ONCE))
    return np.concatenate([np.empty(0, np.int64), *(_drawn(number, words, sigma) for number in some)])


def _drawn(count: int, words: Words, sigma: int) -> Ints64:
    drawn = np.zeros(count, dtype=np.int64)
    waiting, whole = np.arange(count), np.int64(2 * sigma * sigma)
    farthest = FARTHEST * sigma
    while len(waiting):
        tried = discrete_laplace(len(waiting), Fraction(1, sigma), words)
        tried[np.abs(tried) > farthest] = farthest  # never accepted, and its square fits 64 bits
        times, rest = np.divmod((np.abs(tried) - sigma) ** 2, whole)
        accepted = bernoulli_exp(rest, whole, words) & (np.abs(tried) < farthest)
        unsure = np.flatnonzero(accepted & (times > 0))
        accepted[unsure] = geometric(len(unsure), words) >= times[unsure]
        drawn[waiting[accepted]] = tried[accepted]
        waiting = waiting[~accepted]
    return drawn


def gaussian_delta(eps: float, mu: float) -> float:
    """Return the least delta with which Gaussian noise of standard deviation 1 / mu hides a change of 1 within eps.

    Balle and Wang (Improving the Gaussian mechanism for differential privacy, ICML 2018).
    """
    return _upper(eps / mu - mu / 2) - math.exp(eps) * _upper(eps / mu + mu / 2)


def largest_mu(eps: float, delta: float, sums: int = 0) -> float:
    """Return the largest mu with which all noise together keeps eps and delta, if a person touches so many noisy sums; with a margin for the grid."""
    eps, delta = eps * (1 - MARGIN) - 2 * sums * GRID, delta * (1 - MARGIN)
    low, high = 0.0, 1.0
    while gaussian_delta(eps, high) < delta:
        high *= 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(eps, middle) <= delta else (low, middle)
    return low


def tail_point(chance: float) -> int:
    """Return an integer that noise reaches with at most this probability, which is less than 1/2.

    For integers m >= 1, P(X >= m) <= Q((m - 1) / SIGMA), where Q is the tail of the normal distribution.
    """
    return 1 + math.ceil(-NormalDist().inv_cdf(chance * (1 - MARGIN)) * SIGMA)


def _upper(point: float) -> float:
    """Return the probability that a standard normal variable exceeds a point; accurate far out."""
    return math.erfc(point / math.sqrt(2)) / 2
