from __future__ import annotations

import re

import numpy as np
import pytest

import incrowd as ic
from browser import drawn_charts, opened
from incrowd.report.html import share
from incrowd.report.page import Cost
from incrowd.report.release_charts import CHARTS, bins_of_at_least

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
    assert set(found) == set(CHARTS)
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
    assert "forgives nothing" in page
    assert "forgives copies that collapse" in page
    assert f"With this k no method can lose less than {share(release.bound.value)}, unless it" in page
    assert "<b>1</b><span>withheld" in page
    assert "secret" not in page


def test_the_length_of_one_odd_record_does_not_show(release, tmp_path):
    page = page_of(release, tmp_path)
    said = re.findall(r'"length": "([^"]*)", "records": (\d+), "when": "before"', page)
    assert sum(int(count) for _, count in said) == len(COMMON + ODD)
    assert all(int(count) == 0 or int(count) >= 3 for _, count in said)


@pytest.mark.parametrize(
    ("values", "k", "edges"),
    [
        ([1, 1, 2, 2], 2, [1, 2, 4]),
        ([1, 1, 2, 2, 50], 2, [1, 2, 64]),  # who is alone at 50 is joined with those at 2
        ([1, 2, 50], 3, [1, 64]),
        ([1, 50, 50], 2, [1, 64]),  # the bins in between are joined with the lonely first
        ([1, 1, 50, 50], 2, [1, 2, 4, 8, 16, 32, 64]),
    ],
)
def test_bins_hold_none_or_at_least_k(values, k, edges):
    assert bins_of_at_least(k, np.array(values), 1) == edges


def test_bins_reach_to_the_longest_published_record():
    assert bins_of_at_least(2, np.array([1, 1]), 5) == [1, 2, 4, 8]


def test_time_and_memory_show_where_they_are_known(release, tmp_path):
    plain = page_of(release, tmp_path)
    assert "What it took" not in plain
    again = page_of(release, tmp_path, force=True, cost=lambda: Cost({"read": 12.34}, 567.8))
    assert '<th>read</th><td class="number">12.34 s</td>' in again
    assert '<th>most memory</th><td class="number">568 MB</td>' in again
    assert page_of(release, tmp_path, force=True) == plain
