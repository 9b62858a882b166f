"""The distance of users: the paper's examples, and the sweep against the definition on random trees and bags."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_mdav as naive
from golden import GOLDEN
from incrowd.kernels.likeness import UNIT, distances, taken, weights
from incrowd.taxonomy.meaning import Categories
from strategies import taxonomy_of, trees

PAPER = GOLDEN["microaggregation"]
Bags = list[dict[int, int]]
seeds = st.integers(0, 2**32 - 1)


def categories_of(bags: Bags) -> Categories:
    bags = [dict(sorted(bag.items())) for bag in bags]
    return Categories(
        np.cumsum([0, *map(len, bags)]),
        np.array([node for bag in bags for node in bag], dtype=np.int32),
        np.array([times for bag in bags for times in bag.values()], dtype=np.int32),
    )


def depths(parent: list[int]) -> np.ndarray:
    return np.array([len(naive.generalizations(parent, node)) for node in range(len(parent))], dtype=np.int32)


def ds_of(parent: list[int], users: Bags, others: Bags | None = None) -> list[list[int]]:
    """Return the product's distances."""
    there = None if others is None else categories_of(others)
    return distances(categories_of(users), np.array(parent, dtype=np.int32), depths(parent), there).tolist()


def in_units(parent: list[int], users: Bags, others: Bags) -> list[list[int]]:
    """Return the reference's distances."""
    return [[naive.units(naive.ds(parent, one, other)) for other in others] for one in users]


def random_bags(dice: random.Random, nodes: int, users: int, most: int = 6) -> Bags:
    """Draw bags over any nodes; few distinct ones as a rule, so that distances tie."""
    few = dice.sample(range(nodes), min(nodes, dice.choice([2, 5, nodes])))
    return [
        {dice.choice(few): dice.choice([1, 1, 2, 5]) for _ in range(dice.randint(0, most))}
        for _ in range(users)
    ]


def random_parents(dice: random.Random, nodes: int) -> list[int]:
    """Draw a tree in pre-order: a node hangs under the one before it or under one above that."""
    parent, way, turns = [-1], [0], dice.choice([0.05, 0.3, 0.6])
    for node in range(1, nodes):
        del way[dice.randint(1, len(way)) if dice.random() < turns else len(way) :]
        parent.append(way[-1])
        way.append(node)
    return parent


def paper_tree() -> tuple[dict[str, int], list[int]]:
    """Return the node of each of the paper's categories, and the parents."""
    number, parent = {"Top": 0}, [-1]
    for way in PAPER["generalizations"].values():
        for above, name in zip(["Top", *way], way, strict=False):
            if name not in number:
                number[name] = len(parent)
                parent.append(number[above])
    return number, parent


def paper_users(number: dict[str, int]) -> Bags:
    return [{number[name]: times for name, times in bag.items()} for bag in PAPER["users"].values()]


def test_printed_distance_of_categories():
    number, parent = paper_tree()
    for one, other, printed in PAPER["delta_printed"]:
        assert naive.delta(parent, number[one], number[other]) == Fraction(printed)
        # Two users of one category each: both directions have the category's distance, so Ds is that distance.
        assert ds_of(parent, [{number[one]: 1}], [{number[other]: 1}]) == [[Fraction(printed) * UNIT]]


def test_printed_distance_of_users():
    number, parent = paper_tree()
    one, other = paper_users(number)
    printed = Fraction(PAPER["distance_printed"])
    assert naive.ds(parent, one, other) == printed
    nearest = naive.units(printed)
    assert ds_of(parent, [one, other]) == [[0, nearest], [nearest, 0]]
    assert ds_of(parent, [one], [other]) == [[nearest]]


@settings(max_examples=200)
@given(trees(), seeds)
def test_distances_are_the_definition_rounded(children, seed):
    dice = random.Random(seed)
    parent = taxonomy_of(children).parent.tolist()
    users = random_bags(dice, len(parent), dice.randint(1, 10))
    others = random_bags(dice, len(parent), dice.randint(1, 3))
    assert ds_of(parent, users) == in_units(parent, users, users)
    assert ds_of(parent, users, others) == in_units(parent, users, others)


