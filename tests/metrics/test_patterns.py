"""Closed patterns against all sets of items, and their Recall and sDist against the definitions."""

from __future__ import annotations

import random
from itertools import chain, combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from golden import GOLDEN
from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError
from incrowd.kernels.arrays import leaf_rows
from incrowd.methods.registry import METHODS
from incrowd.metrics.patterns import (
    Pattern,
    PatternUtility,
    _greatest_gain,
    closed_patterns,
    measure_patterns,
    original_patterns,
    published_patterns,
)
from incrowd.taxonomy import attach
from strategies import cases, large_cases, taxonomy_of, trees

SSC = GOLDEN["ssc"]

# The miner


def subsets(items):
    return chain.from_iterable(combinations(items, size) for size in range(1, len(items) + 1))


def closed_by_definition(rows, weight, n, shortest):
    """Look at all sets of items: a closed one has no larger set in as many rows."""
    universe = sorted(set(chain.from_iterable(rows)))
    support = {
        items: sum(w for row, w in zip(rows, weight, strict=True) if set(items) <= set(row))
        for items in subsets(universe)
    }
    found = [
        Pattern(items, times)
        for items, times in support.items()
        if times
        and len(items) >= shortest
        and all(support[tuple(sorted((*items, other)))] < times for other in universe if other not in items)
    ]
    return sorted(found, key=lambda pattern: (-pattern.support, -len(pattern.items), pattern.items))[:n]


def mine(rows, weight, n, **options):
    start = np.cumsum([0, *map(len, rows)])
    items = np.array([item for row in rows for item in row], dtype=np.int32)
    return closed_patterns(start, items, np.array(weight, dtype=np.int64), n, **options)


@st.composite
def baskets(draw):
    """Draw rows of few items, so that many sets tie, with weights that are alike or all different."""
    items = draw(st.lists(st.integers(0, 40), min_size=1, max_size=7, unique=True))
    row = st.lists(st.sampled_from(items), max_size=7, unique=True)
    rows = draw(st.lists(row, max_size=14))
    heaviest = draw(st.sampled_from([1, 2, 60]))
    weight = draw(st.lists(st.integers(0, heaviest), min_size=len(rows), max_size=len(rows)))
    return rows, weight


@settings(max_examples=250)
@given(baskets(), st.integers(1, 12), st.integers(1, 3))
def test_patterns_are_the_most_frequent_closed_sets(case, n, shortest):
    assert mine(*case, n, shortest=shortest) == closed_by_definition(*case, n, shortest)


def test_patterns_are_right_on_many_random_rows():
    dice = random.Random(5)
    for _ in range(1500):
        items = dice.sample(range(30), dice.randint(1, 7))
        likely = [dice.random() for _ in items]
        rows = [
            [item for item, share in zip(items, likely, strict=True) if dice.random() < share]
            for _ in range(dice.randint(0, 25))
        ]
        weight = [dice.randint(1, dice.choice([1, 3, 100])) for _ in rows]
        n, shortest = dice.choice([1, 2, 3, 5, 9, 200]), dice.choice([1, 1, 2, 4])
        assert mine(rows, weight, n, shortest=shortest) == closed_by_definition(rows, weight, n, shortest)


def test_patterns_by_hand():
    milk, bread, jam, salt = 3, 5, 8, 9
    rows = [[milk, bread], [milk, bread, jam], [jam, bread, milk], [salt]]
    assert mine(rows, [1, 1, 1, 2], 10) == [
        Pattern((milk, bread), 3),
        Pattern((milk, bread, jam), 2),  # as frequent as the next, and longer
        Pattern((salt,), 2),
    ]


def test_ties_at_the_last_place_go_to_the_longer_and_then_to_the_smaller_items():
    rows = [[1], [7, 8], [2, 9], [3, 4]]
    expected = [Pattern(items, 1) for items in ((2, 9), (3, 4), (7, 8), (1,))]
    for n in range(1, 6):
        for order in permutations(rows):
            assert mine(order, [1] * 4, n) == expected[:n]


