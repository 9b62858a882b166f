"""MDAV: a plain textbook version on numbers and on users, several rows a person, blocks."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_mdav as naive
from incrowd.kernels.likeness import distances, taken
from incrowd.methods.microaggregation.mdav import Clusters, _blocks, mdav, mdav_in_blocks
from incrowd.methods.microaggregation.representatives import like_order
from kernels.test_likeness import categories_of, depths, random_bags, random_parents

seeds = st.integers(0, 2**32 - 1)


def in_lists(found: Clusters) -> list[list[int]]:
    """Return the members of each cluster; both views of the clusters agree."""
    lists = [
        found.member[first:stop].tolist() for first, stop in zip(found.start, found.start[1:], strict=False)
    ]
    assert lists == [np.flatnonzero(found.of_row == c).tolist() for c in range(len(lists))]
    assert found.of_row.max(initial=-1) == len(lists) - 1
    return lists


def alone(rows: int) -> np.ndarray:
    """Return rows of as many people, numbered in no order."""
    return np.arange(rows, dtype=np.int32)[::-1] * 3


def random_points(dice: random.Random, number: int) -> np.ndarray:
    """Draw points on a line or in the plane, few different ones at times; return their distances as whole numbers."""
    spread = dice.choice([2, 10, 1_000, 10**6])
    x = np.array([dice.randint(0, spread) for _ in range(number)], dtype=np.int64)
    if dice.random() < 0.5:
        return np.abs(x[:, None] - x)
    y = np.array([dice.randint(0, spread) for _ in range(number)], dtype=np.int64)
    return np.rint(np.hypot(x[:, None] - x, y[:, None] - y) * 1_000).astype(np.int64)


def between(matrix: np.ndarray) -> Callable[[int, int], int]:
    rows = matrix.tolist()
    return lambda one, other: rows[one][other]


@settings(max_examples=200)
@given(seeds)
def test_numbers_are_clustered_as_in_the_textbook(seed):
    """The textbook's centroid of numbers is their mean; here, and in the reference, it is a record (equation 5)."""
    dice = random.Random(seed)
    k = dice.randint(1, 5)
    matrix = random_points(dice, dice.randint(k, 40))
    expected = naive.mdav(len(matrix), between(matrix), k)
    assert in_lists(mdav(matrix, alone(len(matrix)), k)) == expected
    assert naive.mdav_of_people(alone(len(matrix)).tolist(), between(matrix), k) == expected


@settings(max_examples=100)
@given(seeds)
def test_users_are_clustered_as_in_the_textbook(seed):
    dice = random.Random(seed)
    parent, k = random_parents(dice, dice.randint(2, 15)), dice.randint(2, 4)
    users = random_bags(dice, len(parent), dice.randint(k, 16), most=4)
    apart = {
        (i, j): naive.units(naive.ds(parent, one, other))
        for i, one in enumerate(users)
        for j, other in enumerate(users)
    }
    matrix = distances(categories_of(users), np.array(parent, dtype=np.int32), depths(parent))
    expected = naive.mdav(len(users), lambda i, j: apart[i, j], k)
    assert in_lists(mdav(matrix, alone(len(users)), k)) == expected


@settings(max_examples=200)
@given(seeds)
def test_clusters_hold_k_people(seed):
    dice = random.Random(seed)
    k, people = dice.randint(1, 4), dice.randint(1, 12)
    person = [dice.randrange(people) ** dice.choice([1, 2]) for _ in range(dice.randint(1, 40))]
    matrix = random_points(dice, len(person))
    found = in_lists(mdav(matrix, np.array(person, dtype=np.int32), k))
    assert found == naive.mdav_of_people(person, between(matrix), k)
    if len(set(person)) < k:
        assert found == []
    else:
        assert sorted(row for rows in found for row in rows) == list(range(len(person)))
        assert all(len({person[row] for row in rows}) >= k for rows in found)


@pytest.mark.parametrize(
    ("rows", "k", "expected"),
    [
        (0, 2, []),
        (1, 2, []),
        (1, 1, [[0]]),
        (3, 2, [[0, 1, 2]]),
        (4, 2, [[0, 1], [2, 3]]),
        (5, 2, [[0, 1], [2, 3, 4]]),
        (7, 2, [[0, 1], [2, 3], [4, 5, 6]]),
        (9, 3, [[0, 1, 2], [3, 4, 5], [6, 7, 8]]),
        (9, 9, [list(range(9))]),
        (9, 10, []),
    ],
)
def test_of_equals_the_first_is_taken(rows, k, expected):
    assert in_lists(mdav(np.zeros((rows, rows), dtype=np.int64), alone(rows), k)) == expected