@settings(max_examples=200)
@given(seeds)
def test_deep_trees_and_long_bags(seed):
    dice = random.Random(seed)
    parent = random_parents(dice, dice.randint(2, 60))
    users = random_bags(dice, len(parent), dice.randint(2, 5), most=25)
    exact = in_units(parent, users, users)
    off = np.abs(np.array(ds_of(parent, users)) - np.array(exact))
    # Down to depth 18 there is a common multiple of all denominators, and nothing but the last rounding.
    assert off.max() <= (0 if depths(parent).max() <= 18 else 1)


def test_more_users_than_a_thread_takes_at_a_time():
    dice = random.Random(7)
    parent = random_parents(dice, 40)
    kinds = random_bags(dice, len(parent), 20)
    chosen = [dice.randrange(len(kinds)) for _ in range(150)]
    exact = np.array(in_units(parent, kinds, kinds))[np.ix_(chosen, chosen)]
    users = [kinds[i] for i in chosen]
    assert np.array_equal(ds_of(parent, users), exact)
    assert np.array_equal(ds_of(parent, users, users[:130]), exact[:, :130])


def test_the_root_is_like_itself_alone_and_nothing_is_like_an_empty_bag():
    parent = [-1, 0, 1]
    one = UNIT
    assert ds_of(parent, [{0: 1}, {0: 3}, {1: 1}, {}, {}]) == [
        [0, 0, one, one, one],
        [0, 0, one, one, one],
        [one, one, 0, one, one],
        [one, one, one, 0, 0],
        [one, one, one, 0, 0],
    ]
    assert ds_of(parent, []) == []
    assert ds_of(parent, [{}, {}]) == [[0, 0], [0, 0]]


@pytest.mark.parametrize("weight", [10**6, 10**9, 2**31 - 1])
def test_heavy_users_are_compared_exactly(weight):
    """The products of sums and units do not fit 64 bits; the remainders do."""
    dice = random.Random(weight)
    parent = [-1, 0, 1, 2, 1, 0, 5, 5]
    users = [{node: dice.randint(1, weight) for node in dice.sample(range(8), 2)} for _ in range(25)]
    assert ds_of(parent, users) == in_units(parent, users, users)


@pytest.mark.parametrize(("weight", "most"), [(7_500, 0), (25_000, 1), (10**6, 1), (2**31 - 1, 8)])
def test_heavy_users_in_deep_trees_are_compared_as_exactly_as_there_is_room(weight, most):
    """Six chains down to depth 18 that part early or late: 23, 29 and 31 are among the denominators."""
    dice = random.Random(weight)
    parent = [-1, *range(18)]
    for fork in (12, 10, 6, 5, 3):
        parent += [fork, *range(len(parent), len(parent) + 17 - fork)]
    users = []
    for _ in range(40):
        one, two, three = dice.sample(range(len(parent)), 3)
        users.append(
            {one: dice.randint(1, weight // 2), two: dice.randint(1, weight // 3), three: weight // 6}
        )
    off = np.abs(np.array(ds_of(parent, users)) - np.array(in_units(parent, users, users)))
    assert off.max() <= most
    assert ds_of(parent, users[:1], users[:1]) == [[0]]


def test_a_half_is_rounded_up():
    """1 / 2^31 is half a unit: one occurrence of 2^31 has nothing in common with the other user."""
    parent = [-1, 0, 0]
    users = [{1: 2**30 - 1, 2: 1}, {1: 2**30}]
    assert naive.ds(parent, *users) == Fraction(1, 2**31)
    assert ds_of(parent, users) == [[0, 1], [1, 0]]


def test_distances_leave_their_input_alone():
    number, parent = paper_tree()
    users = categories_of(paper_users(number))
    before = [part.copy() for part in users]
    distances(users, np.array(parent, dtype=np.int32), depths(parent))
    assert all(np.array_equal(part, old) for part, old in zip(users, before, strict=True))


def test_bags_taken_in_any_order():
    users = categories_of([{1: 2}, {}, {0: 1, 3: 4}])
    some = taken(users, np.array([2, 1, 2, 0]))
    assert [part.tolist() for part in some] == [[0, 2, 2, 4, 5], [0, 3, 0, 3, 1], [1, 4, 1, 4, 2]]
    assert weights(some).tolist() == [5, 0, 5, 2]
