"""The kernels of the risk lab do what the naive attacks do."""

from __future__ import annotations

import random
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd import balanced
from incrowd.attacks.inference import _fallback
from incrowd.attacks.matching import best_matches, count_sharing, guesses, in_parts, linked_halves, links
from incrowd.attacks.singling_out import class_risks, sizes_of_sets
from incrowd.core.transactions import Transactions
from incrowd.taxonomy import attach
from reference_risk import halves_linked
from risk_worlds import both_of, tiles_of, worlds
from strategies import taxonomy_of


@given(worlds(), st.integers(1, 4))
def test_those_who_have_all_that_is_known_are_counted(world, p):
    _, known = world.known(p)
    people = world.attacked.people
    lists = people.holders.start, people.holders.value
    found = count_sharing(people.start, people.leaf, lists, world.ranks(known), 10**6)
    assert found.tolist() == [world.naive.sharing(row) for row in known.tolist()]


def matched(world, known, person):
    """Match what is known of people, given as ranks of leaves."""
    attacked = world.attacked
    return best_matches(attacked.index, known, tuple(attacked.seen.held), tuple(attacked.holders), person)


@given(worlds(), st.integers(1, 4))
def test_the_best_matches_are_all_of_the_best(world, p):
    person, known = world.known(p)
    found = matched(world, world.ranks(known), person)
    pairs = zip(known.tolist(), person.tolist(), strict=True)
    wanted = [world.naive.candidates(row, one) for row, one in pairs]
    assert list(zip(found.people.tolist(), found.own.tolist(), strict=True)) == wanted


@given(worlds(), st.sampled_from([0.0, 0.5, 1.5]))
def test_links_are_accepted_if_they_stand_out(world, eccentricity):
    profiles = [world.dice.sample(sorted(own), world.dice.randint(0, len(own))) for own in world.naive.items]
    start = np.concatenate([[0], np.cumsum([*map(len, profiles)])]).astype(np.int64)
    leaf = world.ranks(np.array([leaf for own in profiles for leaf in own], np.int32))
    found = links(world.attacked.index, start, leaf, eccentricity)
    for profile, best, scored in zip(profiles, found.best.tolist(), found.scored.tolist(), strict=True):
        assert scored == bool(world.naive.scores(profile))
        link = world.naive.link(profile, eccentricity)
        if link is not None:
            assert _set(world, best) == (None if link < 0 else world.naive.sets[link])


def _set(world, number):
    sets = world.attacked.seen.sets
    return None if number < 0 else set(sets.value[sets.start[number] : sets.start[number + 1]].tolist())


@given(worlds(), st.sampled_from([1, 2]), st.booleans())
def test_halves_are_linked_by_a_set_that_is_best_for_both(world, half, without):
    person, known = world.known(2 * half)
    skip = person if without and world.attacked.is_raw else np.full(len(person), -1)
    found = linked_halves(world.attacked.index, world.ranks(known), skip)
    pairs = zip(known.tolist(), skip.tolist(), strict=True)
    assert found.tolist() == [halves_linked(world.naive, row, one) for row, one in pairs]


@given(worlds(), st.sampled_from([1, 2, 3]), st.booleans(), st.data())
def test_what_most_people_of_the_best_sets_have_is_guessed(world, p, without, data):
    person, known = world.known(p)
    tree = world.attacked.tree
    wanted = data.draw(st.sets(st.sampled_from(tree.leaf_nodes.tolist())))
    chosen = np.isin(tree.leaf_nodes, sorted(wanted))
    skip = person if without and world.attacked.is_raw else np.full(len(person), -1)
    order = _fallback(world.attacked, chosen)
    found = guesses(world.attacked.index, world.ranks(known), skip, chosen, order)
    nodes = [-1 if leaf < 0 else int(tree.leaf_nodes[leaf]) for leaf in found.tolist()]
    pairs = zip(known.tolist(), skip.tolist(), strict=True)
    assert nodes == [world.naive.guess(row, wanted, one) for row, one in pairs]


