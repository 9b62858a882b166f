"""Apriori as the paper works it by hand, and as the naive reference does it on random data."""

from __future__ import annotations

import resource
import time
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import reference_apriori
from golden import GOLDEN
from incrowd.auditing.itemsets import rare_itemsets
from incrowd.core.classes import WITHHELD
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError
from incrowd.methods.apriori.method import apriori
from incrowd.metrics.losses import measure_losses
from incrowd.taxonomy import balanced
from strategies import Case, cases, in_names, large_cases

TABLES = GOLDEN["partition"]
SECONDS = 15  # of the processor; it takes about one
MEGABYTES = 500  # more than before, kernels compiled


def case_of(table) -> Case:
    return Case(table["taxonomy"], table["transactions"], table["k"])


def by_product(case: Case, m: int) -> list[dict[str, int] | None]:
    """Return what each row publishes."""
    data = case.attached()
    shown: list[dict[str, int] | None] = [None] * len(case.rows)
    for rows, bag in in_names(data.taxonomy, apriori(data.transactions, data.taxonomy, k=case.k, m=m)):
        for row in rows:
            shown[row] = bag
    return shown


def by_reference(case: Case, m: int) -> list[dict[str, int] | None]:
    tree, bags = case.tree(), case.bags()
    cut = reference_apriori.apriori(tree, bags, case.k, m)
    return [reference_apriori.covered(tree, cut, bag) or None for bag in bags]


both = pytest.mark.parametrize("method", [by_product, by_reference])


@both
def test_papers_table_2(method):
    """He & Naughton, VLDB 2009, Example 2: Apriori's release of Table 2 for k = 2 and m = 2."""
    table = TABLES["table2"]
    assert [set(bag) for bag in method(case_of(table), 2)] == [
        set(row) for row in table["apriori_2^2_published"]
    ]


def test_papers_loss_of_table_2():
    table = TABLES["table2"]
    data = case_of(table).attached()
    classes = apriori(data.transactions, data.taxonomy, k=2, m=2)
    losses = measure_losses(data.transactions, data.taxonomy, classes)
    assert losses.ncp == pytest.approx(float(Fraction(table["apriori_2^2_ncp_derived"])), rel=1e-15)


@both
def test_papers_table_1_needs_nothing_for_pairs(method):
    """He & Naughton, VLDB 2009, section 1: it is 2^2-anonymous as it is, and not 2^3-anonymous."""
    case = case_of(TABLES["table1"])
    assert method(case, 2) == [dict.fromkeys(row, 1) for row in case.rows]
    assert method(case, 3) != method(case, 2)


@settings(max_examples=150)
@given(cases(), st.integers(1, 4))
def test_equals_the_reference(case, m):
    assert by_product(case, m) == by_reference(case, m)


@settings(max_examples=60)
@given(large_cases(), st.integers(1, 3))
def test_equals_the_reference_on_larger_data(case, m):
    assert by_product(case, m) == by_reference(case, m)


@given(st.one_of(cases(), large_cases()), st.integers(1, 3))
def test_keeps_its_promise(case, m):
    """Every set of at most m nodes that occurs has k rows, counted by trying each set on each row."""
    shown = [bag for bag in by_product(case, m) if bag]
    assert reference_apriori.count_rare(shown, case.k, m) == 0
    assert rare_itemsets([(list(bag), 1) for bag in shown], case.k, m) == 0


@given(st.one_of(cases(), large_cases()), st.integers(1, 3))
def test_an_item_is_the_same_node_everywhere(case, m):
    """Global recoding: one node above each item, and a row publishes those of its items, once each."""
    tree, bags = case.tree(), case.bags()
    node_of: dict[str, str] = {}
    for bag, shown in zip(bags, by_product(case, m), strict=True):
        above = [[node for node in tree.path[item] if node in (shown or {})] for item in bag]
        assert all(len(nodes) == 1 for nodes in above)
        for item, (node,) in zip(bag, above, strict=True):
            assert node_of.setdefault(item, node) == node
        assert (shown or {}) == dict.fromkeys((node_of[item] for item in bag), 1)


@given(cases())
def test_a_larger_m_only_generalizes_further(case):
    """Sizes are done one after the other: the cut for m + 1 starts from the cut for m."""
    tree = case.tree()
    for fine, coarse in zip(by_product(case, 2), by_product(case, 3), strict=True):
        assert all(any(tree.covers(above, node) for above in coarse or {}) for node in fine or {})


@given(large_cases(), st.integers(1, 3))
def test_rows_that_publish_the_same_are_one_class(case, m):
    data = case.attached()
    found = in_names(data.taxonomy, apriori(data.transactions, data.taxonomy, k=case.k, m=m))
    assert max(Counter(frozenset(bag) for _, bag in found).values()) == 1


