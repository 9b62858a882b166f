"""Measures of use against their definition, counted pair by pair and read from what is published."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd as ic
import reference_mosaic as naive
from incrowd.core.tiles import Tiles
from incrowd.core.transactions import Transactions, Weeks
from incrowd.methods.registry import METHODS
from incrowd.metrics import together, top_pairs, use
from incrowd.metrics.published import ExactSets
from incrowd.metrics.use import Use, use_of_classes, use_of_tiles
from incrowd.release.files.records import class_name
from incrowd.taxonomy import Taxonomy, balanced
from strategies import variants_of, with_clicks

SEEDS = st.integers(0, 2**32 - 1)
K = 4
LITTLE_NOISE = {"d": 3, "eps": 20.0, "delta": 0.009}


def data_of(rows: list[list[str]], fan_out: int = 3) -> tuple[Transactions, Taxonomy]:
    data = Transactions.from_rows(rows)
    return data, balanced(data, fan_out)


def random_rows(dice: random.Random) -> list[list[str]]:
    names = [f"n{i:02}" for i in range(dice.randint(2, 16))]
    return [sorted(set(dice.choices(names, k=dice.randint(0, 6)))) for _ in range(dice.randint(3, 30))] + [
        names[:2]
    ]


def published(tiles: list[tuple[list[int], int]]) -> Tiles:
    start = np.cumsum([0, *(len(nodes) for nodes, _ in tiles)]).astype(np.int64)
    nodes = np.array([node for nodes, _ in tiles for node in nodes], np.int32)
    times = np.array([times for _, times in tiles], np.int64)
    held = np.repeat(np.arange(len(tiles), dtype=np.int32), times)
    return Tiles(start, nodes, times, times, np.array([0, len(held)]), held, withheld=0)


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


def off(n, m) -> Fraction:
    return Fraction(abs(n - m)) / max(n, m) if max(n, m) else Fraction(0)


def mean(errors: list[Fraction]) -> float:
    return float(sum(errors) / len(errors)) if errors else 0.0


def by_definition(rows, tree: naive.Tree, sets, kept, *, whole, most=1000, weeks=None) -> Use:
    """Follow the definitions with exact fractions.

    `sets` are pairs of {node: part} and the number of units, `kept` the exact items of each unit or tile, `weeks` those of each row; sets that are
    `whole` are all that is published of a unit.
    """
    leaves = sorted(tree.leaves)
    count = Counter(leaf for row in rows for leaf in row)
    pairs = Counter(pair for row in rows for pair in combinations(sorted(row), 2))
    units: Counter[int] = Counter()
    joint: Counter[tuple[int, int]] = Counter()
    for parts, times in sets:
        for node, part in parts.items():
            units[node] += part * times
        exact = sorted(node for node, part in parts.items() if part == 1 and node in tree.leaves)
        joint.update(dict.fromkeys(combinations(exact, 2), times))
    below = {node: len(tree.below(node)) for node in units}
    guess = {
        leaf: sum((Fraction(units[v]) / below[v] for v in tree.above(leaf) if v in below), Fraction(0))
        for leaf in leaves
    }
    both = {
        (a, b): from_records(sets, tree, below, a, b)
        if whole
        else joint[a, b] + (guess[a] - joint[a, b]) * (guess[b] - joint[a, b]) / len(rows)
        for a, b in combinations(leaves, 2)
    }
    top = sorted(count, key=lambda leaf: (-count[leaf], leaf))
    frequent = sorted(pairs, key=lambda pair: (-pairs[pair], pair))[:most]
    found = sorted((pair for pair in both if both[pair] > 0), key=lambda pair: (-both[pair], pair))
    all_items, all_links = count.total(), pairs.total()
    items, links = (
        (sum(map(len, kept)), sum(len(k) * (len(k) - 1) // 2 for k in kept))
        if kept is not None
        else (None, None)
    )
    return Use(
        kept_exactly=None if items is None else items / all_items if all_items else 1.0,
        items_error=mean([off(count[leaf], guess[leaf]) for leaf in top[:most]]),
        pairs_recall=len(set(frequent) & set(found[:most])) / len(frequent) if frequent else 1.0,
        pairs_error=mean([off(pairs[pair], both[pair]) for pair in frequent]),
        links_kept=None if links is None else links / all_links if all_links else 1.0,
        trend_error=weeks and trend_by_definition(rows, weeks, guess, top[: min(most, 100)]),
        clicks_recall=None,
    )


def from_records(sets, tree: naive.Tree, below, a: int, b: int) -> Fraction:
    """Add up the chances that one label of a record stands for a and another one for b; those of one bag exclude each other."""
    over_a, over_b = set(tree.above(a)), set(tree.above(b))
    return sum(
        (
            times * Fraction(parts[u]) * Fraction(parts[v]) / below[u] / below[v]
            for parts, times in sets
            for u in over_a & parts.keys()
            for v in over_b & parts.keys()
            if u != v and not (parts[u] < 1 and bag_of(parts, u) == bag_of(parts, v))
        ),
        Fraction(0),
    )


def bag_of(parts, node: int) -> int:
    """Return the bag of alternatives that an entry is of."""
    return getattr(parts, "bags", {}).get(node, -1 - node)


def trend_by_definition(rows, weeks, guess, top) -> float:
    """Count the units of each item in each week; a unit of several weeks counts in each, in equal parts."""
    of_row, number = weeks
    counted: Counter[tuple[int, int]] = Counter()
    for row, active in zip(rows, of_row, strict=True):
        for leaf in row:
            for week in active:
                counted[leaf, week] += Fraction(1, len(active))
    return mean([off(counted[leaf, week], guess[leaf] / number) for leaf in top for week in range(number)])


def same(found: Use, expected: Use) -> None:
    for name in Use.__struct_fields__:
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-9), name


def leaf_rows(data: Transactions, tree: Taxonomy) -> list[list[int]]:
    leaves = tree.leaves_of(data.items).tolist()
    return [leaves[data.indptr[i] : data.indptr[i + 1]] for i in range(len(data))]


def with_weeks(dice: random.Random, data: Transactions) -> tuple[Transactions, tuple[list[list[int]], int]]:
    """Return data whose rows are of some weeks, and these."""
    number = dice.randint(2, 4)
    of_row = [sorted(dice.sample(range(number), dice.randint(1, number))) for _ in range(len(data))]
    start = np.cumsum([0, *map(len, of_row)]).astype(np.int64)
    week = np.array([week for active in of_row for week in active], np.int32)
    return replace(data, weeks=Weeks(start, week, number)), (of_row, number)


def check(seed: int, *, general: bool, most: int = 1000) -> None:
    dice = random.Random(seed)
    data, tree = data_of(random_rows(dice), dice.choice([2, 3]))
    data, weeks = with_weeks(dice, data)
    rows = leaf_rows(data, tree)
    tiles = random_tiles(dice, rows, tree, general=general)
    known = naive.Tree(tree.parent.tolist())
    sets = [(dict.fromkeys(nodes, 1), times) for nodes, times in tiles]
    kept = [set(nodes) & known.leaves for nodes, times in tiles for _ in range(times)]
    same(
        use_of_tiles(data, tree, published(tiles)),
        by_definition(rows, known, sets, kept, whole=False, most=most, weeks=weeks),
    )


@settings(max_examples=80)
@given(SEEDS, st.booleans())
def test_the_measures_are_as_defined(seed, general):
    check(seed, general=general)


@settings(max_examples=60)
@given(SEEDS, st.booleans())
def test_items_are_looked_at_until_no_other_pair_can_be_among_the_first(seed, general):
    """With few pairs wanted and fewer items looked at first, the same is found as by looking at all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(use, "MOST_FREQUENT", 4)
        patch.setattr(top_pairs, "FIRST_ITEMS", 2)
        check(seed, general=general, most=4)


