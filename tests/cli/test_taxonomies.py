"""A list of categories from the command line: looked at, searched, and used for a release that the audit proves."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from cli.helpers import call, refused

LIST = """# Made_Up_Taxonomy_Version: 2026-01-31
1 - Boats
2 - Boats > Canoes
3 - Boats > Canoes > Accessories
4 - Boats > Canoes > Paddles
5 - Garden
6 - Garden > Rakes
7 - Garden > Rakes > Accessories
8 - Garden > Hoes
"""
# An id, a whole path and names. Queries are in lower case, so all but the id are in another case than the list.
QUERIES = ["7", "Boats > Canoes > Accessories", "Hoes", "PADDLES", "paddles"]
ITEMS = {"7", "boats > canoes > accessories", "hoes", "paddles"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a directory with a list of categories and a log of forty people."""
    place = tmp_path_factory.mktemp("shop")
    (place / "list.txt").write_text(LIST, encoding="utf-8")
    rows = [f"p{person},{QUERIES[(person + step) % 5]}" for person in range(40) for step in range(2)]
    (place / "log.csv").write_text("user,query\n" + "\n".join([*rows, "p1,rakes"]) + "\n", encoding="utf-8")
    return place


def run(place, out, *options):
    given = ("--taxonomy", place / "list.txt", "--items", "queries", "--format", "csv", "--k", 4)
    return call(
        "anonymize", place / "log.csv", "--out", out, "--private-map", out.with_name("map"), *given, *options
    )


@pytest.mark.parametrize("method", ["flock", "mosaic", "apriori"])
def test_items_are_published_as_themselves_and_the_audit_proves_it(place, tmp_path, method):
    out = tmp_path / "out"
    ran = run(place, out, "--method", method, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["items"] == {"listed": 5, "unlisted": 0, "other_case": 4}
    assert any(step.endswith("in another case of letters only.") for step in ran.json["account"])
    table = pq.read_table(out / "taxonomy.parquet").to_pylist()
    exact = {row["label"]: row["parent"] for row in table if row["exact"]}
    below = {
        "7": "Garden > Rakes > Accessories",
        "hoes": "Garden > Hoes",
        "paddles": "Boats > Canoes > Paddles",
    }
    assert exact.keys() <= ITEMS
    assert exact
    assert all(exact[item] == category for item, category in below.items() if item in exact)
    ran = call("audit", out, "--original", place / "log.csv", "--private-map", tmp_path / "map", "--json")
    assert (ran.code, ran.json["problems"]) == (0, [])
    assert not any(b"rakes" in file.read_bytes() for file in out.iterdir())


def test_words_of_wordnet_in_another_case_pass_the_audit(tmp_path):
    """Of a release on WordNet, the audit holds every word against the place where WordNet has it."""
    rows = ["Dog cat", "dog Cats", "Dog Cats", "dog cat"] * 5
    (tmp_path / "log.dat").write_text("\n".join(rows) + "\n", encoding="utf-8")
    options = ("--format", "dat", "--taxonomy", "wordnet", "--method", "flock", "--k", 2, "--json")
    ran = call("anonymize", tmp_path / "log.dat", "--out", tmp_path / "out", *options)
    assert ran.code == 0, ran.err
    assert ran.json["items"] == {"listed": 4, "unlisted": 0, "other_case": 2}
    table = pq.read_table(tmp_path / "out/taxonomy.parquet").to_pylist()
    parent = {row["label"]: row["parent"] for row in table if row["exact"]}
    assert parent == {"Dog": "dog", "dog": "dog", "cat": "cat", "Cats": "cat"}


def test_the_terminal_says_how_many_are_in_another_case(place, tmp_path):
    assert (
        "4  of them in another case of letters only" in run(place, tmp_path / "out", "--method", "flock").out
    )


def test_what_is_lacking_is_counted_and_never_named(place, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(
        "user,query\n" + "".join(f"p{n},{q}\n" for n in range(9) for q in ("4", "zorblax", "accessories"))
    )
    out = tmp_path / "out"
    line = refused(
        call(
            *("anonymize", log, "--out", out, "--taxonomy", place / "list.txt", "--items", "queries"),
            *("--format", "csv", "--k", 4, "--method", "flock"),
        ),
        out,
    )
    assert line == (
        "taxonomy list.txt lacks 2 of the 3 items (1 of them name several nodes: give ids or whole paths); use --unlisted keep "
        "(they get a branch of their own) or --unlisted drop (they are removed), or give another file; "
        "'incrowd taxonomy show' looks for one"
    )


def test_a_word_is_found_with_its_neighbours(place):
    ran = call("taxonomy", "show", place / "list.txt", "--find", "CANOES")
    assert ran.code == 0
    assert [line.strip().split(maxsplit=1) for line in ran.out.splitlines()] == [
        ["Boats", "> Canoes (id 2)"],
        ["path", "all categories > Boats > Canoes"],
        ["siblings", "none"],
        ["children", "Accessories · Paddles"],
    ]
    found = call("taxonomy", "show", place / "list.txt", "--find", "accessories", "--json").json
    assert [node["id"] for node in found["found"]] == ["3", "7"]


def test_many_neighbours_are_counted(tmp_path):
    (tmp_path / "t").write_text("".join(f"Top > Part {number}\n" for number in range(131)), encoding="utf-8")
    assert "and 120 more" in call("taxonomy", "show", tmp_path / "t", "--find", "part 7").out


def test_a_word_that_is_not_there_is_one_line_with_suggestions(place):
    assert refused(call("taxonomy", "show", place / "list.txt", "--find", "paddle")) == (
        "taxonomy list.txt has no node called 'paddle'; there are 'Paddles'"
    )


def test_wordnet_is_searched_too():
    found = call("taxonomy", "show", "wordnet", "--find", "Beagle", "--json").json["found"]
    assert found[0]["path"][-2:] == ["hound", "beagle"]


def test_problems_are_printed_by_kind(tmp_path):
    (tmp_path / "t").write_text("a\tR\n" + "b\n" * 5_000, encoding="utf-8")
    ran = call("taxonomy", "check", tmp_path / "t")
    assert ran.code == 2
    assert " ".join(ran.out.split()).startswith("lines 2, 3, 4 and 4,997 more: expected 'child TAB parent'")
