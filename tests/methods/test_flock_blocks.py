"""The split into blocks against its definition, and what every split keeps to."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_flock as naive
from incrowd.kernels.arrays import leaf_rows, tree_arrays
from incrowd.kernels.lcg import AncestorRows, ancestor_rows
from incrowd.methods.flock.blocks import split_blocks
from reference_clump import counts_above
from strategies import Case, cases, large_cases

sizes = st.one_of(st.integers(1, 5), st.sampled_from([10, 1000]))
specificities = st.sampled_from([0, 0.5, 1])


def bags_of(case: Case) -> AncestorRows:
    data = case.attached()
    return ancestor_rows(leaf_rows(*data[:2]), tree_arrays(data.taxonomy))


def weights_of(case: Case, specificity: float) -> np.ndarray:
    tree = case.tree()
    return np.array(naive.weights(tree, naive.mixed_loss(tree, specificity)), dtype=np.float64)


def blocks_by_kernel(bags: AncestorRows, weight: np.ndarray, rows: list[int], most: int) -> list[list[int]]:
    blocks = split_blocks(bags, weight, np.array(rows, dtype=np.int64), most)
    return [part.tolist() for part in np.split(blocks.rows, blocks.start[1:-1])]


def blocks_by_reference(case: Case, weight: np.ndarray, rows: list[int], most: int) -> list[list[int]]:
    tree = case.tree()
    counts = [{tree.order[n]: c for n, c in counts_above(tree, bag).items()} for bag in case.bags()]
    return naive.split(counts, weight.tolist(), rows, most)


@st.composite
def ordered(draw: st.DrawFn) -> tuple[Case, list[int]]:
    """Draw a case and some order of (some of) its rows, the empty ones too."""
    case = draw(st.one_of(cases(), large_cases()))
    rows = draw(st.permutations(range(len(case.rows))))
    return case, rows[: draw(st.integers(1, len(rows)))]


@settings(max_examples=200)
@given(ordered(), sizes, specificities)
def test_equals_the_reference(drawn, most, specificity):
    case, rows = drawn
    weight = weights_of(case, specificity)
    found = blocks_by_kernel(bags_of(case), weight, rows, most)
    assert found == blocks_by_reference(case, weight, rows, most)


@settings(max_examples=80)
@given(ordered(), sizes, st.integers(0, 2**32 - 1))
def test_every_row_is_in_one_block_and_none_is_empty_or_too_large(drawn, most, seed):
    """Whatever the weights are; and a second time all is the same."""
    case, rows = drawn
    bags = bags_of(case)
    weight = np.random.default_rng(seed).choice([0, 0.25, 1, 3.5], len(case.tree().path))
    found = blocks_by_kernel(bags, weight, rows, most)
    assert sorted(row for block in found for row in block) == sorted(rows)
    assert all(1 <= len(block) <= most for block in found)
    assert found == blocks_by_kernel(bags, weight, rows, most)


def test_no_rows_make_one_empty_block():
    case = Case({"R": ["a", "b"]}, [["a"]], 2)
    assert blocks_by_kernel(bags_of(case), weights_of(case, 0), [], 5) == [[]]


@settings(max_examples=60)
@given(ordered(), st.integers(8, 40))
def test_no_block_is_less_than_an_eighth_of_the_most(drawn, most):
    """So that every block has the k rows of a group."""
    case, rows = drawn
    found = blocks_by_kernel(bags_of(case), weights_of(case, 0), rows, most)
    assert len(found) == 1 or all(8 * len(block) >= most for block in found)


@settings(max_examples=40)
@given(ordered(), sizes)
def test_the_input_is_left_alone(drawn, most):
    case, rows = drawn
    bags, weight, order = bags_of(case), weights_of(case, 0.5), np.array(rows, dtype=np.int64)
    before = [array.copy() for array in (*bags, weight, order)]
    split_blocks(bags, weight, order, most)
    assert all(map(np.array_equal, before, (*bags, weight, order)))


FLAT = {"R": ["a", "b", "c"]}


@pytest.mark.parametrize(
    ("without", "with_one", "first"),
    [
        (8, 8, 8),  # between the counts, here in the very middle
        (5, 11, 5),
        (11, 5, 11),
        (2, 14, 2),  # just an eighth
        (14, 2, 14),
        (1, 15, 8),  # too far out: in the middle, through equal counts
        (15, 1, 8),
    ],
)
def test_the_cut_is_between_counts_where_that_is_near_the_middle(without, with_one, first):
    case = Case(FLAT, [["b"]] * without + [["a", "b"]] * with_one, 2)
    found = blocks_by_kernel(bags_of(case), weights_of(case, 0), list(range(16)), 15)
    assert found == [list(range(first)), list(range(first, 16))]


def test_blocks_are_as_large_as_they_may_be_where_nothing_speaks_against_it():
    """Ten rows, at most four in a block: three blocks, not the four of halving."""
    case = Case(FLAT, [["a"]] * 10, 2)
    found = blocks_by_kernel(bags_of(case), weights_of(case, 0), list(range(10)), 4)
    assert list(map(len, found)) == [3, 3, 4]


def test_of_two_cuts_as_near_the_upper_is_taken():
    """Counts 0 0 0 1 1 2 2 2 (middle: 4): both cuts are one away from it."""
    case = Case(FLAT, [["b"] + ["a"] * times for times in (2, 1, 0, 2, 0, 1, 0, 2)], 2)
    found = blocks_by_kernel(bags_of(case), weights_of(case, 0), list(range(8)), 7)
    assert found == [[2, 4, 6, 1, 5], [0, 3, 7]]


def test_the_weight_decides_between_nodes():
    """Of a and b, which vary alike, the heavier one is split at; among equals the first."""
    case = Case({"R": ["a", "b"]}, [["a", "a"], ["b", "b"]] * 4, 2)
    bags, rows = bags_of(case), list(range(8))
    mixed = case._replace(rows=[["a"], ["b"], ["a", "b"], ["a", "a", "b"]] * 2)
    for weight, node in (([0, 1, 1], "a"), ([0, 2, 1], "a"), ([0, 1, 2], "b")):
        found = blocks_by_kernel(bags, np.array(weight, float), rows, 4)
        assert found == ([[1, 3, 5, 7], [0, 2, 4, 6]] if node == "a" else [[0, 2, 4, 6], [1, 3, 5, 7]])
    found = blocks_by_kernel(bags_of(mixed), np.array([0, 0.0, 5]), rows, 6)
    assert found == [[0, 4], [1, 2, 3, 5, 6, 7]]


def test_rows_in_which_nothing_varies_are_split_by_length():
    case = Case({"R": ["a", "b"]}, [["a"] * times for times in (3, 1, 4, 2)], 2)
    assert blocks_by_kernel(bags_of(case), np.zeros(3), [0, 1, 2, 3], 2) == [[1, 3], [0, 2]]


def test_alike_rows_come_together():
    """Four kinds of rows, mixed: each block is of one kind."""
    dice = random.Random(3)
    kinds = [["a"], ["b", "b"], ["c", "c", "c"], ["a", "b", "c"]]
    rows = [kind for kind in kinds for _ in range(32)]
    dice.shuffle(rows)
    case = Case(FLAT, rows, 2)
    found = blocks_by_kernel(bags_of(case), weights_of(case, 0), list(range(128)), 40)
    assert sorted(len({tuple(rows[row]) for row in block}) for block in found) == [1, 1, 1, 1]
