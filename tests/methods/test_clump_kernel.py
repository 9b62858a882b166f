"""Clump's loop against the naive reference, in any order of the rows and with any r."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference_clump as naive
from incrowd.kernels.arrays import leaf_rows, tree_arrays
from incrowd.kernels.lcg import ancestor_rows
from incrowd.methods.clump.kernel import clump_rows
from strategies import Case, cases, large_cases

widths = st.one_of(st.integers(1, 4), st.just(10), st.just(1000))
criteria = st.sampled_from(["increase", "total"])


def steps_in_leaves(tree) -> np.ndarray:
    """(M - 1) * (LM(parent v) - LM(v)), which is a whole number, for each node in pre-order."""
    above = [tree.path[node][-2:][0] for node in tree.path]
    return np.array(
        [tree.leaves[parent] - tree.leaves[node] for parent, node in zip(above, tree.path, strict=True)]
    )


def clusters_by_kernel(case: Case, order: list[int], r: int, criterion: str) -> np.ndarray:
    """Return the cluster of each position of the order."""
    data, tree = case.attached(), case.tree()
    return clump_rows(
        ancestor_rows(leaf_rows(*data[:2]), tree_arrays(data.taxonomy)),
        steps_in_leaves(tree),
        max(tree.size - 1, 1),
        np.array(order, dtype=np.int64),
        case.k,
        r,
        criterion == "increase",
    )


def rows_by_cluster(order: list[int], cluster: np.ndarray) -> list[tuple[int, ...]]:
    rows = np.array(order)
    return sorted(tuple(sorted(rows[cluster == c].tolist())) for c in range(cluster.max() + 1))


@st.composite
def ordered(draw: st.DrawFn, several: st.SearchStrategy[Case]) -> tuple[Case, list[int]]:
    """Draw a case and some order of (some of) its rows that hold something."""
    case = draw(several)
    filled = [row for row, items in enumerate(case.rows) if items]
    order = draw(st.permutations(filled))[: draw(st.integers(case.k, len(filled)))]
    return case, order


@settings(max_examples=120)
@given(ordered(cases()), widths, criteria)
def test_any_order_of_the_rows(drawn, r, criterion):
    case, order = drawn
    expected = naive.clump(case.tree(), case.bags(), case.k, criterion=criterion, r=r, order=order)
    found = rows_by_cluster(order, clusters_by_kernel(case, order, r, criterion))
    assert found == [cluster.rows for cluster in expected]


@settings(max_examples=40)
@given(large_cases(), st.randoms(use_true_random=False), widths, criteria)
def test_any_order_of_many_rows(case, dice, r, criterion):
    order = [row for row, items in enumerate(case.rows) if items]
    assume(len(order) >= case.k)
    dice.shuffle(order)
    expected = naive.clump(case.tree(), case.bags(), case.k, criterion=criterion, r=r, order=order)
    found = rows_by_cluster(order, clusters_by_kernel(case, order, r, criterion))
    assert found == [cluster.rows for cluster in expected]


@settings(max_examples=40)
@given(ordered(cases()), widths, criteria)
def test_seeds_sizes_and_leftovers(drawn, r, criterion):
    """floor(n / k) clusters of at least k, the i-th around position i * k; fewer than k rows go on top."""
    case, order = drawn
    cluster = clusters_by_kernel(case, order, r, criterion)
    number = len(order) // case.k
    assert cluster[:: case.k][:number].tolist() == list(range(number))
    assert np.bincount(cluster, minlength=number).min() >= case.k
    assert len(np.bincount(cluster)) == number


@settings(max_examples=40)
@given(ordered(cases()), criteria)
def test_only_the_first_r_open_clusters_are_tried(drawn, criterion):
    """With r = 1 no choice is left: clusters fill up one after the other, whatever the rows hold."""
    case, order = drawn
    k, number = case.k, len(order) // case.k
    cluster = clusters_by_kernel(case, order, 1, criterion)
    seeds = set(range(0, number * k, k))
    others = [int(c) for at, c in enumerate(cluster) if at not in seeds]
    assert others[: number * (k - 1)] == [c for c in range(number) for _ in range(k - 1)]


@pytest.mark.parametrize("criterion", ["increase", "total"])
def test_equal_costs_go_to_the_lowest_index(criterion):
    """All rows are the same, so every choice is a tie: the first open cluster, then the first of all."""
    case = Case({"R": ["a", "b"]}, [["a"]] * 8, 3)
    assert clusters_by_kernel(case, list(range(8)), 10, criterion).tolist() == [0, 0, 0, 1, 1, 1, 0, 0]


@pytest.mark.parametrize("criterion", ["increase", "total"])
def test_leftovers_may_join_any_cluster(criterion):
    """r limits the open clusters only: the row left over finds its like in the last of three."""
    case = Case({"R": ["a", "b", "c"]}, [["a"], ["a"], ["b"], ["b"], ["c"], ["c"], ["c"]], 2)
    assert clusters_by_kernel(case, list(range(7)), 1, criterion).tolist() == [0, 0, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("criterion", ["increase", "total"])
def test_large_sums_do_not_overflow(criterion):
    """Copies times leaves pass 2^32: the right clusters cost nothing, the others 12 * 10^9, which would wrap below 0."""
    wide = {"R": ["X", "Y"], "X": [f"x{i}" for i in range(20_000)], "Y": [f"y{i}" for i in range(20_000)]}
    case = Case(wide, [["x0"] * 150_000, ["y0"] * 150_000, ["y0"] * 150_000, ["x0"] * 150_000], 2)
    assert clusters_by_kernel(case, [0, 1, 2, 3], 10, criterion).tolist() == [0, 1, 1, 0]
