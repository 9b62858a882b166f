"""Rates and their intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from incrowd.attacks.rates import Figure, Rate
from reference_risk import interval


@given(st.integers(1, 3000), st.data())
def test_wilson_s_interval_is_scipy_s_and_the_definition_s(tries, data):
    right = data.draw(st.integers(0, tries))
    found = Rate(right, tries).interval
    low, high = binomtest(right, tries).proportion_ci(method="wilson")
    assert found == pytest.approx((low, high), abs=1e-12)
    assert found == pytest.approx(interval(right, tries), abs=1e-6)
    assert found.low <= right / tries <= found.high


def test_nothing_tried_says_nothing():
    assert Rate(0, 0).value == 0
    assert Rate(0, 0).interval == (0, 1)
    assert Figure(Rate(0, 0), Rate(0, 0)).risk == 0
    assert Figure(Rate(0, 0), Rate(0, 0)).risk_interval == (0, 1)


def test_the_risk_is_what_exceeds_the_control():
    assert Figure(Rate(60, 100)).risk == 0.6
    assert Figure(Rate(60, 100), Rate(20, 100)).risk == pytest.approx(0.5)
    assert Figure(Rate(20, 100), Rate(60, 100)).risk == 0
    assert Figure(Rate(100, 100), Rate(100, 100)).risk == 0
    assert (
        Figure(Rate(60, 100), Rate(20, 100)).risk_interval[0]
        < 0.5
        < Figure(Rate(60, 100), Rate(20, 100)).risk_interval[1]
    )
