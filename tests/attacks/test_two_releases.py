"""Two releases of the same people: records that cross, and numbers that are subtracted."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.attacks.people import People
from incrowd.attacks.seen import nothing_seen, seen_of_tiles
from incrowd.attacks.two_releases import (
    candidates_in_both,
    labels_of,
    record_of_person,
    small_differences,
    two_releases_of_records,
    two_releases_of_tiles,
)
from risk_worlds import tiles_of, worlds


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4))), st.integers(2, 6))
def test_candidates_are_those_with_the_same_two_records(pairs, k):
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    sizes = Counter(pair for pair in pairs if min(pair) >= 0)
    candidates = [sizes[pair] for pair in pairs if min(pair) >= 0]
    assert candidates_in_both(first, second).tolist() == candidates
    found = two_releases_of_records(first, second, k)
    assert found.attack == (sum(number < k for number in candidates), len(candidates))


def test_classes_that_cross_leave_everybody_alone():
    crossed = two_releases_of_records(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), 2)
    same = two_releases_of_records(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]), 2)
    assert (crossed.value, same.value) == (1, 0)


@given(worlds())
def test_people_have_the_same_record_if_they_hold_the_same_sets(world):
    held = [
        frozenset(number for number, some in enumerate(world.naive.holders) if person in some)
        for person in range(len(world.naive.items))
    ]
    found = record_of_person(world.attacked.seen).tolist()
    assert [number < 0 for number in found] == [not own for own in held]
    assert len(set(found)) == len(set(held))
    assert len(set(zip(found, held, strict=True))) == len(set(held))


@given(worlds())
def test_labels_have_the_people_who_hold_a_set_with_them(world):
    seen, tree = world.attacked.seen, world.attacked.tree
    found = labels_of(seen, seen.people, tree)
    names = tree.labels.to_pylist()
    number, people = Counter(), {}
    for labels, some in zip(world.naive.sets, world.naive.holders, strict=True):
        for node in labels:
            name = names[node], world.naive.is_leaf(node)
            number[name] += len(some)
            people[name] = people.get(name, set()) | some
    assert found.number == number
    assert {name: set(some.tolist()) for name, some in found.people.items()} == people


def labels(held, sets):
    rows = ic.Transactions.from_rows([["a", "b", "c"]] * len(held))
    tree = ic.balanced(rows, 5)
    people = People.of(rows, tree)
    node = {name: number for number, name in enumerate(tree.labels.to_pylist())}
    tiles = tiles_of([[node[name] for name in one] for one in sets], held)
    return labels_of(seen_of_tiles(tiles, rows.person, people), tiles.people, tree)


def test_numbers_of_tiles_are_subtracted():
    """Ten people hold a and b; in the second release two more hold a: they are isolated, among twelve."""
    first = labels([[0]] * 10 + [[1]] * 8, ["ab", "c"])
    second = labels([[0]] * 10 + [[1]] * 2 + [[2]] * 8, ["ab", "a", "c"])
    assert small_differences(first.number, second.number, 5) == {("a", True): 2}
    assert two_releases_of_tiles(first, second, 5).attack == (10, 18)
    assert two_releases_of_tiles(second, first, 5).attack == (12, 20)
    assert two_releases_of_tiles(first, first, 5).attack == (0, 18)
    assert two_releases_of_tiles(first, second, 2).attack == (0, 18)  # a difference of two is no small one


def test_nothing_published_twice_says_nothing():
    rows = ic.Transactions.from_rows([["a"], ["b"]])
    tree = ic.balanced(rows, 5)
    seen = nothing_seen(People.of(rows, tree))
    empty = labels_of(seen, seen.people, tree)
    assert two_releases_of_tiles(empty, empty, 5).attack == (0, 0)
    assert two_releases_of_records(record_of_person(seen), record_of_person(seen), 5).attack == (0, 0)


@pytest.mark.data
def test_two_releases_of_bms_webview_2_tell_most_people_apart(data_dir):
    lines = (data_dir / "transactions/BMS-WebView-2.dat").read_text(encoding="ascii").splitlines()
    rows = ic.Transactions.from_rows([line.split() for line in lines if line.split()][:6_000])
    tree = ic.balanced(rows, 5)
    first, second = (ic.anonymize(rows, tree, k=k, method="flock").classes.of_row for k in (5, 6))
    assert two_releases_of_records(first, second, 5).value > 0.5
