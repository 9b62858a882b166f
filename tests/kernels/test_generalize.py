"""What rows publish and keep, against the naive reference; and what it means to generalize, twice."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import reference
from golden import GOLDEN
from incrowd.kernels.arrays import leaf_rows, tree_arrays
from incrowd.kernels.generalize import smallest_counts, what_is_kept
from incrowd.methods.partition.kernel import split_rows, whole
from strategies import cases, trees


@given(cases())
def test_smallest_counts(case):
    data, bags, tree = case.attached(), case.bags(), case.tree()
    rows, arrays = leaf_rows(*data[:2]), tree_arrays(data.taxonomy)
    everyone = whole(arrays, np.flatnonzero(np.diff(rows.start) > 0))
    groups = split_rows(rows, arrays, everyone, case.k, 0)
    counts = smallest_counts(rows, arrays, groups)
    names = list(tree.path)
    for g in range(len(groups.row_start) - 1):
        members = tuple(groups.rows[groups.row_start[g] : groups.row_start[g + 1]].tolist())
        part = slice(groups.node_start[g], groups.node_start[g + 1])
        nodes = tuple(names[node] for node in groups.nodes[part])
        expected = reference.lg_bag(tree, bags, [reference.Group(members, nodes)])[members[0]]
        assert dict(zip(nodes, counts[part].tolist(), strict=True)) == expected


@st.composite
def releases(draw):
    """Draw a case and any bag of nodes for each of its rows, or none: not only what a method would publish."""
    case = draw(cases())
    bag = st.dictionaries(st.sampled_from(list(case.tree().path)), st.integers(1, 3), max_size=5)
    return case, [draw(st.none() | bag) for _ in case.rows]


@given(releases())
def test_what_is_kept(release):
    case, published = release
    data, bags, tree = case.attached(), case.bags(), case.tree()
    bag_list = [sorted((tree.order[node], count) for node, count in (bag or {}).items()) for bag in published]
    pairs = [pair for bag in bag_list for pair in bag]
    kept = what_is_kept(
        leaf_rows(*data[:2]),
        tree_arrays(data.taxonomy),
        np.array([-1 if bag is None else row for row, bag in enumerate(published)], dtype=np.int32),
        np.cumsum([0, *map(len, bag_list)]),
        np.array([node for node, _ in pairs], dtype=np.int32),
        np.array([count for _, count in pairs], dtype=np.int32),
    )
    occurrences = data.transactions.occurrences
    charged = Fraction(kept.weight, tree.size) + kept.lost
    assert charged == reference.ncp(tree, bags, published) * occurrences
    assert kept.exactly == reference.kept_exactly(bags, published) * occurrences


@given(trees(), st.data())
def test_halls_condition_is_the_same_as_a_matching(children, data):
    tree = reference.Tree(children)
    leaves = st.sampled_from([node for node in tree.path if tree.is_leaf(node)])
    original = data.draw(st.lists(leaves, max_size=5))
    above = st.sampled_from(sorted({node for item in original for node in tree.path[item]}) or [tree.root])
    published, original = reference.bag_of(data.draw(st.lists(above, max_size=5))), reference.bag_of(original)
    assert reference.generalizes(tree, published, original) == reference.generalizes_by_matching(
        tree, published, original
    )


def test_the_clump_papers_fifteen_generalizations():
    """Milani Fard & Wang, SECRYPT 2010, Example 1: <orange, beef> has 15 generalizations."""
    tree = reference.Tree(GOLDEN["clump"]["taxonomy"])
    nodes, original = list(tree.path), {"orange": 1, "beef": 1}
    bags = [{}, *({node: 1} for node in nodes)]
    bags += [reference.bag_of([a, b]) for i, a in enumerate(nodes) for b in nodes[i:]]
    both = [reference.generalizes(tree, bag, original) for bag in bags]
    assert both == [reference.generalizes_by_matching(tree, bag, original) for bag in bags]
    assert sum(both) == GOLDEN["clump"]["number_of_generalizations_of_<orange,beef>"]
