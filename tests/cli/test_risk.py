"""``incrowd risk`` as a user meets it: figures of raw data and of releases, pages, and what is refused."""

from __future__ import annotations

import json
import random
import stat

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import call, refused
from incrowd.release.files.records import RECORDS_SCHEMA
from incrowd.release.private_map import records_digest

WORDS = [f"word{i}" for i in range(250)]
USUAL = WORDS[:30]
METHODS = ("mosaic", "flock", "partition", "clump", "ssc", "apriori", "suppress")


def lines_of(people=80, days=20, seed=4):
    """People who ask for three usual words of their liking on some days, and for any others beside them."""
    dice = random.Random(seed)
    yield "user,time,query"
    for person in range(people):
        liked = dice.sample(USUAL, 3)
        for day in sorted(dice.sample(range(days), 6)):
            said = " ".join({dice.choice(liked), dice.choice(WORDS)})
            yield f"p{person},2006-03-{day + 1:02d} 10:00:00,{said}"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A log, and a release of it by every method with its map."""
    place = tmp_path_factory.mktemp("risk")
    (place / "log.csv").write_text("\n".join(lines_of()) + "\n", encoding="utf-8")
    for method in METHODS:
        how = (
            "--method",
            method,
            "--items",
            "terms",
            "--taxonomy",
            "balanced:3",
            "--private-map",
            place / f"{method}.map",
        )
        ran = call("anonymize", place / "log.csv", "--out", place / method, "--k", 4, *how)
        assert ran.code == 0, ran.err
    return place


def risk(place, method, *more):
    return call(
        "risk",
        place / "log.csv",
        "--release",
        place / method,
        "--private-map",
        place / f"{method}.map",
        *more,
        "--json",
    )


def test_raw_data_have_every_figure_with_its_interval_beside_it(place):
    ran = call("risk", place / "log.csv", "--items", "terms", "--draws", 60, "--json")
    assert ran.code == 0, ran.err
    before = ran.json["before"]
    assert "after" not in ran.json
    for group, name in (
        ("singling_out", "unicity"),
        ("singling_out", "unicity_recent"),
        ("inference", "one_more_item"),
    ):
        shares, intervals = before[group][name], before[group][f"{name}_interval"]
        assert shares.keys() == intervals.keys()
        assert all(low <= shares[p] <= high for p, (low, high) in intervals.items())
    assert set(before["singling_out"]["unicity"]) == set(map(str, range(1, 11)))
    assert before["singling_out"]["unicity"]["6"] > 0.9 > before["singling_out"]["unicity"]["1"]
    assert before["linkability"]["found_again_tries"] == 60
    assert before["linkability"]["halves"] == 1
    assert before["skipped"] == {"sensitive_item": "nothing was said to be sensitive"}
    assert ran.json["before"]["lights"]["singling_out"] == "red"


@pytest.mark.parametrize("method", METHODS)
def test_a_release_is_attacked_as_it_is_written(place, method):
    """What is read from the files is what the method made: figures are the same as of the release in memory, but for what needs times."""
    ran = risk(place, method, "--draws", 50)
    assert ran.code == 0, ran.err
    after = ran.json["after"]
    singled = after["singling_out"]["unicity"]["6"]
    if method == "suppress":  # it promises nothing
        assert singled > 0.2
    elif method != "apriori":  # which promises nothing about whole people
        assert singled == after["singling_out"]["at_risk"] == 0
        assert after["singling_out"]["prosecutor_highest"] <= 1 / 4
    assert ran.json["k"] == 4
    assert ran.json["method"] == method


def test_files_and_memory_give_the_same_figures(place):
    """The same seed draws the same people, whether a release is read from its files or just made."""
    with ic.read_log(place / "log.csv") as log:
        rows = log.transactions(unit="user", items="terms")
    release = ic.anonymize(rows, "balanced:3", method="flock", k=4)
    made = ic.risk(release, draws=50).as_dict()["after"]
    written = risk(place, "flock", "--draws", 50).json["after"]
    for group, names in (
        ("singling_out", ("unicity", "reidentified", "marketer")),
        ("inference", ("one_more_item",)),
    ):
        for name in names:
            assert made[group][name] == written[group][name]
            assert made[group][f"{name}_control"] == written[group][f"{name}_control"]


def test_a_release_copied_from_the_originals_comes_out_as_fully_broken(place, tmp_path):
    """A forged release: every person's record is what they have, under a map that is right."""
    with ic.read_log(place / "log.csv") as log:
        rows = log.transactions(unit="user", items="terms")
    bags = sorted((sorted(rows.row(i)), rows.owners[i].as_py()) for i in range(len(rows)))
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in ("manifest.json", "taxonomy.parquet"):
        (copy / file).write_bytes((place / "flock" / file).read_bytes())
    table = pa.table(
        [
            [bag for bag, _ in bags],
            [[True] * len(bag) for bag, _ in bags],
            [[1] * len(bag) for bag, _ in bags],
        ],
        schema=RECORDS_SCHEMA,
    )
    pq.write_table(table, copy / "records.parquet")
    old = pq.read_table(place / "flock.map")
    schema = old.schema.with_metadata({**old.schema.metadata, b"records": records_digest(copy).encode()})
    owners = pa.table([[owner for _, owner in bags], range(len(bags))], schema=schema)
    pq.write_table(owners, tmp_path / "copy.map")
    ran = call(
        "risk",
        place / "log.csv",
        "--release",
        copy,
        "--private-map",
        tmp_path / "copy.map",
        "--draws",
        80,
        "--json",
    )
    assert ran.code == 0, ran.err
    before, after = ran.json["before"], ran.json["after"]
    assert after["singling_out"]["marketer"] == before["singling_out"]["marketer"] == 1
    assert after["singling_out"]["unicity"]["6"] >= before["singling_out"]["unicity"]["6"] > 0.9
    assert after["inference"]["one_more_item"]["3"] == before["inference"]["one_more_item"]["3"] > 0.5
    assert after["linkability"]["halves"] == 1
    assert set(after["lights"].values()) == {"red"}


