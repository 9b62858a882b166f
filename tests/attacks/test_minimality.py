"""What minimality proves: hand-made examples, everything that is so, and the naive proofs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd as ic
from incrowd.attacks.minimality import few_leaves, hiding_leaves, prove, proven_by_record, proven_items
from incrowd.attacks.people import People
from incrowd.attacks.seen import nothing_seen, seen_of_tiles
from incrowd.core.classes import Classes
from incrowd.core.ragged import starts_of
from reference_risk import Prover
from risk_worlds import tiles_of, worlds
from strategies import cases


def released(rows, *, k=2, method="flock", fan_out=2, owners=None, **how):
    transactions = ic.Transactions.from_rows(rows, owners=owners)
    return ic.anonymize(transactions, ic.balanced(transactions, fan_out), k=k, method=method, **how)


def figure_of(release):
    """Return how many people are in classes with a proven item, and how many are in any."""
    rows = release.transactions
    return proven_items(
        release.classes, release.taxonomy, rows.person, sets=int(rows.counts.max()) == 1
    ).attack


def test_how_often_one_person_must_have_it():
    release = released([["a"] * 3, ["b"] * 3])
    tree = release.taxonomy
    assert proven_by_record(tree, {0: 3}, sets=False) == dict.fromkeys(tree.leaf_nodes.tolist(), 3)


def test_sets_prove_more_than_bags():
    """Two items at least below a node of three leaves; who lacks the first has both others, unless one twice."""
    release = released([["a", "b"], ["b", "c"], ["a", "c"]], k=3, fan_out=3)
    tree = release.taxonomy
    assert proven_by_record(tree, {0: 2}, sets=False) == {}
    assert proven_by_record(tree, {0: 2}, sets=True) == dict.fromkeys(tree.leaf_nodes.tolist(), 1)
    assert figure_of(release) == (3, 3)


def test_a_concept_that_is_an_item_itself_proves_nothing():
    """'dog' printed may mean the word dog, which a person has; then there need be no poodle."""
    tree = ic.Taxonomy.from_parents(np.array([-1, 0], np.int32), pa.array(["dog", "poodle"]), name="dogs")
    rows = ic.Transactions.from_rows([["dog"], ["dog"], ["dog"], ["poodle"]])
    release = ic.anonymize(rows, tree, k=4, method="clump")
    assert figure_of(release) == (0, 4)
    attached = release.taxonomy
    assert len(attached.leaf_nodes) == 2
    assert proven_by_record(attached, {0: 1}, sets=True) == {}


def least_generalization(tree, bags):
    """Return the record that a class prints, by the definition."""
    below = [
        {node: sum(first <= leaf < last for leaf in bag) for node, first, last in intervals(tree)}
        for bag in bags
    ]
    least = {node: min(counts[node] for counts in below) for node in below[0]}
    children = {node: np.flatnonzero(tree.parent == node).tolist() for node in least}
    printed = {node: least[node] - sum(least[child] for child in children[node]) for node in least}
    return {node: times for node, times in printed.items() if times}


def intervals(tree):
    return zip(range(len(tree)), tree.first_leaf.tolist(), tree.last_leaf.tolist(), strict=True)


@settings(max_examples=150)
@given(
    fan_out=st.integers(2, 3),
    leaves=st.integers(2, 7),
    sizes=st.lists(st.integers(1, 5), min_size=2, max_size=4),
    data=st.data(),
)
def test_what_is_proven_is_true_of_every_class_that_prints_the_same(fan_out, leaves, sizes, data):
    names = [f"{number:02}" for number in range(leaves)]
    sets = data.draw(st.booleans())
    tree = ic.balanced(ic.Transactions.from_rows([names]), fan_out)
    item = st.integers(0, leaves - 1)
    bags = [data.draw(st.lists(item, min_size=1, max_size=size, unique=sets)) for size in sizes]
    printed = least_generalization(tree, bags)
    for leaf, times in proven_by_record(tree, printed, sets=sets).items():
        assert leaf not in printed
        assert max(bag.count(int(tree.first_leaf[leaf])) for bag in bags) >= times


def test_nothing_that_must_be_so_is_missed_in_a_small_tree():
    """Every pair of sets over a tree of four leaves: proven is what all pairs that print the same have in common."""
    tree = ic.balanced(ic.Transactions.from_rows([["1", "2", "3", "4"]]), 2)
    some = [bag for size in (1, 2) for bag in combinations(range(4), size)]
    worlds: dict = {}
    for first in some:
        for second in some:
            printed = least_generalization(tree, [first, second])
            worlds.setdefault(tuple(sorted(printed.items())), []).append({*first, *second})
    found = 0
    for printed, possible in worlds.items():
        nodes = dict(printed)
        sure = {int(tree.leaf_nodes[leaf]) for leaf in set.intersection(*possible)} - set(nodes)
        proven = set(proven_by_record(tree, nodes, sets=True))
        assert proven <= sure
        found += len(proven)
        if all(tree.level[node] == tree.height - 1 for node in nodes if not tree.is_leaf[node]):
            assert proven == sure
    assert found  # something can be proven


# --- the kernel and the naive proofs ---


@given(cases(), st.booleans(), st.data())
def test_the_kernel_proves_what_the_naive_proofs_do(case, sets, data):
    """Whatever is printed: several classes in a row, labels above labels, concepts that are items."""
    tree = case.attached().taxonomy
    node, times = st.integers(0, len(tree) - 1), st.integers(1, 1 if sets else 3)
    printed = data.draw(st.lists(st.dictionaries(node, times, min_size=1, max_size=5), max_size=6))
    nodes = [sorted(record) for record in printed]
    made = Classes(
        np.zeros(0, np.int32),
        starts_of([*map(len, nodes)]),
        np.array([one for record in nodes for one in record], np.int32),
        np.array([printed[i][one] for i, record in enumerate(nodes) for one in record], np.int32),
    )
    found: list[dict[int, int]] = [{} for _ in printed]
    for number, leaf, least in zip(
        *(column.tolist() for column in prove(made, tree, sets=sets)), strict=True
    ):
        found[number][leaf] = least
    naive = Prover(tree.parent.tolist(), tree.labels.to_pylist())
    assert found == [naive.proven(record, sets=sets) for record in printed]


def test_people_count_once_whatever_number_of_records_they_have():
    rows = ic.Transactions.from_rows([["a"], ["b"], ["a"], ["a"]], people=["1", "2", "1", "3"])
    tree = ic.balanced(rows, 2)
    made = Classes(
        np.array([0, 0, 1, 1], np.int32),
        np.array([0, 1, 2]),
        np.array([0, tree.leaf_nodes[0]], np.int32),
        np.ones(2, np.int32),
    )
    assert proven_items(made, tree, rows.person, sets=True).attack == (2, 3)


# --- few leaves ---


def six_leaves():
    rows = ic.Transactions.from_rows([["1", "2", "3"], ["4", "5", "6"]])
    return rows, ic.balanced(rows, 3)


def test_a_class_hides_an_item_among_the_leaves_that_are_not_published():
    _, tree = six_leaves()
    first, second = (int(node) for node in tree.children[tree.child_start[0] : tree.child_start[1]])
    leaves = tree.leaf_nodes.tolist()
    assert hiding_leaves(np.array([0, first, second], np.int32), tree).tolist() == [0, 3, 3]
    assert hiding_leaves(np.array([0, first, leaves[0], leaves[4]], np.int32), tree).tolist() == [2, 2, 1, 1]


def test_a_class_with_too_few_leaves_left_is_found():
    rows, tree = six_leaves()
    first = int(tree.children[tree.child_start[0]])
    people = People.of(rows, tree)
    sets = [[first], [int(tree.leaf_nodes[0])]]

    def share(number, k):
        tiles = tiles_of(sets[:number], [[*range(number)], [number - 1]])
        return few_leaves(seen_of_tiles(tiles, rows.person, people), tree, k).attack

    assert share(1, 3) == (0, 2)  # three leaves hide the item
    assert share(2, 3) == (1, 2)  # one is published, so two are left; one person holds the class
    assert share(2, 2) == (0, 2)
    assert few_leaves(nothing_seen(people), tree, 5).attack == (0, 0)


@settings(max_examples=60)
@given(worlds(), st.integers(2, 5))
def test_few_leaves_are_counted_by_sets(world, k):
    naive, tree = world.naive, world.attacked.tree
    published = {node for labels in naive.sets for node in labels}
    leaves = [node for node in range(len(tree)) if naive.is_leaf(node)]
    hidden = {
        node: [
            leaf
            for leaf in leaves
            if next(up for up in [*naive.way_up(leaf), 0] if up in published | {0}) == node
        ]
        for node in published
        if not naive.is_leaf(node)
    }
    weak = {node for node, some in hidden.items() if len(some) < k}
    exposed = {
        person
        for labels, some in zip(naive.sets, naive.holders, strict=True)
        if labels & weak
        for person in some
    }
    holding = {person for some in naive.holders for person in some}
    assert few_leaves(world.attacked.seen, tree, k).attack == (len(exposed), len(holding))
