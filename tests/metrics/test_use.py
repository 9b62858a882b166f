"""Measures of use against their definition, counted pair by pair."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_mosaic as naive
from incrowd.core.transactions import Transactions
from incrowd.metrics import use
from incrowd.metrics.use import PublishedSets, Use, measure_use
from incrowd.taxonomy import Taxonomy, balanced

SEEDS = st.integers(0, 2**32 - 1)


def data_of(rows: list[list[str]], fan_out: int = 3) -> tuple[Transactions, Taxonomy]:
    data = Transactions.from_rows(rows)
    return data, balanced(data, fan_out)


def random_rows(dice: random.Random) -> list[list[str]]:
    names = [f"n{i:02}" for i in range(dice.randint(2, 16))]
    return [sorted(set(dice.choices(names, k=dice.randint(0, 6)))) for _ in range(dice.randint(3, 30))] + [
        names[:2]
    ]


def published(tiles: list[tuple[list[int], int]]) -> PublishedSets:
    start = np.cumsum([0, *(len(nodes) for nodes, _ in tiles)]).astype(np.int64)
    nodes = np.array([node for nodes, _ in tiles for node in nodes], np.int32)
    times = np.array([times for _, times in tiles], np.int64)
    return PublishedSets(start, nodes, times, times)


def random_tiles(
    dice: random.Random, rows: list[list[int]], tree: Taxonomy, *, general: bool
) -> list[tuple[list[int], int]]:
    """Cut rows into sets at random; where that is asked, a set of one may be a node above its item."""
    found: Counter[tuple[int, ...]] = Counter()
    for row in rows:
        left = dice.sample(row, len(row))
        while left:
            size = dice.randint(1, 3)
            tile, left = sorted(left[:size]), left[size:]
            if general and len(tile) == 1 and dice.random() < 0.5:
                tile = [dice.choice(naive.Tree(tree.parent.tolist()).above(tile[0]))]
            if dice.random() < 0.8:
                found[tuple(tile)] += 1
    return [(list(tile), times) for tile, times in sorted(found.items())]


def error(pairs: list[tuple[float, float]]) -> float:
    return float(sum(abs(n - m) / max(n, m) for n, m in pairs) / len(pairs)) if pairs else 0.0


def measured(
    rows: list[list[int]], tree: naive.Tree, tiles: list[tuple[list[int], int]], most: int = 1000
) -> Use:
    """Follow the definitions, with exact fractions."""
    leaves = sorted(tree.leaves)
    count = Counter(leaf for row in rows for leaf in row)
    pairs = Counter(pair for row in rows for pair in combinations(sorted(row), 2))
    units = Counter()
    joint = Counter()
    for nodes, times in tiles:
        units.update(dict.fromkeys(nodes, times))
        exact = sorted(set(nodes) & tree.leaves)
        joint.update(dict.fromkeys(combinations(exact, 2), times))
    below = {node: len(tree.below(node)) for node in units}
    guess = {
        leaf: sum((Fraction(units[v], below[v]) for v in tree.above(leaf) if v in below), Fraction(0))
        for leaf in leaves
    }
    both = {
        (a, b): joint[a, b] + (guess[a] - joint[a, b]) * (guess[b] - joint[a, b]) / len(rows)
        for a, b in combinations(leaves, 2)
    }
    top = sorted(count, key=lambda leaf: (-count[leaf], leaf))[:most]
    frequent = sorted(pairs, key=lambda pair: (-pairs[pair], pair))[:most]
    found = sorted((pair for pair in both if both[pair] > 0), key=lambda pair: (-both[pair], pair))[:most]
    all_items, all_links = count.total(), pairs.total()
    exact_items = sum(len(set(nodes) & tree.leaves) * times for nodes, times in tiles)
    return Use(
        kept_exactly=exact_items / all_items if all_items else 1.0,
        items_error=error([(count[leaf], guess[leaf]) for leaf in top]),
        pairs_recall=len(set(frequent) & set(found)) / len(frequent) if frequent else 1.0,
        pairs_error=error([(pairs[pair], both[pair]) for pair in frequent]),
        links_kept=joint.total() / all_links if all_links else 1.0,
    )


def check(seed: int, *, general: bool, most: int = 1000) -> None:
    dice = random.Random(seed)
    data, tree = data_of(random_rows(dice), dice.choice([2, 3]))
    leaves = tree.leaves_of(data.items).tolist()
    rows = [leaves[data.indptr[i] : data.indptr[i + 1]] for i in range(len(data))]
    tiles = random_tiles(dice, rows, tree, general=general)
    found = measure_use(data, tree, published(tiles))
    expected = measured(rows, naive.Tree(tree.parent.tolist()), tiles, most)
    for name in Use.__struct_fields__:
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-9), name


@settings(max_examples=80)
@given(SEEDS, st.booleans())
def test_the_measures_are_as_defined(seed, general):
    check(seed, general=general)


@settings(max_examples=60)
@given(SEEDS)
def test_items_are_looked_at_until_no_other_pair_can_be_among_the_first(seed):
    """With few pairs wanted and fewer items looked at first, the same is found as by looking at all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(use, "MOST_FREQUENT", 4)
        patch.setattr(use, "FIRST_ITEMS", 2)
        check(seed, general=False, most=4)


def test_what_is_published_whole_is_of_full_use():
    rows = [["a", "b"], ["a", "b"], ["c"], ["c", "a"]]
    data, tree = data_of(rows)
    a, b, c = (tree.labels.to_pylist().index(item) for item in "abc")
    found = measure_use(data, tree, published([([a, b], 2), ([c], 1), ([a, c], 1)]))
    assert (found.kept_exactly, found.items_error, found.pairs_recall, found.links_kept) == (1, 0, 1, 1)


def test_of_nothing_published_nothing_is_left():
    data, tree = data_of([["a", "b"], ["a", "b"]])
    found = measure_use(data, tree, published([]))
    assert found == Use(kept_exactly=0, items_error=1, pairs_recall=0, pairs_error=1, links_kept=0)


def test_a_node_s_units_are_shared_among_its_leaves():
    data, tree = data_of([["a"], ["b"], ["c"]])
    found = measure_use(data, tree, published([([0], 3)]))
    assert (found.items_error, found.kept_exactly) == (0, 0)
