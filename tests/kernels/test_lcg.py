"""The least common generalization: by search, in closed form, as BUIG, and as the kernel finds it."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import reference
import reference_clump as naive
from golden import GOLDEN
from incrowd.kernels.arrays import leaf_rows, tree_arrays
from incrowd.kernels.lcg import ancestor_rows, common_generalization
from strategies import Case, cases, children_of, large_cases

CLUMP = GOLDEN["clump"]
PRINTED = CLUMP["lcg_printed"]
WHERE_BUIG_FAILS = CLUMP["lcg_where_printed_buig_fails_derived"]
Bags = list[dict[str, int]]


def by_kernel(case: Case, groups: list[list[int]]) -> Bags:
    """Return the LCG of each group of a case's rows, as the kernel finds it."""
    data, names = case.attached(), list(case.tree().path)
    tree = tree_arrays(data.taxonomy)
    start, nodes, counts = common_generalization(
        ancestor_rows(leaf_rows(*data[:2]), tree),
        tree,
        np.cumsum([0, *map(len, groups)]),
        np.array([row for group in groups for row in group], dtype=np.int64),
    )
    assert (len(start), start[0], start[-1]) == (len(groups) + 1, 0, len(nodes))
    assert len(nodes) == len(counts)
    found = []
    for first, stop in pairwise(start.tolist()):
        assert (np.diff(nodes[first:stop]) > 0).all()
        assert (counts[first:stop] > 0).all()
        found.append(
            {
                names[node]: int(times)
                for node, times in zip(nodes[first:stop], counts[first:stop], strict=True)
            }
        )
    return found


def kernel_alone(tree: reference.Tree, bags: Bags) -> dict[str, int]:
    """Return the LCG of all the bags by the kernel."""
    rows = [list(Counter(bag).elements()) for bag in bags]
    (found,) = by_kernel(Case(tree.children, rows, 2), [list(range(len(rows)))])
    return found


def only_least(tree: reference.Tree, bags: Bags) -> dict[str, int]:
    (found,) = naive.least_common_generalizations(tree, bags)
    return found


def example_of(golden) -> tuple[reference.Tree, Bags]:
    tree = reference.Tree(golden.get("taxonomy", CLUMP["taxonomy"]))
    return tree, [reference.bag_of(row) for row in golden["of"]]


every_right_way = pytest.mark.parametrize(
    "method", [kernel_alone, only_least, naive.lcg, naive.buig_put_right]
)


# The paper's examples


def test_papers_loss_metric():
    tree = reference.Tree(CLUMP["taxonomy"])
    taxonomy = Case(CLUMP["taxonomy"], [["orange"], ["beef"]], 2).attached().taxonomy
    shown = dict(zip(taxonomy.labels.to_pylist(), taxonomy.lm, strict=True))
    for node, value in CLUMP["lm_printed"].items():
        assert tree.lm(node) == Fraction(value)
        assert shown[node] == pytest.approx(float(Fraction(value)), rel=1e-15)


def test_papers_number_of_generalizations():
    """Milani Fard & Wang, SECRYPT 2010, Example 1."""
    tree, bag = reference.Tree(CLUMP["taxonomy"]), {"orange": 1, "beef": 1}
    found = naive.generalizations(tree, bag)
    assert len(found) == CLUMP["number_of_generalizations_of_<orange,beef>"]
    assert all(reference.generalizes_by_matching(tree, shown, bag) for shown in found)


@every_right_way
@pytest.mark.parametrize("golden", PRINTED + WHERE_BUIG_FAILS)
def test_papers_least_common_generalizations(method, golden):
    """Milani Fard & Wang, SECRYPT 2010, Examples 2 to 4, and the sets for which its Algorithm 2 is wrong."""
    tree, bags = example_of(golden)
    assert method(tree, bags) == reference.bag_of(golden["is"])


@pytest.mark.parametrize("golden", [golden for golden in PRINTED + WHERE_BUIG_FAILS if "ggd" in golden])
def test_papers_distortion(golden):
    """Milani Fard & Wang, SECRYPT 2010, Example 3: 2 (2/7 + 0) + 1 = 11/7."""
    tree, bags = example_of(golden)
    assert naive.group_ggd(tree, bags, reference.bag_of(golden["is"])) == Fraction(golden["ggd"])
    assert naive.ggd_closed_form(tree, bags) == Fraction(golden["ggd"])


@pytest.mark.parametrize("golden", PRINTED)
def test_printed_buig_is_right_in_the_papers_own_examples(golden):
    assert naive.buig_as_printed(*example_of(golden)) == reference.bag_of(golden["is"])


@pytest.mark.parametrize("golden", WHERE_BUIG_FAILS)
def test_printed_buig_is_wrong(golden):
    """Lines 6-8 of BUIG drop a child's surplus: it publishes a common generalization, but not the least."""
    tree, bags = example_of(golden)
    shown = naive.buig_as_printed(tree, bags)
    assert shown == reference.bag_of(golden["buig"])
    assert shown in naive.common_generalizations(tree, bags)
    assert shown not in naive.least_common_generalizations(tree, bags)
    assert naive.group_ggd(tree, bags, shown) > naive.ggd_closed_form(tree, bags)
    if "buig_ggd" in golden:
        assert naive.group_ggd(tree, bags, shown) == Fraction(golden["buig_ggd"])


# Definitions 1 to 3 by search, on everything small


class Small(NamedTuple):
    """A tree and bags of its leaves, small enough to look at all generalizations."""

    tree: reference.Tree
    bags: Bags


