from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import incrowd as ic
from browser import drawn_charts, opened
from incrowd.release.lengths import lengths_of
from incrowd.report.html import share

LARGEST = 5_000_000
HOSTILE = "<script>document.title='taken over'</script>"
COMMON = [["milk", "bread"]] * 5 + [["milk", "beer", "beer"]] * 4 + [[HOSTILE]] * 8
ODD = [["secret"] * 99 + ["milk"]]


@pytest.fixture(scope="module")
def release():
    rows = ic.Transactions.from_rows(COMMON + ODD + [[]])
    return ic.anonymize(rows, ic.balanced(rows, 2), k=3, method="partition", publish="bag")


def page_of(release, directory, **options):
    release.write(directory / "release", **options)
    return (directory / "release" / "report.html").read_text(encoding="utf-8")


def test_a_browser_draws_every_chart_and_fetches_nothing(release, tmp_path):
    found = drawn_charts(opened(page_of(release, tmp_path), tmp_path))
    assert set(found) == {"loss", "fate", "sizes", "levels", "lengths", "items"}
    for name, inside in found.items():
        bars = re.findall(r'aria-roledescription="bar"[^>]* d="(M[^"]*)"', inside)
        assert bars, name
        assert not any("NaN" in bar for bar in bars), name
    assert "taken over" in found["items"]  # a published label is drawn, not run


def test_the_page_shows_promise_caveats_losses_withheld_and_no_original(release, tmp_path):
    page = page_of(release, tmp_path)
    assert len(page.encode()) < LARGEST
    assert release.claim.in_words in page
    for caveat in release.claim.not_promised:
        assert caveat in page
    assert "also a collapsed copy, costs 1" in page
    assert "Copies that collapse into one cost nothing" in page
    assert f"With this k no method can lose less than {share(release.bound.value)}, unless it" in page
    assert "<b>fewer than 3</b><span>withheld" in page
    assert "secret" not in page


def test_the_length_of_one_odd_record_does_not_show(release, tmp_path):
    page = page_of(release, tmp_path)
    said = re.findall(r'"length": "([^"]*)", "records": (\d+), "when": "before"', page)
    assert sum(int(count) for _, count in said) == len(COMMON + ODD)
    assert all(int(count) >= 3 for _, count in said)


@pytest.mark.parametrize(
    ("values", "k", "edges"),
    [
        ([1, 1, 2, 2], 2, [1, 2]),
        ([1, 1, 2, 2, 50], 2, [1, 2]),  # who is alone at 50 is joined with those at 2
        ([1, 2, 50], 3, [1]),
        ([1, 50, 50], 2, [1]),  # the bins in between are joined with the lonely first
        ([1, 1, 50, 50], 2, [1, 32]),
        ([1, 1, 3, 3, 50, 50], 2, [1, 2, 32]),
    ],
)
def test_bins_hold_at_least_k_and_the_last_is_open(values, k, edges):
    data = ic.Transactions.from_rows(
        [["x"] * value for value in values], people=[str(n) for n, _ in enumerate(values)]
    )
    bins = lengths_of(data, np.ones(len(values), dtype=bool), k)
    assert [one.least for one in bins] == edges
    assert sum(one.records for one in bins) == len(values)
    assert lengths_of(replace(data, people=None), np.ones(len(values), dtype=bool), k) == bins


def test_bins_count_people_and_not_their_sessions():
    """Eight long sessions of one person make no bin of their own."""
    rows, everyone = [["x"]] * 5 + [["x"] * 600] * 8, np.ones(13, dtype=bool)
    one_long = ic.Transactions.from_rows(rows, people=[*"abcde", *"f" * 8])
    assert [one.least for one in lengths_of(one_long, everyone, 5)] == [1]
    assert [one.least for one in lengths_of(ic.Transactions.from_rows(rows), everyone, 5)] == [1, 512]


def test_the_page_says_nothing_of_time_and_memory(release, tmp_path):
    assert page_of(release, tmp_path) == page_of(release, tmp_path, force=True)
    assert "What it took" not in page_of(release, tmp_path, force=True)
