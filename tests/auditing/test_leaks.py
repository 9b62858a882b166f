"""What leaves beside the records: no digit, number, name or length that tells of a few people or of what is not published."""

from __future__ import annotations

import csv
import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import AOL_HEADER, aol_line, call
from incrowd.core.rounding import at_least, four_digits
from incrowd.release.files.exports import safe_cell
from incrowd.release.files.nodes import published_nodes, taxonomy_table
from incrowd.release.files.records import class_name
from incrowd.report.vega import library
from incrowd.report.visible import visible
from incrowd.taxonomy import attach, wordnet_tree
from incrowd.taxonomy.words import named_tree

K = 5


def log(path, people):
    lines = [
        aol_line(user, query, f"2006-03-01 10:{n % 60:02}:{n // 60 % 60:02}")
        for user, queries in people.items()
        for n, query in enumerate(queries)
    ]
    path.write_text(AOL_HEADER + "".join(lines), encoding="utf-8")
    return path


def release_of(where, people, *options):
    source = log(where / "log.tsv", people)
    ran = call("anonymize", "--method=flock", source, "--out", where / "release", "--k", K, *options)
    assert ran.code == 0, ran.err
    return where / "release"


def labels_of(directory):
    table = pq.read_table(directory / "records.parquet").to_pydict()
    return {
        label
        for items, exact in zip(table["items"], table["exact"], strict=True)
        for label in zip(items, exact, strict=True)
    }


def manifest_of(directory):
    return json.loads((directory / "manifest.json").read_text(encoding="utf-8"))


def page_of(directory):
    return (directory / "report.html").read_text(encoding="utf-8").replace(library(), "")


CROWD = {f"u{n}": ["dogs", "cats", "beer"][: 1 + n % 3] + ["zorblax", "quuxify"][: n % 3] for n in range(60)}


# Digits.


def numbers_in(value):
    if isinstance(value, dict | list):
        return [
            one for part in (value.values() if isinstance(value, dict) else value) for one in numbers_in(part)
        ]
    return [value] if isinstance(value, float) else []


def test_no_figure_has_more_than_four_digits(tmp_path):
    directory = release_of(tmp_path, CROWD)
    said = manifest_of(directory)
    figures = numbers_in({name: said[name] for name in ("losses", "utility", "bound", "use", "lengths")})
    assert len(figures) > 8
    assert all(float(f"{value:.4g}") == value for value in figures)
    assert re.findall(r"0\.\d{6,}", page_of(directory)) == []
    exact = call(
        "anonymize", "--method=flock", tmp_path / "log.tsv", "--out", tmp_path / "again", "--k", K, "--json"
    ).json["loss"]
    assert any(four_digits(value) != value for value in exact.values())  # the owner's own figures are exact


@pytest.mark.parametrize(
    ("k", "number", "told"),
    [(5, 4, "fewer than 5"), (5, 0, "fewer than 5"), (5, 5, 5), (2, 1, "fewer than 2")],
)
def test_numbers_of_fewer_than_k_are_not_told(k, number, told):
    assert at_least(k, number) == told


@pytest.mark.parametrize("nothing", [0, 1, 4])
def test_how_few_are_withheld_is_not_told(tmp_path, nothing):
    directory = release_of(tmp_path, CROWD | {f"silent {n}": ["the"] for n in range(nothing)})
    said = manifest_of(directory)
    assert said["counts"]["withheld"] == "fewer than 5"
    assert "records_in" not in said["counts"]
    assert f"<b>fewer than {K}</b><span>withheld" in page_of(directory)
    assert said["account"][-1] == "4. Records with nothing to publish, withheld: fewer than 5."


def test_many_withheld_are_told(tmp_path):
    directory = release_of(tmp_path, CROWD | {f"silent {n}": ["the"] for n in range(7)})
    assert manifest_of(directory)["counts"]["withheld"] == 7


def test_what_one_person_typed_is_in_no_account(tmp_path):
    first = release_of(tmp_path, CROWD)
    (tmp_path / "more").mkdir()
    second = release_of(tmp_path / "more", CROWD | {"u0": [*CROWD["u0"], "xanthippe", "running", "the"]})
    one, other = (manifest_of(directory)["account"] for directory in (first, second))
    assert one[:2] == other[:2]
    published = [re.sub(r"\d+", "n", step) for step in one]
    assert published == [
        re.sub(r"\d+", "n", step) for step in other
    ]  # but for what is recounted from the records


