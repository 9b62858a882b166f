"""``incrowd risk --series``: releases of a series attacked together, and what is refused."""

from __future__ import annotations

import random
import shutil

import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import call, refused

PEOPLE = [f"p{i:02}" for i in range(48)]
PRIVATE = ("liked3", "hobby7", "rare11", "p07")
LOW = ("--items", "terms", "--taxonomy", "balanced:3", "--k", 4)


def lines_of(first_day, days, seed):
    """People who ask for words of their liking every week, and for some that many have; in the second week one is new, and one is gone."""
    dice = random.Random(seed)
    people = [*PEOPLE, "gone"] if first_day == 0 else ["a new one", *PEOPLE]
    for name in people:
        person = PEOPLE.index(name) if name in PEOPLE else len(PEOPLE)
        for day in range(first_day, first_day + days):
            said = f"liked{person // 6} hobby{person} usual{dice.randrange(12)} rare{dice.randrange(300)}"
            yield f"{name},2006-03-{day + 1:02d} 10:00:00,{said}"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A log of two weeks: a series of tiles by windows, and one of records made from a file a week."""
    place = tmp_path_factory.mktemp("series")
    weeks = [list(lines_of(first, 2, first)) for first in (0, 7)]
    for number, lines in enumerate(weeks):
        (place / f"week{number}.csv").write_text("\n".join(["user,time,query", *lines]) + "\n")
    (place / "log.csv").write_text("\n".join(["user,time,query", *weeks[0], *weeks[1]]) + "\n")
    for number, window in enumerate(("..2006-03-07", "new..2006-03-14")):
        how = ("--series", place / "tiles", "--window", window, "--private-map", place / f"t{number}.map")
        ran = call("anonymize", place / "log.csv", "--out", place / f"t{number}", *how, *LOW)
        assert ran.code == 0, ran.err
        how = (
            "--method",
            "flock",
            "--series",
            place / "records",
            "--private-map",
            place / f"r{number}.map",
        )
        ran = call("anonymize", place / f"week{number}.csv", "--out", place / f"r{number}", *how, *LOW)
        assert ran.code == 0, ran.err
    return place


def risk(place, kind, *more):
    maps = [part for number in (1, 0) for part in ("--private-map", place / f"{kind[0]}{number}.map")]
    return call("risk", place / "log.csv", "--series", place / kind, *maps, "--draws", 24, *more)


def test_a_series_of_tiles_has_figures_with_control_and_interval(place):
    page = place / "risk.html"
    ran = risk(place, "tiles", "--json", "--out", page)
    assert ran.code == 0, ran.err
    text = page.read_text(encoding="utf-8")
    assert "are found in the next release by what one release has of them" in text
    assert "a series of 2 releases with method mosaic" in text
    assert not any(word in text or word in ran.out for word in PRIVATE)
    said = ran.json
    assert said["series"] == ["t0", "t1"]
    assert (said["method"], said["k"]) == ("mosaic", 4)
    before, after = said["before"], said["after"]
    assert before["linkability"]["series_followed"] > 0.2
    assert before["linkability"]["series_intersected"]["3"] > 0.9
    linked = after["linkability"]
    low, high = linked["series_followed_interval"]
    assert low <= linked["series_followed"] <= high
    assert 0 <= linked["series_followed_control"] <= linked["series_followed"]
    assert linked["series_followed_tries"] == 24
    assert after["inference"]["series_guessed_control"].keys() == {"1", "2", "3", "5"}
    assert after["inference"]["risk"] is not None
    assert "series_intersected" not in linked
    assert set(after["skipped"]) >= {"others", "series_intersected", "series_shared"}
    assert after["singling_out"] == {"risk": None}  # which is not 0
    assert after["lights"]["singling_out"] is None


def test_a_series_of_records_is_read_by_the_times_of_the_ledger(place):
    maps = [place / "r0.map", place / "r1.map"]
    found = ic.risk(place / "log.csv", series=place / "records", private_map=maps, draws=24)
    after = found.as_dict()["after"]["linkability"]
    assert after["series_intersected_control"]["2"] is not None
    assert after["series_shared_tries"] == 24
    assert after["series_shared"] > 0.2  # classes of the two weeks cross
    assert found.as_dict()["before"]["linkability"]["series_intersected"]["2"] > 0.5
    ran = risk(place, "records")
    assert ran.code == 0, ran.err
    assert "a series of 2 releases with method flock, k = 4" in ran.out
    shown = " ".join(ran.out.split())
    assert "left in all, 3 items of each" in shown
    assert "guessed, 3 items of each" in shown
    assert f"below k in all releases - {after['series_shared']:.1%}" in shown  # the same as in Python
    assert not any(word in ran.out for word in PRIVATE)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--series", "tiles"], "--private-map, once for each"),
        (["--series", "tiles", "--private-map", "t0.map"], "that of release 't1'"),
        (["--series", "tiles", "--private-map", "t0.map", "--private-map", "r1.map"], "that of release 't1'"),
        (["--private-map", "t0.map", "--private-map", "t1.map", "--release", "t0"], "several --private-map"),
        (["--series", "nowhere", "--private-map", "t0.map"], "no series"),
        (["--series", "t0", "--private-map", "t0.map"], "no series"),
        (["--series", "tiles", "--private-map", "log.csv"], "private map"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(place, monkeypatch, options, said):
    monkeypatch.chdir(place)
    assert said in refused(call("risk", "log.csv", *options))


@pytest.mark.parametrize("more", [("--release", "t0"), ("--planted",), ("--sensitive", "liked3")])
def test_what_is_about_one_release_is_refused(place, monkeypatch, more):
    monkeypatch.chdir(place)
    assert f"{more[0]} is for one release" in refused(risk(place, "tiles", *more))


def test_a_map_of_no_release_and_other_people_are_refused(place, tmp_path):
    extra = risk(place, "tiles", "--private-map", place / "r0.map")
    assert "r0.map is of no release of the series" in refused(extra)
    other = tmp_path / "other.csv"
    text = (place / "log.csv").read_text(encoding="utf-8").replace("\np", "\nq")
    other.write_text(text, encoding="utf-8")
    maps = [part for number in (0, 1) for part in ("--private-map", place / f"t{number}.map")]
    said = refused(call("risk", other, "--series", place / "tiles", *maps))
    assert "owners that the originals do not have" in said
    assert "q0" not in said
    assert "liked" not in said


def test_releases_that_are_gone_changed_or_alone_are_refused(place, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(place / "records", copy / "series")
    (copy / "series" / "ledger").unlink()
    maps = [part for number in (0, 1) for part in ("--private-map", place / f"r{number}.map")]
    asked = ("risk", place / "log.csv", "--series", copy / "series", *maps)
    assert "'r0' of the series is not there" in refused(call(*asked))
    for name in ("r0", "r1"):
        shutil.copytree(place / name, copy / name)
    assert "nothing says which time release 'r0' is of" in refused(call(*asked))
    file = copy / "r0" / "records.parquet"
    pq.write_table(pq.read_table(file).slice(1), file)
    assert "other files than the index" in refused(call(*asked))
    alone = ("--series", tmp_path / "one", "--private-map", tmp_path / "one.map")
    assert call("anonymize", place / "week0.csv", "--out", tmp_path / "only", *alone, *LOW).code == 0
    said = refused(call("risk", place / "week0.csv", *alone))
    assert "two releases or more" in said
