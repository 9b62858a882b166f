"""What stands for a cluster: by hand, and against the definition on random clusters."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference_mdav as naive
from incrowd.methods.microaggregation.mdav import Clusters
from incrowd.methods.microaggregation.representatives import centre_categories, like_order, representatives
from kernels.test_likeness import (
    Bags,
    categories_of,
    depths,
    paper_tree,
    paper_users,
    random_bags,
    random_parents,
)
from strategies import taxonomy_of, trees

seeds = st.integers(0, 2**32 - 1)


def clusters_of(lists: list[list[int]], rows: int) -> Clusters:
    of_row = np.full(rows, -1, dtype=np.int32)
    for c, members in enumerate(lists):
        of_row[members] = c
    member = np.array([row for members in lists for row in members], dtype=np.int64)
    return Clusters(of_row, np.cumsum([0, *map(len, lists)]), member)


def found(parent: list[int], users: Bags, lists: list[list[int]]) -> tuple[list[int], Bags]:
    """Return the product's centres and representatives."""
    result = representatives(
        categories_of(users),
        np.array(parent, dtype=np.int32),
        depths(parent),
        clusters_of(lists, len(users)),
    )
    nodes, times = result.node.tolist(), result.times.tolist()
    parts = [slice(first, stop) for first, stop in zip(result.start, result.start[1:], strict=False)]
    return result.centre.tolist(), [dict(zip(nodes[part], times[part], strict=True)) for part in parts]


def in_clusters(dice: random.Random, rows: int) -> list[list[int]]:
    """Put most rows into clusters."""
    order = dice.sample(range(rows), rows)
    lists = []
    while len(order) > dice.randint(0, 3):
        size = dice.randint(1, 6)
        lists.append(sorted(order[:size]))
        del order[:size]
    return lists


def same_as_the_reference(parent: list[int], users: Bags, lists: list[list[int]]) -> None:
    centres, bags = found(parent, users, lists)
    clusters = [[users[row] for row in members] for members in lists]
    assert centres == [naive.centre(parent, cluster) for cluster in clusters]
    assert bags == [naive.representative(parent, cluster) for cluster in clusters]
    assert [list(bag) for bag in bags] == [sorted(bag) for bag in bags]


def test_the_papers_two_users():
    """z = Mediterranean (2 against 7/2); 5 categories and 2 users make 3: one of the first user, two of the second."""
    number, parent = paper_tree()
    sea = number["Mediterranean"]
    assert found(parent, paper_users(number), [[0, 1]]) == ([sea], [{sea: 3}])


def test_a_quota_ends_within_a_category_and_ties_go_by_pre_order():
    """Quotas 8/2 and 1/2 make 5 in all (9/2, a half up); the first user gives 3 of z = 2 and 1 of the first sibling."""
    parent = [-1, 0, 1, 1, 1]
    users = [{2: 3, 3: 2, 4: 3}, {2: 1}]
    assert found(parent, users, [[0, 1]]) == ([2], [{2: 4, 3: 1}])


@pytest.mark.parametrize(
    ("weights", "quotas"),
    [
        ([1, 1, 1], [1, 0, 0]),
        ([1, 1, 1, 1, 1, 0], [1, 0, 0, 0, 0, 0]),
        ([0, 0, 1], [0, 0, 1]),
        ([1, 2], [1, 1]),
        ([3, 3], [2, 1]),
        ([5, 1, 1], [2, 0, 0]),
        ([4, 4, 3], [2, 1, 1]),
        ([0, 0], [0, 0]),
    ],
)
def test_quotas_are_rounded_by_largest_remainder(weights, quotas):
    """Each user asks about something else, so that what is published shows the quotas."""
    parent = [-1, *[0] * len(weights)]
    users = [{i: weight} if weight else {} for i, weight in enumerate(weights, 1)]
    _, bags = found(parent, users, [list(range(len(users)))])
    assert [bags[0].get(i, 0) for i in range(1, len(parent))] == quotas
    assert naive.quotas(weights) == quotas


@settings(max_examples=150)
@given(trees(), seeds)
def test_representatives_are_the_definition(children, seed):
    dice = random.Random(seed)
    parent = taxonomy_of(children).parent.tolist()
    users = random_bags(dice, len(parent), dice.randint(1, 14))
    same_as_the_reference(parent, users, in_clusters(dice, len(users)))


@settings(max_examples=200)
@given(seeds)
def test_long_bags_in_deeper_trees(seed):
    dice = random.Random(seed)
    parent = random_parents(dice, dice.randint(2, 60))
    assume(depths(parent).max() <= 18)  # deltas are exact as far as that, so that ties are ties
    users = random_bags(dice, len(parent), dice.randint(1, 6), most=25)
    same_as_the_reference(parent, users, in_clusters(dice, len(users)))


def test_no_cluster_and_empty_users():
    assert found([-1, 0], [{1: 1}], []) == ([], [])
    assert found([-1, 0], [{}, {}, {1: 2}, {0: 1}], [[0, 1], [2], [3]]) == ([-1, 1, 0], [{}, {1: 2}, {0: 1}])


def test_users_in_the_order_of_their_own_centres():
    parent = np.array([-1, 0, 1, 1, 0, 4], dtype=np.int32)
    depth = depths(parent.tolist())
    users = categories_of([{5: 1}, {2: 1, 3: 2}, {}, {4: 1, 5: 1}, {2: 2, 5: 1}])
    assert centre_categories(users, parent, depth).tolist() == [5, 3, -1, 4, 2]
    assert like_order(users, parent, depth).tolist() == [2, 4, 1, 3, 0]
