"""Several releases put together: by hand, against naive versions, and where everything or nothing is published."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd as ic
from incrowd.attacks.attacked import Attacked, Setting, attacked_raw
from incrowd.attacks.matching import best_matches
from incrowd.attacks.people import People
from incrowd.attacks.seen import nothing_seen, seen_of_classes, seen_of_tiles
from incrowd.attacks.series import (
    SeriesOutsiders,
    best_of,
    candidates,
    draw_in_each,
    followed,
    intersected,
    scored_sets,
    shared,
)
from incrowd.attacks.series_inference import Vocabulary, guessed
from risk_worlds import classes_of, tiles_of, worlds

SETTING = Setting(k=5, most=50, seed=3)


def world_of(rows):
    data = ic.Transactions.from_rows(rows)
    return data, ic.balanced(data, 3)


def raw_of(rows):
    data, tree = world_of(rows)
    return attacked_raw(People.of(data, tree), tree)


def copied(rows):
    """A release in which everybody's record is what they have."""
    data, tree = world_of(rows)
    people = People.of(data, tree)
    sets = [
        tree.leaf_nodes[people.leaf[people.start[i] : people.start[i + 1]]].tolist()
        for i in range(len(people))
    ]
    made = classes_of(sets, list(range(len(people))))
    return Attacked(people, tree, seen_of_classes(made, tree, data.person, people))


def empty(rows):
    data, tree = world_of(rows)
    people = People.of(data, tree)
    return Attacked(people, tree, nothing_seen(people))


def weeks(number=3, people=40):
    """Every person has six things of their own every week, and what many have."""
    return [
        [
            [*(f"own{i:02}{letter}" for letter in "abcdef"), f"week{w}thing{i % 7}", "bread", "milk"]
            for i in range(people)
        ]
        for w in range(number)
    ]


# --- matching, against the kernel and against naive versions ---


@settings(max_examples=50)
@given(worlds(), st.integers(1, 3))
def test_sets_are_scored_as_the_kernel_scores_them(world, p):
    person, nodes = world.known(p)
    known, index, seen = world.ranks(nodes), world.attacked.index, world.attacked.seen
    score = np.zeros(len(seen), np.int64)
    best = [best_of(*scored_sets(index, row, score)) for row in known]
    assert not score.any()
    assert [set(some.tolist()) for some in best] == [
        _merged(world, world.naive.best(row)) for row in nodes.tolist()
    ]
    found = best_matches(index, known, tuple(seen.held), tuple(world.attacked.holders), person)
    assert found.people.tolist() == [len(candidates(world.attacked, some)) for some in best]


def _merged(world, sets):
    """Return naive sets by the numbers that the product has for them."""
    start, nodes = world.attacked.seen.sets
    number = {frozenset(nodes[start[i] : start[i + 1]].tolist()): i for i in range(len(start) - 1)}
    if world.attacked.is_raw:  # where several people have the same
        return sets
    return {number[world.naive.sets[one]] for one in sets}


@settings(max_examples=30)
@given(worlds())
def test_candidates_are_who_hold_a_set(world):
    seen = world.attacked.seen
    for number in range(len(seen)):
        holders = {
            person
            for person in range(len(world.attacked.people))
            if number in seen.held.value[seen.held.start[person] : seen.held.start[person + 1]]
        }
        assert set(candidates(world.attacked, np.array([number])).tolist()) == holders


def test_who_is_left_is_who_matches_everywhere():
    """Against sets: of raw data, those who have all that is known in every week."""
    rows = [[["a", "b"], ["a", "c"], ["a", "b"], ["b", "c"]], [["x", "y"], ["x", "y"], ["x"], ["z"]]]
    series = [raw_of(week) for week in rows]
    setting = Setting(k=5, most=9, seed=1)
    chosen, drawn = draw_in_each(series, 1, 9, setting.dice(10, 1))
    left = {person: set(range(4)) for person in chosen.tolist()}
    for week, one, some in zip(rows, series, drawn, strict=True):
        names = one.tree.labels_of(one.tree.leaf_nodes).to_pylist()
        for person, items in zip(some.person.tolist(), some.known.tolist(), strict=True):
            left[person] &= {other for other, own in enumerate(week) if names[items[0]] in own}
    sizes = [len(some) for some in left.values()]
    assert intersected(series, setting)[1] == ((sizes.count(1), 4), (sizes.count(2), 4))
    assert 0 < sizes.count(1) < 4


# --- everything published, nothing published ---


def test_a_copied_series_is_fully_broken_and_an_empty_one_harmless():
    rows = weeks()
    full, none = [copied(week) for week in rows], [empty(week) for week in rows]
    assert intersected(full, SETTING)[3].value == 1
    assert followed(full, SETTING).value == 1
    assert followed(full, SETTING).control.value == 0
    assert shared(full, SETTING).attack == (40, 40)
    assert guessed(full, SETTING)[3].value == 1
    assert all(figure.value == 0 for figure in intersected(none, SETTING).values())
    assert followed(none, SETTING).attack == shared(none, SETTING).attack == (0, 0)
    assert all(figure.value == 0 and figure.attack.tries for figure in guessed(none, SETTING).values())