def test_what_every_row_has_is_a_pattern_and_nothing_is_none():
    assert mine([[4, 6], [6]], [1, 1], 5) == [Pattern((6,), 2), Pattern((4, 6), 1)]
    assert mine([[4], []], [1, 1], 5) == [Pattern((4,), 1)]
    assert mine([[], []], [1, 1], 5) == []
    assert mine([], [], 5) == []
    assert mine([[4], [5]], [0, 0], 5) == []


def test_rows_stay_as_they_are():
    start, items, weight = np.array([0, 2, 3]), np.array([4, 2, 4], dtype=np.int32), np.array([2, 5])
    for array in (start, items, weight):
        array.flags.writeable = False
    assert closed_patterns(start, items, weight, 9) == [Pattern((4,), 7), Pattern((2, 4), 2)]


@pytest.mark.parametrize(("n", "shortest", "name"), [(0, 1, "n"), (-3, 1, "n"), (5, 0, "shortest")])
def test_numbers_of_nothing_are_refused(n, shortest, name):
    with pytest.raises(BadInputError, match=f"{name} must be at least 1"):
        mine([[1]], [1], n, shortest=shortest)


@pytest.mark.data
def test_a_large_data_set_has_the_patterns_that_its_supports_say(data_dir):
    """No sets of one to three items can be found in the real baskets that are missing from the result."""
    lines = (data_dir / "transactions" / "BMS-WebView-1.dat").read_text().splitlines()
    rows = [sorted({int(item) for item in line.split()}) for line in lines]
    found = mine(rows, [1] * len(rows), 100)
    least = found[-1].support
    by_item = {}
    for row, items in enumerate(rows):
        for item in items:
            by_item.setdefault(item, set()).add(row)
    frequent = {(item,): held for item, held in sorted(by_item.items()) if len(held) >= least}
    level = frequent
    for _ in range(2):
        level = {
            (*items, more): held & by_item[more]
            for items, held in level.items()
            for (more,) in [key for key in frequent if len(key) == 1]
            if more > items[-1] and len(held & by_item[more]) >= least
        }
        frequent |= level
    assert not level, "no set of three is so frequent, so the sets of one and two are all there are"
    closed = {
        items: len(held)
        for items, held in frequent.items()
        if not any(set(items) < set(more) and len(held) == len(held_by) for more, held_by in frequent.items())
    }
    expected = sorted(closed.items(), key=lambda pair: (-pair[1], -len(pair[0]), pair[0]))[:100]
    assert [tuple(pattern) for pattern in found] == expected


# The patterns of data and release


@settings(max_examples=60)
@given(cases(), st.integers(1, 10))
def test_original_patterns_are_those_of_the_leaves(case, n):
    data = case.attached()
    rows = leaf_rows(data.transactions, data.taxonomy)
    nodes = data.taxonomy.leaf_nodes[rows.leaf]
    sets = [nodes[a:b].tolist() for a, b in zip(rows.start[:-1], rows.start[1:], strict=True)]
    assert original_patterns(data.transactions, data.taxonomy, n) == closed_by_definition(
        sets, [1] * len(sets), n, 1
    )


@settings(max_examples=60)
@given(large_cases(), st.integers(1, 10))
def test_published_patterns_are_those_of_the_published_rows(case, n):
    data = case.attached()
    classes = METHODS["partition"](data.transactions, data.taxonomy, k=case.k)
    of_class = [classes.nodes[a:b] for a, b in zip(classes.start[:-1], classes.start[1:], strict=True)]
    rows = [of_class[c].tolist() for c in classes.of_row.tolist() if c != WITHHELD]
    assert published_patterns(classes, n) == mine(rows, [1] * len(rows), n)


# Recall and sDist


def term_distance(paths, root_distance, one, other):
    common = max(node for a, node in enumerate(paths[one]) if paths[other][a : a + 1] == [node])
    return root_distance[one] + root_distance[other] - 2 * root_distance[common]


def vocabulary_distance(term, ours, theirs, omega, eps):
    """Definition 4, second model: the least weight of a perfect matching, each side padded with nil terms."""
    left, right = [*ours, *[None] * len(theirs)], [*theirs, *[None] * len(ours)]

    def weight(one, other):
        if one is None or other is None:
            return omega * ((one is None) != (other is None))
        return term[one, other] if term[one, other] <= eps else np.inf

    return min(sum(map(weight, left, order)) for order in permutations(right))