@given(cases(), st.integers(1, 3), st.integers(0, 9))
def test_leaves_its_input_alone_and_makes_no_random_choice(case, m, seed):
    data = case.attached()
    tx, tree = data.transactions, data.taxonomy
    arrays = [tx.indptr, tx.items, tx.counts, tree.parent, tree.end, tree.item_leaf, tree.leaf_nodes]
    before = [array.copy() for array in arrays]
    first = apriori(tx, tree, k=case.k, m=m)
    again = apriori(tx, tree, k=case.k, m=m, seed=seed)
    assert all(np.array_equal(old, new) for old, new in zip(before, arrays, strict=True))
    assert all(
        np.array_equal(getattr(first, name), getattr(again, name))
        for name in ("of_row", "start", "nodes", "counts")
    )


@example(0)
@given(st.integers(max_value=0))
def test_refuses_an_m_below_1(m):
    data = case_of(TABLES["table1"]).attached()
    with pytest.raises(BadInputError, match=rf"^m must be at least 1 \(got {m}\)$"):
        apriori(data.transactions, data.taxonomy, k=2, m=m)


def test_refuses_a_k_that_the_rows_cannot_give():
    data = Case({"R": ["a", "b"]}, [["a"], ["b"], []], 3).attached()
    with pytest.raises(BadInputError, match="k must be at most 2"):
        apriori(data.transactions, data.taxonomy, k=3)


def test_an_m_beyond_the_longest_row_adds_nothing():
    case = case_of(TABLES["table1"])
    assert by_product(case, 10**12) == by_product(case, 4)


def test_withholds_empty_rows_only():
    data = Case({"R": ["a", "b"]}, [[], ["a"], [], ["a"], ["b", "b"], ["b"]], 2).attached()
    classes = apriori(data.transactions, data.taxonomy, k=2)
    assert np.flatnonzero(classes.of_row == WITHHELD).tolist() == [0, 2]
    assert classes.sizes.tolist() == [2, 2]
    assert classes.counts.tolist() == [1, 1]


@both
def test_equal_losses_go_to_the_first_parent_in_preorder(method):
    """{a1, b1} is rare, and both families have four occurrences: A comes first, and that is enough."""
    rows = [["a1", "b1"], ["a2", "b1"], ["a1"], ["a2"], ["b2"], ["b2"]]
    case = Case({"R": ["A", "B"], "A": ["a1", "a2"], "B": ["b1", "b2"]}, rows, 2)
    shown = [["A", "b1"], ["A", "b1"], ["A"], ["A"], ["b2"], ["b2"]]
    assert method(case, 2) == [dict.fromkeys(row, 1) for row in shown]


@both
def test_triples_are_taken_in_preorder_of_every_node(method):
    """With a1 first, the triples with a2 come before those with b2: the other way round C is needed too."""
    rows = [
        ["a2", "b2", "c1", "c2"],
        ["a2", "b2", "c1", "c2"],
        ["a1", "a2", "b2", "c1"],
        ["a1", "a2", "c1"],
        ["a1", "b2"],
    ]
    tree = {"R": ["A", "B", "C"], "A": ["a1", "a2"], "B": ["b1", "b2"], "C": ["c1", "c2"]}
    shown = [["A", "B", "c1", "c2"], ["A", "B", "c1", "c2"], ["A", "B", "c1"], ["A", "c1"], ["A", "B"]]
    assert method(Case(tree, rows, 2), 3) == [dict.fromkeys(row, 1) for row in shown]


@pytest.mark.data
def test_real_clicks(data_dir):
    """BMS-WebView-2, balanced:4, k = 10, m = 2: the promise is kept, and soon."""
    lines = (data_dir / "transactions/BMS-WebView-2.dat").read_text().splitlines()
    tx = Transactions.from_rows([line.split() for line in lines])
    tree = balanced(tx, 4)
    before, start = peak_megabytes(), time.process_time()
    classes = apriori(tx, tree, k=10, m=2)
    seconds, megabytes = time.process_time() - start, peak_megabytes() - before
    ncp = measure_losses(tx, tree, classes).ncp
    parts = np.split(classes.nodes, classes.start[1:-1])
    records = [(list(map(str, nodes)), int(rows)) for nodes, rows in zip(parts, classes.sizes, strict=True)]
    assert rare_itemsets(records, 10, 2) == 0
    assert rare_itemsets(records, 10, 3) > 0
    assert ncp < 0.024
    assert seconds < SECONDS
    assert megabytes < MEGABYTES


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
