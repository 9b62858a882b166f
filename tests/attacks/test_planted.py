"""Planted accounts on hand-made data, and what is said of attacks that have no meaning."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import incrowd as ic
from incrowd.attacks import planted
from incrowd.attacks.attacked import Setting
from incrowd.attacks.fitting import reason_against
from incrowd.attacks.planted import (
    Target,
    look_into_records,
    look_into_tiles,
    planted_in_records,
    planted_in_tiles,
    with_accounts,
)
from incrowd.attacks.result import ATTACKS
from incrowd.core.activity import Activity
from incrowd.errors import BadInputError
from incrowd.methods.registry import METHODS
from risk_worlds import classes_of, tiles_of

SETTING = Setting(k=3, seed=2)


def runner(tree, method, **how):
    """Return a function that runs a method as a caller does."""

    def run(rows):
        made = ic.anonymize(rows, tree, method=method, k=SETTING.k, **how)
        return made.classes if hasattr(made, "classes") else made.tiles

    return run


def items_of(data, *names):
    return np.array([data.vocabulary.index(name).as_py() for name in names], np.int32)


def random_rows(people=60, seed=1, frequent=30):
    """People with four frequent words; every third has a word of their own beside them."""
    dice = random.Random(seed)
    rows = [dice.sample([f"word{i:02}" for i in range(frequent)], 4) for _ in range(people)]
    return [row + [f"own{i}"] * (i % 3 == 0) for i, row in enumerate(rows)]


# --- what is looked at ---


def test_a_record_of_a_target_and_accounts_only_is_found():
    data = ic.Transactions.from_rows([["a", "b"], ["c"], ["c"]])
    tree = ic.balanced(data, 5)
    node = dict(zip(tree.labels.to_pylist(), range(len(tree)), strict=True))
    target = Target(0, items_of(data, "a"), items_of(data, "b"))
    rows = with_accounts(data, [target.planted], 2)
    sets = [[node["a"]], [node["b"], node["c"]]]
    (look,) = look_into_records(classes_of(sets, [0, 1, 1, 0, 0]), tree, rows, [target], 2)
    assert look.alone
    assert look.nodes.tolist() == [node["a"]]
    (look,) = look_into_records(classes_of(sets, [0, 0, 1, 0, 0]), tree, rows, [target], 2)
    assert not look.alone  # somebody else is with them
    (look,) = look_into_records(classes_of(sets, [-1, 1, 1, 0, 0]), tree, rows, [target], 2)
    assert not look.alone  # the target is withheld
    (look,) = look_into_records(classes_of([sets[0], sets[0]], [0, 1, 1, 0, 0]), tree, rows, [target], 2)
    assert not look.alone  # both classes publish the same record
    (look,) = look_into_records(classes_of(sets, [1, 1, 1, -1, -1]), tree, rows, [target], 2)
    assert not look.alone
    assert look.nodes.tolist() == []


def test_a_tile_of_a_target_and_accounts_only_is_found():
    data = ic.Transactions.from_rows([["a", "b"], ["b"], ["b"]])
    tree = ic.balanced(data, 5)
    node = dict(zip(tree.labels.to_pylist(), range(len(tree)), strict=True))
    target = Target(0, items_of(data, "a", "b"), items_of(data, "b"))
    rows = with_accounts(data, [target.planted], 2)
    together, apart = [[node["a"], node["b"]], [node["b"]]], [[node["a"]], [node["b"]]]
    (look,) = look_into_tiles(tiles_of(together, [[0], [1], [1], [0], [0]]), tree, rows, [target], 2)
    assert look.alone
    assert look.nodes.tolist() == [node["a"], node["b"]]
    (look,) = look_into_tiles(tiles_of(apart, [[0, 1], [1], [1], [1], [1]]), tree, rows, [target], 2)
    assert look.alone  # a tile of the target's own
    assert look.nodes.tolist() == [node["a"]]
    (look,) = look_into_tiles(tiles_of(together, [[0], [0], [1], [0], [0]]), tree, rows, [target], 2)
    assert not look.alone


def test_accounts_are_people_of_their_own_who_are_as_old_as_anybody():
    data = ic.Transactions.from_rows([["a", "b"], ["a"], ["c"]], people=["1", "1", "2"])
    data = replace(data, activity=Activity(np.array([4, 4, 2], np.int32), 0, 1), unit="session:1800")
    rows = with_accounts(data, [items_of(data, "c", "a"), items_of(data, "b")], 2)
    assert [dict(row) for row in rows] == [
        {"a": 1, "b": 1},
        {"a": 1},
        {"c": 1},
        *[{"a": 1, "c": 1}] * 2,
        *[{"b": 1}] * 2,
    ]
    assert rows.person.tolist() == [0, 0, 1, 2, 3, 4, 5]
    assert rows.activity.days.tolist() == [4, 4, 2, 4, 4, 4, 4]
    assert rows.vocabulary.equals(data.vocabulary)


# --- whole attacks ---


def test_records_of_people_who_are_far_from_others_are_read_off():
    """Everybody's items are their own: accounts with half of them are nearest, and a guess that is right is printed."""
    data = ic.Transactions.from_rows([[f"{row:02}{item}" for item in "abcdef"] for row in range(30)])
    tree = ic.balanced(data, 3)
    found = planted_in_records(data, tree, runner(tree, "flock"), SETTING)
    assert found.alone.attack.tries == found.read_off.attack.tries == planted.MOST_TARGETS
    assert found.alone.value > 0.5
    assert found.read_off.value > 0.9
    assert found.read_off.control.value < 0.5


