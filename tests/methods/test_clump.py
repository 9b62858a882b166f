"""Clump as the paper works it by hand, and as the naive reference does it on random data; Partition with LCGs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference
import reference_clump as naive
from golden import GOLDEN
from incrowd.core.classes import WITHHELD
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError
from incrowd.methods.clump.method import clump
from incrowd.methods.partition.method import partition
from incrowd.metrics.losses import measure_losses
from incrowd.taxonomy import balanced
from strategies import Case, cases, in_names, large_cases

EXAMPLE = GOLDEN["clump"]["clump_k2"]
NAMES = list(EXAMPLE["transactions"])
CASE = Case(GOLDEN["clump"]["taxonomy"], list(EXAMPLE["transactions"].values()), 2)
Clusters = list[tuple[tuple[int, ...], dict[str, int]]]


def by_product(case: Case, **parameters: Any) -> Clusters:
    data = case.attached()
    return in_names(data.taxonomy, clump(data.transactions, data.taxonomy, k=case.k, **parameters))


def by_reference(case: Case, **parameters: Any) -> Clusters:
    return [tuple(cluster) for cluster in naive.clump(case.tree(), case.bags(), case.k, **parameters)]


def product_ggd(case: Case, method=clump, **parameters: Any) -> float:
    data = case.attached()
    classes = method(data.transactions, data.taxonomy, k=case.k, **parameters)
    return measure_losses(data.transactions, data.taxonomy, classes).ggd


def exact_ggd(case: Case, clusters: Clusters) -> Fraction:
    tree, bags = case.tree(), case.bags()
    groups = (naive.group_ggd(tree, [bags[row] for row in rows], shown) for rows, shown in clusters)
    return sum(groups, Fraction(0))


both = pytest.mark.parametrize("method", [by_product, by_reference])
both_criteria = pytest.mark.parametrize("criterion", ["increase", "total"])
settings_of_clump = st.fixed_dictionaries(
    {
        "criterion": st.sampled_from(["increase", "total"]),
        "r": st.sampled_from([1, 2, 3, 10, 1000]),
        "order": st.sampled_from(["descending", "ascending"]),
        "duplicates": st.sampled_from(["keep", "drop"]),
    }
)


# The paper's example (section 4.2)


@both
@both_criteria
def test_papers_clusters(method, criterion):
    """Both readings of "best" give the printed clusters and the printed rows."""
    found = method(CASE, criterion=criterion)
    assert [[NAMES[row] for row in rows] for rows, _ in found] == EXAMPLE["clusters"]
    for rows, shown in found:
        assert all(shown == reference.bag_of(EXAMPLE["published"][NAMES[row]]) for row in rows)


@pytest.mark.parametrize(("cluster", "seed"), [("S1", "t1"), ("S2", "t3")])
def test_papers_choices_for_t2(cluster, seed):
    """With t2, S1 = {t1} costs 18/7 and S2 = {t3} 20/7."""
    printed = Fraction(EXAMPLE["choices_for_t2_printed"][cluster])
    case = CASE._replace(rows=[EXAMPLE["transactions"][seed], EXAMPLE["transactions"]["t2"]])
    assert naive.ggd_closed_form(case.tree(), case.bags()) == printed
    assert product_ggd(case) == pytest.approx(float(printed), rel=1e-14)


@both_criteria
def test_papers_distortion(criterion):
    """Section 4.2: 2 (2/7 + 0 + 1) + [3 (0 + 1) + 1] = 46/7."""
    printed = Fraction(EXAMPLE["ggd_printed"])
    assert exact_ggd(CASE, by_reference(CASE, criterion=criterion)) == printed
    assert product_ggd(CASE, criterion=criterion) == pytest.approx(float(printed), rel=1e-14)


def test_papers_example_has_a_better_clustering():
    """Clump is greedy: of all clusterings the best costs 44/7 (Definition 5, by looking at all of them)."""
    derived = EXAMPLE["optimum_derived"]
    least, clusters = naive.best_clustering(CASE.tree(), CASE.bags(), 2)
    assert least == Fraction(derived["ggd"])
    assert [[NAMES[row] for row in rows] for rows in clusters] == derived["clusters"]


def test_papers_partition_loses_more():
    """Section 4.2 prints 8.85 for Partition; its own expression equals 69/7."""
    derived = Fraction(EXAMPLE["partition_ggd_derived"])
    assert product_ggd(CASE, partition) == pytest.approx(float(derived), rel=1e-14)
    assert derived > Fraction(EXAMPLE["ggd_printed"])


# Random data


@settings(max_examples=150)
@given(cases(), settings_of_clump)
def test_equals_the_reference(case, parameters):
    assert by_product(case, **parameters) == by_reference(case, **parameters)


@settings(max_examples=60)
@given(large_cases(), settings_of_clump)
def test_equals_the_reference_on_larger_data(case, parameters):
    assume(sum(map(bool, case.rows)) >= case.k)
    assert by_product(case, **parameters) == by_reference(case, **parameters)


@settings(max_examples=40)
@given(cases())
def test_defaults(case):
    chosen = {"criterion": "increase", "r": 10, "order": "descending", "duplicates": "keep"}
    assert by_product(case) == by_reference(case, **chosen)


@settings(max_examples=40)
@given(large_cases(), st.sampled_from(["descending", "ascending", "random"]), st.integers(0, 2**63 - 1))
def test_keeps_its_promise(case, order, seed):
    """Clusters of k to 2k - 1 rows; every row that holds something is in one, and publishes its LCG."""
    assume(sum(map(bool, case.rows)) >= case.k)
    tree, bags = case.tree(), case.bags()
    clusters = by_product(case, order=order, seed=seed)
    filled = [row for row, bag in enumerate(bags) if bag]
    assert sorted(row for rows, _ in clusters for row in rows) == filled
    assert len(clusters) == len(filled) // case.k
    assert all(case.k <= len(rows) < 2 * case.k for rows, _ in clusters)
    for rows, shown in clusters:
        assert shown == naive.lcg(tree, [bags[row] for row in rows])


@settings(max_examples=30)
@given(large_cases())
def test_dropped_duplicates_change_nothing_else(case):
    """Clump2 is Clump1's result less the copies; each of them costs 1 instead of LM."""
    assume(sum(map(bool, case.rows)) >= case.k)
    tree, kept, dropped = case.tree(), by_product(case), by_product(case, duplicates="drop")
    assert dropped == [(rows, naive.once_each(shown)) for rows, shown in kept]
    more = sum(
        len(rows) * (count - 1) * (1 - tree.lm(node)) for rows, shown in kept for node, count in shown.items()
    )
    assert exact_ggd(case, dropped) - exact_ggd(case, kept) == more


