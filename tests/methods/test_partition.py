"""Partition as the papers work it by hand, and as the naive reference does it on random data."""

from __future__ import annotations

import importlib
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from golden import GOLDEN
from incrowd.core.classes import WITHHELD
from incrowd.core.transactions import Transactions
from incrowd.methods.registry import METHODS
from incrowd.metrics.losses import measure_losses
from incrowd.taxonomy import attach, balanced
from strategies import Case, cases, in_names, large_cases, taxonomy_of

partition = METHODS["partition"]
TABLES = [GOLDEN["partition"]["table1"], GOLDEN["partition"]["table2"]]
CLUMP, SSC = GOLDEN["clump"], GOLDEN["ssc"]


def case_of(example) -> Case:
    return Case(example["taxonomy"], example["transactions"], example["k"])


def clump_case() -> Case:
    return Case(CLUMP["taxonomy"], list(CLUMP["clump_k2"]["transactions"].values()), 2)


def ssc_case() -> Case:
    return Case(SSC["taxonomy"], list(SSC["vocabularies"].values()), SSC["k"])


def by_product(case: Case, publish: str = "set"):
    data = case.attached()
    return in_names(data.taxonomy, partition(data.transactions, data.taxonomy, k=case.k, publish=publish))


def by_reference(case: Case, publish: str = "set"):
    tree, bags = case.tree(), case.bags()
    groups = reference.partition(tree, bags, case.k)
    shown = (
        reference.lg_bag(tree, bags, groups)
        if publish == "bag"
        else reference.published_sets(groups, len(bags))
    )
    return [(group.rows, shown[group.rows[0]]) for group in groups]


def rows_of(groups) -> Counter:
    """Published rows with multiplicity, which is what k counts."""
    return Counter(frozenset(bag.items()) for rows, bag in groups for _ in rows)


def multiset(rows) -> Counter:
    return Counter(frozenset(Counter(row).items()) for row in rows)


both = pytest.mark.parametrize("method", [by_product, by_reference])


@both
@pytest.mark.parametrize("example", TABLES, ids=["table1", "table2"])
def test_papers_tables(method, example):
    """He and Naughton (PVLDB 2009), Tables 1 and 2: the very rows, in the order of their owners."""
    groups = method(case_of(example))
    assert rows_of(groups) == multiset(example["published"])
    for rows, bag in groups:
        for row in rows:
            assert set(bag) == set(example["published"][row])


@pytest.mark.parametrize(("example", "printed"), [(TABLES[0], "ncp_printed"), (TABLES[1], "ncp_derived")])
def test_papers_ncp(example, printed):
    """He and Naughton (PVLDB 2009), section 3.2: 1/3 for Table 1; Table 2's follows from its definition."""
    case = case_of(example)
    tree, bags = case.tree(), case.bags()
    groups = reference.partition(tree, bags, case.k)
    assert reference.ncp(tree, bags, reference.published_sets(groups, len(bags))) == Fraction(
        example[printed]
    )
    data = case.attached()
    losses = measure_losses(
        data.transactions, data.taxonomy, partition(data.transactions, data.taxonomy, k=case.k)
    )
    assert losses.ncp == pytest.approx(float(Fraction(example[printed])), rel=1e-15)


def test_papers_gains():
    """He and Naughton (PVLDB 2009), Example 2: in T5..T7 expanding A gains 3/17 and B 2/17 of all occurrences."""
    case, printed = case_of(TABLES[1]), TABLES[1]["gain_in_{A,B}_of_T5..T7_printed"]
    tree, bags = case.tree(), case.bags()
    gained = reference.gains(tree, bags, [4, 5, 6], frozenset("AB"))
    occurrences = sum(sum(bag.values()) for bag in bags)
    shares = {node: Fraction(gain, tree.size * occurrences) for node, gain in gained.items()}
    assert shares == {node: Fraction(share) for node, share in printed.items()}


def test_papers_km_anonymity():
    """He and Naughton (PVLDB 2009), section 1: Table 1 is 2^2-anonymous, not 2^3-anonymous; its release is 2-anonymous."""
    rows, facts = TABLES[0]["transactions"], TABLES[0]["km"]
    assert reference.is_km_anonymous(rows, 2, 2) is facts["original_is_2^2_anonymous"]
    assert reference.is_km_anonymous(rows, 2, 3) is facts["original_is_2^3_anonymous"]
    assert min(multiset(TABLES[0]["published"]).values()) == 2


