"""``incrowd risk`` with a second release of the same people, and with planted accounts."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import call, refused

HOW = ("--items", "terms", "--taxonomy", "balanced:3", "--seed", 1)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A log, and releases of it: records with k = 4 and k = 5, tiles with k = 4 and k = 5, a list, and one of other items."""
    place = tmp_path_factory.mktemp("together")
    dice = random.Random(5)
    lines = ["user,query"]
    for person in range(60):
        words = [f"word{dice.randrange(40)}" for _ in range(5)] + [f"own{person}"] * (person % 3 == 0)
        lines.append(f"p{person},{' '.join(words)}")
    (place / "log.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, *how in (
        ("flock4", "--method", "flock", "--k", 4),
        ("flock5", "--method", "flock", "--k", 5),
        ("tiles4", "--method", "mosaic", "--k", 4),
        ("tiles5", "--method", "mosaic", "--k", 5),
    ):
        ran = call(
            "anonymize", place / "log.csv", "--out", place / name, "--private-map", place / f"{name}.map", *HOW, *how
        )  # fmt: skip
        assert ran.code == 0, ran.err
    other = ("--method", "flock", "--k", 4, "--items", "queries", "--private-map", place / "queries.map")
    assert call("anonymize", place / "log.csv", "--out", place / "queries", *other).code == 0
    return place


def risk(place, first, *more):
    release = ("--release", place / first, "--private-map", place / f"{first}.map")
    return call("risk", place / "log.csv", *release, "--draws", 30, *more)


def second(place, name):
    return "--second-release", place / name, "--second-map", place / f"{name}.map"


def record_of_owner(place, name):
    """Return the record of each owner, as it is written."""
    rows = pq.read_table(place / name / "records.parquet").to_pylist()
    given = pq.read_table(place / f"{name}.map").to_pylist()
    return {line["owner"]: str(sorted(rows[line["row"]]["items"])) for line in given}


def test_two_releases_of_records_are_put_together(place):
    """The figure is that of the files: who has fewer than k people with the same two records."""
    ran = risk(place, "flock4", *second(place, "flock5"), "--json")
    assert ran.code == 0, ran.err
    linked = ran.json["after"]["linkability"]
    first, again = (record_of_owner(place, name) for name in ("flock4", "flock5"))
    pairs = Counter((first[owner], again[owner]) for owner in first.keys() & again.keys())
    few = sum(number for number in pairs.values() if number < 4)
    assert linked["two_releases_tries"] == sum(pairs.values()) == 60
    assert linked["two_releases"] == pytest.approx(few / 60, abs=1e-6)
    assert linked["two_releases"] > 0.3
    assert linked["risk"] >= linked["two_releases_risk"]
    low, high = linked["two_releases_interval"]
    assert low < linked["two_releases"] < high
    found = ic.risk(
        place / "log.csv",
        place / "flock4",
        private_map=place / "flock4.map",
        second=(place / "flock5", place / "flock5.map"),
        draws=30,
    )
    assert found.as_dict()["after"] == ran.json["after"]


def test_a_release_put_together_with_itself_says_nothing_new(place):
    ran = risk(place, "tiles4", *second(place, "tiles4"), "--json")
    assert ran.json["after"]["linkability"]["two_releases"] == 0


def test_two_releases_of_tiles_are_subtracted(place):
    """The figure is that of the files: who holds a label whose numbers differ by 1 to k - 1."""
    ran = risk(place, "tiles4", *second(place, "tiles5"), "--json")
    assert ran.code == 0, ran.err
    numbers = []
    for name in ("tiles4", "tiles5"):
        count = Counter()
        for tile in pq.read_table(place / name / "tiles.parquet").to_pylist():
            for label in zip(tile["items"], tile["exact"], strict=True):
                count[label] += tile["people"]
        numbers.append(count)
    small = {
        label
        for label in numbers[0].keys() & numbers[1]
        if 0 < abs(numbers[0][label] - numbers[1][label]) < 4
    }
    tiles = pq.read_table(place / "tiles4" / "tiles.parquet").to_pylist()
    hit, everybody = set(), set()
    for line in pq.read_table(place / "tiles4.map").to_pylist():
        tile = tiles[line["row"]]
        everybody.add(line["owner"])
        if small & set(zip(tile["items"], tile["exact"], strict=True)):
            hit.add(line["owner"])
    linked = ran.json["after"]["linkability"]
    assert linked["two_releases_tries"] == len(everybody) > 30
    assert linked["two_releases"] == pytest.approx(len(hit) / len(everybody), abs=1e-6)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--second-release", "flock5"], "--second-release needs --second-map"),
        (["--second-map", "flock5.map"], "--second-map needs --second-release"),
        (["--second-release", "flock5", "--second-map", "flock4.map"], "flock4.map is another release's"),
        (["--second-release", "tiles4", "--second-map", "tiles4.map"], "of the same kind"),
        (["--second-release", "nowhere", "--second-map", "flock4.map"], "nowhere"),
        (["--second-release", "queries", "--second-map", "queries.map"], "has items 'queries'"),
    ],
)
def test_second_releases_that_do_not_fit_are_refused(place, monkeypatch, options, said):
    monkeypatch.chdir(place)
    assert said in refused(risk(place, "flock4", *options))


def test_a_second_release_needs_a_first(place):
    assert "needs --release" in refused(call("risk", place / "log.csv", *second(place, "flock5")))
    assert "--planted needs --release" in refused(call("risk", place / "log.csv", "--planted"))


def test_planted_accounts_are_reported_beside_the_others(place):
    """k - 1 accounts of an attacker undo a promise about k people."""
    ran = risk(place, "flock4", "--planted", "--json")
    assert ran.code == 0, ran.err
    planted = ran.json["after"]["planted_accounts"]
    assert planted["alone_tries"] == planted["read_off_tries"] == 20
    assert planted["read_off"] > 0.2
    assert 0 <= planted["read_off_control"] < planted["read_off"]
    assert "planted_accounts" not in ran.json["after"]["lights"]


def test_planted_accounts_and_two_releases_are_shown(place):
    """By default mosaic holds back what would be told with a confidence of more than 0.8: accounts read nothing off."""
    shown = risk(place, "tiles4", "--planted", *second(place, "tiles5"))
    assert "below k in two releases" in shown.out
    (line,) = (line for line in shown.out.splitlines() if "item read off by planted" in line)
    assert line.split()[5:8] == ["-", "0.0%", "0.0%"]  # before, after, control
