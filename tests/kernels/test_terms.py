"""Relevant terms and what stands for a bag of terms, against the definitions on random trees."""

from __future__ import annotations

import random
import time

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_ssc as naive
from incrowd.kernels.terms import Paths, count_near, list_near, paths_to, typical_terms

seeds = st.integers(0, 2**32 - 1)
MANY = 10**9


def paths_of(nodes: naive.Nodes, terms: list[int]) -> Paths:
    numbers = range(len(nodes.parent))
    return paths_to(
        np.array(nodes.parent, dtype=np.int32),
        np.array([nodes.end(node) for node in numbers], dtype=np.int32),
        np.array([nodes.far(node) for node in numbers], dtype=np.int32),
        np.array(terms, dtype=np.int32),
    )


def some_terms(dice: random.Random, nodes: naive.Nodes) -> list[int]:
    return sorted(dice.sample(nodes.leaves(), dice.randint(1, len(nodes.leaves()))))


@settings(max_examples=150)
@given(seeds, st.sampled_from([0, 1, 2, 3, 4, 7, 10_001, 30_000]))
def test_relevant_terms_are_those_within_eps(seed, eps):
    dice = random.Random(seed)
    nodes = naive.random_nodes(dice)
    terms = some_terms(dice, nodes)
    paths = paths_of(nodes, terms)
    near = list_near(paths, eps, count_near(paths, eps, MANY))
    for i, term in enumerate(terms):
        part = slice(near.start[i], near.start[i + 1])
        found = list(zip(near.term[part].tolist(), near.distance[part].tolist(), strict=True))
        apart = [(j, nodes.apart(term, other)) for j, other in enumerate(terms)]
        assert found == [(j, far) for j, far in apart if far <= eps]


def test_a_term_is_relevant_to_itself_and_the_count_is_the_number_of_pairs():
    paths = paths_of(naive.Nodes([-1, 0, 0, 0], [0, 1, 1, 1]), [1, 2, 3])
    assert count_near(paths, 0, MANY).tolist() == [0, 1, 2, 3]
    assert count_near(paths, 1, MANY).tolist() == [0, 1, 2, 3]
    assert count_near(paths, 2, MANY).tolist() == [0, 3, 6, 9]


def test_counting_stops_where_there_are_too_many():
    paths = paths_of(naive.Nodes([-1, 0, 0, 0], [0, 1, 1, 1]), [1, 2, 3])
    assert count_near(paths, 2, 9)[-1] == 9
    assert count_near(paths, 2, 8)[-1] > 8
    wide = 200_000
    node = np.arange(wide + 1, dtype=np.int32)
    inner = node == 0
    star = paths_to(
        np.where(inner, -1, 0).astype(np.int32),
        np.where(inner, wide + 1, node + 1).astype(np.int32),
        np.where(inner, 0, 1).astype(np.int32),
        node[1:].copy(),
    )
    began = time.process_time()
    assert count_near(star, 2, 10**6)[-1] > 10**6  # of 4 * 10^10
    assert count_near(star, 1, 10**6)[-1] == wide  # no pair is looked at in vain
    assert time.process_time() - began < 10  # the processor's time; all pairs take minutes


@settings(max_examples=200)
@given(seeds, st.integers(1, 6))
def test_typical_terms(seed, size):
    """Members need not be relevant to each other, and may repeat."""
    dice = random.Random(seed)
    nodes = naive.random_nodes(dice)
    terms = some_terms(dice, nodes)
    bags = [[dice.randrange(len(terms)) for _ in range(dice.randint(1, size))] for _ in range(5)]
    allowed = np.array([dice.random() < 0.7 for _ in terms])
    start = np.cumsum([0, *map(len, bags)])
    flat = np.array([term for bag in bags for term in bag], dtype=np.int32)
    found = typical_terms(paths_of(nodes, terms), start, flat, allowed)
    space = naive.Space(lambda i, j: nodes.apart(terms[i], terms[j]), 0, 0)
    for bag, term, node in zip(bags, found.term.tolist(), found.node.tolist(), strict=True):
        expected = naive.medoid(space, tuple(bag), allowed.__getitem__)
        assert term == (-1 if expected is None else expected)
        assert node == nodes.lca(*(terms[member] for member in bag))


def test_the_earliest_of_equal_medoids():
    paths = paths_of(naive.Nodes([-1, 0, 0, 0], [0, 1, 1, 1]), [1, 2, 3])
    bags = np.array([2, 0, 1, 0, 1, 1], dtype=np.int32)
    found = typical_terms(paths, np.array([0, 3, 6]), bags, np.ones(3, dtype=np.bool_))
    assert found.term.tolist() == [2, 1]
    assert found.node.tolist() == [0, 0]
