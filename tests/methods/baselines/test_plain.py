"""Microaggregation of opaque queries: equations (2) to (7) by the book, and the product."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.methods.baselines import Bags, hosts_of
from incrowd.methods.baselines.plain import plain_distances, plain_prototypes
from methods.baselines.test_korolova import asked_of

logs = st.lists(st.lists(st.integers(0, 6), max_size=8), min_size=1, max_size=8)


def clusters_of(rows: list[list[int]], seed: int) -> np.ndarray:
    """Deal rows to clusters that all have a row; some rows to none."""
    found = np.random.default_rng(seed).integers(-1, 3, len(rows))
    names = np.unique(found[found >= 0])
    return np.where(found < 0, -1, np.searchsorted(names, found)).astype(np.int32)


def in_counters(bags: Bags) -> list[Counter]:
    found = []
    for first, stop in zip(bags.start[:-1], bags.start[1:], strict=True):
        query, times = bags.query[first:stop].tolist(), bags.times[first:stop].tolist()
        assert query == sorted(set(query))
        assert all(times)
        found.append(Counter(dict(zip(query, times, strict=True))))
    return found


def delta(one: int, two: int) -> int:
    return 0 if one == two else 1


def distance(one: Counter, two: Counter) -> Fraction:
    """Return equations (2) to (4)."""
    if not one and not two:
        return Fraction(0)
    total = 0
    for mine, theirs in ((one, two), (two, one)):
        total += sum(w * min((delta(c, other) for other in theirs), default=1) for c, w in mine.items())
    return Fraction(total, one.total() + two.total())


def prototype(bags: list[Counter]) -> Counter:
    """Return equations (6) and (7): the quota of each user, nearest to the centroid first."""
    whole = sum(bags, Counter())
    if not whole:
        return Counter()
    centre = min(whole, key=lambda z: (sum(w * delta(z, c) for c, w in whole.items()), z))
    exact = [Fraction(bag.total(), len(bags)) for bag in bags]
    wanted = max(int(sum(exact) + Fraction(1, 2)), 1)
    quotas = [int(share) for share in exact]
    for u in sorted(range(len(bags)), key=lambda u: (-(exact[u] - quotas[u]), u))[: wanted - sum(quotas)]:
        quotas[u] += 1
    found = Counter()
    for bag, quota in zip(bags, quotas, strict=True):
        left = quota
        for c in sorted(bag, key=lambda c: (delta(centre, c), -bag[c], c)):
            found[c] += min(bag[c], left)
            left -= min(bag[c], left)
    return +found


@given(logs)
def test_distances_are_those_of_the_equations(rows):
    bags = [Counter(row) for row in rows]
    found = plain_distances(asked_of(rows))
    assert found.dtype == np.float64
    exact = [[float(distance(one, two)) if one is not two else 0 for two in bags] for one in bags]
    assert found == pytest.approx(np.array(exact), abs=1e-15)
    assert (found == found.T).all()


@given(logs, st.integers(0, 2**32 - 1))
def test_prototypes_are_those_of_the_equations(rows, seed):
    of_row = clusters_of(rows, seed)
    found = in_counters(plain_prototypes(asked_of(rows), of_row))
    bags = [Counter(row) for row in rows]
    groups = [[bags[r] for r in np.flatnonzero(of_row == c)] for c in range(of_row.max() + 1)]
    assert found == [prototype(group) for group in groups]


def test_a_prototype_prefers_the_commonest_query_and_gives_each_its_share():
    rows = [[5, 5, 5, 5, 1, 2], [5, 3, 3, 0]]
    assert in_counters(plain_prototypes(asked_of(rows), np.zeros(2, np.int32))) == [Counter({5: 4, 3: 1})]


def test_a_site_is_an_address_without_scheme_path_and_www():
    addresses = ["http://www.Example.com/a?b", "https://example.com:80", "www.example.com#x", "a@b.org/c", ""]
    assert hosts_of(pa.array(addresses)).to_pylist() == ["example.com"] * 3 + ["b.org", ""]
