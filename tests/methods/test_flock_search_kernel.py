"""Flock's local search against the naive reference, and what no search may break."""

from __future__ import annotations

import random
from itertools import chain
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
import reference_flock as naive
from incrowd.kernels.arrays import leaf_rows, tree_arrays
from incrowd.kernels.lcg import ancestor_rows
from incrowd.methods.flock.growing import NONE
from incrowd.methods.flock.search import improve_groups
from methods.test_flock_growing_kernel import lm_in_leaves, losses_of
from strategies import Case, cases, large_cases

tries = st.sampled_from([1, 2, 8, 100])


class Given(NamedTuple):
    """A case, a loss in whole numbers, groups of k to 2k - 1 of its rows, and which of them may change rows."""

    case: Case
    loss: naive.Loss
    groups: list[list[int]]
    some: list[int]

    def some_groups(self) -> list[list[int]]:
        return [list(self.groups[group]) for group in self.some]

    def loses(self, groups: list[list[int]]) -> int:
        return int(naive.loss_of_groups(self.case.tree(), self.case.bags(), groups, self.loss))


@st.composite
def givens(draw: st.DrawFn) -> Given:
    case = draw(st.one_of(cases(), large_cases().map(lambda case: case._replace(rows=case.rows[:28]))))
    case = case._replace(k=draw(st.integers(2, min(5, case.k))))
    dice = draw(st.randoms(use_true_random=False))
    rows = [row for row, items in enumerate(case.rows) if items]
    dice.shuffle(rows)
    groups = []
    while len(rows) >= case.k:
        size = dice.randint(case.k, min(2 * case.k - 1, len(rows)))
        groups.append(rows[:size])
        rows = rows[size:]
    some = draw(st.permutations(range(len(groups))))
    return Given(case, draw(losses_of(case)), groups, some[: draw(st.integers(0, len(some)))])


class Improved(NamedTuple):
    """What the kernel returns and leaves behind."""

    gain: int
    groups: list[list[int]]
    room: np.ndarray


def improved(given: Given, most_tries: int) -> Improved:
    k, data = given.case.k, given.case.attached()
    members = np.full((len(given.groups), 2 * k - 1), NONE, np.int64)
    for line, rows in zip(members, given.groups, strict=True):
        line[: len(rows)] = rows
    size = np.array([len(rows) for rows in given.groups], dtype=np.int64)
    weight = np.array(naive.weights(given.case.tree(), given.loss), dtype=np.int64)
    room = np.full(len(weight), NONE, np.int32)
    bags = ancestor_rows(leaf_rows(*data[:2]), tree_arrays(data.taxonomy))
    some = np.array(given.some, dtype=np.int64)
    gain = improve_groups(bags, weight, members, size, some, k, most_tries, room)
    groups = [line[:n].tolist() for line, n in zip(members, size, strict=True)]
    return Improved(int(gain), groups, room)


@settings(max_examples=120)
@given(givens(), tries)
def test_equals_the_reference(given, most_tries):
    k, expected = given.case.k, given.some_groups()
    gain = naive.improve(
        given.case.tree(), given.case.bags(), given.loss, expected, k=k, most=2 * k - 1, tries=most_tries
    )
    found = improved(given, most_tries)
    assert [found.groups[group] for group in given.some] == expected
    assert found.gain == gain


@settings(max_examples=60)
@given(givens(), tries)
def test_the_loss_shrinks_by_the_gain_exactly(given, most_tries):
    found = improved(given, most_tries)
    assert found.gain >= 0
    assert given.loses(found.groups) == given.loses(given.groups) - found.gain


@settings(max_examples=60)
@given(givens(), tries)
def test_groups_keep_their_sizes_and_no_row_is_lost(given, most_tries):
    k, found = given.case.k, improved(given, most_tries)
    assert all(k <= len(group) < 2 * k for group in found.groups)
    assert sorted(chain(*found.groups)) == sorted(chain(*given.groups))
    assert (found.room == NONE).all()