@settings(max_examples=30)
@given(large_cases(), settings_of_clump)
def test_measured_loss_is_the_definitions(case, parameters):
    assume(sum(map(bool, case.rows)) >= case.k)
    expected = exact_ggd(case, by_reference(case, **parameters))
    assert product_ggd(case, **parameters) == pytest.approx(float(expected), rel=1e-12, abs=1e-9)


ALL_DIFFERENT = Case({"R": [f"i{i:02}" for i in range(40)]}, [[f"i{i:02}"] * (i + 1) for i in range(40)], 4)


def test_random_order_depends_on_the_seed_alone():
    found = [by_product(ALL_DIFFERENT, order="random", seed=seed) for seed in (1, 2, 1)]
    assert found[0] == found[2] != found[1]
    assert found[0] != by_product(ALL_DIFFERENT)


@pytest.mark.parametrize("order", ["descending", "ascending"])
def test_the_seed_has_no_effect_on_other_orders(order):
    assert by_product(ALL_DIFFERENT, order=order, seed=1) == by_product(ALL_DIFFERENT, order=order, seed=2)


def test_length_counts_copies():
    """<a a a> is longer than <a b>: it seeds the first cluster, and one full cluster follows another (r = 1)."""
    case = Case({"R": ["a", "b"]}, [["a", "b"], ["a", "b"], ["a", "a", "a"], ["b"]], 2)
    assert [rows for rows, _ in by_product(case, r=1)] == [(0, 2), (1, 3)]
    assert [rows for rows, _ in by_product(case, r=1, order="ascending")] == [(0, 3), (1, 2)]


def test_the_two_readings_of_best_differ():
    """{<a a a a a>, <a>} costs 4, and still 4 with another <a>; {<b>, <b>} costs nothing, and 3 with <a>."""
    case = Case({"R": ["a", "b"]}, [["a"] * 5, ["a"], ["b"], ["b"], ["a"]], 2)
    assert by_product(case, r=1, criterion="increase") == [((0, 1, 4), {"a": 1}), ((2, 3), {"b": 1})]
    assert by_product(case, r=1, criterion="total") == [((0, 1), {"a": 1}), ((2, 3, 4), {"R": 1})]


@settings(max_examples=20)
@given(cases())
def test_leaves_its_input_alone(case):
    data = case.attached()
    tx, tree = data.transactions, data.taxonomy
    arrays = [tx.indptr, tx.items, tx.counts, tree.parent, tree.end, tree.item_leaf]
    before = [array.copy() for array in arrays]
    first, again = (clump(tx, tree, k=case.k, order="random", seed=7) for _ in range(2))
    assert all(np.array_equal(old, new) for old, new in zip(before, arrays, strict=True))
    for name in ("of_row", "start", "nodes", "counts"):
        assert np.array_equal(getattr(first, name), getattr(again, name))


