"""The most frequent pairs, against a plain count; repacking makes tiles of them that joining did not."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

import incrowd.methods.mosaic.frequent as module
from incrowd.methods.mosaic.cover import Labels, People, cover_of, tiles_in_order
from incrowd.methods.mosaic.frequent import with_frequent_pairs
from incrowd.methods.mosaic.join import join
from incrowd.methods.mosaic.needs import needs_of
from incrowd.methods.mosaic.repack import repack
from methods.test_mosaic import FEW, SEEDS, Small, dataset, of_units, small


def labels_of(data, k=5):
    """Return units that are one person's each, with items as labels."""
    owner = np.arange(len(data), dtype=np.int32)
    everybody = np.ones(len(data), np.bool_)
    people = People(owner, everybody, owner)
    cover = cover_of(data.indptr, data.items, len(data.vocabulary))
    number = np.arange(len(data.vocabulary), dtype=np.int32)
    needs = needs_of((), k, {}, {})
    words = np.random.default_rng(0).integers(0, 2**63, len(number), dtype=np.uint64)
    kinds = np.ones(len(number), np.int64)
    holders = np.bincount(data.items, minlength=len(number))
    labels = Labels(number, number + 1, holders, words, kinds, np.ones(len(number)), needs)
    return Small(cover, labels, people, {}, {}, {})


def frequent_pairs(data, most):
    """Count pairs in plain Python; the most frequent ones, ties by number, that are above chance and not one above the other."""
    units = [part.tolist() for part in np.split(data.cover.tile, data.cover.start[1:-1])]
    alone = Counter(label for unit in units for label in unit)
    count = Counter(tuple(sorted(pair)) for unit in units for pair in combinations(unit, 2))
    first = sorted(count, key=lambda pair: (-count[pair], pair))[:most]
    return {
        (a, b)
        for a, b in first
        if count[a, b] * len(units) > alone[a] * alone[b]
        and not (data.leaves[a] <= data.leaves[b] or data.leaves[b] <= data.leaves[a])
    }


@pytest.mark.parametrize("most", [3, 1_000])
@FEW
@given(SEEDS)
def test_the_pairs_are_those_of_a_plain_count(most, seed):
    data = small(seed)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "MOST_FREQUENT", most)
        found = with_frequent_pairs(data.cover, data.cover, data.labels)
    assert found.first[: len(data.cover.first)].tolist() == data.cover.first.tolist()
    added = [tuple(pair.tolist()) for pair in np.split(found.label, found.first[1:-1]) if len(pair) > 1]
    assert len(added) == len(set(added))
    assert set(added) == frequent_pairs(data, most)


@FEW
@given(SEEDS)
def test_a_pair_that_is_a_tile_is_not_added(seed):
    data = small(seed)
    cover = tiles_in_order(join(data.cover, data.labels, data.people, 2, 1.0)[0])
    found = with_frequent_pairs(cover, data.cover, data.labels)
    pairs = [tuple(tile.tolist()) for tile in np.split(found.label, found.first[1:-1]) if len(tile) == 2]
    assert len(pairs) == len(set(pairs))
    assert set(pairs) >= frequent_pairs(data, 1_000)


@FEW
@given(SEEDS)
def test_repacking_makes_tiles_where_nothing_was_joined(seed):
    """Every unit begins with single labels alone, so all that is held together afterwards was a frequent pair."""
    data = small(seed)
    found = repack(data.cover, data.cover, data.labels, data.people, 1.0, threads=1)
    held = {tuple(sorted(tile)) for unit in of_units(found) for tile in unit if len(tile) > 1}
    assert held <= frequent_pairs(data, 1_000)


def test_a_pair_that_no_tile_was_is_held_by_all_who_have_it():
    rows = [["a", "b"]] * 6 + [["a"]] * 5 + [["c"]] * 20
    data = dataset(rows, [f"p{row}" for row in range(len(rows))])
    units = labels_of(data.transactions)
    found = repack(units.cover, units.cover, units.labels, units.people, 1.0, threads=1)
    both = [unit for unit in of_units(found) if any(len(tile) > 1 for tile in unit)]
    assert len(both) == 6
    assert all(len(unit) == 1 for unit in both)
