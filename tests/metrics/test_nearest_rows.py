"""The nearest rows of each row against a plain search through all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.kernels.arrays import Rows
from incrowd.kernels.lcg import AncestorRows
from incrowd.metrics.nearest_rows import Neighbours, invert, nearest_sums, repeats

NODES = 6
bags = st.dictionaries(st.integers(1, NODES - 1), st.integers(1, 5), max_size=NODES - 1)
weights = st.lists(st.integers(0, 4), min_size=NODES - 1, max_size=NODES - 1)


def starts(lists) -> np.ndarray:
    return np.concatenate(([0], np.cumsum([len(one) for one in lists]))).astype(np.int64)


def packed(rows: list[dict[int, int]]) -> AncestorRows:
    entries = [sorted(row.items()) for row in rows]
    node, times = np.array([pair for row in entries for pair in row], dtype=np.int32).reshape(-1, 2).T.copy()
    return AncestorRows(starts(entries), node, times)


def distance(weight, scale, one, other) -> int:
    """`one` and `other` have their length at node 0, whose weight is 0."""
    common = sum(weight[node] * min(one[node], other.get(node, 0)) for node in one)
    return scale * (one[0] + other[0]) - 2 * common


@settings(max_examples=200)
@given(st.data(), st.lists(bags, min_size=2, max_size=20), weights, st.integers(1, 8))
def test_the_nearest_rows_are_those_of_all_pairs(data, counts, weight, scale):
    """Any weights will do, as long as no two rows have more in common than the shorter is long."""
    weight = np.array([0, *weight], dtype=np.int64)
    rows = sorted(
        (
            {0: 1 + -(-sum(weight[node] * times for node, times in row.items()) // scale)} | row
            for row in counts
        ),
        key=lambda row: row[0],
    )
    copies = data.draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows)))
    nearest = data.draw(st.integers(1, sum(copies) - 1))
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=30))
    expected = []
    for row in chosen:
        apart = [
            distance(weight, scale, rows[row], rows[other])
            for other in range(len(rows))
            for _ in range(copies[other] - (other == row))
        ]
        expected.append(sum(sorted(apart)[:nearest]))
    packed_rows = packed(rows)
    length = np.array([row[0] for row in rows], dtype=np.int64)
    neighbours = Neighbours(packed_rows, length, np.array(copies), invert(packed_rows, weight))
    sums, evaluations = nearest_sums(neighbours, weight, scale, np.array(chosen, dtype=np.int64), nearest)
    assert sums.tolist() == expected
    assert evaluations >= len(chosen)


def test_rows_of_other_lengths_are_left_aside_where_they_cannot_be_near():
    """Twenty rows are alike; a thousand others are far longer, and cost nothing."""
    rows = [{0: 1, 1: 1}] * 20 + [{0: 50, 1: 50}] * 1000
    weight = np.array([0, 1], dtype=np.int64)
    packed_rows = packed(rows)
    length = np.array([row[0] for row in rows], dtype=np.int64)
    neighbours = Neighbours(packed_rows, length, np.ones(len(rows), np.int64), invert(packed_rows, weight))
    sums, evaluations = nearest_sums(neighbours, weight, 1, np.array([0]), 4)
    assert sums.tolist() == [0]
    assert evaluations < 100


@pytest.mark.parametrize(
    ("rows", "same"),
    [
        ([], []),
        ([[(1, 1)]], [False]),
        ([[(1, 1)], [(1, 1)], [(1, 1)]], [False, True, True]),
        ([[(1, 1)], [(1, 2)]], [False, False]),
        ([[(1, 1)], [(2, 1)]], [False, False]),
        ([[(1, 1)], [(1, 1), (2, 1)]], [False, False]),
        ([[(1, 1), (2, 1)], [(1, 1)]], [False, False]),
        ([[], []], [False, True]),
        ([[(1, 1), (2, 3)], [(1, 1), (2, 3)], [(1, 1)], [(1, 1), (2, 3)]], [False, True, False, False]),
    ],
)
def test_a_row_repeats_the_one_before(rows, same):
    leaf, times = np.array([pair for row in rows for pair in row], dtype=np.int32).reshape(-1, 2).T.copy()
    assert repeats(Rows(starts(rows), leaf, times)).tolist() == same
