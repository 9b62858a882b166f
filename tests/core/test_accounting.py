"""What releases promise together, held against Google's dp-accounting."""

from __future__ import annotations

import importlib
import math
import sys

import pytest

from incrowd.core.accounting import Cost, eps_of, total
from incrowd.core.gaussian import SIGMA
from incrowd.core.spending import spend

ORDERS = [1 + math.exp(step / 50) for step in range(-200, 350)]


@pytest.fixture(scope="module")
def library():
    """Import Google's library, a second's work, for these tests alone.

    It brings absl's log handler, which closes the stream that it was made with once another test sets up logging: not pytest's.
    """
    library = importlib.import_module("dp_accounting")
    for part in ("pld", "rdp"):
        importlib.import_module(f"dp_accounting.{part}")
    importlib.import_module("absl.logging").get_absl_handler().python_handler.setStream(sys.__stderr__)
    return library


def said(library, accountant, sigmas, delta):
    """Return the eps that another accountant gives to Gaussian mechanisms one after another."""
    for sigma in sigmas:
        accountant.compose(library.GaussianDpEvent(sigma))
    return accountant.get_epsilon(delta)


@pytest.mark.parametrize(
    ("sigmas", "delta"),
    [([5.0], 1e-6), ([1.5] * 4, 1e-9), ([20.0] * 100, 1e-5), ([0.7, 2.0, 9.0], 1e-3)],
    ids=["one", "four", "many", "unlike each other"],
)
def test_gaussian_releases_add_up_as_another_library_says(library, sigmas, delta):
    found = eps_of(total(Cost(1 / (2 * sigma**2), 0.0) for sigma in sigmas), delta)
    near = library.pld.PLDAccountant(value_discretization_interval=1e-3)
    assert math.isclose(found, said(library, library.rdp.RdpAccountant(ORDERS), sigmas, delta), rel_tol=2e-3)
    assert found > said(library, near, sigmas, delta)  # the truth, nearly


@pytest.mark.parametrize(
    ("eps", "delta", "d", "weeks"), [(1.0, 1e-6, 5, None), (3.0, 1e-6, 50, None), (0.5, 1e-8, 20, 13)]
)
def test_the_steps_of_one_release_keep_eps_as_another_library_says(library, eps, delta, d, weeks):
    """All rounds and the counts together, with the half of delta that is for noise."""
    spending = spend(d=d, eps=eps, delta=delta, rounds=3, counts=0.25, weeks=weeks)
    counts = math.sqrt(d * sum(each**2 for each in spending.column))
    lengths = [*(one.length for one in spending.rounds), counts]
    found = said(library, library.pld.PLDAccountant(), [SIGMA / length for length in lengths], delta / 2)
    assert 0.999 * eps < found <= eps


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
