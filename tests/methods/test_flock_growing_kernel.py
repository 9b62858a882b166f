"""Flock's greedy start against the naive reference, in any order of the rows and with any loss."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
import reference_flock as naive
from incrowd.kernels.arrays import leaf_rows, tree_arrays
from incrowd.kernels.lcg import AncestorRows, ancestor_rows
from incrowd.methods.flock.growing import NONE, grow_groups, join_leftovers
from strategies import Case, cases, large_cases

IN_WHOLE_NUMBERS = 1 << 32


def lm_in_leaves(tree: reference.Tree) -> naive.Loss:
    """(M - 1) * LM: whole numbers, so that ties are ties."""
    return naive.Loss({node: leaves - 1 for node, leaves in tree.leaves.items()}, max(tree.size - 1, 1))


def ic_in_small_parts(tree: reference.Tree) -> naive.Loss:
    loss = naive.mixed_loss(tree, 1)
    return naive.Loss({n: round(x * IN_WHOLE_NUMBERS) for n, x in loss.of_node.items()}, IN_WHOLE_NUMBERS)


def any_loss(tree: reference.Tree, seed: int) -> naive.Loss:
    """Some loss that grows towards the root: 0 for leaves, and the root's need not be all."""
    dice = random.Random(seed)
    loss: dict[str, float] = {}
    for node in reversed(tree.path):
        below = [loss[child] for child in tree.children.get(node, ())]
        loss[node] = max(below) + dice.randint(0, 4) if below else 0
    return naive.Loss(loss, loss[tree.root] + dice.randint(0, 2))


class Given(NamedTuple):
    """A case, a loss in whole numbers, and some of its rows in some order: both views of them."""

    case: Case
    loss: naive.Loss
    rows: list[int]

    def bags(self) -> AncestorRows:
        data = self.case.attached()
        return ancestor_rows(leaf_rows(*data[:2]), tree_arrays(data.taxonomy))

    def weight(self) -> np.ndarray:
        return np.array(naive.weights(self.case.tree(), self.loss), dtype=np.int64)

    def named(self) -> tuple[Any, ...]:
        """Return what every function of the reference begins with."""
        return self.case.tree(), self.case.bags(), self.loss


def losses_of(case: Case) -> st.SearchStrategy[naive.Loss]:
    tree = case.tree()
    return st.one_of(
        st.just(lm_in_leaves(tree)),
        st.just(ic_in_small_parts(tree)),
        st.integers(0, 2**32 - 1).map(lambda seed: any_loss(tree, seed)),
    )


@st.composite
def givens(draw: st.DrawFn) -> Given:
    case = draw(st.one_of(cases(), large_cases().map(lambda case: case._replace(rows=case.rows[:40]))))
    filled = [row for row, items in enumerate(case.rows) if items]
    rows = draw(st.permutations(filled))
    return Given(case, draw(losses_of(case)), rows[: draw(st.integers(0, len(rows)))])