@settings(max_examples=60)
@given(givens(), tries)
def test_other_groups_are_left_alone(given, most_tries):
    found = improved(given, most_tries)
    others = set(range(len(given.groups))) - set(given.some)
    assert all(found.groups[group] == given.groups[group] for group in others)
    within = [
        sorted(row for group in given.some for row in groups[group])
        for groups in (found.groups, given.groups)
    ]
    assert within[0] == within[1]


@settings(max_examples=40)
@given(givens())
def test_repeated_passes_come_to_an_end(given):
    """Every pass that changes anything gains a whole number at least, so at last nothing pays any more."""
    passes = 0
    while (found := improved(given, 100)).gain:
        given = given._replace(groups=found.groups)
        passes += 1
        assert passes < 100
    assert found.groups == given.groups


def of(rows: list[list[str]], k: int, groups: list[list[int]]) -> Given:
    case = Case({"R": ["a", "b", "c"]}, rows, k)
    return Given(case, lm_in_leaves(case.tree()), groups, list(range(len(groups))))


def test_rows_change_places():
    """<a> and <b> sit with the other's like; each that is put right saves the root twice."""
    found = improved(of([["a"], ["b"], ["a"], ["b"]], 2, [[0, 1], [2, 3]]), 8)
    assert sorted(map(sorted, found.groups)) == [[0, 2], [1, 3]]
    assert found.gain == 4 * 2  # four occurrences lost all, M - 1 = 2


def test_a_row_moves_where_there_is_room():
    """The group of three lets <b> go; the last row takes its place."""
    found = improved(of([["b"], ["a"], ["a"], ["b"], ["b"]], 2, [[0, 1, 2], [3, 4]]), 8)
    assert found.groups == [[2, 1], [3, 4, 0]]


@pytest.mark.parametrize("groups", [[[0, 1], [2, 3]], [[2, 3, 4], [0, 1, 5]]])
def test_nothing_changes_where_nothing_pays(groups):
    rows = [["a"], ["a"], ["b"], ["b"], ["b"], ["a"]]
    assert improved(of(rows, 2, groups), 8)[:2] == (0, groups)


def test_a_group_of_k_gives_nobody_away_and_one_of_2k_less_1_takes_nobody():
    rows = [["a"]] * 4 + [["b"]]
    assert improved(of(rows, 2, [[0, 1, 2], [3, 4]]), 8).gain == 0
    assert improved(of([*rows, ["b"]], 2, [[0, 1, 2], [3, 4, 5]]), 8).gain == 0


def test_only_the_groups_most_alike_are_tried():
    """<c> is most like {<c>, <c>}, where nothing pays; the next like it would give <b c> for it, to <b>."""
    given = of([["c"], ["b"], ["c"], ["c"], ["b", "c"], ["c"]], 2, [[0, 1], [2, 3], [4, 5]])
    assert improved(given, 1)[:2] == (0, given.groups)
    assert improved(given, 2)[:2] == (4, [[4, 1], [2, 3], [0, 5]])


def test_many_changes_need_no_more_room():
    """The pool of lists is tidied up when it is full: 150 pairs of like rows, and at first all are with strangers."""
    dice = random.Random(5)
    items = [f"i{n:03}" for n in range(600)]
    kinds = [items[at : at + 4] for at in range(0, 600, 4)]
    rows = [list(kind) for kind in kinds * 2]
    for row in rows:
        row[0] = dice.choice(items)
    dice.shuffle(rows)
    case = Case(reference.balanced(items, 600), rows, 2)
    groups = [[at, at + 1] for at in range(0, 300, 2)]
    given = Given(case, lm_in_leaves(case.tree()), groups, list(range(150)))
    found = improved(given, 150)
    assert given.loses(found.groups) == given.loses(groups) - found.gain
    assert found.gain > given.loses(groups) // 5
