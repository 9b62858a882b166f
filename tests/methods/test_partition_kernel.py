"""Partition's loops against the naive reference, where the arrays' corners are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from incrowd.kernels.arrays import Rows, Tree, compact, leaf_rows, tree_arrays
from incrowd.kernels.generalize import Groups
from incrowd.methods.partition.kernel import CLOSED, settled, split_rows, whole
from strategies import Case, cases, children_of, large_cases, taxonomy_of, trees


def split_to_the_end(rows: Rows, tree: Tree, k: int) -> Groups:
    """Split all rows that hold something until nothing can be split."""
    filled = np.flatnonzero(np.diff(rows.start) > 0)
    return split_rows(rows, tree, whole(tree, filled), k, 0)


def groups_of(case: Case) -> list[tuple[int, ...]]:
    data = case.attached()
    groups = split_to_the_end(leaf_rows(*data[:2]), tree_arrays(data.taxonomy), case.k)
    bounds = zip(groups.row_start[:-1], groups.row_start[1:], strict=True)
    return sorted(tuple(groups.rows[start:stop].tolist()) for start, stop in bounds)


def groups_expected(case: Case) -> list[tuple[int, ...]]:
    return [group.rows for group in reference.partition(case.tree(), case.bags(), case.k)]


@settings(max_examples=150)
@given(large_cases())
def test_groups_hold_their_rows_in_input_order(case):
    assert groups_of(case) == groups_expected(case)


@given(large_cases(), st.integers(1, 50))
def test_what_is_enough_stays_whole(case, enough):
    """Splitting stops at parts of so many rows; each of them is a union of the groups in the end."""
    data = case.attached()
    rows, tree = leaf_rows(*data[:2]), tree_arrays(data.taxonomy)
    parts = split_rows(rows, tree, whole(tree, np.flatnonzero(np.diff(rows.start) > 0)), case.k, enough)
    part_of = {row: i for i in range(len(parts.row_start) - 1) for row in rows_of(parts, i)}
    for i in range(len(parts.row_start) - 1):
        assert (
            len(rows_of(parts, i)) <= enough
            or (parts.gains[slice(*parts.node_start[i : i + 2])] == CLOSED).all()
        )
    assert all(len({part_of[row] for row in group}) == 1 for group in groups_expected(case))


def rows_of(groups: Groups, group: int) -> list[int]:
    return groups.rows[groups.row_start[group] : groups.row_start[group + 1]].tolist()


@given(large_cases(), st.randoms(use_true_random=False))
def test_given_groups_are_refined_as_if_they_could_not_be_split(case, dice):
    """With a k of all its rows, Partition refines a group and never splits it."""
    data = case.attached()
    rows, tree = leaf_rows(*data[:2]), tree_arrays(data.taxonomy)
    members = np.flatnonzero(np.diff(rows.start) > 0)
    bounds = [0, *sorted(dice.sample(range(1, len(members)), min(2, len(members) - 1))), len(members)]
    found = settled(rows, tree, np.array(bounds), members)
    for group, (first, stop) in enumerate(pairwise(bounds)):
        alone = split_rows(rows, tree, whole(tree, members[first:stop]), stop - first, 0)
        cut = slice(*found.node_start[group : group + 2])
        assert found.nodes[cut].tolist() == alone.nodes.tolist()
        assert rows_of(found, group) == rows_of(alone, 0)


@given(cases())
def test_compact_rows_are_the_rows(case):
    rows = leaf_rows(*case.attached()[:2])
    order = np.arange(len(rows.start) - 1)[::-2].copy()
    copy = compact(rows, order)
    for i, row in enumerate(order):
        here, there = slice(*copy.start[i : i + 2]), slice(*rows.start[row : row + 2])
        assert copy.leaf[here].tolist() == rows.leaf[there].tolist()
        assert copy.times[here].tolist() == rows.times[there].tolist()


@given(cases())
def test_cuts_are_in_preorder_and_cover_every_row(case):
    data = case.attached()
    rows, tree = leaf_rows(*data[:2]), tree_arrays(data.taxonomy)
    groups = split_to_the_end(rows, tree, case.k)
    for g in range(len(groups.row_start) - 1):
        nodes = groups.nodes[groups.node_start[g] : groups.node_start[g + 1]]
        assert (np.diff(nodes) > 0).all()
        for row in groups.rows[groups.row_start[g] : groups.row_start[g + 1]]:
            leaves = rows.leaf[rows.start[row] : rows.start[row + 1]]
            covered = (tree.first_leaf[nodes][:, None] <= leaves) & (leaves < tree.last_leaf[nodes][:, None])
            assert (covered.sum(axis=0) == 1).all()
            assert covered.any(axis=1).all()


FLAT = {"R": ["A", "B"], "A": ["a1", "a2", "a3"], "B": ["b1", "b2"]}


def check(rows: str, k: int, expected: list[tuple[int, ...]], children=FLAT) -> None:
    case = Case(children, [row.split() for row in rows.split(",")], k)
    assert groups_expected(case) == expected
    assert groups_of(case) == expected


def test_equal_gains_go_to_the_first_node_in_preorder():
    # A and B gain the same; by A the rows part as {0, 1} and {2, 3}, by B as {0, 2} and {1, 3}.
    children = {"R": ["A", "B"], "A": ["a1", "a2"], "B": ["b1", "b2"]}
    check("a1 b1, a1 b2, a2 b1, a2 b2", 2, [(0, 1), (2, 3)], children)


def test_leftovers_take_the_rows_of_least_gain():
    # Row 0 alone hits a2; of the four that hit a1, row 4 has the fewest occurrences and so the least gain.
    check("a2, a1 a1, a1 a1, a1 a1, a1", 2, [(0, 4), (1, 2, 3)])


def test_leftovers_take_equal_gains_in_input_order():
    check("a1, a1, a2, a1", 2, [(0, 2), (1, 3)])


def test_leftovers_take_from_buckets_that_stay_large_enough_only():
    # The rows of a1 gain least, but there are exactly k of them; a2 has one to spare.
    check("a1, a1, a3 a3, a2 a2, a2 a2, a2 a2", 2, [(0, 1), (2, 3), (4, 5)])


def test_without_enough_surplus_the_bucket_of_least_gain_dissolves():
    check("a1 a1, a1 a1, a2, a2, a3", 2, [(0, 1), (2, 3, 4)])


def test_buckets_of_equal_gain_dissolve_in_input_order():
    check("a2, a2, a1, a1, a3", 2, [(0, 1, 4), (2, 3)])
    check("a1, a2, a1, a2, a3", 2, [(0, 2, 4), (1, 3)])


def test_leftovers_of_k_or_more_take_nobody():
    check("a1, a1, a1, a2, a3", 2, [(0, 1, 2), (3, 4)])


def test_leftovers_go_on_with_their_next_best_node():
    """No two rows agree below A, which is therefore frozen for all of them; B still tells them apart."""
    check("a1 b1, a2 b1, a1 a2 b2, a3 b2", 2, [(0, 1), (2, 3)])


@pytest.mark.parametrize("fan_out", [63, 64, 65, 128, 1000])
def test_wide_nodes(fan_out):
    """Buckets are sets of children, of any width: every pair of neighbours twice, the ends once."""
    children = children_of([0] * fan_out, ["R", *(f"c{i}" for i in range(fan_out))])
    rows = [[f"c{i}", f"c{(i + 1) % fan_out}"] for i in range(fan_out) for _ in range(2)]
    expected = [(2 * i, 2 * i + 1) for i in range(fan_out)]
    assert groups_of(Case(children, rows, 2)) == expected


def test_a_long_row_outgrows_the_first_pool_of_nodes():
    children = children_of([0] * 3000, ["R", *(f"c{i}" for i in range(3000))])
    rows = [[f"c{i}" for i in range(3000)]] * 4 + [["c5"]] * 2
    assert groups_of(Case(children, rows, 2)) == [(0, 1, 2, 3), (4, 5)]


def test_a_deep_chain():
    names = [f"d{i}" for i in range(400)]
    children = children_of(list(range(399)), names)
    rows = [["d399"], ["d399"], ["d200"], ["d200"], ["d0"], ["d0"]]
    case = Case(children, rows, 2)
    assert groups_of(case) == groups_expected(case) == [(0, 1), (2, 3), (4, 5)]


@given(trees(), st.data())
def test_child_towards(children, data):
    tree, arrays = reference.Tree(children), tree_arrays(taxonomy_of(children))
    names = list(tree.path)
    leaves = [node for node in names if tree.is_leaf(node)]
    leaf = data.draw(st.sampled_from(leaves))
    for node in tree.path[leaf][:-1]:
        child = arrays.way[arrays.depth[tree.order[node]] + 1, leaves.index(leaf)]
        assert names[child] == tree.child_towards(node, leaf)


@given(cases())
def test_rows_of_leaves_are_the_rows_of_items(case):
    data = case.attached()
    rows, tree = leaf_rows(*data[:2]), case.tree()
    leaves = [node for node in tree.path if tree.is_leaf(node)]
    for row, bag in enumerate(case.bags()):
        part = slice(rows.start[row], rows.start[row + 1])
        assert (np.diff(rows.leaf[part]) > 0).all()
        names = [leaves[leaf] for leaf in rows.leaf[part]]
        assert dict(zip(names, rows.times[part].tolist(), strict=True)) == bag