def grown(given: Given) -> tuple[list[list[int]], list[int], np.ndarray]:
    """Return the kernel's groups (rows ascending), the leftovers, and the room to number nodes."""
    weight, rows = given.weight(), np.array(given.rows, dtype=np.int64)
    room = np.full(len(weight), NONE, np.int32)
    group = grow_groups(given.bags(), weight, given.loss.of_nothing, rows, given.case.k, room)
    found = [sorted(rows[group == g].tolist()) for g in range(len(rows) // given.case.k)]
    assert group.max(initial=NONE) == len(found) - 1
    return found, rows[group == NONE].tolist(), room


def joined(given: Given, groups: list[list[int]], leftovers: list[int]) -> list[list[int]]:
    k = given.case.k
    members = np.full((len(groups), 2 * k - 1), NONE, np.int64)
    members[:, :k] = groups
    join_leftovers(given.bags(), given.weight(), members, np.array(leftovers, dtype=np.int64), k)
    return [[row for row in line.tolist() if row != NONE] for line in members]


@settings(max_examples=200)
@given(givens())
def test_groups_equal_the_reference(given):
    groups, leftovers = naive.grow(*given.named(), given.rows, given.case.k)
    found, left, room = grown(given)
    assert found == [sorted(group) for group in groups]
    assert left == leftovers
    assert (room == NONE).all()


@settings(max_examples=150)
@given(givens(), st.randoms(use_true_random=False))
def test_leftovers_equal_the_reference(given, dice):
    """Any groups will do, the greedy ones and others."""
    k, rows = given.case.k, list(given.rows)
    whole = len(rows) // k * k
    if not whole:
        return
    if dice.random() < 0.5:
        dice.shuffle(rows)
    groups = [rows[at : at + k] for at in range(0, whole, k)]
    expected = [list(group) for group in groups]
    naive.join_leftovers(*given.named(), expected, rows[whole:])
    assert joined(given, groups, rows[whole:]) == expected


@settings(max_examples=40)
@given(givens())
def test_the_input_is_left_alone(given):
    bags, weight, rows = given.bags(), given.weight(), np.array(given.rows, dtype=np.int64)
    before = [array.copy() for array in (*bags, weight, rows)]
    grow_groups(bags, weight, given.loss.of_nothing, rows, given.case.k, np.full(len(weight), NONE, np.int32))
    assert all(map(np.array_equal, before, (*bags, weight, rows)))


def of(rows: list[list[str]], k: int, order: list[int] | None = None) -> Given:
    case = Case({"R": ["X", "Y"], "X": ["a", "b"], "Y": ["c", "d"]}, rows, k)
    return Given(case, lm_in_leaves(case.tree()), list(range(len(rows))) if order is None else order)


def test_the_longest_row_comes_first_and_takes_its_like():
    """<a a a> and <a a b> have X thrice; <c> and <d> have Y."""
    assert grown(of([["c"], ["a", "a", "b"], ["d"], ["a", "a", "a"]], 2))[:2] == ([[1, 3], [0, 2]], [])


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 2, 0, 1, 3]])
def test_equals_are_taken_in_the_order_of_the_block(order):
    found, left, _ = grown(of([["a"]] * 5, 2, order))
    assert found == [sorted(order[:2]), sorted(order[2:4])]
    assert left == order[4:]


def test_a_group_has_what_all_of_it_have_not_only_the_seed():
    """With <b b> the seed <a a b b> has no a left, so <b b c> comes next and not <a a>, which is nearer to the seed."""
    rows = [["a", "a", "b", "b"], ["b", "b"], ["a", "a"], ["b", "b", "c"]]
    assert grown(of(rows, 3))[:2] == ([[0, 1, 3]], [2])


def test_leftovers_go_where_they_spoil_least_and_groups_that_grew_cost_more():
    """<a> joins the <a>s for nothing; <c c c> loses least with the short rows."""
    groups = [[0, 1], [2, 3]]
    given = of([["c", "c"], ["c", "c"], ["a"], ["a"], ["a"], ["c", "c", "c"]], 2)
    assert joined(given, groups, [4]) == [[0, 1], [2, 3, 4]]
    assert joined(given, groups, [5]) == [[0, 1, 5], [2, 3]]
    assert joined(of([["a"]] * 5, 2), groups, [4]) == [[0, 1, 4], [2, 3]]


def test_a_group_that_lost_much_has_less_to_lose():
    """<a> spoils <a a a a> for 8, <c c c> for 9 (in thirds); after that <a c> is better off with it than with <c c c>."""
    given = of([["a"] * 4] * 3 + [["c"] * 3] * 3 + [["a"], ["a", "c"]], 3)
    assert joined(given, [[0, 1, 2], [3, 4, 5]], [6, 7]) == [[0, 1, 2, 6, 7], [3, 4, 5]]


def test_fewer_rows_than_a_group_are_all_left_over():
    assert grown(of([["a"], ["b"]], 3))[:2] == ([], [0, 1])


def test_large_sums_do_not_overflow():
    """A million copies, weights of 2^32 and groups of 100: close to 2^59."""
    case = Case({"R": ["a", "b"]}, [["a"], ["b"]] * 100, 100)
    given = Given(
        case, naive.Loss({"R": IN_WHOLE_NUMBERS, "a": 0, "b": 0}, IN_WHOLE_NUMBERS), list(range(200))
    )
    bags, room = given.bags(), np.full(3, NONE, np.int32)
    many = bags._replace(times=bags.times * 1_000_000)
    group = grow_groups(many, given.weight(), IN_WHOLE_NUMBERS, np.arange(200), 100, room)
    assert group.tolist() == [0, 1] * 100
