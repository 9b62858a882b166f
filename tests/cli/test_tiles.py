"""A release of tiles from the command line: made, shown, searched and audited with its private map."""

from __future__ import annotations

import stat

import pyarrow.parquet as pq
import pytest

from cli.helpers import call
from incrowd.cli.terminal import USE, _use_table, other_goals

WORDS = ["hardwood floors", "hardwood floors", "high school", "high school reunion", "pottery barn"]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Sixty people with two visits each; one of them asks for something that nobody else does."""
    path = tmp_path_factory.mktemp("tiles") / "log.csv"
    lines = ["user,time,query"]
    for person in range(60):
        lines += [f"p{person},{100_000 * visit},{WORDS[(person + visit) % 5]}" for visit in range(2)]
    lines.append("p7,900000,zyzzyva breeder")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def made(log, tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    options = (
        "--method",
        "mosaic",
        "--k",
        5,
        "--items",
        "terms",
        "--unit",
        "session:30m",
        "--set",
        "confidence=1",
    )
    ran = call("anonymize", log, "--out", place / "out", *options, "--private-map", place / "map", "--json")
    assert ran.code == 0, ran.err
    return place, ran.json


def test_people_are_counted_and_what_one_person_has_is_withheld(made):
    place, said = made
    tiles = {tuple(row["items"]): row for row in pq.read_table(place / "out/tiles.parquet").to_pylist()}
    assert tiles["floors", "hardwood"]["people"] >= 5
    assert said["people_min"] >= 5
    assert said["claim"]["kind"] == "k-anonymous tiles"
    assert said["claim"]["holds"]
    # Of nine words two are one person's, and missing.
    assert said["use"]["items_error"] == pytest.approx(2 / 9)
    everything = b"".join(path.read_bytes() for path in (place / "out").iterdir())
    assert b"zyzzyva" not in everything
    assert "seed" not in call("show", place / "out", "--json").json["parameters"]


def test_the_seed_is_told_to_the_owner_alone_and_repeats_the_run(made, log, tmp_path):
    place, said = made
    seed = said["private"]["seed"]
    assert seed > 2**40
    assert "seed" not in said["parameters"]
    assert pq.read_schema(place / "map").metadata[b"seed"] == str(seed).encode()
    options = ("--method", "mosaic", "--k", 5, "--items", "terms", "--unit", "session:30m")
    options += ("--set", "confidence=1", "--seed", seed)
    assert call("anonymize", log, "--out", tmp_path / "out", *options).code == 0
    for file in (place / "out").iterdir():
        assert str(seed).encode() not in file.read_bytes()
        assert file.read_bytes() == (tmp_path / "out" / file.name).read_bytes()


def test_tiles_can_be_searched(made):
    place, _ = made
    ran = call("show", place / "out", "--with", "hardwood", "--top", 3)
    assert ran.code == 0
    assert "hardwood, floors" in ran.out  # as all who hold them typed them
    assert "pottery" not in ran.out


def test_tiles_with_several_items_are_found_in_any_case_of_letters(made):
    place, _ = made
    ran = call("show", place / "out", "--with", "HIGH", "--with", "reunion")
    assert (ran.code, ran.err) == (0, "")
    assert "1 tile has HIGH and reunion" in ran.out
    assert "high, school, reunion" in ran.out
    assert "people have it" not in ran.out


@pytest.mark.parametrize(
    ("wanted", "said"), [(["zyzzyva"], "zyzzyva."), (["high", "[b]barn"], "high and [b]barn.")]
)
def test_a_search_that_finds_nothing_says_what_that_means(made, wanted, said):
    place, _ = made
    ran = call("show", place / "out", *(part for item in wanted for part in ("--with", item)))
    assert ran.code == 0
    assert f"No tile has {said}" in ran.out
    assert "only a class above it is published" in ran.out
    assert "units" not in ran.out  # no empty table


def test_what_is_found_is_in_json_too(made):
    place, _ = made
    found = call("show", place / "out", "--with", "floors", "--top", 1, "--json").json
    assert (found["with"], found["found"]) == (["floors"], 1)
    assert [tile["items"] for tile in found["tiles"]] == [["hardwood", "floors"]]
    assert found["tiles"][0]["people"] >= 5
    assert "tiles" not in call("show", place / "out", "--json").json


@pytest.mark.parametrize(
    ("method", "items", "others"),
    [
        ("mosaic", "terms", "--goal queries, --goal people"),
        ("mosaic", "queries", "--goal words, --goal people"),
        ("flock", "nouns", "--goal words, --goal queries"),
        ("mosaic", "raw", "--goal people"),
        ("flock", "raw", "--goal words"),
    ],
)
def test_other_goals_are_others_and_would_run(method, items, others):
    assert other_goals(method, items) == f"Other questions: {others}."


def test_where_no_clicks_are_found_it_says_what_would_publish_them():
    said = [list(_use_table({"clicks_recall": recall}).columns[1].cells) for recall in (0.0, 0.5)]
    assert said[0] == [f"{USE['clicks_recall']} (tiles have addresses with --kinds url only)"]
    assert said[1] == [USE["clicks_recall"]]


def test_it_says_what_was_chosen_for_what_the_file_is(log, tmp_path):
    baskets = tmp_path / "baskets.dat"
    baskets.write_text("1 2\n3 4\n" * 30)
    for source, said in (
        (log, "Chosen for a query log with times, as nothing else was said: --method mosaic"),
        (baskets, "Chosen for baskets, as nothing else was said: --method mosaic"),
    ):
        out = call("anonymize", source, "--set", "confidence=1", "--out", tmp_path / source.stem).out
        assert said in " ".join(out.split())


def test_the_private_map_and_the_originals_prove_it(made, log):
    place, _ = made
    assert stat.S_IMODE((place / "map").stat().st_mode) == 0o600
    alone = call("audit", place / "out")
    assert "NOT PROVEN" in alone.out
    proven = call("audit", place / "out", "--private-map", place / "map", "--original", log)
    assert proven.code == 0, proven.err
    assert "The audit confirms" in proven.out
    assert "each tile is held by at least" in proven.out
    assert "in the order of all who hold them" in proven.out


def test_words_are_shown_as_they_were_typed_where_all_holders_agree(made, log, tmp_path):
    place, _ = made
    rows = {tuple(row["items"]): row for row in pq.read_table(place / "out/tiles.parquet").to_pylist()}
    assert rows["floors", "hardwood"]["order"] == [1, 0]
    # One of them types it the other way around: then nothing is said of the order.
    other = tmp_path / "log.csv"
    other.write_text(log.read_text().replace("p0,0,hardwood floors", "p0,0,floors hardwood"))
    assert other.read_text() != log.read_text()
    options = ("--k", 5, "--items", "terms", "--unit", "session:30m", "--set", "confidence=1")
    ran = call("anonymize", other, "--method", "mosaic", "--out", tmp_path / "out", *options)
    assert ran.code == 0, ran.err
    rows = {tuple(row["items"]): row for row in pq.read_table(tmp_path / "out/tiles.parquet").to_pylist()}
    assert rows["floors", "hardwood"]["order"] == []


def test_too_few_people_are_refused(log, tmp_path):
    options = ("--method", "mosaic", "--k", 7, "--items", "terms")
    ran = call("anonymize", log, "--out", tmp_path / "out", *options)
    assert ran.code == 2
    assert "mosaic needs at least 10 k = 70 people (found 60)" in ran.err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_text_forms_are_written_and_audited(log, tmp_path):
    options = (
        "--method",
        "mosaic",
        "--k",
        5,
        "--items",
        "terms",
        "--unit",
        "session:30m",
        "--write",
        "csv,jsonl",
    )
    ran = call("anonymize", log, "--out", tmp_path / "out", *options)
    assert ran.code == 0, ran.err
    assert {"tiles.csv", "tiles.jsonl"} < {path.name for path in (tmp_path / "out").iterdir()}
    assert call("audit", tmp_path / "out").code == 0
    again = call("anonymize", log, "--out", tmp_path / "out", *options, "--force")
    assert again.code == 0, again.err
