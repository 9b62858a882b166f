"""Items of several kinds from the command line: published with the words where k people share all of it, and audited."""

from __future__ import annotations

import json
import random
import re
import shutil

import pandas as pd
import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import call, refused
from incrowd.core.kinds import KINDS as KINDS_OF_ITEMS
from incrowd.release.files.dictionary import WRITTEN, columns_in
from incrowd.release.files.manifest import read_manifest
from incrowd.release.files.tiles import TileManifest, open_tiles, write_tiles
from incrowd.taxonomy.ladders import count_misspelled, way_up

HEADER = "User\tQuery\tTime\tURL\tPlace\tDevice\tLanguage\tShown"
KINDS = "url,shown,hour,week,place,device,language"
SECRETS = {
    "an address with a token": "8f3atoken",
    "a site of one person": "onlymine",
    "the village of one person": "Zyzzxville",
    "the hour at night of one person": "03:00",
    "a device of one person": "prototype",
    "a language of one person": "xx",
}


def lines_of(people: int = 80) -> list[str]:
    """Return a log: people look for floors and schools, click on shops, at home in two towns; one of them is like nobody else."""
    dice, lines = random.Random(7), [HEADER]
    towns = ["US/TX/Austin", "US/TX/Dallas", "US/TX/Waco", "US/TX/Tyler", "US/TX/Alvin", "US/TX/Lubbock"]
    for person in range(people):
        place = towns[person % 2] if person < 60 else towns[dice.randrange(6)]
        for week in (6, 13):
            topic = (person + week) % 3
            query = ("hardwood floors", "high school", "pottery barn")[topic]
            page = ("homedepot.com/floors", "classmates.com", "potterybarn.com")[topic]
            url = f"http://www.{page}" + (f"?visitor={person}" if person % 4 == 0 and topic == 0 else "")
            shown = f"{page} other.org third.gov"
            lines.append(
                f"p{person}\t{query}\t2006-03-{week:02} {10 + person % 4}:{person % 60:02}:00\t{url}\t{place}\tmobile/ios\ten-US\t{shown}"
            )
    lines.append(
        "p7\thigh school\t2006-03-20 03:17:00\thttp://onlymine.example/a?t=8f3atoken\tUS/TX/Zyzzxville\tprototype/one\txx\tonlymine.example"
    )
    return lines


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("kinds") / "log.tsv"
    path.write_text("\n".join(lines_of()) + "\n", encoding="utf-8")
    return path


OPTIONS = ("--kinds", KINDS, "--unit", "query", "--items", "queries", "--seed", 3)
THRESHOLDS = "place=10,query+url=7"


