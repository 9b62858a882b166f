"""Whole jobs with words that WordNet lacks: what is published of them, and what never is."""

from __future__ import annotations

import json
import re

import pyarrow.parquet as pq
import pytest

from cli.helpers import call

# A third of the people type each: as items of their own they would be published.
SECRETS = [
    "johnsmith", "john.smith", "mary_jones", "smith-jones", "www.johnsmith.com", "jane@example.org",
    "555-1234", "5551234567", "1-800-flowers", "123-45-6789", "4111111111111111", "90210", "sw1a1aa", "7731",
    "7731elmstreet", "10/12/1974", "tregoning", "dragon1977",
]  # fmt: skip
OPEN = {"kmart": "department store", "margaret": "given name of women", "ukiah": "town in california"}
PEOPLE = 60


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    words = [*SECRETS, *OPEN, "resturant", "restaurant's"]
    rows = [
        f"p{person},2006-03-{day:02} 10:00:00,{word}"
        for person in range(PEOPLE)
        for day, word in enumerate(words, 1)
        if (person + day) % 3 == 0
    ]
    path = tmp_path_factory.mktemp("words") / "log.csv"
    path.write_text("user,time,query\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def run(log, out, *options):
    given = (
        "--format",
        "csv",
        "--k",
        4,
        "--private-map",
        out.with_name("map"),
        "--write",
        "jsonl,csv",
        "--json",
    )
    ran = call("anonymize", log, "--out", out, *given, *options)
    assert ran.code == 0, ran.err
    return ran.json


def texts_of(out):
    """Return everything that a release says, tables as JSON."""
    tables = [json.dumps(pq.read_table(path).to_pylist()) for path in sorted(out.rglob("*.parquet"))]
    others = [
        path.read_text(encoding="utf-8")
        for path in sorted(out.rglob("*"))
        if path.suffix not in (".parquet", "")
    ]
    return "\n".join(tables + others)


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "mosaic"),
        ("--method", "flock"),
        ("--method", "flock", "--items", "nouns"),
        ("--method", "mosaic", "--unit", "user"),
    ],
)
def test_names_of_people_their_numbers_and_addresses_are_never_published(log, tmp_path, options):
    out = tmp_path / "out"
    run(log, out, "--unlisted", "name", *options)
    said = texts_of(out)
    assert "kmart" in said
    whole = (rf"(?<![\w.#-]){re.escape(secret)}(?![\w.-])" for secret in SECRETS)
    assert [secret for secret in whole if re.search(secret, said)] == []
    found = call("audit", out, "--original", log, "--private-map", tmp_path / "map", "--json")
    assert (found.code, found.json["problems"]) == (0, [])


def test_without_names_they_would_be(log, tmp_path):
    out = tmp_path / "out"
    run(log, out, "--unlisted", "keep", "--method", "mosaic")
    assert "555-1234" in texts_of(out)


def test_words_hang_where_they_belong_and_are_counted_by_kind(log, tmp_path):
    out = tmp_path / "out"
    done = run(log, out, "--unlisted", "name", "--method", "mosaic")
    rows = pq.read_table(out / "taxonomy.parquet").to_pylist()
    parent = {row["label"]: row["parent"] for row in rows if row["exact"]}
    assert OPEN.items() <= parent.items()
    assert "restaurant" in parent  # people who misspelt it, and people who have something of one
    assert "Words that WordNet lacks, brands: 1 distinct, 20 in all." in done["account"]
    assert "Words that WordNet lacks, misspellings: 1 distinct, 20 in all." in done["account"]
    assert json.loads((out / "manifest.json").read_text())["parameters"]["unlisted"] == "name"


@pytest.mark.parametrize("word", ["resturant", "ukiah"])
def test_the_command_line_says_why_a_word_is_where_it_is(word):
    shown = call("taxonomy", "show", "wordnet", "--find", word)
    assert shown.code == 0
    assert "WordNet lacks it. With --unlisted name it is" in " ".join(shown.out.split())
