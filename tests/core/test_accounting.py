"""What releases promise together, held against Google's dp-accounting (its figures: scripts/accounting_figures.py)."""

from __future__ import annotations

import math

import pytest

from incrowd.core.accounting import Cost, eps_of, total
from incrowd.core.spending import spend

# sigma, releases, delta, eps by its Renyi accountant, eps by its privacy loss distributions, which is exact.
FIGURES = [
    (5.0, 1, 1e-06, 0.899935, 0.834118),
    (5.0, 10, 1e-06, 3.131056, 2.921601),
    (1.5, 1, 1e-06, 3.318644, 3.097640),
    (1.5, 4, 1e-09, 8.911509, 8.507956),
    (20.0, 300, 1e-05, 4.011310, 3.708635),
    (0.7, 2, 0.001, 8.526700, 7.682703),
]


@pytest.mark.parametrize(("sigma", "releases", "delta", "renyi", "exact"), FIGURES)
def test_gaussian_releases_add_up_as_another_library_says(sigma, releases, delta, renyi, exact):
    cost = total([Cost(1 / (2 * sigma**2), 0.0)] * releases)
    found = eps_of(cost, delta)
    assert math.isclose(found, renyi, rel_tol=2e-3)
    assert found > exact  # never less than the truth


def test_what_thresholds_spend_is_taken_from_delta():
    alone = eps_of(Cost(0.1, 0.0), 1e-6)
    assert eps_of(Cost(0.1, 5e-7), 1e-6) > alone
    assert math.isclose(eps_of(Cost(0.1, 5e-7), 1.5e-6), alone)
    assert eps_of(Cost(0.1, 1e-6), 1e-6) == math.inf
    assert eps_of(Cost(0.0, 0.0), 1e-6) == 0


def test_one_release_of_dp_costs_little_more_here_than_it_claims_alone():
    """Zero-concentrated accounting is looser than the exact formula of one release, and never below it."""
    for eps, delta in ((0.5, 1e-6), (1.0, 1e-6), (3.0, 1e-8)):
        spending = spend(d=10, eps=eps, delta=delta, rounds=3, counts=0.25)
        found = eps_of(Cost(spending.rho, spending.missed), delta)
        assert eps < found < 1.15 * eps


def test_sums_are_rounded_up():
    cost = total([Cost(0.1, 1e-7)] * 10)
    assert cost.rho > 1.0
    assert cost.missed > 1e-6
