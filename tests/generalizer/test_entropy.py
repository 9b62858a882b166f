"""Guessing entropy, exactly; Theorem 6.1 of the query-generalizer paper by enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.generalizer import Policy, as_fraction, guess_sum, is_private
from incrowd.generalizer.entropy import guess_sums


def test_the_papers_equation_3():
    assert guess_sum([1, 2]) == (4, 3)
    assert as_fraction(4, 3) == Fraction(4, 3)


def test_no_rows_are_not_private():
    assert guess_sum([]) == (0, 0)
    assert guess_sum([0, 0]) == (0, 0)
    assert as_fraction(0, 0) == 0
    assert not is_private(0, 0, Fraction(1))


@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=5))
def test_many_at_once_are_each_alone(table):
    sums = guess_sums(np.array(table, dtype=np.int64))
    assert sums.tolist() == [guess_sum(counts)[0] for counts in table]


@pytest.mark.parametrize("total", [3, 10**6 + 1, 3 * 10**17])
def test_the_boundary_is_exact(total):
    """7/3 and its neighbours differ by far less than a double can tell."""
    total *= 3
    guesses = 7 * total // 3
    assert is_private(guesses, total, Fraction(7, 3))
    assert not is_private(guesses - 1, total, Fraction(7, 3))
    assert not is_private(guesses, total, Fraction(7, 3) + Fraction(1, 10**30))


def test_theorem_6_1_by_enumeration():
    """G >= (l + 1) / 2 leaves at least l possible values, for all counts of up to five values."""
    held = 0
    for counts in combinations_with_replacement(range(6), 5):
        guesses, total = guess_sum(counts)
        values = sum(count > 0 for count in counts)
        for needed in range(1, 7):
            if is_private(guesses, total, Policy.of_diversity("a", needed).minimum):
                held += 1
                assert values >= needed
    assert held > 500


def test_its_converse_fails():
    """Three values are possible, and the first guess is nearly always right."""
    guesses, total = guess_sum([98, 1, 1])
    assert not is_private(guesses, total, Policy.of_diversity("a", 3).minimum)
    assert as_fraction(guesses, total) == Fraction(103, 100)
