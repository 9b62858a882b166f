"""The recount of k^m-anonymity against brute force and the paper's facts."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden import GOLDEN
from incrowd.auditing.itemsets import rare_itemsets
from reference_apriori import count_rare

TABLE = GOLDEN["partition"]["table1"]

rows = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=7), max_size=20)


def records_of(data) -> list[tuple[tuple[str, ...], int]]:
    """Return distinct records and how many rows share each."""
    return list(Counter(tuple(sorted(set(row))) for row in data).items())


@given(rows, st.integers(1, 5), st.integers(1, 5))
def test_equals_brute_force(data, k, m):
    expected = count_rare(data, k, m)
    assert rare_itemsets(records_of(data), k, m) == expected
    assert rare_itemsets([(row, 1) for row in data], k, m) == expected


def test_papers_facts():
    """He & Naughton, VLDB 2009, section 1: Table 1's data is 2^2-anonymous, not 2^3-anonymous."""
    records = records_of(TABLE["transactions"])
    assert (rare_itemsets(records, 2, 2) == 0) is TABLE["km"]["original_is_2^2_anonymous"]
    assert (rare_itemsets(records, 2, 3) == 0) is TABLE["km"]["original_is_2^3_anonymous"]


def test_a_label_counts_once_in_a_record():
    assert rare_itemsets([(["a", "a"], 1)], 2, 1) == 1
    assert rare_itemsets([(["a", "a"], 2)], 2, 2) == 0


def test_nothing_has_nothing_rare():
    assert rare_itemsets([], 2, 3) == 0
    assert rare_itemsets([((), 5)], 2, 3) == 0


def test_more_than_the_longest_record_adds_nothing():
    records = [(["a", "b"], 1), (["a"], 1)]
    assert rare_itemsets(records, 2, 2) == rare_itemsets(records, 2, 10**9) == 2


def test_memory_stays_small():
    """Sets are counted under their first label: all 161,700 triples of one record are never held at once."""
    records = [([f"i{i:03}" for i in range(100)], 1)]
    tracemalloc.start()
    assert rare_itemsets(records, 2, 3) == 100 + 4_950 + 161_700
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4e6


@pytest.mark.data
def test_real_clicks_are_not_anonymous(data_dir):
    lines = (data_dir / "transactions/BMS-WebView-2.dat").read_text().splitlines()
    assert rare_itemsets(((line.split(), 1) for line in lines), 10, 2) > 100_000
