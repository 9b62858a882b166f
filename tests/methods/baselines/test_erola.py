"""Shared categories and random logs, against sets and counters."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.methods.baselines.erola import erola_distances, erola_prototypes
from methods.baselines.test_korolova import asked_of
from methods.baselines.test_plain import clusters_of, in_counters, logs

seeds = st.integers(0, 2**32 - 1)


def distances(rows: list[list[int]], categories: list[list[int]]) -> np.ndarray:
    start = np.cumsum([0, *map(len, categories)])
    flat = np.array([c for own in categories for c in own], dtype=np.int32)
    return erola_distances(asked_of(rows), start, flat)


@given(logs, seeds)
def test_distances_count_identical_categories(rows, seed):
    rng = np.random.default_rng(seed)
    categories = [rng.integers(0, 8, rng.integers(0, 4)).tolist() for _ in range(7)]
    sets = [{c for q in row for c in categories[q]} for row in rows]
    shared = np.array([[len(a & b) if a is not b else 0 for b in sets] for a in sets])
    exact = 1 - shared / max(shared.max(), 1)
    np.fill_diagonal(exact, 0)
    assert distances(rows, categories) == pytest.approx(exact, abs=1e-15)


def test_who_shares_most_is_at_distance_0_and_strangers_at_1():
    found = distances([[0, 1], [0, 1], [1], [2]], [[0, 0], [1], [2]])
    assert found.tolist() == [[0, 0, 0.5, 1], [0, 0, 0.5, 1], [0.5, 0.5, 0, 1], [1, 1, 1, 0]]


@given(logs, seeds)
def test_prototypes_are_parts_of_the_groups_askings_of_average_size(rows, seed):
    of_row = clusters_of(rows, seed)
    found = in_counters(erola_prototypes(asked_of(rows), of_row, np.random.default_rng(seed)))
    assert len(found) == of_row.max() + 1
    for c, bag in enumerate(found):
        members = np.flatnonzero(of_row == c)
        pool = sum((Counter(rows[r]) for r in members), Counter())
        assert bag <= pool
        average = int(pool.total() / len(members) + 0.5)
        assert bag.total() == min(max(average, 1), pool.total())


def test_every_asking_is_as_likely_and_a_seed_repeats_itself():
    events, one = asked_of([[0, 0, 1], [2, 3, 4]]), np.zeros(2, np.int32)
    drawn = Counter()
    rng = np.random.default_rng(1)
    for _ in range(4_000):
        drawn += in_counters(erola_prototypes(events, one, rng))[0]
    assert drawn.total() == 12_000
    assert drawn[0] == pytest.approx(4_000, rel=0.06)
    assert [drawn[q] for q in (1, 2, 3, 4)] == pytest.approx([2_000] * 4, rel=0.1)
    first, second = (erola_prototypes(events, one, np.random.default_rng(9)) for _ in range(2))
    assert in_counters(first) == in_counters(second)
