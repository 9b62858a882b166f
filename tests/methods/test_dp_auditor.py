"""An auditor of the mechanism itself: from many runs on two neighbouring inputs, what eps is at least.

One call of the mechanism runs many worlds at once: people and items of one world have nothing to do with those of another, noise is drawn for
each item by itself, and each person's set is cut by itself. So every world is a run of its own. A test is an event; it is chosen on one half of the
worlds and counted on the other, where Clopper-Pearson bounds of its two probabilities P and Q give

    eps >= ln((P - delta) / Q).

The bound must not exceed the claim, and it must do so if the sampler, the weights or the thresholds are broken.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from incrowd.core import gaussian
from incrowd.core.spending import Spending, spend
from incrowd.methods.dp import mechanism
from incrowd.methods.dp.mechanism import find_items, noisy_people
from incrowd.methods.dp.sets import sets_of

FALSE_ALARM = 1e-6
EPS, DELTA = 1.0, 0.009
WORLDS = 30_000


class World(NamedTuple):
    """How many others have each item of a world; the one person more has all of them."""

    others: tuple[int, ...]


def observed(world: World, spending: Spending, *, joined: bool) -> np.ndarray:
    """Return the items found and their counts added up, in each of many worlds, with or without one person more."""
    size, people = len(world.others), sum(world.others)
    item = np.repeat(np.arange(size), world.others)  # the others have one item each
    person = np.arange(people)
    if joined:
        item, person = np.append(item, np.arange(size)), np.append(person, np.full(size, people))
    step = np.arange(WORLDS)[:, None]
    sets = sets_of((step * (people + 1) + person).ravel(), (step * size + item).ravel(), WORLDS * size)
    found = find_items(sets, spending)
    counts = noisy_people(sets, found, spending)
    shown = np.bincount(found // size, minlength=WORLDS)
    total = np.bincount(found // size, counts, minlength=WORLDS)
    return shown * 1_000_000 + total


def least_eps(one: np.ndarray, other: np.ndarray) -> float:
    """Return a lower bound of eps, given what is observed of two neighbours; wrong once in a million times."""
    half = WORLDS // 2
    values = np.unique(np.concatenate((one[:half], other[:half])))
    cuts = np.append(
        values[np.linspace(0, len(values) - 1, 60).astype(int)], 1
    )  # 1: whether anything is found
    best = -math.inf
    for first, second in ((one, other), (other, one)):
        for sign in (1, -1):
            ratios = [_gain(sign * first[:half] >= c, sign * second[:half] >= c) for c in sign * cuts]
            cut = sign * cuts[int(np.argmax(ratios))]
            hits = [int(np.sum(sign * part[half:] >= cut)) for part in (first, second)]
            best = max(best, _bound(hits[0], hits[1], WORLDS - half))
    return best


def _gain(first: np.ndarray, second: np.ndarray) -> float:
    """Return how promising an event is."""
    return (first.mean() - DELTA) / (second.mean() + 20 / len(second))


def _bound(first: int, second: int, runs: int) -> float:
    """Return ln((P - delta) / Q) with bounds of P and Q."""
    low = stats.beta.ppf(FALSE_ALARM / 8, first, runs - first + 1) if first else 0.0
    high = stats.beta.ppf(1 - FALSE_ALARM / 8, second + 1, runs - second) if second < runs else 1.0
    return math.log((low - DELTA) / high) if low > DELTA else -math.inf


def audited(spending: Spending) -> float:
    """Return the largest lower bound over worlds in which a person is most visible."""
    near = round(spending.rounds[-1].threshold / spending.rounds[-1].length)
    worlds = [World((n,) * spending.d) for n in (0, near // 3, 2 * near // 3, near - 1)]
    return max(
        least_eps(*(observed(world, spending, joined=joined) for joined in (True, False))) for world in worlds
    )


CLAIMS = {
    "one round, one item": {"d": 1, "rounds": 1, "counts": 0.1},
    "three rounds, two items": {"d": 2, "rounds": 3, "counts": 0.25},
}


@pytest.mark.parametrize("how", CLAIMS.values(), ids=CLAIMS)
def test_the_mechanism_keeps_its_claim(how):
    found = audited(spend(eps=EPS, delta=DELTA, **how))
    assert found <= EPS
    assert found > 0.05 * EPS  # the auditor sees something


def a_third(*arguments):
    return gaussian.discrete_gaussian(*arguments) // 3


def no_noise_below(*arguments):
    """Noise that is never negative: Mironov's gaps in the extreme."""
    return np.abs(gaussian.discrete_gaussian(*arguments))


@pytest.mark.parametrize("broken", [a_third, no_noise_below])
def test_a_broken_sampler_is_caught(broken, monkeypatch):
    monkeypatch.setattr(mechanism, "discrete_gaussian", broken)
    assert audited(spend(eps=EPS, delta=DELTA, **CLAIMS["one round, one item"])) > EPS


def test_a_threshold_that_is_too_low_is_caught():
    spending = spend(eps=EPS, delta=DELTA, **CLAIMS["one round, one item"])
    first = spending.rounds[0]
    low = first._replace(threshold=first.threshold - 2 * first.length)
    assert audited(spending._replace(rounds=(low,))) > EPS


def test_people_who_add_too_much_are_caught():
    spending = spend(eps=EPS, delta=DELTA, **CLAIMS["one round, one item"])
    heavy = tuple(one._replace(length=3 * one.length) for one in spending.rounds)
    assert audited(spending._replace(rounds=heavy, unit=3 * spending.unit)) > EPS
