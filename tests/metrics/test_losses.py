"""The losses against the naive reference, on what Partition publishes and on hand-made releases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from golden import GOLDEN
from incrowd.core.classes import Classes
from incrowd.methods.registry import METHODS
from incrowd.metrics import Losses, measure_losses
from strategies import Case, cases, large_cases


def losses_of(case: Case, publish: str) -> Losses:
    data = case.attached()
    classes = METHODS["partition"](data.transactions, data.taxonomy, k=case.k, publish=publish)
    return measure_losses(data.transactions, data.taxonomy, classes)


def losses_expected(case: Case, publish: str) -> Losses:
    tree, bags = case.tree(), case.bags()
    groups = reference.partition(tree, bags, case.k)
    shown = (
        reference.lg_bag(tree, bags, groups)
        if publish == "bag"
        else reference.published_sets(groups, len(bags))
    )
    ggd, occurrences = reference.ggd(tree, bags, shown), sum(sum(bag.values()) for bag in bags)
    return Losses(
        ncp=float(reference.ncp(tree, bags, shown)),
        ggd=float(ggd),
        ggd_norm=float(ggd / occurrences),
        ic_norm=reference.ic_norm(tree, bags, shown),
        kept_exactly=float(reference.kept_exactly(bags, shown)),
        blm=float(ggd / occurrences),
        avg_length=float(reference.average_length(shown)),
        avg_level=float(reference.average_level(tree, shown)),
    )


def assert_close(found: Losses, expected: Losses) -> None:
    for name in Losses.__struct_fields__:
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9, abs=1e-12), name


@settings(max_examples=150)
@given(st.one_of(cases(), large_cases()), st.sampled_from(["set", "bag"]))
def test_equal_the_reference(case, publish):
    assert_close(losses_of(case, publish), losses_expected(case, publish))


CLUMP = Case(GOLDEN["clump"]["taxonomy"], list(GOLDEN["clump"]["clump_k2"]["transactions"].values()), 2)


def test_by_hand():
    """Milani Fard & Wang, SECRYPT 2010, section 4.2: two rows publish {fruit, meat}, three publish {food}; 13 occurrences, 8 leaves."""
    found = losses_of(CLUMP, "set")
    ic = (math.log(3) + math.log(2)) / math.log(8)
    by_hand = Losses(
        ncp=(2 * 3 / 8 + 3 * 2 / 8 + 8) / 13,
        ggd=69 / 7,
        ggd_norm=69 / 91,
        ic_norm=(13 - 7 + 2 * ic + 3) / 13,
        kept_exactly=0.0,
        blm=69 / 91,
        avg_length=7 / 5,
        avg_level=(4 * 2 + 3 * 1) / 7,
    )
    assert_close(found, by_hand)


def test_a_withheld_row_loses_all_it_has():
    data = CLUMP.attached()
    nothing = Classes(
        np.full(5, -1, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32)
    )
    found = measure_losses(data.transactions, data.taxonomy, nothing)
    assert_close(found, Losses(1.0, 13.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0))


def test_nothing_is_lost_where_all_rows_agree():
    found = losses_of(Case({"R": ["a", "b"]}, [["a", "b", "b"]] * 3, 3), "bag")
    assert_close(found, Losses(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 3.0, 2.0))


def test_sets_forget_copies_and_ncp_forgives_it():
    found = losses_of(Case({"R": ["a", "b"]}, [["a", "b", "b"]] * 3, 3), "set")
    assert_close(found, Losses(0.0, 3.0, 1 / 3, 1 / 3, 2 / 3, 1 / 3, 2.0, 2.0))


def test_an_item_that_is_an_inner_node_is_kept_exactly():
    found = losses_of(Case({"R": ["dog", "cat"], "dog": ["pug"]}, [["dog"], ["dog"]], 2), "set")
    assert found.kept_exactly == 1.0
    assert found.avg_level == 3.0