@given(worlds(), st.integers(1, 5))
def test_risks_of_classes_are_those_of_the_rarest_set(world, k):
    sizes = world.naive.alike() if world.attacked.is_raw else world.naive.rarest()
    assert sorted(sizes_of_sets(world.attacked).tolist()) == sorted(sizes)
    found = class_risks(world.attacked, k, population=10 * len(sizes) or None)
    assert found.people == len(sizes)
    if sizes:
        assert found.prosecutor_highest == pytest.approx(1 / min(sizes))
        assert found.journalist_highest == pytest.approx(0.1 / min(sizes))
        assert found.prosecutor_at_risk == pytest.approx(sum(size < k for size in sizes) / len(sizes))
        assert found.marketer == pytest.approx(sum(1 / size for size in sizes) / len(sizes))


def test_the_order_in_which_scores_are_added_makes_no_winner():
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in doubles: sets that match equally well must tie."""
    rows = [["a1", "b1", "c1"]] * 7 + [[f"{name}{i}"] for name in "abc" for i in (2, 3, 4)]
    children = {"top": ["a", "b", "c"]} | {name: [f"{name}{i}" for i in (1, 2, 3, 4)] for name in "abc"}
    leaves = {leaf: [] for name in "abc" for leaf in children[name]}
    data, tree, *_ = attach(Transactions.from_rows(rows), taxonomy_of(children | leaves))
    node = {name: number for number, name in enumerate(tree.labels.to_pylist())}
    exact, above = [node["a1"], node["b1"], node["c1"]], [node["a"], node["b"], node["c"]]
    two_and_one = [sorted([exact[i], exact[j], above[k]]) for i, j, k in permutations(range(3)) if i < j]
    one_and_two = [sorted([exact[i], above[j], above[k]]) for i, j, k in permutations(range(3)) if j < k]
    for several in (two_and_one, one_and_two):
        tiles = tiles_of(several, [[i] for i in range(len(several))] + [[]] * (len(data) - len(several)))
        world = both_of(data, tree, random.Random(1), tiles)
        for order in permutations(exact):
            known = world.ranks(np.array([order], np.int32))
            assert matched(world, known, np.zeros(1, np.int64)).people.tolist() == [len(several)]


def test_who_holds_several_of_the_best_is_one_candidate():
    """Six tiles of one person match equally well: that person is singled out, and is not taken for six."""
    data = Transactions.from_rows([["a", "b", "c", "d", "e", "f"], ["g"]])
    tree = balanced(data, 2)
    tiles = tiles_of([[node] for node in tree.leaf_nodes.tolist()], [[0, 1, 2, 3, 4, 5], [6]])
    world = both_of(data, tree, random.Random(1), tiles)
    found = matched(world, np.array([[0, 1, 2, 3, 4, 5]], np.int32), np.zeros(1, np.int64))
    assert (found.people.tolist(), found.own.tolist()) == ([1], [True])


def test_people_are_counted_not_sets():
    """One person holds a and x, five hold a and y: both match best, and y is guessed."""
    data = Transactions.from_rows([["a", "x", "y"]] * 6)
    tree = balanced(data, 2)
    _, x, y = range(3)
    node = tree.leaf_nodes.tolist()
    world = both_of(
        data, tree, random.Random(1), tiles_of([[node[0], node[x]], [node[0], node[y]]], [[0]] + [[1]] * 5)
    )
    known, nobody = np.array([[0]], np.int32), np.array([-1])
    wanted = np.ones(3, np.bool_)
    found = guesses(world.attacked.index, known, nobody, wanted, _fallback(world.attacked, wanted))
    assert found.tolist() == [y]


@settings(max_examples=20)
@given(worlds())
def test_many_targets_in_parts_are_as_one_at_a_time(world):
    """Boards are used again for the next target: what is left on them must not count."""
    person, known = (np.tile(some, (90, 1)) for some in world.known(2))
    person = person.ravel()
    ranks = world.ranks(known)
    parts = in_parts(lambda a, b: matched(world, ranks[a:b], person[a:b]).people, len(person))
    alone = [matched(world, ranks[i : i + 1], person[i : i + 1]) for i in range(len(person))]
    assert [n for part in parts for n in part.tolist()] == [int(one.people[0]) for one in alone]