@st.composite
def small_sets(draw: st.DrawFn) -> Small:
    inner = draw(st.integers(1, 9))
    parents = [draw(st.integers(max(0, i - 3), i)) for i in range(inner)]
    tree = reference.Tree(children_of(parents, [f"n{i}" for i in range(inner + 1)]))
    assume(max(map(tree.level, tree.path)) <= 5)
    leaves = [node for node in tree.path if tree.is_leaf(node)]
    row = st.lists(st.sampled_from(leaves), min_size=1, max_size=3)
    return Small(tree, [reference.bag_of(items) for items in draw(st.lists(row, min_size=1, max_size=4))])


@settings(max_examples=150)
@given(small_sets())
def test_exactly_one_is_least_and_the_closed_form_is_it(small):
    """Property 1; all ways to find the LCG agree."""
    expected = only_least(*small)
    assert naive.lcg(*small) == expected
    assert naive.buig_put_right(*small) == expected


@given(small_sets())
def test_the_least_has_minimal_distortion_and_every_other_generalizes_it(small):
    """Definitions 2 and 3: of all common generalizations, none costs less than the LCG."""
    least = naive.lcg(*small)
    cost = naive.group_ggd(*small, least)
    for shown in naive.common_generalizations(*small):
        assert cost <= naive.group_ggd(*small, shown)
        assert reference.generalizes_by_matching(small.tree, shown, least)


@given(small_sets())
def test_the_least_is_as_long_as_the_shortest(small):
    """Property 2."""
    assert sum(only_least(*small).values()) == min(sum(bag.values()) for bag in small.bags)


@given(small_sets(), st.integers(1, 3))
def test_the_least_is_associative(small, cut):
    """Lemma 1, for any split: the LCG of LCGs is the LCG of all, though LCGs hold inner nodes."""
    tree, bags = small
    parts = [part for part in (bags[:cut], bags[cut:]) if part]
    expected = only_least(tree, bags)
    assert only_least(tree, [only_least(tree, part) for part in parts]) == expected
    assert naive.lcg(tree, [naive.lcg(tree, part) for part in parts]) == expected


@given(small_sets())
def test_distortion_in_closed_form(small):
    assume(small.tree.size > 1)
    assert naive.ggd_closed_form(*small) == naive.group_ggd(*small, only_least(*small))


# The kernel


@given(small_sets())
def test_the_kernel_finds_what_the_search_finds(small):
    assert kernel_alone(*small) == only_least(*small)


@settings(max_examples=60)
@given(st.one_of(cases(), large_cases()))
@example(Case({"a": []}, [["a"], [], ["a", "a"]], 2))
@example(Case({"R": ["a", "b"]}, [[], []], 2))
def test_ancestor_rows(case):
    """Each row's nodes ascending, root included, with the occurrences below them; nothing for an empty row."""
    data, tree = case.attached(), case.tree()
    start, node, times = ancestor_rows(leaf_rows(*data[:2]), tree_arrays(data.taxonomy))
    assert (start.dtype, node.dtype, times.dtype) == (np.int64, np.int32, np.int32)
    assert (len(start), start[-1]) == (len(case.rows) + 1, len(node))
    for row, bag in enumerate(case.bags()):
        part = slice(start[row], start[row + 1])
        expected = sorted((tree.order[v], count) for v, count in naive.counts_above(tree, bag).items())
        assert list(zip(node[part].tolist(), times[part].tolist(), strict=True)) == expected


@st.composite
def grouped(draw: st.DrawFn) -> tuple[Case, list[list[int]]]:
    """Draw a case and groups of its rows: they may overlap, repeat a row, or hold empty rows."""
    case = draw(st.one_of(cases(), large_cases()))
    group = st.lists(st.integers(0, len(case.rows) - 1), min_size=1, max_size=6)
    return case, draw(st.lists(group, min_size=1, max_size=8))


@settings(max_examples=120)
@given(grouped())
def test_the_kernel_equals_the_closed_form(drawn):
    case, groups = drawn
    tree, bags = case.tree(), case.bags()
    expected = [naive.lcg(tree, [bags[row] for row in group]) for group in groups]
    assert by_kernel(case, groups) == expected


def test_no_groups_at_all():
    assert by_kernel(Case({"R": ["a", "b"]}, [["a"], ["b"]], 2), []) == []


@settings(max_examples=30)
@given(cases())
def test_the_lcg_of_one_row_is_the_row(case):
    assert by_kernel(case, [[row] for row in range(len(case.rows))]) == case.bags()


def test_counts_above_a_byte_and_above_two():
    """Copies are counted, not flagged: 70,000 of one item and 300 of the other."""
    rows = [["a"] * 70_000 + ["b"] * 299, ["a"] * 69_999 + ["b"] * 300]
    assert by_kernel(Case({"R": ["a", "b"]}, rows, 2), [[0, 1]]) == [{"R": 1, "a": 69_999, "b": 299}]


def test_a_tree_as_deep_as_it_is_large():
    """A chain of 300 nodes with a leaf at each: the LCG of two neighbours' leaves is the upper one's parent."""
    chain: dict[str, list[str]] = {f"c{i}": [f"c{i + 1}", f"leaf{i}"] for i in range(300)}
    case = Case(chain, [["leaf299"], ["leaf298"], ["leaf150", "leaf7"], ["leaf299", "leaf299"]], 2)
    assert by_kernel(case, [[0, 1], [1, 2], [2, 3]]) == [{"c298": 1}, {"c150": 1}, {"c7": 1, "c150": 1}]