def test_raw_data_have_a_control_without_the_own_row():
    """A hobby that two people share is guessed of one by the other; one that nobody shares is not."""
    rows = weeks(2)
    alone = guessed([raw_of(week) for week in rows], SETTING)[3]
    assert alone.attack == (40, 40)
    assert alone.control.value == 0
    twins = [[week[i // 2] for i in range(40)] for week in rows]
    found = guessed([raw_of(week) for week in twins], SETTING)[3]
    assert found == ((40, 40), (40, 40))
    assert not found.tells


def test_outsiders_are_the_control():
    rows = weeks()
    inside = np.arange(40) < 20
    series = [copied(week) for week in rows]
    made = [copied([row if inside[i] else [] for i, row in enumerate(week)]) for week in rows]
    series_of_insiders = [
        Attacked(one.people, one.tree, other.seen) for one, other in zip(series, made, strict=True)
    ]
    assert len(made[0].tree) < len(series[0].tree)  # so labels are others: only the form is tested here
    control = SeriesOutsiders(series_of_insiders, ~inside)
    found = intersected(series, SETTING, control)[2]
    assert found.control.tries == 20
    assert guessed(series, SETTING, control)[2].control.tries == 20


# --- planted weaknesses ---


def test_classes_that_cross_leave_few():
    rows = [["a", "b"]] * 4
    data, tree = world_of(rows)
    people = People.of(data, tree)

    def release(of_row):
        made = classes_of([[1], [2]], of_row)
        return Attacked(people, tree, seen_of_classes(made, tree, data.person, people))

    setting = Setting(k=2)
    crossed = [release([0, 0, 1, 1]), release([0, 1, 0, 1])]
    assert shared(crossed, setting).attack == (4, 4)
    assert shared([crossed[0], crossed[0]], setting).attack == (0, 4)
    assert shared([crossed[0], release([-1, -1, -1, -1])], setting).attack == (0, 0)  # nobody is in two
    assert shared([*crossed, release([0, -1, -1, 1])], setting).attack == (4, 4)


def test_a_tile_that_is_held_again_is_followed():
    """Ten people hold the same rare tile in both weeks; which of the others hold something says nothing."""
    rows = [["rare", "bread"]] * 10 + [["bread", "milk"]] * 40
    data, tree = world_of(rows)
    people = People.of(data, tree)
    node = {name: number for number, name in enumerate(tree.labels.to_pylist())}
    sets = [[node["rare"]], *[[node["bread"]]] * 4]
    held = [[0]] * 10 + [[1 + i % 4] for i in range(40)]
    one = Attacked(people, tree, seen_of_tiles(tiles_of(sets, held), data.person, people))
    found = followed([one, one], Setting(k=5, most=100))
    assert found.attack == (pytest.approx(10 * 1 / 10), 50)
    assert found.control.right < found.attack.right


def test_names_that_the_program_made_are_not_compared():
    """Groups of two taxonomies have the same names and hold other items."""
    first, second = ([[f"{letter}{i}" for i in range(9)] for _ in range(6)] for letter in ("a", "b"))
    made = []
    for rows in (first, second):
        data, tree = world_of(rows)
        people = People.of(data, tree)
        group = np.flatnonzero(~tree.is_leaf)[1:3].tolist()
        classes = classes_of([[group[0]], [group[1]]], [0, 0, 0, 1, 1, 1])
        made.append(Attacked(people, tree, seen_of_classes(classes, tree, data.person, people)))
    assert followed(made, SETTING).attack == (0, 6)


# --- items of several taxonomies ---


def test_items_have_one_number_in_all_releases():
    series = [raw_of([["a", "b"], ["b"]]), raw_of([["b", "c"], ["c"]])]
    words = Vocabulary.of(series)
    assert words.size == 3
    assert len(words.has) == 5  # a, b, c; b, c
    assert not words.secret[np.bincount(words.has % 3) == 2].any()  # two of two people have it


def test_people_of_one_release_are_not_tried():
    series = [raw_of([["a", "b"], ["a"], []]), raw_of([["a", "b"], [], ["a"]])]
    assert intersected(series, SETTING)[1].attack.tries == 1
    assert intersected(series, SETTING)[3].attack.tries == 0
    assert guessed(series, SETTING)[3].attack.tries == 0
    found = followed(series, SETTING)
    assert (found.attack.tries, found.control) == (1, None)  # nobody to exchange with
    assert shared(series, SETTING).attack == (1, 1)


def test_the_same_seed_finds_the_same():
    series = [copied(week) for week in weeks()]
    some = Setting(k=5, most=7, seed=4)
    for attack in (intersected, followed, shared, guessed):
        assert attack(series, some) == attack(series, some)