@both
def test_clump_papers_partition_example(method):
    """Milani Fard and Wang (SECRYPT 2010), section 4.2: what Partition publishes for its five transactions."""
    published = list(CLUMP["clump_k2"]["partition_published"].values())
    groups = method(clump_case())
    assert rows_of(groups) == multiset(published)
    assert all(set(bag) == set(published[row]) for rows, bag in groups for row in rows)


def test_clump_papers_partition_loss():
    """Milani Fard and Wang (SECRYPT 2010), section 4.2 prints 8.85; its own expression equals 69/7."""
    case, derived = clump_case(), Fraction(CLUMP["clump_k2"]["partition_ggd_derived"])
    tree, bags = case.tree(), case.bags()
    shown = reference.published_sets(reference.partition(tree, bags, 2), len(bags))
    assert reference.ggd(tree, bags, shown) == derived
    data = case.attached()
    losses = measure_losses(
        data.transactions, data.taxonomy, partition(data.transactions, data.taxonomy, k=2)
    )
    assert losses.ggd == pytest.approx(float(derived), rel=1e-14)


@both
def test_ssc_papers_lg_bag(method):
    """Liu and Wang (ICDM 2010), Figures 1-3: LG(bag)'s groups and bags."""
    derived, names = SSC["lg_bag_derived"], list(SSC["vocabularies"])
    groups = method(ssc_case(), "bag")
    assert [[names[row] for row in rows] for rows, _ in groups] == derived["groups"]
    assert [bag for _, bag in groups] == derived["published"]


def test_ssc_papers_blm():
    """Liu and Wang (ICDM 2010), section V-A: bLM of LG(bag) is 53/77 on the running example."""
    case, derived = ssc_case(), Fraction(SSC["lg_bag_derived"]["blm"])
    tree, bags = case.tree(), case.bags()
    shown = reference.lg_bag(tree, bags, reference.partition(tree, bags, 2))
    assert reference.ggd(tree, bags, shown) / sum(sum(bag.values()) for bag in bags) == derived
    data = case.attached()
    classes = partition(data.transactions, data.taxonomy, k=2, publish="bag")
    losses = measure_losses(data.transactions, data.taxonomy, classes)
    assert losses.blm == pytest.approx(float(derived), rel=1e-14)


publishing = st.sampled_from(["set", "bag"])


@settings(max_examples=150)
@given(cases(), publishing)
def test_equals_the_reference(case, publish):
    assert by_product(case, publish) == by_reference(case, publish)


@settings(max_examples=100)
@given(large_cases(), publishing)
def test_equals_the_reference_on_larger_data(case, publish):
    assert by_product(case, publish) == by_reference(case, publish)


@given(large_cases(), st.integers(1, 200))
def test_equals_the_reference_however_the_work_is_shared_out(case, in_cache):
    """Threads and compact copies change where the work is done, not what comes out."""
    module = importlib.import_module("incrowd.methods.partition.method")
    with patch.object(module, "ITEMS_IN_CACHE", in_cache):
        assert by_product(case) == by_reference(case)


@given(large_cases(), publishing)
def test_keeps_its_promise(case, publish):
    """At least k rows publish the same, every row that holds something does, and each generalizes its owner's."""
    tree, bags = case.tree(), case.bags()
    groups = by_product(case, publish)
    assert min(rows_of(groups).values()) >= case.k
    assert sorted(row for rows, _ in groups for row in rows) == [row for row, bag in enumerate(bags) if bag]
    for rows, bag in groups:
        assert all(reference.generalizes(tree, bag, bags[row]) for row in rows)