def test_sensitive_items_by_a_list_and_by_classes(place, tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("word3\nword7\n", encoding="utf-8")
    ran = call("risk", place / "log.csv", "--items", "terms", "--sensitive", words, "--draws", 40, "--json")
    assert ran.json["before"]["inference"]["sensitive_item"]["3"] > 0.5
    assert (
        refused(call("risk", place / "log.csv", "--items", "terms", "--sensitive", "nonesuch")).count(
            "nonesuch"
        )
        == 1
    )


def test_the_page_is_for_the_owner_alone(place, tmp_path):
    page = tmp_path / "risk.html"
    ran = call(
        "risk",
        place / "log.csv",
        "--release",
        place / "mosaic",
        "--private-map",
        place / "mosaic.map",
        "--out",
        page,
        "--draws",
        30,
    )
    assert ran.code == 0, ran.err
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    text = page.read_text(encoding="utf-8")
    assert not any(word in text for word in (*WORDS, "p17"))
    assert not any(word in ran.out for word in (*WORDS, "p17"))
    assert "exists" in refused(call("risk", place / "log.csv", "--out", page))
    assert call("risk", place / "log.csv", "--out", page, "--force", "--draws", 30).code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--release", "mosaic"], "--private-map"),
        (["--private-map", "mosaic.map"], "--release"),
        (["--release", "mosaic", "--private-map", "flock.map"], "another release"),
        (["--limits", "0.5"], "--limits"),
        (["--limits", "0.5,0.1"], "--limits"),
        (["--draws", "0"], "--draws"),
        (["--k", "1"], "k must be"),
        (["--release", "nowhere", "--private-map", "flock.map"], "nowhere"),
        (
            ["--release", "mosaic", "--private-map", "mosaic.map", "--out", "mosaic/risk.html"],
            "inside the release",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(place, monkeypatch, options, said):
    monkeypatch.chdir(place)
    assert said in refused(call("risk", "log.csv", *options))


def test_attacks_before_a_release_gets_its_name(place, tmp_path):
    how = (place / "log.csv", "--items", "terms", "--taxonomy", "balanced:3", "--k", 4)
    ran = call(
        "anonymize",
        *how,
        "--out",
        tmp_path / "good",
        "--attack",
        "--max-risk",
        "singling_out=0.01",
        "--certificate",
        "--json",
    )
    assert ran.code == 0, ran.err
    assert ran.json["risk"]["singling_out"]["risk"] == 0
    assert ran.json["seconds"]["attack"] > 0
    assert "Singling out" in (tmp_path / "good.certificate.html").read_text(encoding="utf-8")
    bad = call(
        "anonymize",
        *how,
        "--method",
        "suppress",
        "--out",
        tmp_path / "bad",
        "--max-risk",
        "singling_out=0.01",
    )
    assert bad.code == 1
    assert "--max-risk singling_out=0.01" in bad.err
    assert not (tmp_path / "bad").exists()
    assert "max_risk" in refused(call("anonymize", *how, "--out", tmp_path / "bad", "--max-risk", "all=1"))
    assert "share" in refused(call("anonymize", *how, "--out", tmp_path / "bad", "--max-risk", "inference=2"))


def test_figures_do_not_depend_on_the_order_of_the_log(place, tmp_path):
    lines = (place / "log.csv").read_text(encoding="utf-8").splitlines()
    other = tmp_path / "other.csv"
    other.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n", encoding="utf-8")
    first, second = (
        call("risk", log, "--items", "terms", "--draws", 40, "--json").json["before"]
        for log in (place / "log.csv", other)
    )
    assert json.dumps(first) == json.dumps(second)
