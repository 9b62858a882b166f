"""Queries, days and weeks as units, from the command line: k counts people, and the private map knows them."""

from __future__ import annotations

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
@pytest.mark.parametrize(("unit", "records"), [("query", 240), ("day", 120), ("week", 120)])
def test_k_counts_people_and_the_audit_knows_them(log, tmp_path, method, unit, records):
    options = ("--k", 3, "--method", method, "--unit", unit, "--items", "terms")
    ran = call(
        "anonymize", log, "--out", tmp_path / "out", *options, "--private-map", tmp_path / "map", "--json"
    )
    assert ran.code == 0, ran.err
    assert ran.json["records_in"] == records
    assert ran.json["people_min"] >= (1 if method == "suppress" else 3)
    assert (ran.json["claim"]["unit"], ran.json["claim"]["distinct"]) == (unit, "people")
    again = call("audit", tmp_path / "out", "--private-map", tmp_path / "map", "--original", log, "--json")
    assert again.json["problems"] == []
    assert again.code == (1 if method == "suppress" else 0), again.out


def test_records_may_be_counted_with_a_warning(log, tmp_path):
    options = ("--k", 3, "--unit", "query", "--items", "terms", "--distinct", "records")
    ran = call("anonymize", log, "--out", tmp_path / "out", *options)
    assert ran.code == 0, ran.err
    assert "Records are queries: several records of a class may be one person's." in ran.out


def test_a_list_with_noise_protects_people_and_takes_no_parts(log, tmp_path):
    ran = call("anonymize", log, "--out", tmp_path / "out", "--method", "korolova", "--unit", "day")
    assert ran.code == 2
    assert "use --unit user" in ran.err
