from __future__ import annotations

import pytest

from incrowd.report.bound import bound_line, bound_note, bounds_note

EXACT = {"ggd_norm": 0.05, "error": 0.0, "rows": 900}
SAMPLED = {"ggd_norm": 0.05, "error": 0.001, "rows": 3_677}


WORDS = "With this k no method can lose less than 5.0%, unless it withholds records"
SAMPLE = "a sample of 3,677 records; three standard errors are taken off"


@pytest.mark.parametrize(
    ("bound", "words"), [(None, ""), (EXACT, f" {WORDS}."), (SAMPLED, f" {WORDS} ({SAMPLE}).")]
)
def test_a_release_says_what_its_bound_comes_from(bound, words):
    assert bound_note(bound) == words


def test_a_line_of_the_table_is_short():
    assert bound_line(EXACT) == "no method can lose less than this"
    assert bound_line(SAMPLED) == "no method can lose less than this (by a sample of 3,677 records)"


def test_runs_without_a_bound_say_nothing():
    assert bounds_note([]) == bounds_note([{"k": 2, "bound": None}]) == ""


def test_each_k_is_told_once_in_order():
    runs = [{"k": k, "bound": EXACT} for k in (10, 2, 10)] + [{"k": 3, "bound": None}]
    assert bounds_note(runs) == (
        "Under k-anonymity no method can lose less than 5.0% (k = 2), 5.0% (k = 10), unless it withholds records."
    )
