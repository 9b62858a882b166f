"""Differential privacy on the written bytes: beside the noisy list nothing depends on the data."""

from __future__ import annotations

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import incrowd as ic
from browser import opened
from cli.helpers import AOL_HEADER, aol_line, call, only_line, problems_of
from incrowd.release.files.manifest import canonical_text
from incrowd.release.files.noisy_list import (
    QUERIES,
    ListParameters,
    NoisyList,
    list_manifest,
    list_page,
    write_list,
)

COMMON = [f"query {n}" for n in range(6)]
OPTIONS = ("--method", "korolova", "--set", "eps=2", "--set", "d=4")


def log(path, *, more=()):
    people = {f"u{n}": COMMON[: 1 + n % 6] for n in range(400)}
    people |= dict(more)
    lines = [
        aol_line(user, query, f"2006-03-01 10:{minute:02}:00")
        for user, queries in people.items()
        for minute, query in enumerate(queries)
    ]
    path.write_text(AOL_HEADER + "".join(lines))
    return path


NEIGHBOURS = {
    "nobody": {},
    "one with a secret": {"zoe": ["leprosy clinic", "zorblax", *COMMON]},
    "one with a hundred queries": {"zoe": [f"only zoe {n}" for n in range(60)]},
    "one who typed a blank": {"zoe": [" "]},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Several releases of each of two logs that differ by one person."""
    made = {}
    for name, more in NEIGHBOURS.items():
        where = tmp_path_factory.mktemp("runs")
        source = log(where / "log.tsv", more=more)
        for number in range(3):
            ran = call("anonymize", source, "--out", where / f"release{number}", *OPTIONS)
            assert ran.code == 0, ran.err
            made[name, number] = (where / f"release{number}", ran)
    return made


def test_every_byte_beside_the_list_is_the_same_for_neighbours(runs):
    files = [
        {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "queries.parquet"}
        for directory, _ in runs.values()
    ]
    assert set(files[0]) == {"manifest.json", "report.html"}
    assert all(one == files[0] for one in files)
    lists = [pq.read_table(directory / "queries.parquet") for directory, _ in runs.values()]
    assert len({str(one.to_pydict()) for one in lists}) > 1  # noise is noise
    assert all(one.schema.equals(QUERIES.schema) for one in lists)


def test_the_list_has_what_many_typed_and_not_what_one_did(runs):
    for directory, _ in runs.values():
        queries = pq.read_table(directory / "queries.parquet")["query"].to_pylist()
        assert "query 0" in queries
        assert not any("zoe" in query or "leprosy" in query for query in queries)


def test_nothing_in_the_manifest_counts_anything(runs):
    directory, _ = runs["nobody", 0]
    said = json.loads((directory / "manifest.json").read_text())
    assert set(said) == {
        "format",
        "title",
        "date",
        "versions",
        "files",
        "method",
        "parameters",
        "claim",
        "account",
    }
    assert said["title"] is said["date"] is None
    assert said["parameters"] == {"d": 4, "eps": 2.0, "delta": 1e-05, "unit": "user"}
    assert "k" not in said["parameters"]
    assert "k" not in said["claim"]


def test_k_is_neither_needed_nor_used(runs, tmp_path):
    source = log(tmp_path / "log.tsv")
    ran = call("anonymize", source, "--out", tmp_path / "release", *OPTIONS, "--k", 7, "--json")
    assert ran.code == 0
    assert ran.json["k"] is None
    directory, _ = runs["nobody", 0]
    for name in ("manifest.json", "report.html"):
        assert (tmp_path / "release" / name).read_bytes() == (directory / name).read_bytes()


def test_no_output_says_a_number_that_the_promise_does_not_cover(runs, tmp_path):
    _, ran = runs["nobody", 0]
    assert "400" not in ran.out
    assert "seconds" not in ran.out
    assert "Took" not in ran.out
    shown = call(
        "anonymize", log(tmp_path / "log.tsv"), "--out", tmp_path / "release", *OPTIONS, "--json"
    ).json
    assert shown.keys() - {"beside"} == {
        "method",
        "k",
        "claim",
        "parameters",
        "out",
        "chosen",
        "series",
        "queries",
    }
    assert shown["queries"] == len(pq.read_table(tmp_path / "release" / "queries.parquet"))


def test_the_audit_neither_confirms_nor_shows_green(runs):
    directory, ran = runs["nobody", 0]
    audited = call("audit", directory)
    found = call("audit", directory, "--json").json
    assert audited.code == 1
    assert (found["holds"], found["confirmed"], found["problems"]) == (None, False, [])
    assert any("cannot be recounted" in line for line in found["unchecked"])
    for text in (audited.out, ran.out):
        assert "cannot be recounted" in text
        assert "confirms" not in text
        assert "The claim holds" not in text
    assert "cannot be recounted" in (directory / "report.html").read_text()


@pytest.fixture
def copy(runs, tmp_path):
    shutil.copytree(runs["nobody", 0][0], tmp_path / "release")
    return tmp_path / "release"


@pytest.mark.parametrize(
    ("name", "value"), [("eps", 20.5), ("eps", 0), ("delta", 0.01), ("delta", 0.5), ("delta", 0), ("d", 0)]
)
def test_parameters_that_promise_nothing_are_refused(copy, name, value):
    said = json.loads((copy / "manifest.json").read_text())
    said["parameters"][name] = value
    (copy / "manifest.json").write_text(json.dumps(said, indent=2) + "\n")
    assert f"damaged at 'parameters.{name}" in problems_of(copy)


@pytest.mark.parametrize(
    "way", [("people",), ("claim", "k"), ("parameters", "k"), ("parameters", "records_in")]
)
def test_a_field_too_many(copy, way):
    said = json.loads((copy / "manifest.json").read_text())
    place = said
    for step in way[:-1]:
        place = place[step]
    place[way[-1]] = 400
    (copy / "manifest.json").write_text(json.dumps(said, indent=2) + "\n")
    assert "damaged" in problems_of(copy)


def test_words_files_and_pages_are_the_only_ones(copy):
    page = (copy / "report.html").read_text()
    (copy / "report.html").write_text(page + "<!-- 400 people -->")
    assert "report.html is not the one" in problems_of(copy)
    (copy / "report.html").write_text(page)
    (copy / "log.tsv").write_text("raw")
    assert "no part of a release" in problems_of(copy)


def test_raw_records_called_differentially_private(copy, tmp_path):
    """Raw records beside or in place of the list, and a raw list with its true counts."""
    rows = [["leprosy"], ["google"], ["google"]]
    data = ic.Transactions.from_rows(rows)
    ic.anonymize(data, ic.balanced(data, 2), k=2, method="suppress").write(tmp_path / "raw")
    shutil.copy(tmp_path / "raw" / "records.parquet", copy / "queries.parquet")
    assert "other columns" in problems_of(copy)
    raw = pa.table(
        {"query": ["google", "leprosy"], "count": pa.array([2, 1], pa.int64())}, schema=QUERIES.schema
    )
    NoisyList(QUERIES, (raw["query"],), raw["count"]).write(copy / "queries.parquet")
    assert "or less" in problems_of(copy)  # below the threshold that the parameters ask for


@pytest.mark.parametrize(
    ("queries", "words"),
    [
        (["b", "a"], "out of order"),
        (["a", "a"], "twice"),
        (["a", None], "nothing in it"),
        (["a\u200b", "b"], "cannot be seen"),
    ],
)
def test_a_list_in_another_form(copy, queries, words):
    table = pa.table(
        {"query": queries, "count": pa.array([10_000, 10_000], pa.int64())}, schema=QUERIES.schema
    )
    NoisyList(QUERIES, (table["query"],), table["count"]).write(copy / "queries.parquet")
    assert words in problems_of(copy)


@pytest.mark.parametrize("how", ["row groups", "notes", "bytes before the footer"])
def test_a_list_with_something_else_in_it(copy, how):
    path = copy / "queries.parquet"
    table = pq.read_table(path)
    if how == "row groups":
        pq.write_table(table, path, compression="zstd", row_group_size=1)
    elif how == "notes":
        pq.write_table(table.replace_schema_metadata({"people": "400"}), path, compression="zstd")
    else:
        content = path.read_bytes()
        footer = int.from_bytes(content[-8:-4], "little") + 8
        path.write_bytes(content[:-footer] + b"400 people" + content[-footer:])
    assert problems_of(copy)


def test_an_empty_list_is_published_too(tmp_path):
    """To refuse it would tell that nothing is common."""
    source = tmp_path / "log.tsv"
    source.write_text(AOL_HEADER + aol_line("one", "alone", "2006-03-01 10:00:00"))
    ran = call("anonymize", source, "--out", tmp_path / "release", "--method", "korolova")
    assert ran.code == 0, ran.err
    assert len(pq.read_table(tmp_path / "release" / "queries.parquet")) == 0
    assert call("audit", tmp_path / "release", "--json").json["problems"] == []


def test_a_list_has_no_map_and_no_text_forms(tmp_path):
    source = log(tmp_path / "log.tsv")
    for option in (("--write", "csv"), ("--private-map", tmp_path / "map")):
        ran = call("anonymize", source, "--out", tmp_path / "release", *OPTIONS, *option)
        assert ran.code == 2
        assert "list" in only_line(ran.err)
        assert not (tmp_path / "release").exists()
        assert not (tmp_path / "map").exists()


def test_show_gives_the_list(copy):
    ran = call("show", copy)
    assert ran.code == 0
    assert "query 0" in ran.out
    assert "e^2" in ran.out


def test_a_browser_shows_the_page(copy, tmp_path):
    page = opened((copy / "report.html").read_text(), tmp_path)
    assert "noisy counts" in page


def test_the_form_is_a_function_of_the_parameters(tmp_path):
    parameters = ListParameters(d=4, eps=2.0, delta=1e-5, unit="user")
    (tmp_path / "list").mkdir()
    empty = NoisyList(QUERIES, (pa.array([], pa.string()),), pa.array([], pa.int64()))
    write_list(tmp_path / "list", parameters, empty)
    manifest = list_manifest(parameters)
    assert (tmp_path / "list" / "manifest.json").read_text() == canonical_text(manifest)
    assert (tmp_path / "list" / "report.html").read_text() == list_page(manifest)
