"""The words that a taxonomy lacks, as a dry run names them for the owner: which, how many people have each, and where each would be."""

from __future__ import annotations

import pytest

from cli.helpers import call, only_line, refused

DAYS = {"zorblax": (1, 2, 3), "kmart": (1,), "jaguar": (1,), "johnsmith": (1,), "resturant": (1,)}
PEOPLE = {"zorblax": 3, "kmart": 4, "jaguar": 5, "johnsmith": 5, "resturant": 5}
LISTED = [
    {"item": "kmart", "number": 4, "below": "department store"},
    {"item": "zorblax", "number": 3, "below": None},
]


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """A log of five people. One word is a noun, one published as another one, one as its kind only: these are not lacking."""
    rows = [
        f"p{person},2006-03-0{day} 10:00:00,{word}\n"
        for word, people in PEOPLE.items()
        for person in range(people)
        for day in DAYS[word]
    ]
    path = tmp_path_factory.mktemp("typed") / "log.csv"
    path.write_text("user,time,query\n" + "".join(rows), encoding="utf-8")
    return path


def look(source, *options, most=9):
    given = ("--method", "flock", "--k", 2) if "--method" not in options else ()
    return call("anonymize", source, "--dry-run", "--lacking", most, *given, *options)


def lacking(source, *options, most=9):
    """Return what the taxonomy lacks: items and counts, what is counted, and how many items there are."""
    taxonomy = look(source, *options, "--json", most=most).json["taxonomy"]
    found = [(one["item"], one["number"]) for one in taxonomy["lacking"]]
    return found, taxonomy["lacking_counts"], taxonomy["lacking_in_all"]


def test_words_are_named_with_people_and_what_they_would_be_published_below(typed):
    ran = look(typed, "--items", "terms", "--json")
    assert (ran.code, ran.err) == (0, "")
    taxonomy = ran.json["taxonomy"]
    assert taxonomy["lacking"] == LISTED
    assert (taxonomy["lacking_in_all"], taxonomy["lacking_counts"]) == (2, "people")
    assert lacking(typed, most=1) == ([("kmart", 4)], "people", 2)


def test_the_terminal_says_for_whom_the_list_is(typed):
    ran = look(typed, "--items", "terms")
    out = " ".join(ran.out.split())
    assert (
        "The taxonomy lacks these, 2 of 2 distinct items. They are words of the data: for you alone." in out
    )
    assert "lacking item people would be published below kmart 4 department store" in out
    assert "zorblax 3 unlisted: its kind is not known" in out
    kept = " ".join(look(typed, "--unlisted", "keep", "--items", "terms").out.split())
    assert "lacking item people johnsmith 5" in kept
    assert "published below" not in kept


def test_nobody_is_told_who_did_not_ask(typed):
    ran = call("anonymize", typed, "--dry-run", "--method", "flock", "--k", 2)
    assert "zorblax" not in ran.out
    plan = call("anonymize", typed, "--dry-run", "--method", "flock", "--k", 2, "--json")
    assert "lacking" not in plan.out


@pytest.mark.parametrize(
    ("options", "zorblax", "counts"),
    [
        (("--unit", "day"), 3, "people"),
        (("--unit", "day", "--distinct", "records"), 9, "days"),
        (("--method", "mosaic", "--kinds", "hour"), 3, "people"),  # hours have a ladder of their own
        (("--method", "dp"), 3, "people"),
    ],
)
def test_what_k_counts_is_counted(typed, options, zorblax, counts):
    found, counted, in_all = lacking(typed, *options)
    assert dict(found)["zorblax"] == zorblax
    assert counted == counts
    assert in_all == len(found) == (4 if "dp" in options else 2)  # noise keeps words as they are typed


@pytest.mark.parametrize("unlisted", ["keep", "drop", "refuse"])
def test_a_file_that_lacks_items_is_told_them_even_if_it_is_refused(unlisted, baskets, tmp_path):
    (tmp_path / "tree.tsv").write_text("milk\tdrink\nbeer\tdrink\n", encoding="utf-8")
    options = ("--taxonomy", tmp_path / "tree.tsv", "--unlisted", unlisted)
    assert lacking(baskets, *options) == ([("bread", 5)], "records", 1)
    ran = look(baskets, *options)
    assert "bread" in ran.out
    assert (ran.code == 2) == (unlisted == "refuse")
    if ran.code:
        assert only_line(ran.err).startswith("taxonomy tree.tsv lacks 1 of the 3 items")


def test_where_nothing_is_lacking_that_is_said(baskets):
    assert lacking(baskets) == ([], "records", 0)
    assert "The taxonomy lacks no item: every one has a place." in look(baskets).out


def test_a_word_that_was_moved_has_a_place(typed, tmp_path):
    (tmp_path / "moves.tsv").write_text("zorblax\tbig cat\n", encoding="utf-8")
    for unlisted in ("name", "keep"):
        options = ("--moves", tmp_path / "moves.tsv", "--unlisted", unlisted, "--items", "terms")
        found, _, in_all = lacking(typed, *options)
        assert "zorblax" not in dict(found)
        assert in_all == len(found) > 0


def test_it_is_for_dry_runs_alone(typed, tmp_path):
    out = tmp_path / "release"
    line = refused(call("anonymize", typed, "--lacking", 5, "--out", out), out)
    assert line == "--lacking lists words before a release is made: add --dry-run, or drop it"
    spark = ("--engine", "spark", "--master", "local[1]")
    assert refused(call("anonymize", typed, "--lacking", 5, "--out", out, *spark), out) == line
    assert refused(look(typed, *spark)).startswith("--dry-run reads the input on this machine")
    assert "'--lacking'" in refused(look(typed, most=0))


def test_a_taxonomy_that_is_none_is_refused_in_the_words_of_the_job(typed):
    for source in ("nowhere.tsv", "balanced:x"):
        said = [
            call("anonymize", typed, "--dry-run", "--method=flock", "--k=2", "--taxonomy", source, *more).err
            for more in ((), ("--lacking", 3))
        ]
        assert said[0] == said[1] != ""
