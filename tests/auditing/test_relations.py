"""How a published record may relate to its owner's, against brute force."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.auditing.relations import Bag, Generalizing, Standing, count_holders
from incrowd.methods.naming import people_below
from incrowd.taxonomy import attach
from strategies import cases, taxonomy_of, trees


def ways(tree):
    """Return the way from each node up to the root."""
    found = []
    for node in range(len(tree)):
        way = [node]
        while tree.parent[way[-1]] >= 0:
            way.append(int(tree.parent[way[-1]]))
        found.append(way)
    return found


def can_match(published, owned, fits):
    """Tell by trying all orders whether each published copy gets an item of its own."""
    if len(published) > len(owned):
        return False
    return any(
        all(fits(p, o) for p, o in zip(published, some, strict=True))
        for some in permutations(owned, len(published))
    )


def bag_pairs(nodes):
    return sorted(Bag(nodes).items())


@st.composite
def situations(draw):
    tree = taxonomy_of(draw(trees()))
    nodes, leaves = st.integers(0, len(tree) - 1), st.sampled_from(tree.leaf_nodes.tolist())
    return (
        tree,
        draw(st.lists(nodes, max_size=4)),
        draw(st.lists(leaves, max_size=6)),
        draw(st.integers(0, 6)),
    )


@given(situations())
def test_standing_is_matching_within_reach(situation):
    tree, published, owned, within = situation
    above = ways(tree)

    def near(a, b):
        return len(set(above[a]) ^ set(above[b])) <= within

    relation = Standing(tree, within)
    said = relation.holds(relation.wanted(Bag(published)), bag_pairs(owned))
    assert said is can_match(published, owned, near)


@given(situations())
def test_generalizing_is_matching_below(situation):
    tree, published, owned, _ = situation
    above = ways(tree)
    relation = Generalizing(tree, published)
    said = relation.holds(relation.wanted(Bag(published)), bag_pairs(owned))
    assert said is can_match(published, owned, lambda a, b: a in above[b])


def test_a_copy_is_moved_where_another_can_do_without():
    """Node 2 must take node 3's, for node 1 is near node 2's own only."""
    tree = taxonomy_of({"root": ["a", "b", "c"], "a": ["a1", "a2"], "b": [], "c": [], "a1": [], "a2": []})
    names = {name: node for node, name in enumerate(tree.labels.to_pylist())}
    relation = Standing(tree, 2)
    published = Bag([names["b"], names["a1"]])
    assert relation.holds(published, bag_pairs([names["a2"], names["c"]]))
    assert not relation.holds(published, bag_pairs([names["c"]]))


@given(cases(), st.randoms(use_true_random=False))
def test_holders_are_the_different_people_with_something_at_or_below(case, chance):
    people = [str(chance.randrange(1 + len(case.rows) // 2)) for _ in case.rows]
    data = ic.Transactions.from_rows(case.rows, people=people)
    data, tree, *_ = attach(data, taxonomy_of(case.children))
    above = ways(tree)
    expected = {node: set() for node in range(len(tree))}
    for row, person in zip(case.rows, people, strict=True):
        for item in row:
            leaf = tree.leaf_nodes[tree.item_leaf[data.vocabulary.to_pylist().index(item)]]
            for node in above[leaf]:
                expected[node].add(person)
    counted = {node: len(some) for node, some in expected.items()}
    assert count_holders(set(expected), data, tree) == counted
    assert count_holders({len(tree) - 1}, data, tree) == {len(tree) - 1: counted[len(tree) - 1]}
    assert people_below(data, tree, data.person).tolist() == list(counted.values())
