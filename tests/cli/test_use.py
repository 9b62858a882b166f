"""Measures of use from the command line: in `--json`, the manifest and the audit."""

from __future__ import annotations

import json
import random

import pytest

from cli.helpers import call
from incrowd.core.rounding import four_digits

DAY = 86_400
QUERIES = ["dog food", "cat food", "red wine", "white wine", "garden tools"]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Sixty people over three weeks, some of whom click."""
    dice = random.Random(4)
    lines = ["user,time,query,url"]
    for person in range(60):
        for _ in range(3):
            url = "http://shop.example" if dice.random() < 0.3 else ""
            lines.append(f"p{person},{dice.randrange(21 * DAY)},{dice.choice(QUERIES)},{url}")
    path = tmp_path_factory.mktemp("in") / "log.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=["flock", "mosaic"])
def made(log, request, tmp_path_factory):
    place = tmp_path_factory.mktemp(request.param)
    ran = call(
        *("anonymize", log, "--method", request.param, "--k", 3, "--items", "terms", "--out", place / "out"),
        *("--private-map", place / "map", "--json"),
    )
    assert ran.code == 0, ran.err
    return place, ran.json


def said_of(place):
    return json.loads((place / "out/manifest.json").read_text(encoding="utf-8"))


def test_the_measures_are_in_json_and_with_four_digits_in_the_manifest(made):
    place, said = made
    assert said_of(place)["use"] == {
        name: None if value is None else four_digits(value) for name, value in said["use"].items()
    }
    assert 0 < said["use"]["trend_error"] <= 1
    assert said["use"]["clicks_recall"] == 0
    assert all(0 <= value <= 1 for value in said["use"].values())


def test_the_audit_measures_again(made, log):
    place = made[0]
    ran = call("audit", place / "out", "--original", log, "--private-map", place / "map", "--json")
    assert (ran.code, ran.json["problems"]) == (0, []), ran.err
    assert any("measured again" in line for line in ran.json["checks"])


def test_a_log_without_times_and_clicks_has_neither_measure(tmp_path):
    (tmp_path / "baskets.dat").write_text("milk bread\nmilk\nmilk bread beer\n" * 4, encoding="utf-8")
    options = ("--out", tmp_path / "out", "--k", 3, "--method", "flock", "--json")
    use = call("anonymize", tmp_path / "baskets.dat", *options).json["use"]
    assert use["trend_error"] is use["clicks_recall"] is None
    assert use["items_error"] is not None


def test_a_list_of_queries_tells_its_use_in_a_comparison_alone(log, tmp_path):
    options = ("--method", "korolova", "--set", "eps=20", "--set", "delta=0.009", "--set", "d=3")
    ran = call("anonymize", log, "--out", tmp_path / "out", *options, "--json")
    assert ran.code == 0, ran.err
    assert "use" not in ran.json
    assert "use" not in said_of(tmp_path)
    methods = "korolova:eps=20;delta=0.009;d=3"
    ran = call("compare", log, "--methods", methods, "--out", tmp_path / "compared", "--json")
    use = ran.json["runs"][0]["use"]
    assert use["kept_exactly"] is use["links_kept"] is None
    assert use["items_error"] < 1


def test_what_records_do_not_determine_is_not_in_the_manifest(log, tmp_path):
    options = ("--method", "ssc", "--k", 3, "--items", "terms", "--taxonomy", "balanced:3")
    ran = call("anonymize", log, "--out", tmp_path / "out", *options, "--json")
    assert ran.code == 0, ran.err
    assert said_of(tmp_path)["use"] is None, "stand-ins: others' terms may be equal to an owner's"
    assert ran.json["use"]["items_error"] < 1