def test_one_record_for_all_leaves_nobody_alone():
    data = ic.Transactions.from_rows(random_rows(30))
    tree = ic.balanced(data, 2)
    found = planted_in_records(data, tree, lambda rows: classes_of([[0]], [0] * len(rows)), SETTING)
    assert found.alone.attack == (0, 20)
    assert found.read_off == ((0, 20), (0, 20))


def test_tiles_are_read_off_unless_confidence_holds_them_back():
    data = ic.Transactions.from_rows(random_rows())
    tree = ic.balanced(data, 5)
    open_ = planted_in_tiles(data, tree, runner(tree, "mosaic", confidence=1.0, seed=1), SETTING)
    held = planted_in_tiles(data, tree, runner(tree, "mosaic", confidence=0.6, seed=1), SETTING)
    assert open_.read_off.attack.tries == planted.MOST_TARGETS_OF_TILES == 10
    assert open_.read_off.value > 0.4
    assert open_.read_off.value > open_.read_off.control.value + 0.2
    assert open_.alone.value > 0.5
    assert held.read_off.value < open_.read_off.value / 2


def test_the_same_seed_finds_the_same():
    data = ic.Transactions.from_rows(random_rows(30))
    tree = ic.balanced(data, 5)
    first, second = (planted_in_records(data, tree, runner(tree, "flock"), SETTING) for _ in range(2))
    assert first == second


def test_large_data_are_sampled_and_several_targets_attacked_at_once(monkeypatch):
    monkeypatch.setattr(planted, "MOST_PEOPLE", 40)
    monkeypatch.setattr(planted, "PEOPLE_A_TARGET", 4)
    data = ic.Transactions.from_rows(random_rows(90), people=[f"p{i // 2}" for i in range(90)])
    tree, sizes = ic.balanced(data, 5), []

    def run(rows):
        sizes.append(len(rows))
        return runner(tree, "flock")(rows)

    planted_in_records(data, tree, run, SETTING)
    assert sizes == [80 + 2 * 10] * 6
    sizes.clear()
    planted_in_tiles(data, tree, run, SETTING)
    assert sizes == [80 + 2] * 10
    monkeypatch.setattr(planted, "MOST_ITEMS", 50)
    sizes.clear()
    planted_in_records(data, tree, run, SETTING)
    assert max(sizes) <= 50 / 4 + 2  # four items a row, at the least


@pytest.mark.parametrize("rows", [[["a"]] * 5, [["a", "b"]] * 4, []], ids=["one item", "equal", "nobody"])
def test_data_without_targets_break_nothing(rows):
    data = (
        ic.Transactions.from_rows([*rows, *[["a", "b"]] * 4])[: len(rows)]
        if rows
        else ic.Transactions.from_rows([])
    )
    tree = ic.balanced(ic.Transactions.from_rows([["a", "b"]]), 2) if not rows else ic.balanced(data, 2)
    run = runner(tree, "partition")
    assert 0 <= planted_in_records(data, tree, run, SETTING).read_off.risk <= 1
    assert planted_in_tiles(data, tree, run, SETTING).read_off.attack == (0, 0)


def test_a_method_that_refuses_finds_nothing():
    def run(_):
        raise BadInputError("nothing to publish")

    data = ic.Transactions.from_rows(random_rows(30))
    tree = ic.balanced(data, 5)
    found = planted_in_records(data, tree, run, SETTING), planted_in_tiles(data, tree, run, SETTING)
    assert all(figure.value == 0 and figure.attack.tries for both in found for figure in both)


# --- what has no meaning ---


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("attack", [attack.name for attack in ATTACKS])
def test_every_attack_has_a_meaning_or_a_reason(method, attack):
    known = METHODS[method]
    kind = "tiles" if method == "mosaic" else "list" if known.is_noisy else "records"
    reason = reason_against(attack, method, {}, kind, needs_events=known.needs_events)
    assert reason is None or len(reason) > 10


def test_reasons_say_what_is_published_instead():
    assert reason_against("proven_items", "flock", {}, "records") is None
    assert reason_against("proven_items", "partition", {"publish": "lcg"}, "records") is None
    assert reason_against("proven_items", "partition", {"publish": "set"}, "records") == (
        "partition publishes sets of the cut, not the least common generalization"
    )
    assert reason_against("few_leaves", "mosaic", {"generalize": True}, "tiles") is None
    assert reason_against("few_leaves", "mosaic", {"generalize": False}, "tiles") == "nothing is generalized"
    assert "records" in reason_against("alone", "korolova", {}, "list")
