"""Whole jobs from a newcomer's first try: the demo, a real log, real baskets."""

from __future__ import annotations

import pytest

from cli.helpers import call, visible
from cli.test_neighbours import put_manifest

PHRASES = (
    "ask, jeeves", "bad, credit", "barnes, noble", "bed, bath", "capital, one", "chamber, commerce", "coldwell, banker", "high, school",
    "jc, penney", "nail, salons", "nursing, homes", "phone, number", "real, estate", "time, warner, cable", "wells, fargo", "zip, code",
)  # fmt: skip


def test_the_demo_shows_the_whole_job_and_can_be_run_again(tmp_path):
    out = tmp_path / "demo"
    first = call("demo", "--out", out)
    assert first.code == 0, first.err
    assert "The audit confirms" in first.out
    # Which ten tiles are shown depends on a secret seed; most of them are always phrases that a reader knows.
    assert sum(phrase in first.out for phrase in PHRASES) >= 5
    assert "Whole people, each as one record (--goal people), would have kept" in first.out
    assert str(out / "report.html") in first.out
    assert "incrowd anonymize YOUR_LOG" in first.out
    put_manifest(tmp_path / "old")
    second = call("demo", "--out", out, "--json")
    assert (second.code, second.err) == (0, "")  # its people are made up: no release beside it is warned of
    assert second.json["claim"]["holds"] is True
    assert visible(tmp_path) == {"demo", "old"}
    assert call("audit", out).code == 0


@pytest.mark.data
def test_a_real_query_log_works_at_the_first_try(data_dir, tmp_path):
    log = data_dir / "logs" / "excite-small.log"
    out = tmp_path / "release"
    ran = call("anonymize", "--method=flock", log, "--out", out, "--k", 5, "--private-map", tmp_path / "map")
    assert ran.code == 0, ran.err
    for part in (
        "lines read as excite",
        "891  users found",
        "listed in wordnet",
        "not listed",
        "users withheld",
    ):
        assert part in ran.out
    assert call("audit", out, "--original", log, "--private-map", tmp_path / "map").code == 0


@pytest.mark.data
@pytest.mark.parametrize(("k", "most"), [(10, 0.067), (5, 0.0575)])
def test_real_baskets_lose_no_more_than_the_paper_reports(data_dir, tmp_path, k, most):
    baskets = data_dir / "transactions" / "BMS-WebView-2.dat"
    options = ("--k", k, "--taxonomy", "balanced:5", "--method", "partition", "--json")
    result = call("anonymize", "--method=flock", baskets, "--out", tmp_path / "release", *options).json
    assert result["claim"]["holds"] is True
    assert result["records_out"] == 77_512
    assert result["loss"]["ncp"] <= most