def test_one_round_by_hand():
    """The centroid is 4, the farthest 20 with 15 beside it; then 0, the farthest of the rest from 20, with 1."""
    points = np.array([15, 3, 0, 20, 1, 4])
    assert in_lists(mdav(np.abs(points[:, None] - points), alone(6), 2)) == [[0, 3], [2, 4], [1, 5]]


def test_the_second_seed_is_farthest_from_the_first_not_from_the_centroid():
    """The centroid is 2, the farthest from it 0 (as far as 1); 0 takes 2. Farthest from 0 is then 5; it takes 3."""
    matrix = np.array(
        [
            [0, 6, 5, 5, 5, 9],
            [6, 0, 5, 5, 5, 8],
            [5, 5, 0, 1, 1, 1],
            [5, 5, 1, 0, 1, 1],
            [5, 5, 1, 1, 0, 1],
            [9, 8, 1, 1, 1, 0],
        ]
    )
    assert in_lists(mdav(matrix, alone(6), 2)) == [[0, 2], [3, 5], [1, 4]]


def block_case(dice: random.Random) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, int]:
    """Draw rows of one person each, or of few people; some of them in some order; k and a block size."""
    k, rows = dice.randint(1, 4), dice.randint(0, 60)
    person = alone(rows)
    if dice.random() < 0.5:
        person = np.array([dice.randrange(9) for _ in range(rows)], dtype=np.int32)
    order = np.array(dice.sample(range(rows), dice.randint(0, rows)), dtype=np.int64)
    return random_points(dice, rows), person, order, k, dice.choice([1, 2 * k, 10, 25, 100])


@settings(max_examples=150)
@given(seeds)
def test_blocks_are_clustered_one_by_one(seed):
    matrix, person, order, k, block_size = block_case(random.Random(seed))
    told: list[tuple[int, int]] = []
    found = mdav_in_blocks(
        lambda rows: matrix[np.ix_(rows, rows)],
        order,
        person,
        k=k,
        block_size=block_size,
        progress=lambda done, rows: told.append((done, rows)),
    )
    expected, done = [], 0
    for block in _blocks(order, person, k, block_size):
        rows = sorted(block.tolist())
        clusters = naive.mdav_of_people(person[rows].tolist(), between(matrix[np.ix_(rows, rows)]), k)
        expected += [[rows[i] for i in cluster] for cluster in clusters]
        done += len(rows)
        assert told.pop(0) == (done, len(order))
    assert in_lists(found) == expected
    assert told == []
    assert set(np.flatnonzero(found.of_row >= 0)) <= set(order.tolist())


@settings(max_examples=150)
@given(seeds)
def test_blocks_follow_the_order_and_hold_enough(seed):
    _, person, order, k, block_size = block_case(random.Random(seed))
    blocks = _blocks(order, person, k, block_size)
    assert np.concatenate([*blocks, []]).tolist() == order.tolist()
    if len(blocks) > 1:
        assert min(len(set(person[block].tolist())) for block in blocks) >= 2 * k
    if len(set(person[order].tolist())) == len(order) > 0:
        sizes = [len(block) for block in blocks]
        assert max(sizes) - min(sizes) <= 1
        assert len(blocks) == max(min(-(-len(order) // block_size), len(order) // (2 * k)), 1)


def test_one_block_is_plain_mdav_in_whatever_order():
    dice = random.Random(3)
    matrix = random_points(dice, 50)
    order = np.array(dice.sample(range(50), 50), dtype=np.int64)
    found = mdav_in_blocks(lambda rows: matrix[np.ix_(rows, rows)], order, alone(50), k=3, block_size=50)
    assert in_lists(found) == in_lists(mdav(matrix, alone(50), 3))


def test_blocks_of_like_users_keep_like_users_together():
    """Two branches of the tree, users of either in turn: blocks in the order of likeness mix none."""
    parent = [-1, 0, 1, 1, 1, 0, 5, 5, 5]
    dice = random.Random(1)
    users = [{dice.choice([2, 3, 4]) + 4 * (i % 2): 1 for _ in range(3)} for i in range(40)]
    bags, tree, depth = categories_of(users), np.array(parent, dtype=np.int32), depths(parent)
    found = mdav_in_blocks(
        lambda rows: distances(taken(bags, rows), tree, depth),
        like_order(bags, tree, depth),
        alone(40),
        k=4,
        block_size=20,
    )
    clusters = in_lists(found)
    assert len(clusters) == 10
    assert all(len({row % 2 for row in rows}) == 1 for rows in clusters)


def test_distances_are_not_changed():
    matrix = random_points(random.Random(5), 30)
    before = matrix.copy()
    mdav(matrix, alone(30), 2)
    assert np.array_equal(matrix, before)
