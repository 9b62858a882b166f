"""--never from the command line: no word of the list leaves, as an item, in a query, or as a class above an item; nor does the list."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from cli.helpers import call, refused
from incrowd.logs import read_log
from incrowd.logs.items import lookup_of
from incrowd.text.never import read_never

QUERIES = ["hardwood floors", "zebra school", "school bus", "spaniel puppy", "zebra/lion park"]
PEOPLE = 60


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Sixty people who type three of five queries each, and a list with a word of two of them, and a class above a third."""
    directory = tmp_path_factory.mktemp("never")
    lines = [
        f"p{person},{100_000 * number + person},{query}"
        for person in range(PEOPLE)
        for number, query in enumerate(QUERIES)
        if (number + person) % 5 < 3
    ]
    (directory / "log.csv").write_text("\n".join(["user,time,query", *lines]) + "\n", encoding="utf-8")
    (directory / "never.txt").write_text("# not these\nZebra\ndog\n", encoding="utf-8")
    return directory


def anonymize(place, out, *options, seed=("--seed", 3)):
    wanted = ("--k", 3, "--never", place / "never.txt", *seed, *options)
    return call("anonymize", place / "log.csv", "--out", out, *wanted)


def everything(out):
    return b"".join(path.read_bytes() for path in out.iterdir()).lower()


def test_words_and_what_holds_them_are_not_published(place, tmp_path):
    out = tmp_path / "out"
    ran = anonymize(place, out, "--items", "terms", "--taxonomy", "balanced:5", "--json")
    assert ran.code == 0, ran.err
    items = {item for row in pq.read_table(out / "tiles.parquet")["items"].to_pylist() for item in row}
    assert items == {"hardwood", "floors", "school", "bus", "spaniel", "puppy", "park"}  # zebra/lion is gone
    assert b"zebra" not in everything(out)
    assert (ran.json["input"]["never_words"], ran.json["input"]["never_occurrences"]) == (2, 72)
    assert any("never published, left out: 2 distinct, 72 in all" in line for line in ran.json["account"])
    shown = call("show", out, "--json").json
    assert shown["parameters"]["never"] is True
    assert "zebra" not in ran.out.lower()


def test_whole_queries_with_such_a_word_are_withheld_whole(place, tmp_path):
    out = tmp_path / "out"
    ran = anonymize(place, out, "--items", "queries", "--set", "confidence=1")
    assert ran.code == 0, ran.err
    items = {item for row in pq.read_table(out / "tiles.parquet")["items"].to_pylist() for item in row}
    assert items == {"hardwood floors", "school bus", "spaniel puppy"}


def test_what_lies_below_a_class_of_that_name_is_not_published(place, tmp_path):
    """Of a spaniel WordNet's dog is published too, and to leave out that class alone would tell that it is on the list."""
    out = tmp_path / "out"
    ran = anonymize(place, out, "--items", "terms", "--taxonomy", "wordnet", "--json")
    assert ran.code == 0, ran.err
    labels = pq.read_table(out / "taxonomy.parquet")["label"].to_pylist()
    assert {"school", "bus"} <= set(labels)
    assert not {"dog", "spaniel"} & set(labels)
    assert any("below classes whose names hold a word" in line for line in ran.json["account"])


def test_methods_that_publish_queries_leave_them_out_too(place, tmp_path):
    out = tmp_path / "out"
    ran = anonymize(place, out, "--method", "microaggregation")
    assert ran.code == 0, ran.err
    assert b"zebra" not in everything(out)
    assert b"school bus" in everything(out)  # on its page


def test_the_audit_takes_the_list_again_and_holds_it_against_the_map(place, tmp_path):
    out, private = tmp_path / "out", tmp_path / "map"
    assert anonymize(place, out, "--items", "terms", "--private-map", private).code == 0
    alone = call("audit", out, "--json").json
    assert "that no word of the publisher's list is published: that takes the list" in alone["unchecked"]
    with_list = call("audit", out, "--never", place / "never.txt", "--json").json
    assert "no published text holds a word of the publisher's list" in with_list["checks"]
    proven = call("audit", out, "--original", place / "log.csv", "--private-map", private, "--json")
    assert proven.json["confirmed"], proven.out
    other = tmp_path / "other.txt"
    other.write_text("school\n", encoding="utf-8")
    found = call("audit", out, "--never", other, "--json")
    assert (found.code, found.json["holds"]) == (1, False)
    assert "school" not in str(found.json["problems"])
    line = refused(
        call("audit", out, "--original", place / "log.csv", "--private-map", private, "--never", other)
    )
    assert line == "--never is another list than the release was made with"


def test_a_release_made_without_a_list_takes_none(place, tmp_path):
    out, private = tmp_path / "out", tmp_path / "map"
    options = ("--k", 3, "--items", "terms", "--private-map", private)
    assert call("anonymize", place / "log.csv", "--out", out, *options).code == 0
    assert "never" not in call("show", out, "--json").json["parameters"]
    given = ("--original", place / "log.csv", "--private-map", private, "--never", place / "never.txt")
    assert "drop --never" in refused(call("audit", out, *given))


def test_a_word_that_slips_through_is_not_published(place, tmp_path, monkeypatch):
    """If leaving out were broken, the audit of the draft would still refuse."""
    monkeypatch.setattr("incrowd.logs.log.lookup_of", lambda items, tree, _never, **_: lookup_of(items, tree))
    ran = anonymize(place, tmp_path / "out", "--items", "terms", "--taxonomy", "balanced:5")
    assert ran.code == 1
    assert "2 published texts hold a word that is never published" in " ".join(ran.err.split())
    assert "zebra" not in ran.err
    assert not (tmp_path / "out").exists()


def test_a_list_with_noise_takes_no_list(place, tmp_path):
    line = refused(anonymize(place, tmp_path / "out", "--method", "korolova", seed=()), tmp_path / "out")
    assert "drop --never" in line


def test_query_events_and_clicked_addresses_with_such_a_word_are_left_out(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(
        "user,time,query,url\na,1,zebra food,http://x.example/\na,2,cats,http://zebra.example/\n"
        "a,2,cats,http://y.example/a\na,3,cats,http://y.example/%5Aebra\n",
        encoding="utf-8",
    )
    (tmp_path / "never.txt").write_text("zebra\n", encoding="utf-8")
    with read_log(str(path), format="csv") as log:
        made = log.transactions(items="concepts", events=True, never=read_never(tmp_path / "never.txt"))
    assert made.events.texts.to_pylist() == ["cats"]
    assert len(made.events.query) == 2
    assert made.events.sites.to_pylist() == ["http://y.example/a"]
    assert made.events.clicks.tolist() == [0, 1, 1]
