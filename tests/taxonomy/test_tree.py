"""The arrays of a taxonomy against a naive recursive construction."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from incrowd.errors import BadInputError
from incrowd.taxonomy import Taxonomy
from strategies import trees


def ints(values) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def shuffled(children, dice) -> tuple[Taxonomy, reference.Tree]:
    """Return a tree whose nodes are numbered at random; siblings keep the order of their numbers."""
    names = list(children)
    dice.shuffle(names)
    number = {name: i for i, name in enumerate(names)}
    parent = [-1] * len(names)
    for node, below in children.items():
        for child in below:
            parent[number[child]] = number[node]
    ordered = {node: sorted(below, key=number.__getitem__) for node, below in children.items()}
    return Taxonomy.from_parents(ints(parent), pa.array(names), name="shuffled"), reference.Tree(ordered)


@given(trees(), st.randoms(use_true_random=False))
def test_arrays(children, dice):
    found, tree = shuffled(children, dice)
    nodes = list(tree.path)
    leaves = [node for node in nodes if tree.is_leaf(node)]
    below = [[leaf for leaf in leaves if tree.covers(node, leaf)] for node in nodes]
    assert found.labels.to_pylist() == nodes
    assert found.parent.tolist() == [
        tree.order[way[-2]] if len(way) > 1 else -1 for way in tree.path.values()
    ]
    assert found.end.tolist() == [
        1 + max(tree.order[n] for n in nodes if tree.covers(node, n)) for node in nodes
    ]
    assert found.is_leaf.tolist() == [tree.is_leaf(node) for node in nodes]
    assert found.leaf_nodes.tolist() == [tree.order[leaf] for leaf in leaves]
    assert found.first_leaf.tolist() == [leaves.index(covered[0]) for covered in below]
    assert found.last_leaf.tolist() == [leaves.index(covered[-1]) + 1 for covered in below]
    assert found.level.tolist() == [tree.level(node) for node in nodes]
    assert (len(found), found.leaf_count) == (len(nodes), len(leaves))
    assert found.height == max(map(tree.level, nodes))


@given(trees(), st.randoms(use_true_random=False))
def test_children(children, dice):
    found, tree = shuffled(children, dice)
    nodes = list(tree.path)
    for v, node in enumerate(nodes):
        family = found.children[found.child_start[v] : found.child_start[v + 1]]
        assert [nodes[child] for child in family] == list(tree.children[node])


@given(trees(), st.randoms(use_true_random=False))
def test_losses_of_nodes(children, dice):
    found, tree = shuffled(children, dice)
    assert found.lm.tolist() == pytest.approx([float(tree.lm(node)) for node in tree.path])
    assert found.ncp.tolist() == pytest.approx([float(tree.ncp(node)) for node in tree.path])
    assert found.ic.tolist() == pytest.approx([tree.ic(node) for node in tree.path])


@given(trees(), st.randoms(use_true_random=False), st.data())
def test_ancestors(children, dice, data):
    found, tree = shuffled(children, dice)
    chosen = data.draw(st.lists(st.sampled_from(list(tree.path))))
    expected = sorted({tree.order[above] for node in chosen for above in tree.path[node]})
    assert found.ancestors(ints([tree.order[node] for node in chosen])).tolist() == expected


def test_losses_by_hand():
    """LM = (leaves - 1) / (M - 1); NCP = leaves / M, 0 for a leaf; IC = log leaves / log M."""
    tree = Taxonomy.from_parents(ints([-1, 0, 1, 1, 1, 0]), pa.array(list("RAxyzb")), name="t")
    assert tree.lm.tolist() == [1, 2 / 3, 0, 0, 0, 0]
    assert tree.ncp.tolist() == [1, 3 / 4, 0, 0, 0, 0]
    assert tree.ic.tolist() == pytest.approx([1, math.log(3) / math.log(4), 0, 0, 0, 0])


def test_one_node():
    tree = Taxonomy.from_parents(ints([-1]), pa.array(["only"]), name="t")
    assert (tree.leaf_count, tree.height, tree.level.tolist()) == (1, 1, [1])
    assert tree.lm.tolist() == tree.ncp.tolist() == tree.ic.tolist() == [0.0]
    assert tree.child_start.tolist() == [0, 0]


def test_a_chain_above_one_leaf_charges_for_its_inner_nodes():
    tree = Taxonomy.from_parents(ints([-1, 0]), pa.array(["top", "leaf"]), name="t")
    assert tree.ncp.tolist() == [1.0, 0.0]
    assert tree.lm.tolist() == [0.0, 0.0]


def test_labels_of_nodes():
    tree = Taxonomy.from_parents(ints([-1, 0, 0]), pa.array(list("Rab")), name="t")
    assert tree.labels_of(ints([2, 0])).to_pylist() == ["b", "R"]


def test_shows_its_shape():
    tree = Taxonomy.from_parents(ints([-1, 0, 0]), pa.array(list("Rab")), name="t")
    assert repr(tree) == "Taxonomy('t', 3 nodes, 2 leaves, 2 levels)"


@pytest.mark.parametrize(
    ("parent", "says"),
    [
        ([-1, -1], r"^a taxonomy needs exactly one root \(found 2\)$"),
        ([1, 0], r"^a taxonomy needs exactly one root \(found 0\)$"),
        ([-1, 2, 1], r"^a taxonomy must not contain a cycle \(2 nodes never reach the root\)$"),
    ],
)
def test_what_is_not_a_tree(parent, says):
    with pytest.raises(BadInputError, match=says):
        Taxonomy.from_parents(ints(parent), pa.array([str(i) for i in range(len(parent))]), name="t")