def test_threads_count_what_one_counts(monkeypatch):
    rows = [[f"n{(row * step) % 23:02}" for step in range(1, 5)] for row in range(400)]
    data, tree = data_of([sorted(set(row)) for row in rows])
    counts = together.OfOriginals(
        ExactSets(data.indptr, tree.item_leaf[data.items], np.arange(len(data))), tree.leaf_count
    )
    alone = counts.together(np.arange(tree.leaf_count))
    assert alone.sum() > len(rows)
    monkeypatch.setattr(together, "LEAST_FOR_THREADS", 0)
    monkeypatch.setattr(together.os, "cpu_count", lambda: 3)
    assert counts.together(np.arange(tree.leaf_count)).tolist() == alone.tolist()


def test_what_is_published_whole_is_of_full_use():
    rows = [["a", "b"], ["a", "b"], ["c"], ["c", "a"]]
    data, tree = data_of(rows)
    a, b, c = (tree.labels.to_pylist().index(item) for item in "abc")
    found = use_of_tiles(data, tree, published([([a, b], 2), ([c], 1), ([a, c], 1)]))
    assert (found.kept_exactly, found.items_error, found.pairs_recall, found.links_kept) == (1, 0, 1, 1)


def test_records_published_as_they_are_are_of_full_use():
    rows = [["a", "b"], ["a", "b", "c"], ["b", "d"], ["c", "a"], ["d"]] * 3
    data, tree = data_of(rows)
    found = ic.anonymize(data, tree, k=2, method="suppress").use
    assert msgspec.structs.astuple(found)[:5] == (1, 0, 1, 0, 1)


