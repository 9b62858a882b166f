"""Counts by week: who counts in which week, what a person adds at most, and how far off weeks and their sums are."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from incrowd.core.gaussian import SIGMA, gaussian_delta
from incrowd.core.spending import spend
from incrowd.methods.dp import weeks as by_week
from incrowd.methods.dp.sets import sets_of
from incrowd.methods.dp.weeks import noisy_weeks, weeks_from

HOW = {"d": 5, "eps": 1.0, "delta": 1e-6, "rounds": 1, "counts": 0.5}


@pytest.mark.parametrize("weeks", [1, 13, 520])
def test_what_a_person_adds_is_within_the_budget_whatever_their_weeks(weeks):
    spending = spend(**HOW, weeks=weeks)
    # A person has at most d items, each in one week: its column, or what is left of it after a later week.
    longest = sum(added**2 for added in spending.column)
    squares = spending.rounds[0].length ** 2 + spending.d * longest
    mu = math.sqrt(squares) / SIGMA
    assert gaussian_delta(1.0, mu) <= 1e-6 / 2
    assert gaussian_delta(1.0, mu * 1.001) > 1e-6 / 2
    assert math.isclose(spending.rho, mu**2 / 2, rel_tol=1e-9)
    assert spending.column[0] == spending.unit
    assert all(one > other for one, other in zip(spending.column, spending.column[1:], strict=False))


@pytest.mark.parametrize("weeks", [None, 260, 520])
def test_the_grid_is_paid_for_however_many_sums_a_person_touches(weeks):
    """Lemma 2 with d in each round and d for each week: where eps is small and these are many, the grid takes more than the usual margin."""
    how = {"d": 10_000, "eps": 0.01, "delta": 0.0099, "rounds": 3, "counts": 1e-6}
    spending = spend(**how, weeks=weeks)
    squares = sum(one.length**2 for one in spending.rounds)
    squares += spending.d * sum(added**2 for added in spending.column)
    touched = how["d"] * (how["rounds"] + (weeks or 1))
    apart = 1.01 * (16**2 + 2) / (24 * SIGMA**2)
    continuous = gaussian_delta(how["eps"] - 2 * touched * apart, math.sqrt(squares) / SIGMA)
    assert math.exp(touched * apart) * continuous <= how["delta"] / 2


def test_one_week_costs_what_no_weeks_cost():
    assert spend(**HOW, weeks=1) == spend(**HOW)
    assert spend(**HOW).error == pytest.approx(SIGMA / spend(**HOW).unit)
    assert spend(**HOW).error_of_sums == pytest.approx(spend(**HOW).error)


@pytest.fixture
def quiet(monkeypatch):
    """Let there be no noise in counts: they come out as they went in."""
    monkeypatch.setattr(by_week, "discrete_gaussian", lambda count, _: np.zeros(count, np.int64))


@pytest.mark.usefixtures("quiet")
def test_without_noise_counts_are_right():
    weeks, dice = 9, np.random.default_rng(0)
    week = dice.integers(0, weeks, 4_000)
    item = np.arange(4_000) % 2
    sets = sets_of(np.arange(4_000), item * weeks + week, 2 * weeks)
    found, counts = noisy_weeks(sets, spend(**HOW, weeks=weeks))
    assert found.tolist() == [0, 1]
    assert counts.tolist() == [np.bincount(week[item == one], minlength=weeks).tolist() for one in (0, 1)]


@pytest.mark.usefixtures("quiet")
def test_of_a_person_with_more_than_d_found_items_d_count():
    sets = sets_of(np.repeat(np.arange(3_000), 3), np.tile([0, 5, 10], 3_000), 15)
    found, counts = noisy_weeks(sets, spend(**HOW | {"d": 2}, weeks=5))
    assert found.tolist() == [0, 1, 2]
    assert counts.sum() == 6_000
    assert np.all(np.abs(counts[:, 0] - 2_000) < 200)
    assert not counts[:, 1:].any()


def test_weeks_and_their_sums_are_as_far_off_as_they_say():
    """The noise of a sum of weeks in a row is hardly larger than that of one week; with noise for each week by itself it would grow with the root of their number."""
    weeks, items = 26, 4_000
    spending = spend(**HOW, weeks=weeks)
    drawn = np.rint(np.random.default_rng(1).normal(0, SIGMA, (items, weeks))).astype(np.int64)
    off = weeks_from(drawn, spending)
    assert off[:, -1].std() == pytest.approx(spending.error, rel=0.05)
    sums = {
        (low, high): off[:, low:high].sum(axis=1).std() for low, high in combinations(range(weeks + 1), 2)
    }
    assert max(sums.values()) == pytest.approx(spending.error_of_sums, rel=0.05)
    alone = spend(**HOW).error
    assert spending.error < 1.7 * alone
    assert spending.error_of_sums < 2.7 * alone < math.sqrt(weeks) * alone / 1.8


def test_no_week_uses_noise_of_a_later_one():
    spending = spend(**HOW, weeks=4)
    noisy = np.array([[10**9, 2 * 10**9, 3 * 10**9, 4 * 10**9]])
    first = weeks_from(noisy, spending)
    noisy[0, 3] = 0
    assert weeks_from(noisy, spending)[0, :3].tolist() == first[0, :3].tolist()


def test_a_person_counts_in_one_of_the_weeks_evenly():
    key = np.repeat(np.arange(9_000), 3)
    seen = np.bincount(by_week._one_each(key, by_week.secure_words) % 3)
    assert seen.sum() == 9_000
    assert np.all(np.abs(seen - 3_000) < 300)
