"""Forgeries by somebody who knows the code: everything is derived again around one lie, and the originals are at hand."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.helpers import AOL_HEADER, aol_line, call, only_line
from helpers import digest_of
from incrowd.auditing.taxonomy import write_taxonomy
from incrowd.core.promises import read_settings
from incrowd.core.rounding import four_digits
from incrowd.release.files.manifest import Manifest, account_of, canonical_text
from incrowd.release.files.page import render_report
from incrowd.release.files.parts import read_part
from incrowd.release.files.records import RecordTable

K = 3


def aol(path, people):
    lines = [
        aol_line(user, query, f"2006-03-{day:02} 10:00:00")
        for user, queries in people.items()
        for day, query in enumerate(queries, 1)
    ]
    path.write_text(AOL_HEADER + "".join(lines), encoding="utf-8")
    return path


def made(where, source, *options, k=K):
    ran = call(
        "anonymize",
        "--method=flock",
        source,
        "--out",
        where / "release",
        "--k",
        k,
        "--private-map",
        where / "map",
        *options,
    )
    assert ran.code == 0, ran.err
    return SimpleNamespace(
        path=where / "release",
        map=where / "map",
        originals=("--original", source, "--private-map", where / "map"),
    )


def forge(release, *, records=None, rows=None, manifest=None):
    """Change records, taxonomy rows or the manifest, and derive all the rest as the product would."""
    path = release.path
    part = read_part(path / "records.parquet", keep=True)
    table = list(zip(part.records, part.sizes, strict=True))
    table = sorted(records(table)) if records else table
    RecordTable.of([record for record, _ in table], [size for _, size in table]).write(
        path / "records.parquet"
    )
    taxonomy = pq.read_table(path / "taxonomy.parquet").to_pylist()
    taxonomy = rows(taxonomy) or taxonomy if rows else taxonomy
    write_taxonomy(
        path / "taxonomy.parquet", pa.Table.from_pylist(taxonomy, pq.read_schema(path / "taxonomy.parquet"))
    )
    digest = digest_of(table)
    levels = {(row["label"], row["exact"]): row["level"] for row in taxonomy}
    said = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    length, level = digest.means(levels)
    said["counts"] |= {"groups": digest.classes, "k_min": digest.k_min, "labels": len(digest.rows_with)}
    said["counts"] |= {"avg_length": four_digits(length), "avg_level": four_digits(level)}
    if manifest:
        manifest(said)
    spelled = msgspec.convert(said, Manifest)
    settings = read_settings(spelled.method, spelled.parameters)
    said["account"] = account_of(settings, spelled.claim.claim, spelled.counts)
    spelled = msgspec.convert(said, Manifest)
    (path / "manifest.json").write_text(canonical_text(spelled), encoding="utf-8")
    (path / "report.html").write_text(render_report(spelled, digest, levels), encoding="utf-8")


def verdict(release, *options):
    ran = call("audit", release.path, *options, "--json")
    assert "internal" not in ran.err
    return ran.code, " | ".join(ran.json.get("problems") or [ran.json.get("error") or ""])


def refused(release, words=""):
    code, problems = verdict(release, *release.originals)
    assert code == 1
    assert words in problems


PEOPLE = {f"u{n}": ["dogs", "cats"] if n % 2 else ["beer", "dogs"] for n in range(12)} | {
    "u90": ["leprosy", "dogs"]
}


@pytest.fixture
def nouns(tmp_path):
    return made(tmp_path, aol(tmp_path / "log.tsv", PEOPLE))


def test_forging_nothing_is_confirmed(nouns):
    forge(nouns)
    assert verdict(nouns, *nouns.originals)[0] == 0


# The taxonomy.


def below_a_lie(rows):
    lie = "user u3 has leprosy 1.1"
    word = next(row for row in rows if row["exact"])
    parent = next(row for row in rows if row["label"] == word["parent"] and not row["exact"])
    rows.append(
        {"label": lie, "exact": False, "parent": parent["label"], "level": word["level"], "leaves": 1}
    )
    word["parent"], word["level"] = lie, word["level"] + 1


def all_below_the_root(rows):
    root = next(row for row in rows if row["parent"] is None)
    words = [row for row in rows if row["exact"]]
    for row in words:
        row["parent"], row["level"] = root["label"], 2
    return [root, *words]


def more_leaves(rows):
    for row in rows:
        row["leaves"] = 1 if row["exact"] else 2_000_000_000


@pytest.mark.parametrize("change", [below_a_lie, all_below_the_root, more_leaves])
def test_another_taxonomy_than_wordnet_s(nouns, change):
    forge(nouns, rows=change)
    code, problems = verdict(nouns)
    assert code == 1
    assert "leprosy" not in problems
    refused(nouns)


def test_another_taxonomy_than_the_file_s(tmp_path):
    (tmp_path / "tree").write_text(
        "".join(f"{a}\t{b}\n" for a, b in [("a", "x"), ("b", "x"), ("c", "y"), ("x", "r"), ("y", "r")])
    )
    (tmp_path / "in.dat").write_text("a c\n" * 4 + "b c c\n" * 4)
    release = made(tmp_path, tmp_path / "in.dat", "--taxonomy", tmp_path / "tree", "--format", "dat")
    assert verdict(release, *release.originals)[0] == 0

    def rename(rows):
        for row in rows:
            row["label"] = "alice" if row["label"] == "x" else row["label"]
            row["parent"] = "alice" if row["parent"] == "x" else row["parent"]

    forge(release, rows=rename)
    refused(release, "originals' taxonomy")


def test_words_that_are_called_classes(nouns):
    def as_class(records):
        return [
            ((tuple(sorted((text, False) for text, _ in labels)), counts), size)
            for (labels, counts), size in records
        ]

    def of_rows(rows):
        return [{**row, "exact": False} for row in {row["label"]: row for row in rows}.values()]

    forge(nouns, records=as_class, rows=of_rows)
    refused(nouns)


# Methods whose records stand for something else.


def test_a_bag_of_what_few_people_have(tmp_path):
    release = made(
        tmp_path,
        aol(tmp_path / "log.tsv", PEOPLE),
        "--method",
        "ssc",
        "--set",
        "typical=bags",
        "--set",
        "eps=12",
    )
    assert verdict(release, *release.originals)[0] == 0
    root = next(
        row["label"]
        for row in pq.read_table(release.path / "taxonomy.parquet").to_pylist()
        if row["parent"] is None
    )
    bag = "{dog | leprosy}"
    size = json.loads((release.path / "manifest.json").read_text())["counts"]["records_out"]
    forge(
        release,
        records=lambda _: [((((bag, False),), (1,)), size)],
        rows=lambda rows: (
            [row for row in rows if row["label"] == root]
            + [{"label": bag, "exact": False, "parent": root, "level": 2, "leaves": 2}]
        ),
    )
    refused(release)


def test_a_class_that_says_a_query_a_billion_times(tmp_path):
    release = made(tmp_path, aol(tmp_path / "log.tsv", PEOPLE), "--method", "microaggregation")
    assert verdict(release, *release.originals)[0] == 0
    forge(
        release,
        records=lambda some: [
            ((labels, (1_234_567_890,) * len(counts)), size) for (labels, counts), size in some
        ],
    )
    refused(release, "longer than any original")


def test_counts_that_tell_records_apart_under_k_to_the_m(tmp_path):
    (tmp_path / "in.dat").write_text("a b\n" * 12)
    release = made(tmp_path, tmp_path / "in.dat", "--method", "apriori", "--format", "dat")

    def apart(records):
        ((labels, _), size) = records[0]
        return [((labels, (number,) * len(labels)), 1) for number in range(1, size + 1)]

    forge(release, records=apart)
    assert verdict(release)[0] == 1
    refused(release, "tell records apart")


# Who is a person.


def test_another_unit_than_the_originals_have(tmp_path):
    (tmp_path / "in.dat").write_text("a b\n" * 6)
    release = made(tmp_path, tmp_path / "in.dat", "--format", "dat")

    def users(said):
        said["parameters"]["unit"] = said["claim"]["unit"] = "user"
        said["claim"]["in_words"] = said["claim"]["in_words"].replace("original records", "users")

    forge(release, manifest=users)
    assert verdict(release)[0] == 0
    refused(release, "another unit")


def test_the_map_does_not_choose_the_column_of_the_user(tmp_path):
    """One person with ten lines: only who audits can say which column is the person."""
    log = tmp_path / "log.csv"
    log.write_text("who,line,query\n" + "".join(f"alice,{n},dogs\n" for n in range(10)))
    release = made(tmp_path, log, "--columns", "user=line,query=query")
    ran = call("audit", release.path, *release.originals, "--json")
    assert not ran.json["confirmed"]
    assert any("--columns" in line for line in ran.json["unchecked"])
    ran = call("audit", release.path, *release.originals, "--columns", "user=who,query=query", "--json")
    assert ran.code == 1
    (tmp_path / "honest").mkdir()
    honest = made(tmp_path / "honest", log, "--columns", "user=line,query=query")
    said = call("audit", honest.path, *honest.originals, "--columns", "user=line,query=query", "--json")
    assert said.json["confirmed"]


def note(release, **changes):
    table = pq.read_table(release.map)
    notes = {**table.schema.metadata, **{name.encode(): value.encode() for name, value in changes.items()}}
    pq.write_table(table.replace_schema_metadata(notes), release.map)


def test_a_map_cannot_swap_the_classes_of_a_file(tmp_path):
    (tmp_path / "tree").write_text(
        "".join(
            f"{a}\t{b}\n" for a, b in [("a", "icd 1.1"), ("b", "icd 1.2"), ("icd 1.1", "r"), ("icd 1.2", "r")]
        )
    )
    (tmp_path / "in.dat").write_text("a b\n" * 4 + "b a\n" * 4)
    release = made(tmp_path, tmp_path / "in.dat", "--taxonomy", tmp_path / "tree", "--format", "dat")
    note(release, renamed=json.dumps({"icd 1.1": "icd 1.2"}))
    refused(release)


def test_a_map_of_another_release_is_no_map_of_this(tmp_path):
    source = aol(tmp_path / "log.tsv", PEOPLE)
    release = made(tmp_path, source)
    assert (
        call("anonymize", source, "--out", release.path, "--k", K, "--force", "--method", "partition").code
        == 0
    )
    ran = call("audit", release.path, "--private-map", release.map, "--json")
    assert ran.code == 1
    assert "another release's" in str(ran.json["problems"])


@pytest.mark.parametrize("how", ["float", "text", "lists", "bytes", "deep", "digits"])
def test_a_map_that_is_none_is_one_clear_line(nouns, how):
    table = pq.read_table(nouns.map)
    if how == "float":
        table = table.set_column(1, "row", table["row"].cast(pa.float64()))
    elif how == "text":
        table = table.set_column(1, "row", table["row"].cast(pa.string()))
    elif how == "lists":
        table = table.set_column(0, "owner", pa.array([[one] for one in table["owner"].to_pylist()]))
    notes = dict(table.schema.metadata)
    notes |= {"bytes": {b"x": b"\xff"}, "deep": {b"renamed": b"[" * 100_000}}.get(how, {})
    if how == "digits":
        notes[b"renamed"] = json.dumps({f"unlisted 1.{'9' * 5000}": "unlisted 1.1"}).encode()
    pq.write_table(table.replace_schema_metadata(notes), nouns.map)
    ran = call("audit", nouns.path, *nouns.originals)
    assert ran.code == (1 if how == "digits" else 2)
    if ran.code == 2:
        assert "private map" in only_line(ran.err)


# What is promised of nobody, and what is no file.


def test_nothing_promised_is_not_confirmed(tmp_path):
    release = made(tmp_path, aol(tmp_path / "log.tsv", PEOPLE), "--method", "suppress")
    ran = call("audit", release.path, "--json")
    assert ran.code == 1
    assert (ran.json["holds"], ran.json["confirmed"], ran.json["problems"]) == (None, False, [])


def test_records_that_may_be_one_persons_are_not_green(tmp_path):
    people = {"alice": ["dogs"] * 6} | {f"u{n}": ["cats"] for n in range(5)}
    source = aol(tmp_path / "log.tsv", people)
    options = ("--unit", "session:1h", "--distinct", "records")
    ran = call("anonymize", "--method=flock", source, "--out", tmp_path / "release", "--k", K, *options)
    assert ran.code == 0
    assert "confirms" not in ran.out
    assert "several records of a class may be one person's" in " ".join(ran.out.split())


@pytest.mark.parametrize("command", ["audit", "show"])
def test_a_pipe_in_place_of_the_manifest_does_not_hang(nouns, command):
    (nouns.path / "manifest.json").unlink()
    os.mkfifo(nouns.path / "manifest.json")
    ran = call(command, nouns.path)
    assert ran.code == 2
    assert "manifest.json" in only_line(ran.err)


# Numbers of few.


def test_one_persons_withheld_sessions_are_not_told(tmp_path):
    people = {f"u{n}": ["dogs"] for n in range(6)} | {"alice": ["the"] * 8}
    release = made(tmp_path, aol(tmp_path / "log.tsv", people), "--unit", "session:1h")
    assert json.loads((release.path / "manifest.json").read_text())["counts"]["withheld"] == f"fewer than {K}"
    assert verdict(release, *release.originals)[0] == 0


def test_bins_do_not_tell_how_few_are_withheld(tmp_path):
    people = {f"u{n}": ["dogs"] for n in range(6)} | {"alice": ["leprosy"]}
    release = made(tmp_path, aol(tmp_path / "log.tsv", people), "--method", "suppress")
    said = json.loads((release.path / "manifest.json").read_text())
    assert sum(one["records"] for one in said["lengths"]) == said["counts"]["records_out"] == 6


def test_how_many_words_are_unlisted_does_not_show_in_levels(tmp_path):
    """The twenty-sixth unlisted word makes the branch deeper; nothing published needs the level."""
    tables = []
    for more in (0, 1):
        where = tmp_path / str(more)
        where.mkdir()
        people = {f"u{n}": ["zorb1"] for n in range(6)} | {
            "alice": [f"zorb1 odd{n:02}x" for n in range(24 + more)]
        }
        release = made(where, aol(where / "log.tsv", people), "--set", "specificity=1")
        tables.append(pq.read_table(release.path / "taxonomy.parquet").to_pylist())
    assert tables[0] == tables[1]
    assert [row["label"] for row in tables[0] if row["exact"]] == ["zorb1"]


def test_bags_do_not_tell_how_many_had_which(tmp_path):
    people = {f"u{n}": ["beer" if n < 5 else "wine"] for n in range(6)} | {
        f"v{n}": ["wine"] for n in range(4)
    }
    release = made(
        tmp_path,
        aol(tmp_path / "log.tsv", people),
        "--method",
        "ssc",
        "--set",
        "typical=bags",
        "--set",
        "eps=9",
    )
    labels = {
        item for row in pq.read_table(release.path / "records.parquet")["items"].to_pylist() for item in row
    }
    assert any(" | " in label for label in labels)
    assert not any(":" in label for label in labels)
