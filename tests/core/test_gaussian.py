"""The discrete Gaussian and what it hides: each lemma of docs/papers/dp.md, in numbers."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from incrowd.core.gaussian import (
    GRID,
    MARGIN,
    SIGMA,
    discrete_gaussian,
    gaussian_delta,
    largest_mu,
    tail_point,
)
from incrowd.core.noise import secure_words
from incrowd.core.spending import LEAST_EPS, MOST_ITEMS, MOST_WEEKS

FALSE_ALARM = 1e-6  # of each statistical test, once in a million runs


def mass(sigma: int, reach: int = 40) -> dict[int, float]:
    """Return the probabilities of the discrete Gaussian."""
    raw = {x: math.exp(-(x**2) / (2 * sigma**2)) for x in range(-reach * sigma, reach * sigma + 1)}
    total = math.fsum(raw.values())
    return {x: one / total for x, one in raw.items()}


@pytest.mark.parametrize("sigma", [1, 3, 7])
def test_the_noise_has_the_probabilities_it_claims(sigma):
    draws = 150_000
    exact = mass(sigma)
    far = next(x for x in range(1, 99) if draws * sum(p for y, p in exact.items() if y >= x) < 50)
    seen = Counter(np.clip(discrete_gaussian(draws, sigma=sigma), -far, far).tolist())
    inner = {x: exact[x] for x in range(-far + 1, far)}
    rest = (1 - math.fsum(inner.values())) / 2
    expected = {-far: rest, **inner, far: rest}
    found = stats.chisquare([seen[x] for x in expected], [draws * p for p in expected.values()])
    assert found.pvalue > FALSE_ALARM


def test_at_full_size_it_looks_normal_in_both_tails():
    draws = 100_000
    drawn = discrete_gaussian(draws) / SIGMA
    assert stats.kstest(drawn, "norm").pvalue > FALSE_ALARM
    for far in (drawn > 3, drawn < -3):
        low, high = stats.binom.ppf([FALSE_ALARM, 1 - FALSE_ALARM], draws, stats.norm.sf(3))
        assert low <= far.sum() <= high


def test_the_lowest_bits_are_noise_too():
    """Noise whose lowest bits were not even would show the sums that it hides."""
    drawn = discrete_gaussian(64_000)
    seen = np.bincount(drawn & 63, minlength=64)
    assert stats.chisquare(seen).pvalue > FALSE_ALARM


@pytest.mark.parametrize("sigma", [16, 64, 256])
def test_lemma_1_the_grid_is_as_good_as_a_rounded_normal_variable(sigma):
    """Within 16 standard deviations the ratio of the probabilities is within 1 +- (16^2 + 2) / (24 sigma^2), nearly."""
    reach = 16
    bound = 1.05 * (reach**2 + 2) / (24 * sigma**2) * math.exp(reach / (2 * sigma))
    exact = mass(sigma)
    for x in range(0, reach * sigma + 1, 3):
        # Q(a) - Q(b) by the tail on whose side x lies.
        rounded = stats.norm.sf((x - 0.5) / sigma) - stats.norm.sf((x + 0.5) / sigma)
        assert abs(math.log(exact[x] / rounded)) <= bound + 1e-10


def test_lemma_2_the_margin_covers_the_grid():
    apart = 1.01 * (16**2 + 2) / (24 * SIGMA**2)
    assert apart == GRID  # of eps it is taken off for each sum, of delta once for all
    coordinates = (3 + MOST_WEEKS) * MOST_ITEMS  # three rounds and the counts of all weeks
    assert 2 * coordinates * apart < LEAST_EPS / 1_000
    assert math.expm1(coordinates * apart) < MARGIN / 3


@pytest.mark.parametrize("sigma", [4, 20])
def test_lemma_3_tails_are_bounded_by_the_normal_one(sigma):
    exact = mass(sigma)
    for m in range(1, 9 * sigma):
        assert sum(p for x, p in exact.items() if x >= m) <= stats.norm.sf((m - 1) / sigma) * (1 + 1e-9)


@pytest.mark.parametrize("chance", [0.4, 1e-3, 5e-7, 1e-12, 1e-16])
def test_a_tail_point_is_reached_with_at_most_the_chance(chance):
    point = tail_point(chance)
    assert stats.norm.sf((point - 1) / SIGMA) <= chance
    assert stats.norm.sf((point - SIGMA / 1_000) / SIGMA) > chance  # and hardly less


@pytest.mark.parametrize("eps", [0.01, 0.5, 3.0, 20.0])
@pytest.mark.parametrize("delta", [1e-3, 5e-7, 1e-12])
def test_mu_is_the_largest_that_keeps_eps_and_delta(eps, delta):
    mu = largest_mu(eps, delta)

    def exact(eps: float, mu: float) -> float:
        return stats.norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * stats.norm.cdf(-mu / 2 - eps / mu)

    assert math.isclose(gaussian_delta(eps, mu), exact(eps, mu), rel_tol=1e-9)
    assert exact(eps, mu) <= delta
    assert exact(eps, mu * 1.0001) > delta


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_one_change_of_the_discrete_gaussian_is_hidden_as_the_formula_says(mu):
    """The exact sum over all outputs, for a shift on a coarse grid: the normal formula is right but for the grid."""
    sigma = 200
    exact = mass(sigma)
    shift = round(mu * sigma)
    for eps in (0.5, 1.5, 4.0):
        excess = math.fsum(max(0.0, p - math.exp(eps) * exact.get(x + shift, 0.0)) for x, p in exact.items())
        assert math.isclose(excess, gaussian_delta(eps, shift / sigma), rel_tol=2e-3, abs_tol=1e-12)


def test_the_source_is_the_systems_and_fresh():
    assert discrete_gaussian(50).tolist() != discrete_gaussian(50).tolist()
    assert discrete_gaussian.__defaults__ == (secure_words, SIGMA)
    assert len(discrete_gaussian(0)) == 0
