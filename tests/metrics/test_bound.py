"""The lower bound against a naive one, against what methods lose, and against the values on real data."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd as ic
import reference_clump as naive
from incrowd.core.classes import Classes
from incrowd.errors import BadInputError
from incrowd.metrics import Bound, bound_of, lower_bound, measure_losses
from incrowd.metrics import bound as bound_module
from incrowd.release.files.manifest import BoundFigures
from strategies import Case, cases, large_cases

METHODS = [
    ("partition", {"publish": "lcg"}),
    ("partition", {"publish": "bag"}),
    ("clump", {"criterion": "increase"}),
    ("clump", {"criterion": "total"}),
    ("flock", {"specificity": 0.0}),
    ("flock", {"specificity": 1.0}),
]


def by_all_pairs(case: Case) -> Fraction:
    """Half the mean of the k - 1 smallest losses of pairs, over all rows that hold anything, by all occurrences."""
    tree, bags = case.tree(), [bag for bag in case.bags() if bag]
    total = Fraction(0)
    for i, one in enumerate(bags):
        apart = sorted(
            naive.group_ggd(tree, [one, other], naive.lcg(tree, [one, other]))
            for j, other in enumerate(bags)
            if j != i
        )
        total += sum(apart[: case.k - 1], Fraction(0)) / (2 * (case.k - 1))
    return total / sum(map(naive.length, bags))


def bound_in(case: Case, **options) -> Bound:
    data = case.attached()
    return lower_bound(data.transactions, data.taxonomy, k=case.k, **options)


@settings(max_examples=100)
@given(st.one_of(cases(), large_cases()))
def test_small_data_have_the_exact_bound(case):
    found = bound_in(case)
    assert found.value == pytest.approx(float(by_all_pairs(case)), rel=1e-12, abs=1e-15)
    assert found.error == 0
    assert found.rows == sum(map(bool, case.rows))


@settings(max_examples=100)
@given(st.one_of(cases(), large_cases()), st.sampled_from(METHODS))
def test_no_method_loses_less(case, method):
    name, parameters = method
    data = case.attached()
    classes = ic.METHODS[name](data.transactions, data.taxonomy, k=case.k, **parameters)
    lost = measure_losses(data.transactions, data.taxonomy, classes).ggd_norm
    assert lost >= bound_in(case).value - 1e-12


def test_by_hand():
    """With k = 2 each row has a nearest one: {a} and {a, b} lose 1, {c} and {a} lose 2 (the root costs 1 a row)."""
    case = Case({"R": ["a", "b", "c"]}, [["a"], ["a", "b"], ["c"], []], 2)
    assert bound_in(case) == Bound(pytest.approx((0.5 + 0.5 + 1) / 4), 0.0, 3)


def test_a_tree_of_one_leaf_loses_copies_only():
    assert bound_in(Case({"R": ["a"]}, [["a"], ["a", "a"], ["a", "a", "a"]], 2)).value == pytest.approx(0.25)


def test_rows_of_which_there_are_k_lose_nothing():
    case = Case({"R": ["a", "b", "c"]}, [["a", "b"]] * 3 + [["b", "a"]] * 2 + [["c"]] * 5, 5)
    assert bound_in(case) == Bound(0.0, 0.0, 10)


@pytest.mark.parametrize("k", [-1, 0, 1, 4])
def test_a_k_that_no_release_can_have_is_refused(k):
    data = Case({"R": ["a", "b"]}, [["a"], ["b"], ["a"], []], 2).attached()
    with pytest.raises(BadInputError, match=rf"^k must be from 2 to 3, .* \(got {k}\)$"):
        lower_bound(data.transactions, data.taxonomy, k=k)


@pytest.fixture(scope="module")
def many():
    """Rows enough that a sample is smaller; most are of their own, some are repeated, some hold nothing."""
    dice = np.random.default_rng(7)
    rows = [
        (120 * dice.random(1 + int(dice.exponential(4))) ** 2).astype(int).astype(str).tolist()
        for _ in range(2_000)
    ]
    rows += rows[:300] * 2 + [[]] * 50
    transactions = ic.Transactions.from_rows(rows)
    return transactions, ic.balanced(transactions, 5)


def test_a_sample_comes_near_and_stays_below(many):
    exact, sampled = lower_bound(*many, k=4, budget=10**12), lower_bound(*many, k=4, budget=1)
    assert exact.error == 0
    assert exact.rows == len(many[0]) - 50
    assert sampled.rows == bound_module.LEAST_SAMPLE
    assert 0 < sampled.value <= exact.value
    assert sampled.value + 3 * sampled.error == pytest.approx(exact.value, abs=3 * sampled.error)
    assert sampled.error < 0.1 * exact.value


def test_the_error_is_that_of_many_samples(many, monkeypatch):
    """Over other seeds the estimates scatter around the exact value, as far as the error says."""
    exact, draw = lower_bound(*many, k=4, budget=10**12).value, np.random.default_rng
    found = []
    for seed in range(60):
        monkeypatch.setattr(np.random, "default_rng", lambda _, seed=seed: draw(seed))
        found.append(lower_bound(*many, k=4, budget=1))
    estimates = np.array([one.value + 3 * one.error for one in found])
    error = np.mean([one.error for one in found])
    assert abs(estimates.mean() - exact) < 3 * error / np.sqrt(60)
    assert 0.7 < estimates.std(ddof=1) / error < 1.3


def test_the_sample_is_always_the_same_and_threads_do_not_matter(many, monkeypatch):
    first = lower_bound(*many, k=4, budget=10**6)
    assert first.error > 0
    for cores in (1, 8):
        monkeypatch.setattr(bound_module.os, "cpu_count", lambda cores=cores: cores)
        assert lower_bound(*many, k=4, budget=10**6) == first


@pytest.mark.parametrize("budget", [10**6, 10**12])
def test_the_order_of_the_rows_leaves_no_trace(many, budget):
    transactions, tree = many
    rows = [
        np.repeat(transactions.items[a:b], transactions.counts[a:b])
        for a, b in pairwise(transactions.indptr.tolist())
    ]
    names = transactions.vocabulary.to_pylist()
    turned = ic.Transactions.from_rows([[names[item] for item in row] for row in reversed(rows)])
    assert lower_bound(turned, tree, k=4, budget=budget) == lower_bound(*many, k=4, budget=budget)


def test_a_larger_budget_errs_less(many):
    assert lower_bound(*many, k=4, budget=10**6).error < lower_bound(*many, k=4, budget=1).error


def test_the_same_data_are_searched_once(many, monkeypatch):
    release = ic.anonymize(*many, k=3, method="flock")
    first = release.bound
    monkeypatch.setattr(bound_module, "lower_bound", None)
    assert (
        bound_of(*many, ic.anonymize(*many, k=3, method="partition", publish="bag").classes, release.claim)
        is first
    )


def test_a_release_that_withholds_somebodys_record_has_none():
    """One may lose less by withholding a short record than by joining it with long ones."""
    rows = ic.Transactions.from_rows([["a"], ["b"] * 50, ["b"] * 50, []])
    tree = ic.balanced(rows, 2)
    release = ic.anonymize(rows, tree, k=2, method="flock")
    assert release.bound is not None
    of_row = np.array([-1, 0, 0, -1], dtype=np.int32)
    b = tree.leaf_nodes[tree.item_leaf[1]]
    kept = Classes(of_row, np.array([0, 1]), np.array([b], np.int32), np.array([50], np.int32))
    assert measure_losses(rows, tree, kept).ggd_norm < release.bound.value
    assert bound_of(rows, tree, kept, release.claim) is None


@pytest.mark.parametrize(
    ("method", "has"),
    [("flock", True), ("partition", True), ("clump", True), ("apriori", False), ("suppress", False)],
)
def test_only_k_anonymous_generalizations_have_one(method, has):
    rows = ic.Transactions.from_rows([["a", "b"], ["a", "b"], ["a", "c"], ["b", "c"], []])
    release = ic.anonymize(rows, ic.balanced(rows, 2), k=2, method=method)
    assert (release.bound is not None) is has
    assert release.manifest().bound == (BoundFigures(release.bound.value, 0.0, 4) if has else None)


def test_records_that_describe_their_class_have_none(many):
    release = ic.anonymize(*many, k=3, method="flock")
    claim = msgspec.structs.replace(release.claim, speaks_of="class")
    assert bound_of(*many, release.classes, release.claim) is not None
    assert bound_of(*many, release.classes, claim) is None


@pytest.mark.data
@pytest.mark.parametrize(("name", "expected"), [("BMS-WebView-1", 0.050), ("BMS-WebView-2", 0.079)])
def test_on_real_clicks(data_dir: Path, name, expected):
    lines = (data_dir / f"transactions/{name}.dat").read_text().splitlines()
    rows = ic.Transactions.from_rows([line.split() for line in lines])
    found = lower_bound(rows, ic.balanced(rows, 5), k=5)
    assert found.value < expected
    assert 0 < found.error < 0.05 * expected
    assert found.value + 3 * found.error == pytest.approx(expected, abs=2 * found.error + 0.0005)