@pytest.fixture(scope="module")
def made(log, tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    more = ("--set", f"thresholds={THRESHOLDS}", "--write", "csv,jsonl,dat")
    ran = call(
        "anonymize", log, "--out", place / "out", *OPTIONS, *more, "--private-map", place / "map", "--json"
    )
    assert ran.code == 0, ran.err
    return place, ran.json


def test_each_kind_has_its_columns_and_its_finest_level(made):
    place, said = made
    rows = pq.read_table(place / "out/tiles.parquet").to_pylist()
    together = [row for row in rows if row["items"] and row["url"]]
    assert any(row["items"] == ["high school"] and row["url"] == ["www.classmates.com"] for row in together)
    labels = {kind: {text for row in rows for text in row[kind]} for kind in KINDS.split(",")}
    assert {"2006-W10", "2006-W11"} >= labels["week"]
    assert "US/TX/Austin" in labels["place"]
    assert "classmates.com #1" in labels["shown"]
    # Pages of one visitor each become the page without it; towns of few people the region around them.
    classes = {
        (text, exact) for row in rows for text, exact in zip(row["url"], row["url_exact"], strict=True)
    }
    assert ("www.homedepot.com/floors", False) in classes
    assert ("US/TX", False) in {
        pair for row in rows for pair in zip(row["place"], row["place_exact"], strict=True)
    }
    assert said["use"]["clicks_recall"] > 0.5
    assert said["parameters"]["kinds"] == KINDS
    assert said["parameters"]["thresholds"] == "items+url=7,place=10"


@pytest.mark.parametrize("what", SECRETS)
def test_what_one_person_has_of_any_kind_stays_out(made, what):
    place, _ = made
    everything = (
        b"".join(
            path.read_bytes()
            for path in (place / "out").iterdir()
            if path.suffix not in (".parquet", ".html")
        )
        + json.dumps([pq.read_table(path).to_pylist() for path in (place / "out").glob("*.parquet")]).encode()
    )
    page = (place / "out/report.html").read_bytes()
    assert SECRETS[what].encode() not in everything
    if len(SECRETS[what]) > 2:  # shorter ones are part of any page
        assert SECRETS[what].encode() not in page


def test_thresholds_hold_and_the_audit_recounts_them(made, log, tmp_path):
    place, _ = made
    tiles = list(open_tiles(place / "out"))
    for row in pq.read_table(place / "out/tiles.parquet").to_pylist():
        assert row["people"] >= (10 if row["place"] else 7 if row["items"] and row["url"] else 5)
    ran = call("audit", place / "out", "--original", log, "--private-map", place / "map", "--json")
    assert ran.code == 0, ran.out
    shutil.copytree(place / "out", tmp_path / "copy")
    kinds = KINDS.split(",")
    at = next(i for i, tile in enumerate(tiles) if any("place" in text for text, _ in tile.labels))
    tiles[at] = tiles[at]._replace(people=9, units=9)
    write_tiles(tmp_path / "copy/tiles.parquet", tiles, kinds)
    ran = call("audit", tmp_path / "copy", "--json")
    assert ran.code == 1
    assert "fewer people than labels of their kinds need" in ran.out


def test_the_audit_says_which_thresholds_it_recounted(made, log):
    place, _ = made
    of_files = call("audit", place / "out", "--json").json["checks"]
    assert "tiles are said to be held by as many people as their kinds need: items+url=7,place=10" in of_files
    proof = ("--original", log, "--private-map", place / "map")
    recounted = call("audit", place / "out", *proof, "--json").json["checks"]
    assert "tiles are held by as many people as their kinds need: items+url=7,place=10" in recounted


def test_the_dictionary_explains_the_columns_of_kinds(made):
    """In every form of the tiles, and in the taxonomy."""
    place, _ = made
    entries = {(path.name, one.name): one for path in (place / "out").iterdir() for one in columns_in(path)}
    assert all(one.meaning.endswith(".") for one in entries.values())
    for name in ("tiles.parquet", "tiles.jsonl"):
        assert entries[name, "url"].what == "list of text"
        assert entries[name, "url_exact"].what == "list of true or false"
        assert entries[name, "order"].what == "list of numbers"
        assert "2006-W13" in entries[name, "week"].meaning
    assert entries["tiles.csv", "kind"].what == entries["taxonomy.parquet", "kind"].what == "text"


@pytest.mark.parametrize("kind", KINDS_OF_ITEMS)
def test_the_dictionary_says_how_labels_of_a_kind_are_written(kind):
    """Its examples are labels as they are published, and the classes above them."""
    item = {
        "url": "example.gov/moon?page=2",
        "shown": "example.gov/moon #2",
        "hour": "09:00",
        "day": "2006-03-31",
        "week": "2006-W13",
        "month": "2006-03",
        "place": "US/TX/Austin",
        "device": "mobile/ios",
        "language": "en-us",
    }[kind]
    assert item in WRITTEN[kind]
    assert not count_misspelled(kind, [item], exact=True)
    examples = set(
        re.findall(r"\d\d:\d\d-\d\d:\d\d|2006-Q1|US/TX(?=\.)|(?<=as )en(?=\.)|\.gov(?=\))", WRITTEN[kind])
    )
    assert examples <= set(way_up(kind, item))


def test_lower_thresholds_in_the_manifest_are_found(made, tmp_path):
    """A publisher who made the release with others than it says is found by whoever recounts."""
    place, _ = made
    shutil.copytree(place / "out", tmp_path / "copy")
    text = (tmp_path / "copy/manifest.json").read_text(encoding="utf-8")
    (tmp_path / "copy/manifest.json").write_text(text.replace("place=10", "place=60"), encoding="utf-8")
    assert call("audit", tmp_path / "copy", "--json").code == 1


def test_labels_are_where_their_texts_belong(made, tmp_path):
    place, _ = made
    shutil.copytree(place / "out", tmp_path / "copy")
    table = pq.read_table(tmp_path / "copy/taxonomy.parquet")
    rows = table.to_pylist()
    at = next(i for i, row in enumerate(rows) if row["kind"] == "place" and row["label"] == "US/TX/Austin")
    rows[at]["parent"] = "US"
    rows[at]["level"] -= 1
    pq.write_table(table.from_pylist(rows, table.schema), tmp_path / "copy/taxonomy.parquet")
    ran = call("audit", tmp_path / "copy", "--json")
    assert ran.code == 1
    assert "not where their texts belong" in ran.out


def test_text_forms_name_the_kind(made):
    place, _ = made
    first = (place / "out/tiles.csv").read_text(encoding="utf-8").splitlines()
    assert first[0] == "tile,kind,item,exact,people,units"
    assert "week:2006-W10" in (place / "out/tiles.dat").read_text(encoding="utf-8")
    row = json.loads((place / "out/tiles.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert "place_exact" in row


def test_shown_as_people_read_it(made):
    place, _ = made
    page = (place / "out/report.html").read_text(encoding="utf-8")
    assert "Weekly counts of the 100 most frequent items" in page
    assert "no times are published" not in page
    of_kinds = page.partition("Words with other kinds")[2].partition("</table>")[0]
    assert "high school | www.classmates.com" in of_kinds
    out = call("show", place / "out", "--with", "US/TX/Austin", "--top", 50).out
    assert "US/TX/Austin" in out
    assert "\x1f" not in out
    assert "high school | www.classmates.com" in call("show", place / "out", "--top", 200).out
    assert "clicked addresses" in " ".join(read_manifest(place / "out", TileManifest).account)


def test_python_and_the_file_give_the_same_release(log, made, tmp_path):
    place, _ = made
    frame = pd.read_csv(log, sep="\t")
    release = ic.anonymize(
        frame, kinds=KINDS, unit="query", items="queries", seed=3, k=5, thresholds=THRESHOLDS
    )
    release.write(tmp_path / "again", text_forms=["csv", "jsonl", "dat"])
    for path in (place / "out").iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes(), path.name


def test_sessions_and_people_hold_kinds_too(log, tmp_path):
    for unit in ("session:30m", "user", "week"):
        ran = call(
            "anonymize",
            log,
            "--out",
            tmp_path / unit[:4],
            "--kinds",
            "url,hour,month,place",
            "--unit",
            unit,
            "--json",
        )
        assert ran.code == 0, ran.err
        assert ran.json["claim"]["holds"]


def test_weights_say_what_to_keep(log, tmp_path):
    """With a heavy week every tile that can has one; with a light one, fewer do."""
    held = {}
    for weight in (0.01, 100):
        out = tmp_path / f"w{weight}"
        more = ("--set", f"weights=week={weight}", "--set", "effort=fast")
        assert (
            call("anonymize", log, "--out", out, "--kinds", "url,week", "--unit", "session:30m", *more).code
            == 0
        )
        tiles = pq.read_table(out / "tiles.parquet").to_pylist()
        held[weight] = sum(row["units"] for row in tiles if row["week"] and row["items"])
    assert held[100] >= held[0.01]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--kinds", "weather"), "kinds must be one of url, shown"),
        (("--kinds", "url,url"), "names url twice"),
        (("--kinds", "week,day"), "names day and week, of which each is part of the other"),
        (("--kinds", "place", "--columns", "place=Nowhere"), "no column 'Nowhere' for the place"),
        (("--kinds", "url", "--method", "flock"), "method flock takes items of one kind"),
        (("--kinds", "url", "--set", "thresholds=url=4"), "thresholds url must be at least 5"),
        (
            ("--kinds", "url", "--set", "thresholds=place=9"),
            "thresholds names place, which units do not have",
        ),
        (("--kinds", "url", "--set", "thresholds=url"), "thresholds takes KIND=NUMBER"),
        (("--kinds", "url", "--set", "thresholds=url+url=9"), "one kind or two different ones"),
        (("--kinds", "url", "--set", "thresholds=url=many"), "whole numbers of people"),
        (("--kinds", "url", "--set", "weights=url=0"), "numbers from 0.001"),
        (("--kinds", "url", "--set", "weights=week=2"), "weights names week, which units do not have"),
    ],
)
def test_bad_kinds_get_one_line(log, tmp_path, options, says):
    ran = call("anonymize", log, "--out", tmp_path / "out", *options)
    assert says in refused(ran)
    assert not (tmp_path / "out").exists()


def test_kinds_that_the_input_does_not_have(tmp_path):
    plain = tmp_path / "plain.csv"
    plain.write_text("user,query\n" + "".join(f"p{i},high school\n" for i in range(60)), encoding="utf-8")
    assert "no column that looks like the url" in refused(
        call("anonymize", plain, "--out", tmp_path / "o", "--kinds", "url")
    )
    baskets = tmp_path / "baskets.dat"
    baskets.write_text("1 2 3\n" * 60, encoding="utf-8")
    assert "drop --kinds" in refused(call("anonymize", baskets, "--out", tmp_path / "o", "--kinds", "url"))
    clicks = tmp_path / "clicks.csv"
    clicks.write_text(
        "user,query,url\n"
        + "".join(f"p{i},{'high' if i % 2 else 'low'} school,a{i % 3}.com\n" for i in range(90)),
        encoding="utf-8",
    )
    ran = call("anonymize", clicks, "--out", tmp_path / "o", "--kinds", "url", "--unit", "query")
    assert "--kinds needs times" in refused(ran)
    assert call("anonymize", clicks, "--out", tmp_path / "o", "--kinds", "url", "--unit", "user").code == 0
