"""Apriori's loops: the data generalized to a cut, as rows and as holders, stays what it should be."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.kernels.arrays import Rows, Tree, leaf_rows, tree_arrays
from incrowd.methods.apriori.kernel import Cover, cover, lift_rare
from strategies import Case, cases, large_cases


def lifted(case: Case, m: int) -> tuple[Rows, Tree, Cover]:
    """Run the kernel for the sizes 1 to m."""
    data = case.attached()
    rows, tree = leaf_rows(*data[:2]), tree_arrays(data.taxonomy)
    now = cover(rows, tree, data.transactions.person, several=False)
    for size in range(1, m + 1):
        lift_rare(now, tree, case.k, size)
    return rows, tree, now


def nodes_of(now: Cover, row: int) -> list[int]:
    return now.node[now.start[row] : now.start[row] + now.length[row]].tolist()


@settings(max_examples=150)
@given(st.one_of(cases(), large_cases()), st.integers(0, 3))
def test_rows_are_the_nodes_above_their_leaves(case, m):
    rows, _, now = lifted(case, m)
    for row in range(len(now.length)):
        leaves = rows.leaf[rows.start[row] : rows.start[row + 1]]
        assert nodes_of(now, row) == np.unique(now.on_cut[leaves]).tolist()


@given(st.one_of(cases(), large_cases()), st.integers(0, 3))
def test_holders_are_the_rows_that_hold_a_node(case, m):
    _, tree, now = lifted(case, m)
    shown = [nodes_of(now, row) for row in range(len(now.length))]
    for node in np.unique(now.on_cut).tolist():
        start = now.holder_start[tree.first_leaf[node]]
        holders = now.holder[start : start + now.support[node]].tolist()
        assert sorted(holders) == [row for row, nodes in enumerate(shown) if node in nodes]


@given(st.one_of(cases(), large_cases()), st.integers(0, 3))
def test_the_cut_covers_every_leaf_once(case, m):
    _, tree, now = lifted(case, m)
    leaf = 0
    while leaf < len(now.on_cut):
        node = now.on_cut[leaf]
        assert tree.first_leaf[node] == leaf
        assert (now.on_cut[leaf : tree.last_leaf[node]] == node).all()
        leaf = tree.last_leaf[node]


@given(st.one_of(cases(), large_cases()), st.integers(0, 3))
def test_the_loss_is_kept_up_to_date(case, m):
    rows, tree, now = lifted(case, m)
    charged = rows.times * tree.weight[now.on_cut[rows.leaf]]
    for node in range(len(tree.parent)):
        below = (tree.first_leaf[node] <= rows.leaf) & (rows.leaf < tree.last_leaf[node])
        assert now.full_loss[node] == tree.weight[node] * rows.times[below].sum()
        if now.on_cut[tree.first_leaf[node]] >= node:  # on the cut, or above it
            assert now.loss[node] == charged[below].sum()


def test_long_rows_find_room_at_every_depth():
    """All subsets of up to 12 nodes are looked at and shared: nothing may be generalized."""
    items = [f"i{i:02}" for i in range(12)]
    case = Case({"R": items}, [items, items, items[3:], items[:2]], 2)
    _, tree, now = lifted(case, 12)
    assert now.on_cut.tolist() == tree.leaf_nodes.tolist()


def test_the_last_itemset_of_a_long_row_is_found():
    """Only {c, d, e} together is rare, the last of all triples."""
    rows = [["a", "b", "c", "d", "e"], ["a", "b", "c", "d"], ["a", "b", "c", "e"], ["a", "b", "d", "e"]]
    case = Case({"R": ["a", "b", "X"], "X": ["c", "d", "e"]}, rows, 2)
    _, tree, now = lifted(case, 2)
    assert now.on_cut.tolist() == tree.leaf_nodes.tolist()
    _, _, now = lifted(case, 3)
    assert now.on_cut.tolist() == [1, 2, 3, 3, 3]
