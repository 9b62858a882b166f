"""Weaknesses that are planted are found, an empty release is harmless, and small data break nothing."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

import incrowd as ic
from incrowd.attacks.attacked import Attacked, Outsiders, Setting, attacked_raw
from incrowd.attacks.inference import KNOWN as GUESSED_FROM
from incrowd.attacks.inference import one_more_item
from incrowd.attacks.linkability import found_again, halves
from incrowd.attacks.people import Lists, People
from incrowd.attacks.seen import nothing_seen, seen_of_classes, seen_of_tiles
from incrowd.attacks.singling_out import KNOWN, WAYS, class_risks, unicity
from incrowd.core.transactions import Transactions
from risk_worlds import classes_of, tiles_of

SETTING = Setting(k=5, most=200, seed=1)
NAMES = [f"item{i:02}" for i in range(60)]


def made_up(people=120, seed=3, most=14):
    """Return people with up to fourteen items, some of which many people have."""
    dice = random.Random(seed)
    rows = [
        sorted({NAMES[int(len(NAMES) * dice.random() ** 2)] for _ in range(dice.randint(1, most))})
        for _ in range(people)
    ]
    return ic.Transactions.from_rows(rows)


def prepared(data):
    tree = ic.balanced(data, 5)
    return data, tree, People.of(data, tree)


@pytest.fixture(scope="module")
def world():
    return prepared(made_up())


def copied(data, tree, people):
    """Return a release of the originals: every row is a record."""
    rows = [sorted(tree.leaf_nodes[people.leaf[a:b]].tolist()) for a, b in pairwise(people.start.tolist())]
    of_row = [row if rows[row] else -1 for row in range(len(rows))]
    return Attacked(people, tree, seen_of_classes(classes_of(rows, of_row), tree, data.person, people))


def copied_as_tiles(data, tree, people):
    rows = [sorted(tree.leaf_nodes[people.leaf[a:b]].tolist()) for a, b in pairwise(people.start.tolist())]
    sets = [list(one) for one in sorted({tuple(row) for row in rows})]
    tiles = tiles_of(sets, [[sets.index(row)] for row in rows])
    return Attacked(people, tree, seen_of_tiles(tiles, data.person, people))


def profiles_of(people):
    return Lists(people.start, people.leaf)


# --- a copy of the originals ---


@pytest.mark.parametrize("copy", [copied, copied_as_tiles])
@pytest.mark.parametrize("how", ["random", "rarest"])
def test_a_copy_singles_out_as_the_originals_do_or_worse(world, copy, how):
    before = unicity(attacked_raw(*world[:0:-1]), SETTING, how)
    after = unicity(copy(*world), SETTING, how)
    for p in KNOWN:
        assert before.unicity[p].attack.tries == after.unicity[p].attack.tries
        assert after.unicity[p].value >= before.unicity[p].value
        assert after.reidentified[p].value == pytest.approx(before.reidentified[p].value)
    assert before.unicity[10].value == after.unicity[10].value == 1
    assert 0 < before.unicity[2].value < 1


@pytest.mark.parametrize("copy", [copied, copied_as_tiles])
def test_a_copy_tells_what_the_originals_tell(world, copy):
    before, after = one_more_item(attacked_raw(*world[:0:-1]), SETTING), one_more_item(copy(*world), SETTING)
    for p in GUESSED_FROM:
        assert after[p].value == before[p].value
    assert after[10].value == 1
    assert before[10].control.value < 0.5
    assert before[10].risk > 0.9


@pytest.mark.parametrize("copy", [copied, copied_as_tiles])
def test_a_copy_links_what_the_originals_link(world, copy):
    before, after = halves(attacked_raw(*world[:0:-1]), SETTING), halves(copy(*world), SETTING)
    assert after.value == before.value == 1
    assert before.control.value < 0.6
    found = found_again(copy(*world), profiles_of(world[2]), SETTING)
    assert found.value > 0.7
    assert found.control.value < 0.05


def test_a_copy_has_the_risks_of_classes_of_the_originals(world):
    before, after = class_risks(attacked_raw(*world[:0:-1]), 5), class_risks(copied(*world), 5)
    assert before == after
    assert after.prosecutor_highest == 1
    assert after.prosecutor_at_risk > 0.9


# --- nothing ---


@pytest.mark.parametrize("how", WAYS)
def test_an_empty_release_is_harmless(world, how):
    _, tree, people = world
    attacked = Attacked(people, tree, nothing_seen(people))
    control = Outsiders(attacked, np.arange(len(people)) % 2 == 0)
    sensitive = np.arange(tree.leaf_count) < 7
    singled = unicity(attacked, SETTING, how, control)
    figures = [
        *singled.unicity.values(),
        *singled.reidentified.values(),
        *one_more_item(attacked, SETTING, control).values(),
        *one_more_item(attacked, SETTING, control, sensitive).values(),
        halves(attacked, SETTING, control),
        found_again(attacked, profiles_of(people), SETTING),
    ]
    assert all(figure.value == figure.risk == 0 for figure in figures)
    assert all(figure.attack.tries > 0 for figure in figures)
    assert class_risks(attacked, 5) == (0, 0, 0, 0, 0)


def test_what_is_above_everything_is_harmless(world):
    data, tree, people = world
    made = classes_of([[0]], [0] * len(data))
    attacked = Attacked(people, tree, seen_of_classes(made, tree, data.person, people))
    assert all(figure.value == 0 for figure in unicity(attacked, SETTING).unicity.values())
    assert all(figure.value == 0 for figure in one_more_item(attacked, SETTING).values())
    assert halves(attacked, SETTING).value == 0
    assert class_risks(attacked, 5).prosecutor_at_risk == 0


# --- planted weaknesses ---


def some_classes(small):
    """Return people in two classes, one of them too small; those of each have one item in common and no other."""
    rows = [["rare", f"x{row}"] for row in range(small)] + [["often", f"y{row}"] for row in range(20)]
    data, tree, people = prepared(ic.Transactions.from_rows(rows))
    node = {name: number for number, name in enumerate(tree.labels.to_pylist())}
    made = classes_of([[0, node["rare"]], [0, node["often"]]], [0] * small + [1] * 20)
    return Attacked(people, tree, seen_of_classes(made, tree, data.person, people))


def test_a_class_that_is_too_small_is_found():
    weak, right = some_classes(4), some_classes(5)
    assert class_risks(weak, 5)[:2] == (1 / 4, pytest.approx(4 / 24))
    assert class_risks(right, 5)[:2] == (1 / 5, 0)
    # The two items of a person are known: one is printed.
    assert unicity(weak, SETTING).unicity[2].attack == (4, 24)
    assert unicity(right, SETTING).unicity[2].attack == (0, 25)
    assert unicity(weak, SETTING).reidentified[2].attack.right == pytest.approx(4 / 4 + 20 / 20)


def test_a_tile_of_one_person_is_found():
    rows = [["a", "b", "c"]] * 10 + [["a", "b", "d"]]
    data, tree, people = prepared(ic.Transactions.from_rows(rows))
    node = {name: number for number, name in enumerate(tree.labels.to_pylist())}
    sets = [[node["a"], node["b"]], [node["d"]]]
    for held, singled in (([[0]] * 11, 0), ([[0]] * 10 + [[0, 1]], 1)):
        number = 1 + singled
        attacked = Attacked(people, tree, seen_of_tiles(tiles_of(sets[:number], held), data.person, people))
        assert unicity(attacked, SETTING, "rarest").unicity[1].attack == (singled, 11)
        assert class_risks(attacked, 5).prosecutor_at_risk == pytest.approx(singled / 11)
        assert class_risks(attacked, 5).prosecutor_highest == (1 if singled else 1 / 11)


def test_classes_that_print_the_same_are_one_record():
    rows = [["a", f"x{row}"] for row in range(10)] + [["b", "c"]] * 5
    data, tree, people = prepared(ic.Transactions.from_rows(rows))
    node = {name: number for number, name in enumerate(tree.labels.to_pylist())}
    made = classes_of([[node["a"]], [node["a"]], [node["b"], node["c"]]], [0] * 5 + [1] * 5 + [2] * 5)
    attacked = Attacked(people, tree, seen_of_classes(made, tree, data.person, people))
    assert attacked.seen.people.tolist() == [10, 5]
    assert class_risks(attacked, 6).prosecutor_at_risk == pytest.approx(5 / 15)
    assert found_again(attacked, profiles_of(people), SETTING).attack.right == pytest.approx(1 + 1)


def test_records_that_differ_in_how_often_they_print_an_item_are_two():
    data, tree, people = prepared(ic.Transactions.from_rows([["a", "b"]] * 6))
    made = classes_of([[0], [0]], [0] * 3 + [1] * 3)
    made.counts[1] = 2
    attacked = Attacked(people, tree, seen_of_classes(made, tree, data.person, people))
    assert attacked.seen.people.tolist() == [3, 3]


def test_a_control_group_that_is_found_as_often_leaves_no_risk(world):
    """Outsiders are looked for in the same release here, so that half of them are in it: the risk is nearly nothing."""
    attacked = copied(*world)
    control = Outsiders(attacked, np.ones(len(world[2]), np.bool_))
    assert halves(attacked, SETTING, control).risk == 0
    assert all(figure.risk == 0 for figure in one_more_item(attacked, SETTING, control).values())
    assert all(figure.risk == 0 for figure in unicity(attacked, SETTING, control=control).unicity.values())


# --- small data ---


@pytest.mark.parametrize(
    "rows",
    [
        [["a", "b", "c"]],
        [["a"]],
        [["a", "b", "c", "d", "e", "f", "g"]] * 9,
        [[], [], ["a", "b"], []],
        [[]],
        [],
    ],
    ids=["one person", "one item", "everybody equal", "people without items", "nothing", "nobody"],
)
@pytest.mark.parametrize("make", ["raw", "copied", "nothing"])
def test_small_data_break_nothing(rows, make):
    everything = ["a", "b", "c", "d", "e", "f", "g"]
    data = Transactions.from_rows([*rows, everything])
    tree = ic.balanced(data, 2)
    some = Transactions(
        data.indptr[: len(rows) + 1],
        data.items[: data.indptr[len(rows)]],
        data.counts[: data.indptr[len(rows)]],
        data.vocabulary,
        data.owners[: len(rows)],
    )
    people = People.of(some, tree)
    attacked = {
        "raw": lambda: attacked_raw(people, tree),
        "copied": lambda: copied(some, tree, people),
        "nothing": lambda: Attacked(people, tree, nothing_seen(people)),
    }[make]()
    for how in WAYS:
        for figure in unicity(attacked, SETTING, how).unicity.values():
            assert 0 <= figure.value <= 1
            assert 0 <= figure.risk_interval.low <= figure.risk_interval.high <= 1
    assert halves(attacked, SETTING).risk >= 0
    assert set(one_more_item(attacked, SETTING)) == set(GUESSED_FROM)
    assert found_again(attacked, profiles_of(people), SETTING).risk >= 0
    risks = class_risks(attacked, 5, population=1000)
    assert risks.people == (0 if make == "nothing" else sum(map(bool, rows)))


def test_one_person_alone_is_found_again():
    """There is nobody to exchange profiles with, so there is no control that would hide it."""
    world = prepared(ic.Transactions.from_rows([["a", "b"]]))
    found = found_again(copied(*world), profiles_of(world[2]), SETTING)
    assert found == ((1, 1), None)
    assert found.risk == 1