def test_of_nothing_published_nothing_is_left():
    data, tree = data_of([["a", "b"], ["a", "b"]])
    found = use_of_tiles(data, tree, published([]))
    assert msgspec.structs.astuple(found) == (0, 1, 0, 1, 0, None, None)


def test_a_node_s_units_are_shared_among_its_leaves():
    data, tree = data_of([["a"], ["b"], ["c"]])
    found = use_of_tiles(data, tree, published([([0], 3)]))
    assert (found.items_error, found.kept_exactly) == (0, 0)


def test_no_release_has_clicks():
    data, tree = data_of([["a", "b"], ["a", "b"]])
    whole = published([([tree.labels.to_pylist().index("a")], 2)])
    assert use_of_tiles(data, tree, whole).clicks_recall is None
    assert use_of_tiles(replace(data, has_clicks=True), tree, whole).clicks_recall == 0


# A tree with an inner node, "fruit", that people also have as an item.
TREE = """food\tall
fruit\tfood
drinks\tfood
sport\tall
apple\tfruit
pear\tfruit
berry\tfruit
beer\tdrinks
wine\tdrinks
tea\tdrinks
golf\tsport
tennis\tsport
"""
ITEMS = ["apple", "pear", "berry", "beer", "wine", "tea", "golf", "tennis", "fruit"]
EVERY = [
    pytest.param(
        name, {**variant, **(LITTLE_NOISE if method.is_noisy else {})}, id="-".join([name, *variant.values()])
    )
    for name, method in METHODS.items()
    for variant in variants_of(method)
    if variant.get("of", "items") == "items"
]


def made(method: str, variant, tmp_path, seed: int = 3):
    """Return a release of sixty people whose weeks are known, and the weeks."""
    dice = random.Random(seed)
    chances = [1 / (1 + i) for i in range(len(ITEMS))]
    rows = [dice.choices(ITEMS, chances, k=dice.randint(0, 5)) for _ in range(60)]
    data, weeks = with_weeks(dice, Transactions.from_rows(rows))
    file = tmp_path / "tree.tsv"
    file.write_text(TREE, encoding="utf-8")
    if METHODS[method].needs_events:
        data = with_clicks(data.with_events())
    return ic.anonymize(data, ic.read_taxonomy(file), method=method, k=K, seed=5, **variant), weeks