def test_a_giant_does_not_show_in_the_lengths(tmp_path):
    giant = {"giant": [f"word{n}" for n in range(3_000)]}
    directory = release_of(tmp_path, CROWD | giant, "--items", "queries")
    bins, page = manifest_of(directory)["lengths"], page_of(directory)
    assert all(one["records"] >= K for one in bins)
    assert bins[-1]["least"] <= 4
    assert re.search(r'"length": "\d or more"', page)
    assert not re.search(r"\b(2,?047|2,?048|3,?0\d\d|4,?095|4,?096)\b", page)


# Names of what is made from the data.


def test_made_nodes_are_numbered_by_what_is_published():
    few = ic.Transactions.from_rows([["c", "d", "e", "f"]])
    more = ic.Transactions.from_rows([["a", "b", "c", "d", "e", "f", "z1", "z2", "z3"]])
    shown = []
    for data in (few, more):
        tree = ic.balanced(data, 2)
        group = next(
            node
            for node in range(len(tree))
            if tree.labels_of(leaves_below(tree, node)).to_pylist() == ["e", "f"]
        )
        named = published_nodes(tree, np.array([group], dtype=np.int32))
        shown.append(taxonomy_table(named).to_pylist())
    assert shown[0] == shown[1]
    assert [row["label"] for row in shown[0]] == ["group 1.1"]
    assert shown[0][0]["leaves"] == 2


def leaves_below(tree, node):
    return tree.leaf_nodes[tree.first_leaf[node] : tree.last_leaf[node]]


def test_numbers_of_published_groups_have_no_gaps(tmp_path):
    words = {f"u{n}": [f"{chr(97 + n // 6)}zorbq{chr(97 + n % 6)}"] for n in range(120)}
    directory = release_of(tmp_path, words)
    rows = pq.read_table(directory / "taxonomy.parquet").to_pylist()
    found = [re.fullmatch(r"unlisted (\d+)\.(\d+)", row["label"]) for row in rows]
    numbers = {}
    for match in filter(None, found):
        numbers.setdefault(match[1], []).append(int(match[2]))
    assert numbers
    assert all(sorted(some) == list(range(1, len(some) + 1)) for some in numbers.values())


def test_leaves_are_those_of_the_tree_as_it_was_given(tmp_path):
    """A word that one person typed adds no leaf to anything that is published."""
    first = release_of(tmp_path, CROWD)
    (tmp_path / "more").mkdir()
    second = release_of(tmp_path / "more", CROWD | {"u0": [*CROWD["u0"], "pooch", "xanthippe"]})
    static = named_tree()
    place = {label: node for node, label in enumerate(static.labels.to_pylist())}
    for directory in (first, second):
        rows = pq.read_table(directory / "taxonomy.parquet").to_pylist()
        listed = [row for row in rows if not row["exact"] and row["label"] in place]
        assert listed
        for row in listed:
            node = place[row["label"]]
            assert row["leaves"] == static.last_leaf[node] - static.first_leaf[node]
        made = {row["label"]: row["leaves"] for row in rows if row["label"] in ("anything", "unlisted")}
        assert all(leaves is None for leaves in made.values())


