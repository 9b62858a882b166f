from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import Clock
from incrowd.errors import BadInputError
from incrowd.gateway.requests.people import RateLimit


def allowed(limit, times, person="alice"):
    """Return how many of several requests at once may go."""
    return sum(limit.allow(person) == 0 for _ in range(times))


@pytest.mark.parametrize(("requests", "per"), [(600, 60), (3, 10), (7, 0.1), (1, 3600)])
def test_a_full_bucket_lets_a_burst_through_and_no_more(requests, per):
    assert allowed(RateLimit(requests, per, clock=Clock()), requests + 5) == requests


def test_tokens_come_back_and_the_wait_is_returned():
    clock = Clock()
    limit = RateLimit(2, 10, clock=clock)
    assert allowed(limit, 2) == 2
    assert limit.allow("alice") == pytest.approx(5, abs=1e-4)
    clock.now += 4
    assert limit.allow("alice") == pytest.approx(1, abs=1e-4)
    clock.now += 1
    assert allowed(limit, 2) == 1
    clock.now += 1000
    assert allowed(limit, 5) == 2  # a bucket does not overflow


def test_people_have_buckets_of_their_own():
    limit = RateLimit(1, 10, clock=Clock())
    assert limit.allow("alice") == 0
    assert limit.allow("alice") > 0
    assert limit.allow("bob") == 0


@pytest.mark.parametrize(("workers", "burst"), [(1, 10), (2, 5), (5, 2), (20, 1)])
def test_each_worker_hands_out_its_share(workers, burst):
    clock = Clock()
    limit = RateLimit(10, 100, workers=workers, clock=clock)
    assert allowed(limit, 11) == burst
    assert limit.allow("alice") == pytest.approx(10 * workers, rel=1e-4)


def test_full_buckets_are_forgotten():
    clock = Clock()
    limit = RateLimit(10, 10, clock=clock)
    for number in range(1000):
        limit.allow(f"person {number}")
    assert len(limit) == 1000
    clock.now += 11
    limit.allow("alice")
    assert len(limit) == 1


def test_who_still_waits_is_not_forgotten():
    clock = Clock()
    limit = RateLimit(1, 10, clock=clock)
    clock.now += 9
    limit.allow("alice")
    clock.now += 2  # the sweep's time, but not yet alice's
    limit.allow("bob")
    assert limit.allow("alice") > 0


@given(st.lists(st.floats(0, 3), max_size=60), st.integers(1, 5))
def test_no_window_ever_holds_more_than_a_burst_and_what_came_back(pauses, requests):
    clock = Clock(0.0)
    limit = RateLimit(requests, 4, clock=clock)
    went = []
    for pause in pauses:
        clock.now += pause
        if limit.allow("alice") == 0:
            went.append(clock.now)
    for first in range(len(went)):
        for last in range(first, len(went)):
            assert last - first + 1 <= requests + (went[last] - went[first]) * requests / 4 + 1e-3


@given(st.lists(st.floats(0, 3), min_size=1, max_size=30))
def test_after_the_returned_wait_a_request_is_allowed(pauses):
    clock = Clock(0.0)
    limit = RateLimit(2, 5, clock=clock)
    for pause in pauses:
        clock.now += pause
        wait = limit.allow("alice")
        if wait:
            clock.now += wait + 1e-9
            assert limit.allow("alice") == 0


@pytest.mark.parametrize("bad", [{"requests": 0}, {"per": 0}, {"workers": 0}])
def test_settings_must_be_positive(bad):
    with pytest.raises(BadInputError, match=next(iter(bad))):
        RateLimit(**{"requests": 1, "per": 1, "workers": 1, **bad})