class Parts(dict[int, Fraction]):
    """The nodes of a record with their parts, and the label that each is of."""

    def __init__(self) -> None:
        super().__init__()
        self.bags: dict[int, int] = {}


def readings(release) -> tuple[list, list | None]:
    """Read the published table label by label: the sets, and what is kept of each row."""
    tree, table = release.taxonomy, release.table().to_pydict()
    item = dict(
        zip(
            release.transactions.vocabulary.to_pylist(), tree.leaf_nodes[tree.item_leaf].tolist(), strict=True
        )
    )
    node = {tree.labels[i].as_py(): i for i in range(len(tree)) if not tree.is_leaf[i]}

    def parts(text: str, *, exact: bool) -> dict[int, Fraction]:
        if exact or text in node:
            return {item[text] if exact else node[text]: Fraction(1)}
        names = [re.sub(r":\d+$", "", name) for name in re.split(r" \| |, ", text.strip("{}"))]
        found = [node[name[1:-1]] if name == class_name(name[1:-1]) else item[name] for name in names]
        return dict.fromkeys(found, Fraction(1, len(found)))

    def read(labels) -> Parts:
        found = Parts()
        for bag, (text, exact) in enumerate(labels):
            for where, part in parts(text, exact=exact).items():
                if part >= found.get(where, 0):
                    found[where], found.bags[where] = part, bag
        return found

    if "count" in table:
        texts = table.get("query") or table.get("item") or []
        return [
            (parts(text, exact=True), count) for text, count in zip(texts, table["count"], strict=True)
        ], None
    labels = [list(zip(*row, strict=True)) for row in zip(table["items"], table["exact"], strict=True)]
    own, leaves = leaf_rows(release.transactions, tree), naive.Tree(tree.parent.tolist()).leaves
    sets = [read(row) for row in labels]
    exact = [{where for where, part in one.items() if part == 1 and where in leaves} for one in sets]
    if "units" in table:
        bounds, held = release.originals.start.tolist(), release.originals.held.tolist()
        kept = [exact[tile] for row in range(len(own)) for tile in held[bounds[row] : bounds[row + 1]]]
        return list(zip(sets, table["units"], strict=True)), kept
    kept = [exact[row] & set(own[who]) for who, row in enumerate(release.records.row_of.tolist()) if row >= 0]
    return [(one, 1) for one in sets], kept


@pytest.mark.parametrize(("method", "variant"), EVERY)
def test_the_measures_of_every_method_follow_from_what_is_published(method, variant, tmp_path):
    release, weeks = made(method, variant, tmp_path)
    tree, rows = release.taxonomy, leaf_rows(release.transactions, release.taxonomy)
    sets, kept = readings(release)
    whole = method not in {"mosaic", "korolova", "dp"}
    known = naive.Tree(tree.parent.tolist())
    same(release.use, by_definition(rows, known, sets, kept, whole=whole, weeks=weeks))
    assert 0 <= release.use.items_error <= 1
    assert (kept is None) == (release.use.kept_exactly is None) == METHODS[method].is_noisy


def test_some_items_are_kept_by_most_methods(tmp_path):
    """The test above would be of little worth if nothing were published as itself."""
    kept = {
        name: made(name, {}, tmp_path)[0].use.kept_exactly for name in ("mosaic", "flock", "ssc", "plain")
    }
    assert min(kept.values()) > 0, kept


def test_what_the_owner_does_not_have_is_not_kept():
    """Records may be of others' items; the analyst counts them, and nothing of the owner is kept."""
    data, tree = data_of([["a"], ["b"], ["a"]])
    release = ic.anonymize(data, tree, k=3, method="partition")
    a = tree.labels.to_pylist().index("a")
    false = replace(
        release.classes, nodes=np.array([a], np.int32), counts=np.ones(1, np.int32), start=np.array([0, 1])
    )
    found = use_of_classes(data, tree, false)
    assert found.kept_exactly == pytest.approx(2 / 3)
    assert found.items_error == pytest.approx((1 / 3 + 1) / 2)