def test_a_root_that_nothing_published_needs_is_not_there(tmp_path):
    """Whether any word is unlisted shows only if one of them is published, or what lies above all."""
    people = {f"u{n}": ["dogs"] for n in range(12)}
    first = release_of(tmp_path, people)
    (tmp_path / "more").mkdir()
    second = release_of(tmp_path / "more", people | {"u0": ["dogs", "xanthippe"]})
    for name in ("records.parquet", "taxonomy.parquet"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


@pytest.mark.parametrize("word", ["unlisted", "anything", "group", "unlisted 1.1", "group 1.1"])
@pytest.mark.parametrize("taxonomy", ["wordnet", "balanced:2"])
def test_a_word_that_is_spelt_like_a_made_class_changes_no_name(tmp_path, word, taxonomy):
    people = {f"u{n}": [word if n % 3 else f"zorb{n}x", f"odd{n}"] for n in range(30)}
    directory = release_of(
        tmp_path, people, "--items", "queries", "--taxonomy", taxonomy, "--unlisted", "keep"
    )
    rows = pq.read_table(directory / "taxonomy.parquet").to_pylist()
    assert not any("~" in row["label"] for row in rows)
    labels = labels_of(directory)
    assert (word, True) in labels
    assert any(not exact for _, exact in labels)
    assert call("audit", directory).code == 0


# A class is no word.


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Twelve people typed animal itself; others typed kinds of animals and share only the class."""
    where = tmp_path_factory.mktemp("mixed")
    kinds = ["dog", "cat", "horse", "cow", "pig", "sheep"]
    people = {f"a{n}": ["animal"] for n in range(12)} | {f"b{n}": [kinds[n % 6], "beer"] for n in range(6)}
    return release_of(where, people, "--write", "csv,jsonl,dat", "--set", "specificity=0")


def test_words_and_classes_are_told_apart_in_every_file(mixed):
    labels = labels_of(mixed)
    assert ("animal", True) in labels
    classes = {text for text, exact in labels if not exact}
    assert classes
    schema = pq.read_schema(mixed / "records.parquet")
    assert schema.names == ["items", "exact", "counts"]
    rows = [json.loads(line) for line in (mixed / "records.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {label for row in rows for label in zip(row["items"], row["exact"], strict=True)} == labels
    for name in ("records.csv", "records.dat", "report.html"):
        text = (mixed / name).read_text(encoding="utf-8")
        for word in classes:
            shown = class_name(word) if name != "records.dat" else class_name("_".join(word.split()))
            assert shown in text
    with (mixed / "records.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            assert (row["exact"] == "true") == (row["item"][0] != class_name("")[0])
    out = call("show", mixed).out
    assert any(class_name(word) in out for word in classes)


def test_a_concept_and_the_word_for_it_are_two_labels():
    data = ic.Transactions.from_rows([["dog"], ["dog"], ["pug"], ["poodle"]] * 3)
    tree = attach(data, wordnet_tree(), unlisted="keep").taxonomy
    release = ic.anonymize(data, tree, k=6, method="partition", publish="bag")
    table = release.table().to_pydict()
    pairs = {
        pair for row in zip(table["items"], table["exact"], strict=True) for pair in zip(*row, strict=True)
    }
    assert ("dog", True) in pairs
    assert any(not exact for _, exact in pairs)


# Spreadsheets and terminals.


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1+cmd", "'+1+cmd"),
        ("-2+3", "'-2+3"),
        ("@sum(a1)", "'@sum(a1)"),
        ("-5", "-5"),
        ("+4.5", "+4.5"),
        ("milk", "milk"),
        ("a=b", "a=b"),
    ],
)
def test_no_cell_is_a_formula(text, cell):
    assert safe_cell(text) == cell


def test_a_query_that_is_a_formula_is_published_as_text(tmp_path):
    people = {f"u{n}": ['=cmd|"/c calc"!a0', "@sum(1)"] for n in range(12)}
    directory = release_of(tmp_path, people, "--items", "queries", "--write", "csv")
    with (directory / "records.csv").open(encoding="utf-8", newline="") as file:
        cells = {row["item"] for row in csv.DictReader(file)}
    assert cells == {'\'=cmd|"/c calc"!a0', "'@sum(1)"}
    assert call("audit", directory).code == 0


def test_a_comparison_has_no_formula_either(tmp_path):
    source = log(tmp_path / "log.tsv", CROWD)
    ran = call("compare", source, "--methods", "partition", "--k", "5", "--out", tmp_path / "compared")
    assert ran.code == 0, ran.err
    with (tmp_path / "compared" / "compare.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert "partition" in cells
    assert cells == [safe_cell(cell) for cell in cells]


@pytest.mark.parametrize("command", [("show",), ("audit",)])
@pytest.mark.parametrize("where", ["in_words", "not_promised", "account", "method", "record"])
def test_a_foreign_release_does_not_steer_the_terminal(mixed, tmp_path, command, where):
    shutil.copytree(mixed, tmp_path / "release")
    path = tmp_path / "release" / "manifest.json"
    said, evil = manifest_of(tmp_path / "release"), "\x1b]0;owned\x07\x1b[2J\u202egreen"
    if where in ("in_words", "not_promised"):
        said["claim"][where] = evil if where == "in_words" else [evil]
    elif where == "record":
        table = pq.read_table(tmp_path / "release" / "records.parquet").to_pylist()
        for row in table:
            row["items"] = [evil] * len(row["items"])
        schema = pq.read_schema(tmp_path / "release" / "records.parquet")
        pq.write_table(pa.Table.from_pylist(table, schema), tmp_path / "release" / "records.parquet")
    else:
        said[where] = [evil] if where == "account" else evil
    path.write_text(json.dumps(said, indent=2), encoding="utf-8")
    ran = call(*command, tmp_path / "release")
    for text in (ran.out, ran.err):
        assert not re.search("[\x1b\x07\u202e]", text)
    if command == ("audit",):
        assert ran.code == 1


def test_what_cannot_be_seen_is_spelt_out():
    assert visible(f"plain text · {class_name('class')}") == f"plain text · {class_name('class')}"
    assert visible("\x1b[31mred\u200b") == "<U+001B>[31mred<U+200B>"