def test_withholds_empty_rows_only():
    data = Case({"R": ["a", "b"]}, [[], ["a"], [], ["a"], ["b", "b"], ["b"]], 2).attached()
    classes = clump(data.transactions, data.taxonomy, k=2)
    assert np.flatnonzero(classes.of_row == WITHHELD).tolist() == [0, 2]
    assert classes.sizes.tolist() == [2, 2]


def test_all_rows_of_one_leaf():
    """A tree of one node has no LM to speak of; rows are clustered and published all the same."""
    case = Case({"a": []}, [["a"], ["a", "a"], ["a"]], 2)
    assert by_product(case) == [((0, 1, 2), {"a": 1})]


@pytest.mark.parametrize(
    ("parameters", "says"),
    [({"r": 0}, "r must be at least 1"), ({"r": -1}, "r must be"), ({"k": 6}, "k must be at most 5")],
)
def test_refuses_what_makes_no_sense(parameters, says):
    data = CASE.attached()
    with pytest.raises(BadInputError, match=says):
        clump(data.transactions, data.taxonomy, **{"k": 2, **parameters})


# Partition's groups with least common generalizations


@settings(max_examples=60)
@given(st.one_of(cases(), large_cases()))
def test_partition_publishes_the_lcg_of_each_group(case):
    data, tree, bags = case.attached(), case.tree(), case.bags()
    assume(sum(map(bool, bags)) >= case.k)
    classes = partition(data.transactions, data.taxonomy, k=case.k, publish="lcg")
    groups = [group.rows for group in reference.partition(tree, bags, case.k)]
    expected = [(rows, naive.lcg(tree, [bags[row] for row in rows])) for rows in groups]
    assert in_names(data.taxonomy, classes) == expected


@settings(max_examples=50)
@given(st.one_of(cases(), large_cases()))
def test_partition_loses_least_with_lcgs(case):
    """On the same groups the LCG never costs more than LG(bag), nor LG(bag) more than the set."""
    assume(sum(map(bool, case.rows)) >= case.k)
    costs, groups = [], []
    data = case.attached()
    for publish in ("lcg", "bag", "set"):
        classes = partition(data.transactions, data.taxonomy, k=case.k, publish=publish)
        shown = in_names(data.taxonomy, classes)
        groups.append([rows for rows, _ in shown])
        costs.append(exact_ggd(case, shown))
    assert groups[0] == groups[1] == groups[2]
    assert costs == sorted(costs)


def test_partition_with_lcgs_on_the_papers_example():
    """{t1, t4} have <fruit, chicken> in common, {t2, t3, t5} <meat, food>: 11/7 and 3 (1/7 + 1) + 2."""
    groups = {("t1", "t4"): ["fruit", "chicken"], ("t2", "t3", "t5"): ["meat", "food"]}
    data = CASE.attached()
    found = in_names(data.taxonomy, partition(data.transactions, data.taxonomy, k=2, publish="lcg"))
    assert {tuple(NAMES[row] for row in rows): shown for rows, shown in found} == {
        names: reference.bag_of(shown) for names, shown in groups.items()
    }
    assert exact_ggd(CASE, found) == Fraction(11, 7) + Fraction(24, 7) + 2


# Real clicks


@pytest.fixture(scope="module", params=["BMS-WebView-1", "BMS-WebView-2"])
def clicks(request, data_dir: Path):
    lines = (data_dir / f"transactions/{request.param}.dat").read_text().splitlines()
    tx = Transactions.from_rows([line.split() for line in lines])
    return tx, balanced(tx, 5)


@pytest.mark.data
def test_the_increase_beats_the_papers_literal_text_on_real_clicks(clicks):
    """The least increase loses at least a quarter less than the least total."""
    tx, tree = clicks
    ggd = {}
    for criterion in ("increase", "total"):
        classes = clump(tx, tree, k=5, criterion=criterion)
        assert classes.sizes.min() >= 5
        assert len(classes) == len(tx) // 5
        ggd[criterion] = measure_losses(tx, tree, classes).ggd
    assert ggd["increase"] <= 0.75 * ggd["total"]


@pytest.mark.data
def test_partition_with_lcgs_on_real_clicks(clicks):
    """The LCG saves something on the same groups, for free."""
    tx, tree = clicks
    lcg, bag = (
        measure_losses(tx, tree, partition(tx, tree, k=5, publish=publish)).ggd for publish in ("lcg", "bag")
    )
    assert lcg < bag
