"""The matching kernel against SciPy's optimum, and rows against centres in both models."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import reference_ssc as naive
from incrowd.kernels.matching import Edges, matching
from methods.test_ssc_kernel import met, near_of, space_of

seeds = st.integers(0, 2**32 - 1)


def random_edges(dice: random.Random, lefts: int, rights: int, most: int) -> tuple[Edges, np.ndarray]:
    """Return random edges, and the same as a matrix of gains (0: none)."""
    share = dice.random()
    gain = np.array(
        [
            [dice.randint(-2, most) if dice.random() < share else 0 for _ in range(rights)]
            for _ in range(lefts)
        ],
        dtype=np.int64,
    ).reshape(lefts, rights)
    left, right = np.nonzero(gain)
    start = np.concatenate(([0], np.cumsum(np.bincount(left, minlength=lefts))))
    return Edges(start, right.astype(np.int64), gain[left, right]), gain


def check_best(dice: random.Random, lefts: int, rights: int, most: int, copies: int) -> None:
    """Check that a matching is one, and that none gains more."""
    edges, gain = random_edges(dice, lefts, rights, most)
    supply = np.array([dice.randint(0, copies) for _ in range(lefts)], dtype=np.int64)
    capacity = np.array([dice.randint(0, copies) for _ in range(rights)], dtype=np.int64)
    flow = matching(edges, supply, capacity)
    left = np.repeat(np.arange(lefts), np.diff(edges.start))
    assert (flow >= 0).all()
    assert (np.bincount(left, flow, minlength=lefts)[:lefts] <= supply).all()
    assert (np.bincount(edges.right, flow, minlength=rights)[:rights] <= capacity).all()
    every = np.maximum(gain, 0).repeat(supply, axis=0).repeat(capacity, axis=1)
    assert (flow * edges.gain).sum() == every[linear_sum_assignment(every, maximize=True)].sum()


@pytest.mark.parametrize("block", range(5))
def test_thousands_of_small_matchings_are_best(block):
    dice = random.Random(block)
    for _ in range(1500):
        check_best(dice, dice.randint(0, 7), dice.randint(0, 7), dice.randint(1, 9), dice.randint(1, 4))


@settings(max_examples=60)
@given(seeds)
def test_larger_matchings_are_best(seed):
    dice = random.Random(seed)
    check_best(dice, dice.randint(1, 40), dice.randint(1, 40), dice.choice([1, 5, 10**9]), 3)


def test_copies_may_be_many():
    """Two terms compete for one place, and the loser goes on to the other: no copy is handled alone."""
    edges = Edges(np.array([0, 2, 3]), np.array([0, 1, 0]), np.array([5, 4, 5]))
    flow = matching(edges, np.array([10**12, 10**12]), np.array([10**12, 10**12 // 2]))
    assert (flow * edges.gain).sum() == 5 * 10**12 + 4 * (10**12 // 2)


def test_thousands_of_terms():
    rng = np.random.default_rng(0)
    size, degree = 5_000, 30
    right = np.sort(rng.integers(0, size, (size, degree)), axis=1).ravel()
    edges = Edges(np.arange(0, size * degree + 1, degree), right, rng.integers(6, 11, size * degree))
    one = np.ones(size, dtype=np.int64)
    matching(Edges(np.zeros(1, np.int64), one[:0], one[:0]), one[:0], one)  # compiles
    began = time.process_time()
    flow = matching(edges, one, one)
    # About a second of the processor's time; one augmenting path a copy, each through all edges, takes far longer.
    assert time.process_time() - began < 30
    assert 9.9 * size < (flow * edges.gain).sum() <= 10 * size


@settings(max_examples=150)
@given(seeds, st.sampled_from(["perfect", "maximum"]), st.integers(1, 4))
def test_rows_and_centres(seed, model, size):
    """Hyper-terms of several members and copies, irrelevant pairs, empty sides: distance and growth are best."""
    dice = random.Random(seed)
    nodes = naive.random_nodes(dice)
    terms = nodes.leaves()
    space = space_of(nodes, terms, dice, model)
    row = {dice.randrange(len(terms)): dice.randint(1, 3) for _ in range(dice.randint(0, 6))}
    hypers = {tuple(dice.choices(range(len(terms)), k=size)) for _ in range(dice.randint(0, 5))}
    centre = [(hyper, dice.randint(1, 3)) for hyper in sorted(hypers)]
    found, grown = met(space, near_of(nodes, terms, space.eps), row, centre, size)
    assert found == naive.distance(space, row, centre, size)
    check_growth(space, row, centre, grown, size)


def check_growth(space: naive.Space, row: dict, centre: list, grown: list, size: int) -> None:
    """Check that a grown centre uses no more than there is, and that it costs the least."""
    hypers, terms = dict(centre), dict(row)
    cost = 0
    for (*hyper, term), times in grown:
        assert times > 0
        assert naive.relevant(space, term, tuple(hyper))
        hypers[tuple(hyper)] -= times
        terms[term] -= times
        cost += times * sum(space.apart(term, member) for member in hyper)
    left = [*hypers.values(), *terms.values()]
    assert min(left, default=0) >= 0
    if space.model == "perfect":
        cost += size * space.omega * sum(left)
    assert cost == naive.distance(space, row, centre, size)