def utility_by_definition(original, published, term, omega, eps):
    size = sum(len(ours) for ours in original)
    recall = sum(max(len({*ours} & {*theirs}) for theirs in published) for ours in original)
    sdist = sum(
        min(vocabulary_distance(term, ours, theirs, omega, eps) for theirs in published) for ours in original
    )
    return PatternUtility(recall / size, sdist / size)


def as_patterns(sets):
    return [Pattern(tuple(sorted(items)), 1) for items in sets]


def paths_of(taxonomy):
    """Return the nodes from the root down to each node."""
    paths = []
    for node, parent in enumerate(taxonomy.parent.tolist()):
        paths.append([*(paths[parent] if node else []), node])
    return paths


@settings(max_examples=150)
@given(trees(), st.data())
def test_recall_and_sdist_are_what_the_paper_defines(children, data):
    taxonomy = taxonomy_of(children)
    paths, nodes = paths_of(taxonomy), range(len(taxonomy))
    some = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=6, unique=True))
    sets = st.lists(
        st.lists(st.sampled_from(some), min_size=1, max_size=3, unique=True), min_size=1, max_size=4
    )
    original, published = data.draw(sets), data.draw(sets)
    eps = data.draw(st.sampled_from([0, 1, 2, 4, 7]))
    omega = data.draw(st.sampled_from([None, eps // 2 + 1, eps + 1, 3 * eps + 1]))
    edge = data.draw(st.none() | st.lists(st.integers(0, 4), min_size=len(nodes), max_size=len(nodes)))
    root_distance = [sum(edge[node] if edge else 1 for node in path[1:]) for path in paths]
    term = {(a, b): term_distance(paths, root_distance, a, b) for a in some for b in some}
    found = measure_patterns(
        as_patterns(original),
        as_patterns(published),
        taxonomy,
        eps=eps,
        omega=omega,
        root_distance=np.array(root_distance) if edge else None,
    )
    expected = utility_by_definition(original, published, term, eps + 1 if omega is None else omega, eps)
    assert found.recall == pytest.approx(expected.recall)
    assert found.sdist == pytest.approx(expected.sdist)


def test_the_greatest_gain_is_that_of_the_best_of_all_matchings():
    dice = np.random.default_rng(3)
    for _ in range(1500):
        gains = dice.integers(0, dice.integers(2, 9), dice.integers(1, 6, 2))
        few, many = sorted(gains.shape)
        table = gains if gains.shape[0] == few else gains.T
        best = max(
            sum(table[row, column] for row, column in enumerate(order))
            for order in permutations(range(many), few)
        )
        assert _greatest_gain(gains) == best


def test_long_patterns_are_matched_as_wholes():
    """Chains of favourites: all of the items have the same best counterpart, and must give way."""
    taxonomy = taxonomy_of({"top": [f"n{i:02}" for i in range(60)]} | {f"n{i:02}": [] for i in range(60)})
    ours, theirs = as_patterns([range(1, 41)]), as_patterns([range(21, 61)])
    found = measure_patterns(ours, theirs, taxonomy)
    assert found == PatternUtility(recall=20 / 40, sdist=20 * 2 / 40)


@pytest.fixture
def running_example():
    """Figure 1 (b) of Liu & Wang (ICDM 2010) as transactions, and the node of each name."""
    rows = list(SSC["vocabularies"].values())
    leaves = {name: [] for children in SSC["taxonomy"].values() for name in children}
    data = attach(Transactions.from_rows(rows), taxonomy_of(leaves | SSC["taxonomy"]))
    node = {name: i for i, name in enumerate(data.taxonomy.labels.to_pylist())}
    return data, node


def release(node, groups, published):
    of_row = [next(c for c, group in enumerate(groups) if f"t{i}" in group) for i in range(1, 6)]
    bags = [sorted((node[name], count) for name, count in bag.items()) for bag in published]
    return Classes(
        np.array(of_row, dtype=np.int32),
        np.cumsum([0, *map(len, bags)]),
        np.array([v for bag in bags for v, _ in bag], dtype=np.int32),
        np.array([times for bag in bags for _, times in bag], dtype=np.int32),
    )


def test_the_running_example_has_eight_patterns_of_two_rows(running_example):
    data, node = running_example
    found = original_patterns(data.transactions, data.taxonomy, 8)
    name = {number: text for text, number in node.items()}
    assert {(frozenset(map(name.get, items)), support) for items, support in found} == {
        (frozenset(text.split()), support)
        for text, support in [
            ("Jackets", 4),
            ("Vino", 3),
            ("Raw-milk", 3),
            ("Vino Jackets Shoes", 2),
            ("Wine Jackets", 2),
            ("Raw-milk Homo-milk", 2),
            ("Raw-milk Jackets", 2),
            ("Vino Raw-milk", 2),
        ]
    }


def test_the_running_example_by_hand(running_example):
    """Published are {Wine, Vino, Jackets, Shoes} and {Raw-milk, Homo-milk}; an item left alone costs 5.

    Jackets 15 (three more in the first), Vino 9 (4 to Raw-milk, Homo-milk alone), Raw-milk 5, Vino Jackets
    Shoes 5, Wine Jackets 10, Raw-milk Homo-milk 0, Raw-milk Jackets 10, Vino Raw-milk 4: 58 for 14 items.
    """
    data, node = running_example
    original = original_patterns(data.transactions, data.taxonomy, 8)
    printed = SSC["seed_order_ascending"]
    published = published_patterns(release(node, printed["clusters"], printed["typical"]), 8)
    assert [pattern.support for pattern in published] == [3, 2]
    assert measure_patterns(original, published, data.taxonomy, eps=SSC["eps"]) == PatternUtility(
        12 / 14, 58 / 14
    )


def test_generalized_patterns_by_hand(running_example):
    """Published are {Edibles, Apparel} and {Goods}.

    Jackets, Vino and Raw-milk are 3 from Goods. Of the second: Vino Jackets Shoes 9, Wine Jackets 4,
    Raw-milk Homo-milk 2 + 4, Raw-milk Jackets 4, Vino Raw-milk 2 + 4: 38 for 14 items.
    """
    data, node = running_example
    original = original_patterns(data.transactions, data.taxonomy, 8)
    printed = SSC["lg_bag_derived"]
    published = published_patterns(release(node, printed["groups"], printed["published"]), 8)
    assert measure_patterns(original, published, data.taxonomy) == PatternUtility(0.0, 38 / 14)


def test_the_printed_distances_are_those_of_patterns_of_one_item(running_example):
    data, node = running_example
    for one, other, expected in SSC["term_distance_printed"]:
        ours, theirs = as_patterns([[node[one]]]), as_patterns([[node[other]]])
        found = measure_patterns(ours, theirs, data.taxonomy, eps=6)
        assert found == PatternUtility(0.0, expected)


def test_nothing_published_and_nothing_to_find(running_example):
    data, node = running_example
    some = as_patterns([[node["Wine"], node["Vino"]], [node["Boots"]]])
    assert measure_patterns(some, [], data.taxonomy) == PatternUtility(0.0, 5.0)
    assert measure_patterns(some, [], data.taxonomy, eps=2, omega=7) == PatternUtility(0.0, 7.0)
    assert measure_patterns([], some, data.taxonomy) == PatternUtility(1.0, 0.0)
    assert measure_patterns([], [], data.taxonomy) == PatternUtility(1.0, 0.0)
    assert measure_patterns(some, some, data.taxonomy) == PatternUtility(1.0, 0.0)


@pytest.mark.parametrize(
    ("eps", "omega", "says"),
    [
        (-1, None, "eps must be at least 0"),
        (4, 2, "omega must be greater than eps / 2 = 2 "),
        (0, 0, "omega must be greater than eps / 2 = 0 "),
    ],
)
def test_distances_out_of_range_are_refused(running_example, eps, omega, says):
    with pytest.raises(BadInputError, match=says):
        measure_patterns([], [], running_example[0].taxonomy, eps=eps, omega=omega)