@given(cases())
def test_leaves_its_input_alone(case):
    data = case.attached()
    tx, tree = data.transactions, data.taxonomy
    arrays = [tx.indptr, tx.items, tx.counts, tree.parent, tree.end, tree.item_leaf]
    before = [array.copy() for array in arrays]
    first = partition(tx, tree, k=case.k, publish="bag")
    again = partition(tx, tree, k=case.k, publish="bag")
    assert all(np.array_equal(old, new) for old, new in zip(before, arrays, strict=True))
    assert all(
        np.array_equal(getattr(first, name), getattr(again, name))
        for name in ("of_row", "start", "nodes", "counts")
    )


@given(cases(), st.randoms(use_true_random=False), publishing)
def test_does_not_depend_on_the_order_of_the_vocabulary(case, dice, publish):
    data = case.attached()
    shuffled = in_another_order(data.transactions, dice)
    again = attach(shuffled, taxonomy_of(case.children))
    assert in_names(
        again.taxonomy, partition(shuffled, again.taxonomy, k=case.k, publish=publish)
    ) == by_product(case, publish)


def in_another_order(tx: Transactions, dice) -> Transactions:
    """Return the same rows over a shuffled vocabulary."""
    order = list(range(len(tx.vocabulary)))
    dice.shuffle(order)
    place = np.argsort(order).astype(np.int32)
    rows = np.repeat(np.arange(len(tx)), np.diff(tx.indptr))
    sort = np.lexsort((place[tx.items], rows))
    return Transactions(
        tx.indptr, place[tx.items][sort], tx.counts[sort], tx.vocabulary.take(pa.array(order)), tx.owners
    )


def test_withholds_empty_rows_only():
    data = Case({"R": ["a", "b"]}, [[], ["a"], [], ["a"], ["b", "b"], ["b"]], 2).attached()
    classes = partition(data.transactions, data.taxonomy, k=2)
    assert np.flatnonzero(classes.of_row == WITHHELD).tolist() == [0, 2]
    assert classes.withheld == 2
    assert classes.sizes.tolist() == [2, 2]


def test_all_rows_of_one_leaf():
    data = Case({"a": []}, [["a"], ["a", "a"]], 2).attached()
    assert in_names(data.taxonomy, partition(data.transactions, data.taxonomy, k=2)) == [((0, 1), {"a": 1})]


@pytest.fixture(scope="module")
def clicks(data_dir: Path) -> list[list[str]]:
    return [line.split() for line in (data_dir / "transactions/BMS-WebView-2.dat").read_text().splitlines()]


@pytest.fixture(scope="module")
def clicks_data(clicks):
    tx = Transactions.from_rows(clicks)
    return tx, balanced(tx, 5)


@pytest.mark.data
@pytest.mark.parametrize(("k", "most"), [(10, 0.067), (5, 0.0575)])
def test_loss_on_real_clicks(clicks_data, k, most):
    """He and Naughton (PVLDB 2009), Figure 5, reports about 6 % on BMS-WebView-2 at k = 10."""
    tx, tree = clicks_data
    classes = partition(tx, tree, k=k)
    assert classes.sizes.min() >= k
    assert measure_losses(tx, tree, classes).ncp <= most


@pytest.mark.data
@pytest.mark.slow
def test_speed_and_result_on_real_clicks(clicks):
    """The kernel finds the very groups of the reference, a hundred times as fast; on a part of the clicks, fifty times."""
    rows = clicks[::4]
    tx = Transactions.from_rows(rows)
    taxonomy = balanced(tx, 5)
    items = sorted({item for row in rows for item in row}, key=int)
    tree, bags = reference.Tree(reference.balanced(items, 5)), [reference.bag_of(row) for row in rows]
    groups: list[reference.Group] = []
    partition(tx, taxonomy, k=10)  # compiles
    naive = seconds(lambda: groups.extend(reference.partition(tree, bags, 10)))
    kernel = min(seconds(lambda: partition(tx, taxonomy, k=10)) for _ in range(5))
    classes = partition(tx, taxonomy, k=10)
    assert sorted(tuple(np.flatnonzero(classes.of_row == c).tolist()) for c in range(len(classes))) == [
        g.rows for g in groups
    ]
    assert naive >= 50 * kernel, f"the reference took {naive:.2f} s, the kernel {kernel:.4f} s"


def seconds(job) -> float:
    """Return the processor's time that a job takes, whatever else runs."""
    start = time.process_time()
    job()
    return time.process_time() - start
