"""Whole jobs with words that WordNet lacks: what is published of them, and what never is."""

# ruff: noqa: RUF001 (unusual characters are the point)

from __future__ import annotations

import json
import re

import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import call

# A third of the people type each: as items of their own they would be published.
SECRETS = [
    "johnsmith", "john.smith", "mary_jones", "smith-jones", "www.johnsmith.com", "jane@example.org",
    "555-1234", "5551234567", "1-800-flowers", "123-45-6789", "4111111111111111", "90210", "sw1a1aa", "7731",
    "7731elmstreet", "10/12/1974", "tregoning", "dragon1977", "o'brien-smith", "JOHN+SMITH", "+1 (555) 123-4567", "555 987 1998",
    "12-34-56", "５５５８８８７", "krzyzewski", "geocities.com/~johnsmith", "12 elm street",
]  # fmt: skip
# Parts of what is typed in several words, and other forms of it.
PARTS = ["555", "987", "elm", "5558887", "john+smith", "~johnsmith", "smith"]
OPEN = {"kmart": "department store", "margaret": "given name of women", "ukiah": "town in california"}
PEOPLE = 60


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    words = [*SECRETS, *OPEN, "resturant", "restaurant's"]
    rows = [
        f"p{person},2006-03-{number % 28 + 1:02} {10 + number // 28}:00:00,{word}"
        for person in range(PEOPLE)
        for number, word in enumerate(words)
        if (person + number) % 3 == 0
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


def tables_of(out):
    paths = sorted(out.rglob("*.parquet"))
    return "\n".join(json.dumps(pq.read_table(path).to_pylist(), ensure_ascii=False) for path in paths)


def texts_of(out):
    """Return everything that a release says, tables as JSON."""
    others = [
        path.read_text(encoding="utf-8")
        for path in sorted(out.rglob("*"))
        if path.suffix not in (".parquet", "")
    ]
    return "\n".join([tables_of(out), *others])


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "mosaic"),
        ("--method", "flock"),
        ("--method", "flock", "--items", "nouns"),
        ("--method", "mosaic", "--unit", "user"),
        ("--method", "mosaic", "--unit", "query"),
        ("--method", "ssc", "--items", "terms", "--unit", "session:30m"),
    ],
)
def test_names_of_people_their_numbers_and_addresses_are_never_published(log, tmp_path, options):
    out = tmp_path / "out"
    run(log, out, "--unlisted", "name", *options)
    said = texts_of(out)
    assert "kmart" in said
    whole = (rf"(?<![\w.#-]){re.escape(secret)}(?![\w.-])" for secret in SECRETS)
    assert [secret for secret in whole if re.search(secret, said)] == []
    assert not set(PARTS) & {word.lower() for word in re.findall(r"[\w+~]+", tables_of(out))}
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


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("the", "'the' is a function word: queries that are cut into words are read without it"),
        ("He", "A function word: queries that are cut into words are read without it. The first sense of"),
        ("contect", "known words are one typing error away ('confect', "),
    ],
)
def test_the_command_line_says_why_a_word_has_no_place(word, says):
    shown = call("taxonomy", "show", "wordnet", "--find", word)
    assert says in " ".join((shown.out + shown.err).split())


@pytest.mark.parametrize(
    ("given", "unlisted"),
    [
        ((), "name"),
        (("--items", "nouns"), "name"),
        (("--unlisted", "drop"), "drop"),
        (("--items", "concepts"), "keep"),
    ],
)
def test_words_on_wordnet_are_named_unless_something_else_is_said(log, given, unlisted):
    plan = call("anonymize", log, "--format", "csv", "--dry-run", "--method", "flock", "--json", *given).json
    assert plan["taxonomy"]["unlisted_are"] == unlisted
    assert ("--unlisted name" in plan["chosen"]) == (unlisted == "name")


def test_items_of_baskets_are_kept_and_so_are_words_on_a_tree_that_was_fitted_to_some(log):
    baskets = [["kmart", "555-1234"]] * 6
    kept = ic.anonymize(ic.read(baskets), "wordnet", method="flock", k=3)
    assert kept.parameters["unlisted"] == "keep"
    with ic.read_log(log) as read:
        rows = read.transactions(items="nouns")
        fitted = ic.anonymize(read, ic.wordnet(rows), method="flock", k=4, items="nouns")
        named = ic.anonymize(read, ic.wordnet(), method="flock", k=4, items="nouns")
    assert fitted.parameters["unlisted"] == "keep"
    assert named.parameters["unlisted"] == "name"
    assert "555-1234" in fitted.taxonomy.labels.to_pylist()
    assert "555-1234" not in named.taxonomy.labels.to_pylist()
