"""Noisy counts: the noise, the threshold, and the promise itself, recounted output by output."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from incrowd.core.events import QueryEvents
from incrowd.core.noise import LEAST_EPS, discrete_laplace, noise_rate, secure_words, threshold
from incrowd.errors import BadInputError
from incrowd.methods.baselines.korolova import (
    MOST_DELTA,
    MOST_EPS,
    NoisyCounts,
    check_korolova,
    korolova,
)

FALSE_ALARM = 1e-6  # of each statistical test, once in a million runs


def asked_of(rows: list[list[int]]) -> QueryEvents:
    """Return rows of queries, numbered, in the order in which they were asked."""
    query = np.array([q for row in rows for q in row], dtype=np.int32)
    texts = pa.array([f"{q:09d}" for q in range(int(query.max(initial=-1)) + 1)], pa.string())
    return QueryEvents(
        start=np.cumsum([0, *map(len, rows)]),
        query=query,
        time=np.arange(len(query)),
        clicks=np.zeros(len(query) + 1, dtype=np.int64),
        site=np.zeros(0, dtype=np.int32),
        texts=texts,
        sites=pa.array([], pa.string()),
        concept_start=np.zeros(len(texts) + 1, dtype=np.int64),
        concept=np.zeros(0, dtype=np.int32),
    )


def passing(count: int, rate: float, least: int) -> float:
    """Return P(count + X > least) from the probabilities of X, added up."""
    a = math.exp(-rate)
    needed = least + 1 - count
    if needed > 0:
        return a**needed / (1 + a)
    return 1 - a ** (1 - needed) / (1 + a)


def partitions(total: int, most: int | None = None):
    """Yield the ways to write a number as a sum of positive ones."""
    if total == 0:
        yield ()
    for part in range(min(total, most or total), 0, -1):
        yield from ((part, *rest) for rest in partitions(total - part, part))


@pytest.mark.parametrize("rate", ["1/3", "5/2", "7/200", "230258/1000000"])
def test_the_noise_has_the_probabilities_it_claims(rate):
    draws = 400_000
    a = math.exp(-float(Fraction(rate)))
    drawn = discrete_laplace(draws, Fraction(rate))
    far = next(x for x in range(10_000) if draws * a**x / (1 + a) < 50)
    seen = Counter(np.clip(drawn, -far, far).tolist())
    exact = {x: (1 - a) / (1 + a) * a ** abs(x) for x in range(-far + 1, far)}
    exact |= {far: a**far / (1 + a), -far: a**far / (1 + a)}
    assert math.isclose(sum(exact.values()), 1)
    found = stats.chisquare([seen[x] for x in exact], [draws * p for p in exact.values()])
    assert found.pvalue > FALSE_ALARM


def test_the_scale_of_the_noise_is_d_over_eps():
    assert noise_rate(20, 0.1) == Fraction(1, 200)
    assert noise_rate(1, math.log(10)) == Fraction(2_302_585, 1_000_000)  # cut, never rounded up
    many = [[q] for q in range(200_000)]
    passed = korolova(asked_of(many), d=1, eps=0.5, delta=0.9)
    assert passed.threshold == 0
    expected = passing(1, 0.5, 0)
    low, high = stats.binom.ppf([FALSE_ALARM, 1 - FALSE_ALARM], len(many), expected)
    assert low <= len(passed.query) <= high


@pytest.mark.parametrize("d", [1, 3])
def test_a_query_of_one_user_is_published_with_probability_at_most_delta(d):
    users, delta = 150_000, 0.05
    own = [list(range(user * d, user * d + d)) for user in range(users)]
    found = korolova(asked_of(own), d=d, eps=2.0, delta=delta)
    exposed = len(np.unique(found.query // d))
    assert exposed <= stats.binom.ppf(1 - FALSE_ALARM, users, delta)
    exact = 1 - (1 - passing(1, 2.0 / d, found.threshold)) ** d
    low, high = stats.binom.ppf([FALSE_ALARM, 1 - FALSE_ALARM], users, exact)
    assert low <= exposed <= high


def test_one_query_asked_d_times_is_published_with_probability_at_most_delta():
    users, d, delta = 150_000, 4, 0.05
    found = korolova(asked_of([[user] * d for user in range(users)]), d=d, eps=8.0, delta=delta)
    assert 0 < len(found.query) <= stats.binom.ppf(1 - FALSE_ALARM, users, delta)


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8, 12])
@pytest.mark.parametrize("eps", [0.1, 1.0, 2.302585, 6.0, 20.0])
@pytest.mark.parametrize("delta", [0.2, 0.05, 1e-5, 1e-12])
def test_no_way_to_spend_d_askings_passes_more_often_than_delta_and_the_threshold_is_the_least(d, eps, delta):
    def worst(least: int) -> float:
        ways = partitions(d)
        return max(-math.expm1(sum(math.log1p(-passing(c, eps / d, least)) for c in way)) for way in ways)

    least = threshold(d, eps, delta)
    assert worst(least) <= delta
    assert least == d - 1 or worst(least - 1) > delta


def outputs(counts: tuple[int, ...], rate: float, least: int, reach: int) -> dict[tuple[int, ...], float]:
    """Return the probability of each release; -1 is a query that is not published."""
    a = math.exp(-rate)
    single = []
    for count in counts:
        shown = {n: (1 - a) / (1 + a) * a ** abs(n - count) for n in range(least + 1, least + reach)}
        shown[-1] = 1 - passing(count, rate, least)
        single.append(shown if count else {-1: 1.0})
    return {
        tuple(key for key, _ in way): math.prod(p for _, p in way)
        for way in product(*(dist.items() for dist in single))
    }


@pytest.mark.parametrize("eps", [0.7, 2.0])
@pytest.mark.parametrize("delta", [0.1, 0.01])
@pytest.mark.parametrize(
    ("others", "user"),
    [((9,), (2,)), ((4, 9), (1, 1)), ((0,), (2,)), ((0, 0), (1, 1)), ((5, 0), (1, 1)), ((1, 0), (1, 1))],
)
def test_neighbouring_logs_give_releases_within_eps_and_delta(eps, delta, others, user):
    least = threshold(2, eps, delta)
    one = outputs(others, eps / 2, least, 120)
    two = outputs(tuple(a + b for a, b in zip(others, user, strict=True)), eps / 2, least, 120)
    for mine, theirs in ((one, two), (two, one)):
        assert sum(max(0, p - math.exp(eps) * theirs.get(key, 0)) for key, p in mine.items()) <= delta + 1e-9


def test_only_the_first_d_askings_of_a_row_count():
    # With eps = 1000 noise other than 0 has a probability of e^-500.
    rows = [[0, 0, 1, 2], [2, 1, 0], [1], [0, 1], [0, 1], [1, 2]]
    found = korolova(asked_of(rows), d=2, eps=1000.0, delta=0.99)
    assert found.threshold == 2
    assert dict(zip(found.query.tolist(), found.times.tolist(), strict=True)) == {0: 4, 1: 5}


def test_one_row_changes_counts_by_d_at_most():
    rng = np.random.default_rng(3)
    rows = [rng.integers(0, 9, rng.integers(0, 30)).tolist() for _ in range(20)]

    def counts(some: list[list[int]]) -> Counter:
        found = korolova(asked_of(some), d=7, eps=1000.0, delta=0.999)
        return Counter(dict(zip(found.query.tolist(), found.times.tolist(), strict=True)))

    whole = counts(rows)
    assert max(whole.values()) > 7
    for gone in range(len(rows)):
        without = counts([*rows[:gone], *rows[gone + 1 :]])
        # Counts at or below the threshold of 7 are not shown and count as 7 here.
        change = sum(abs(max(whole[q], 7) - max(without[q], 7)) for q in range(9))
        assert change <= 7


def test_the_noise_is_fresh_each_time_and_the_source_is_the_systems():
    assert len(set(secure_words(1_000).tolist())) == 1_000
    events = asked_of([[q % 50] for q in range(5_000)])
    first, second = (korolova(events, d=1, eps=0.5, delta=1e-6) for _ in range(2))
    assert first.times.tolist() != second.times.tolist()


def test_nothing_asked_is_nothing_published():
    assert korolova(asked_of([[], []]), d=3, eps=1.0, delta=1e-5) == NoisyCounts(
        pytest.approx([]), pytest.approx([]), threshold(3, 1.0, 1e-5)
    )


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"d": 0}, "d must be between 1 and 1,000,000 (got 0)"),
        ({"eps": 0.0}, "eps must be between 0.000001 and 20: more would promise nothing (got 0)"),
        ({"eps": -1.0}, "eps must be between 0.000001 and 20: more would promise nothing (got -1)"),
        ({"eps": 20.1}, "eps must be between 0.000001 and 20: more would promise nothing (got 20.1)"),
        ({"eps": math.nan}, "eps must be between 0.000001 and 20: more would promise nothing (got nan)"),
        ({"eps": math.inf}, "eps must be between 0.000001 and 20: more would promise nothing (got inf)"),
        (
            {"delta": 0.0},
            "delta must be greater than 0 and less than 0.01: more would promise nothing (got 0)",
        ),
        (
            {"delta": 0.01},
            "delta must be greater than 0 and less than 0.01: more would promise nothing (got 0.01)",
        ),
        (
            {"delta": math.nan},
            "delta must be greater than 0 and less than 0.01: more would promise nothing (got nan)",
        ),
        (
            {"d": 1_000_000, "eps": 1e-6},
            "d = 1,000,000 with eps = 1e-06 needs counts above 2,147,483,647: use a smaller d or a greater eps",
        ),
    ],
)
def test_parameters_out_of_range_get_one_line(wrong, says):
    with pytest.raises(BadInputError) as caught:
        check_korolova(**({"d": 1, "eps": 1.0, "delta": 0.001} | wrong))
    assert str(caught.value) == says


@pytest.mark.parametrize("wrong", [{"d": 0}, {"eps": 0.0}, {"eps": 1_001.0}, {"delta": 0.0}, {"delta": 1.0}])
def test_the_mechanism_refuses_what_it_cannot_compute_with(wrong):
    with pytest.raises(BadInputError, match="d must be from 1 to 1,000,000, eps from"):
        korolova(asked_of([[0]]), **({"d": 1, "eps": 1.0, "delta": 0.1} | wrong))


def test_the_limits_that_an_audit_may_use():
    assert (LEAST_EPS, MOST_EPS, MOST_DELTA) == (1e-6, 20, 0.01)
    check_korolova(d=1, eps=MOST_EPS, delta=math.nextafter(MOST_DELTA, 0))


def test_counts_beyond_what_a_file_holds_are_cut():
    """The scale of this noise is a thousand million; one query in thirty passes a threshold of 2.6 of them."""
    found = korolova(asked_of([[q] for q in range(2_000)]), d=1_000, eps=1e-6, delta=1 - 1e-16)
    assert found.threshold > 2**31
    assert set(found.times.tolist()) == {2**31 - 1}


def test_an_empty_row_changes_nothing():
    rows = [[0, 1], [0], [2, 0]]
    with_nobody = [*rows[:1], [], *rows[1:], []]
    found = [korolova(asked_of(some), d=2, eps=1000.0, delta=0.99) for some in (rows, with_nobody)]
    assert [one.query.tolist() for one in found] == [[0], [0]]
    assert [one.times.tolist() for one in found] == [[3], [3]]
