"""Queries, mini-sessions, days and weeks as units, from the command line: k counts people, and the private map knows them."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from cli.helpers import call

DAY = 86_400


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Forty people with two queries on each of three days, ten days apart."""
    path = tmp_path_factory.mktemp("units") / "log.csv"
    words = ["hardwood floors", "high school", "pottery barn", "hardwood school"]
    lines = [
        f"p{person},{10 * DAY * day + second},{words[(person + day + second) % 4]}"
        for person in range(40)
        for day in range(3)
        for second in range(2)
    ]
    path.write_text("\n".join(["user,time,query", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("method", ["flock", "partition", "suppress", "mosaic"])
@pytest.mark.parametrize(
    ("unit", "records"), [("query", 240), ("mini-session:2/10m", 120), ("day", 120), ("week", 120)]
)
def test_k_counts_people_and_the_audit_knows_them(log, tmp_path, method, unit, records):
    options = ("--k", 3, "--method", method, "--unit", unit, "--items", "terms")
    ran = call(
        "anonymize", log, "--out", tmp_path / "out", *options, "--private-map", tmp_path / "map", "--json"
    )
    assert ran.code == 0, ran.err
    assert ran.json["records_in"] == records
    assert ran.json["people_min"] >= (1 if method == "suppress" else 3)
    assert (ran.json["claim"]["unit"], ran.json["claim"]["distinct"]) == (unit.partition(":")[0], "people")
    again = call("audit", tmp_path / "out", "--private-map", tmp_path / "map", "--original", log, "--json")
    assert again.json["problems"] == []
    assert again.code == (1 if method == "suppress" else 0), again.out


def test_tiles_are_of_people_and_not_of_records(log, tmp_path):
    options = ("--k", 3, "--method", "mosaic", "--unit", "query", "--distinct", "records")
    ran = call("anonymize", log, "--out", tmp_path / "out", *options)
    assert ran.code == 2
    assert "method mosaic counts people, whatever the unit is: drop --distinct records" in ran.err


def test_no_message_tells_the_secret_seed(tmp_path):
    options = ("--k", 3, "--method", "mosaic", "--unit", "day", "--items", "terms")
    nothing = ("--set", "coarsest=0", "--set", "cap=1", "--set", "aged=1", "--seed", 8_765_432_123)
    few = tmp_path / "few.csv"
    lines = [f"p{person},{person},own{person}" for person in range(40)]
    few.write_text("\n".join(["user,time,query", *lines]) + "\n", encoding="utf-8")
    ran = call("anonymize", few, "--out", tmp_path / "out", *options, *nothing)
    assert "leaves nothing to publish" in ran.err
    assert "8765432123" not in ran.err


def test_records_may_be_counted_with_a_warning(log, tmp_path):
    options = ("--k", 3, "--method", "flock", "--unit", "query", "--items", "terms", "--distinct", "records")
    ran = call("anonymize", log, "--out", tmp_path / "out", *options)
    assert ran.code == 0, ran.err
    assert "Records are queries: several records of a class may be one person's." in ran.out


def test_a_list_with_noise_protects_people_and_takes_no_parts(log, tmp_path):
    ran = call("anonymize", log, "--out", tmp_path / "out", "--method", "korolova", "--unit", "day")
    assert ran.code == 2
    assert "use --unit user" in ran.err


def test_in_a_log_of_two_weeks_an_account_counts_from_its_second_day(log, tmp_path):
    young = tmp_path / "log.csv"
    lines = [f"young{i},{i},hardwood floors" for i in range(30)]
    young.write_text(log.read_text() + "\n".join(lines) + "\n", encoding="utf-8")
    options = ("--k", 3, "--method", "mosaic", "--unit", "day", "--items", "terms")
    numbers = {}
    for aged in (None, 1, 2):
        out, chosen = tmp_path / f"out{aged}", () if aged is None else ("--set", f"aged={aged}")
        keep = ("--private-map", tmp_path / f"map{aged}")
        ran = call("anonymize", young, "--out", out, *options, *chosen, *keep, "--seed", 4, "--json")
        assert ran.code == 0, ran.err
        proven = call("audit", out, "--original", young, "--private-map", tmp_path / f"map{aged}")
        assert proven.code == 0, proven.out
        assert "The audit confirms" in proven.out
        assert ("active on at least 2 days" in " ".join(proven.out.split())) == (aged != 1)
        numbers[aged] = sum(row["people"] for row in pq.read_table(out / "tiles.parquet").to_pylist())
    assert numbers[None] == numbers[2] <= numbers[1] - 30
    refused = call("anonymize", young, "--out", tmp_path / "no", *options, "--set", "aged=4")
    assert "at least 10 k = 30 people who were active on 4 days or more (aged) (found 0)" in refused.err
