"""The strategies as kernels against their definition, with numbers up to the edge of 64 bits."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from generalizer.naive import choice
from incrowd.generalizer.strategies import (
    BRUTE_FORCE,
    NONE,
    NUMBERS,
    TOO_LARGE,
    _compared,
    choose,
    only_if_private,
)

LARGEST = 2**63 - 1


@numba.njit
def compared(top, bottom, other_top, other_bottom):
    """Call it as kernels do: it has no face to Python."""
    return _compared(top, bottom, other_top, other_bottom)


SHAPES = st.lists(st.integers(2, 4), max_size=4).filter(lambda shape: math.prod(shape) <= 64)


@st.composite
def counted_queries(draw):
    """Return shape, counts (lattices x (totals, guesses) x states) and minima; often with many equal scores."""
    shape = tuple(draw(SHAPES))
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    lattices, policies = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    ties = draw(st.booleans())
    totals = chance.integers(1 if ties else 0, 3 if ties else 30, (lattices, 1, math.prod(shape)))
    ranks = chance.integers(1, 3 if ties else 6, (lattices, policies, math.prod(shape)))
    guesses = np.maximum(totals * ranks - (0 if ties else chance.integers(0, 3, ranks.shape)), totals)
    minima = [draw(st.fractions(1, 2, max_denominator=1 if ties else 4)) for _ in range(policies)]
    return shape, np.concatenate([totals, guesses], axis=1), minima


def as_minima(fractions):
    return np.array([(each.numerator, each.denominator, 2**31) for each in fractions], dtype=np.int64)


def scores(shape, counts, minima):
    """Return the least G / Gmin of each state, plainly."""
    found = {}
    for state, rungs in enumerate(product(*map(range, shape))):
        each = [
            Fraction(int(lattice[place, state]), int(lattice[0, state])) / minimum
            if lattice[0, state]
            else Fraction(0)
            for lattice in counts
            for place, minimum in enumerate(minima, start=1)
        ]
        found[rungs] = min(each)
    return found


def number(shape, rungs):
    return NONE if rungs is None else list(product(*map(range, shape))).index(rungs)


@settings(max_examples=150)
@given(
    counted_queries(),
    st.sampled_from(list(NUMBERS)),
    st.lists(st.integers(0, 2**32 - 1), min_size=16, max_size=16),
)
def test_every_strategy_is_its_definition(case, strategy, draws):
    shape, counts, minima = case
    by_state = scores(shape, counts, minima)
    totals = dict(zip(by_state, counts[0, 0].tolist(), strict=True))
    expected, ran_out = choice(strategy, shape, by_state.__getitem__, draws, totals.__getitem__)
    found = choose(
        counts,
        np.array(shape, dtype=np.int64),
        as_minima(minima),
        NUMBERS[strategy],
        np.array(draws, dtype=np.uint32),
    )
    assert found == (number(shape, expected), ran_out)


@given(counted_queries(), st.data())
def test_a_state_fixed_in_advance_is_sent_only_if_it_is_private(case, data):
    shape, counts, minima = case
    by_state = scores(shape, counts, minima)
    rungs = data.draw(st.sampled_from(list(by_state)))
    state = number(shape, rungs)
    expected = state if by_state[rungs] >= 1 else NONE
    assert only_if_private(counts, as_minima(minima), state) == expected


@given(*[st.integers(0, LARGEST), st.integers(1, LARGEST)] * 2)
@example(LARGEST, LARGEST - 1, LARGEST - 1, LARGEST - 2)
@example(7 * 10**17, 3 * 10**17, 7, 3)
@example(2**31, 2**31 - 1, 2**31 - 1, 2**31 - 2)
@example(0, LARGEST, 1, LARGEST)
@example(0, 5, 0, 2**40)
def test_fractions_are_compared_exactly(top, bottom, other_top, other_bottom):
    one, other = Fraction(top, bottom), Fraction(other_top, other_bottom)
    assert compared(top, bottom, other_top, other_bottom) == (one > other) - (one < other)


@pytest.mark.parametrize("shift", [0, 1])
def test_neighbours_at_the_edge_of_64_bits_are_distinguished(shift):
    """G of two states differs in the 18th digit; doubles take them for equal."""
    rows = 10**9
    minimum = Fraction(2 * 10**9 + 1, 10**9)
    guesses = [10 * rows, 3 * rows + 1 + shift, 3 * rows + 2 - shift, rows]
    counts = np.array([[[rows] * 4, guesses]], dtype=np.int64)
    minima = np.array([(minimum.numerator, minimum.denominator, rows)], dtype=np.int64)
    chosen, _ = choose(counts, np.array([2, 2]), minima, BRUTE_FORCE, np.zeros(0, np.uint32))
    assert chosen == (2 if shift else 1)


def test_of_equals_that_keep_as_much_the_one_with_the_fewest_steps_is_chosen():
    shape = (4, 4)
    two_steps, one_step = number(shape, (0, 2)), number(shape, (1, 0))
    assert two_steps < one_step
    guesses = [1] * 16
    guesses[two_steps] = guesses[one_step] = 2
    counts = np.array([[[1] * 16, guesses]], dtype=np.int64)
    minima = np.array([(2, 1, 2**31)], dtype=np.int64)
    assert choose(counts, np.array(shape), minima, BRUTE_FORCE, np.zeros(0, np.uint32)) == (one_step, False)


def test_what_could_leave_64_bits_is_said_and_not_reckoned():
    minima = np.array([(5, 2, 100), (5, 2, 10)], dtype=np.int64)
    sizes, draws = np.array([2]), np.zeros(0, np.uint32)
    for totals, expected in (([1, 10], 0), ([11, 2], TOO_LARGE), ([1, 11], TOO_LARGE)):
        counts = np.array([[[1, 1], [3, 3], [3, 3]], [totals, [99, 99], [99, 99]]], dtype=np.int64)
        assert choose(counts, sizes, minima, BRUTE_FORCE, draws)[0] == expected
        assert only_if_private(counts, minima, 0) == expected
