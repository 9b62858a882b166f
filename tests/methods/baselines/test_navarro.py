"""Distances by spelling, time and clicks: all pairs by the book, and the pruned search."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.methods.baselines.navarro import navarro_distances, navarro_prototypes
from methods.baselines.test_korolova import asked_of
from methods.baselines.test_plain import clusters_of, in_counters, logs
from methods.baselines.test_poblete import Asking, log_of

seeds = st.integers(0, 2**32 - 1)


@cache
def edits(one: str | tuple[str, ...], two: str | tuple[str, ...]) -> int:
    line = list(range(len(two) + 1))
    for i, mine in enumerate(one, 1):
        corner, line[0] = line[0], i
        for j, theirs in enumerate(two, 1):
            corner, line[j] = line[j], min(corner + (mine != theirs), line[j] + 1, line[j - 1] + 1)
    return line[-1]


def query_distance(one: Asking, two: Asking, span: int) -> float:
    hosts = [{site.split("/")[2] for site in asking[2]} for asking in (one, two)]
    elsewhere = not hosts[0] & hosts[1] and (hosts[0] or hosts[1])
    letters, terms = (one[1], two[1]), (tuple(one[1].split()), tuple(two[1].split()))
    most_letters, most_terms = max(*map(len, letters), 1), max(*map(len, terms), 1)
    parts = [
        abs(one[0] - two[0]) / max(span, 1),
        1 if elsewhere else 0,
        edits(*letters) / most_letters,
        edits(*terms) / most_terms,
        abs(len(letters[0]) - len(letters[1])) / most_letters,
    ]
    assert all(0 <= part <= 1 for part in parts)
    return sum(parts) / 5


def distance(one: list[Asking], two: list[Asking], span: int) -> float:
    if not one and not two:
        return 0
    total = 0.0
    for mine, theirs in ((one, two), (two, one)):
        total += sum(min((query_distance(a, b, span) for b in theirs), default=1) for a in mine)
    return total / (len(one) + len(two))


def words(dice: random.Random) -> str:
    """Make up a query: short ones, long ones beyond a machine word, letters beyond ASCII, repeated terms."""
    some = ["a", "ab", "ba", "abc", "zz", "straße", "größe", "ελ", "aaaaab", "x" * 20, "xy" * 15]
    return " ".join(dice.choice(some) for _ in range(dice.choice([1, 1, 2, 3, 5])))


def made_up(seed: int) -> list[list[Asking]]:
    dice = random.Random(seed)
    vocabulary = [words(dice) for _ in range(dice.randint(1, 12))]
    sites = [f"http://{i}.org/{i % 3}" for i in range(80)] + ["http://www.7.org", "http://8.org/x"]
    few = dice.choice([2, 5, 82])
    return [
        [
            (
                dice.randint(50, 50 + few),
                dice.choice(vocabulary),
                dice.sample(sites, dice.choice([0, 0, 1, 2])),
            )
            for _ in range(dice.choice([0, 1, 3, 5]))
        ]
        for _ in range(dice.randint(1, 7))
    ]


@settings(max_examples=25)
@given(seeds)
def test_distances_are_those_of_all_pairs(seed):
    rows = made_up(seed)
    rows = [
        [(t, " ".join(q.split()), [s.replace("www.", "") for s in sites]) for t, q, sites in row]
        for row in rows
    ]
    times = [when for row in rows for when, *_ in row]
    span = max(times, default=0) - min(times, default=0)
    exact = np.array([[distance(one, two, span) if one is not two else 0 for two in rows] for one in rows])
    found = navarro_distances(log_of(rows))
    assert found == pytest.approx(exact, abs=1e-12)
    assert (found == found.T).all()


def test_the_five_distances_count_the_same():
    site = ["http://www.a.org/1"]
    rows = [
        [(0, "red car", site)],
        [(10, "red cat", ["http://a.org/2"])],
        [(5, "red car", [])],
        [(0, "x", site)],
    ]
    found = navarro_distances(log_of(rows))[0]
    assert found[1] == pytest.approx((1 + 0 + 1 / 7 + 1 / 2 + 0) / 5)
    assert found[2] == pytest.approx((1 / 2 + 1) / 5)
    assert found[3] == pytest.approx((0 + 0 + 7 / 7 + 2 / 2 + 6 / 7) / 5)


def test_a_query_of_500_words_and_an_empty_one_are_compared_too():
    rows = [[(0, "word " * 499 + "end", [])], [(0, "word", [])], [(0, "", [])]]
    found = navarro_distances(log_of(rows))
    length = 5 * 499 + 3
    assert found[0, 1] == pytest.approx((2 * (length - 4) / length + 499 / 500) / 5)
    assert found[1, 2] == pytest.approx(3 / 5)


@given(logs, seeds)
def test_prototypes_keep_the_frequency_of_queries(rows, seed):
    of_row = clusters_of(rows, seed)
    found = in_counters(navarro_prototypes(asked_of(rows), of_row, np.random.default_rng(seed)))
    assert len(found) == of_row.max() + 1
    for c, bag in enumerate(found):
        members = np.flatnonzero(of_row == c)
        pool = sum((Counter(rows[r]) for r in members), Counter())
        assert bag.total() >= min(pool.total(), 1)
        for query in pool | bag:
            assert pool[query] // len(members) <= bag[query] <= -(-pool[query] // len(members))


def test_a_query_is_published_as_often_on_average_as_its_share():
    events, one, rng = (
        asked_of([[0, 0, 0, 0, 1], [2, 3], [3, 3, 3]]),
        np.zeros(3, np.int32),
        np.random.default_rng(5),
    )
    drawn = Counter()
    for _ in range(3_000):
        drawn += in_counters(navarro_prototypes(events, one, rng))[0]
    assert [drawn[q] for q in range(4)] == pytest.approx([4_000, 1_000, 1_000, 4_000], rel=0.1)
