"""A release is a closed world: whatever is put into it, beside it or into its words is found by the audit.

The attacker here knows the code: where it can, it writes everything anew in the only form there is, so that nothing but
the one lie is left to be found.
"""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import AOL_HEADER, aol_line, call
from helpers import digest_of
from incrowd.auditing.owners import Originals
from incrowd.auditing.taxonomy import write_taxonomy
from incrowd.core.rounding import four_digits
from incrowd.release.files.manifest import Manifest, canonical_text, read_manifest
from incrowd.release.files.page import render_report
from incrowd.release.files.parts import read_part
from incrowd.release.files.records import RECORDS_SCHEMA, RecordTable
from incrowd.release.publication import is_release

K = 3
BASKETS = ["milk bread"] * 5 + ["milk beer beer"] * 4 + ["milk bread wine"] * 3 + ["wine wine"] * 3 + ["soap"]
TAXONOMY = "milk\tdrink\nbeer\talcohol\nwine\talcohol\nalcohol\tdrink\ndrink\tgoods\nbread\tgoods\nsoap\tcare\ncare\tgoods\n"


def published(directory, source, *options):
    ran = call(
        "anonymize",
        "--method=flock",
        source,
        "--out",
        directory / "release",
        "--private-map",
        directory / "map",
        *options,
    )
    assert ran.code == 0, ran.err
    return directory


@pytest.fixture(scope="module")
def baskets(tmp_path_factory):
    directory = tmp_path_factory.mktemp("baskets")
    (directory / "input.dat").write_text("\n".join(BASKETS) + "\n")
    (directory / "taxonomy.tsv").write_text(TAXONOMY)
    options = ("--k", K, "--taxonomy", directory / "taxonomy.tsv", "--method", "partition", "--format", "dat")
    return published(
        directory, directory / "input.dat", *options, "--set", "publish=bag", "--write", "jsonl,csv"
    )


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Sessions: five of one person about the same, and one each of seven others about something else."""
    directory = tmp_path_factory.mktemp("visits")
    lines = [aol_line("one", "dogs", f"2006-03-{day:02} 10:00:00") for day in range(1, 6)]
    lines += [aol_line(f"other {n}", "cats", f"2006-03-{n:02} 10:00:00") for n in range(1, 8)]
    (directory / "input.tsv").write_text(AOL_HEADER + "".join(lines))
    return published(directory, directory / "input.tsv", "--k", 5, "--unit", "session:1h")


@pytest.fixture
def copy(baskets, tmp_path):
    return copied(baskets, tmp_path)


def copied(origin, where):
    shutil.copytree(origin, where, dirs_exist_ok=True)
    source = next(where.glob("input.*"), None)
    return SimpleNamespace(
        path=where / "release",
        map=where / "map",
        input=source,
        originals=("--original", source, "--private-map", where / "map"),
    )


def found(copy, *options):
    """Audit a copy; return its exit code and all problems as one text."""
    ran = call("audit", copy.path, *options, "--json")
    assert "Traceback" not in ran.err
    assert "internal" not in ran.err
    return ran.code, " | ".join(ran.json.get("problems") or [str(ran.json.get("error"))])


def refuses(copy, words, *options):
    code, problems = found(copy, *options)
    assert code == 1
    assert words in problems
    assert not ic.audit(copy.path).holds or options


def reseal(path, change=lambda _: None):
    """Write manifest and report anew, as the product would, around changed contents."""
    said = json.loads((path / "manifest.json").read_text())
    change(said)
    manifest = msgspec.convert(said, Manifest)
    part = read_part(path / "records.parquet", keep=True)
    digest = digest_of(zip(part.records, part.sizes, strict=True))
    rows = pq.read_table(path / "taxonomy.parquet").to_pylist()
    levels = {(row["label"], row["exact"]): row["level"] for row in rows}
    (path / "manifest.json").write_text(canonical_text(manifest))
    (path / "report.html").write_text(render_report(manifest, digest, levels))


def rewrite(path, change):
    """Change the records and write them in their only form."""
    part = read_part(path, keep=True)
    records = change(list(zip(part.records, part.sizes, strict=True)))
    RecordTable.of([record for record, _ in records], [size for _, size in records]).write(path)


def test_untouched_it_holds_with_and_without_originals(copy):
    assert call("audit", copy.path).code == 0
    ran = call("audit", copy.path, *copy.originals, "--json")
    assert ran.code == 0, ran.json["problems"]
    assert ran.json["unchecked"] == []
    reseal(copy.path)
    assert call("audit", copy.path).code == 0  # so what follows is found for its own sake


# What lies beside.


@pytest.mark.parametrize("name", ["input.dat", "map", ".hidden", "records.dat", "deeper/secrets.txt"])
def test_a_file_that_does_not_belong_there(copy, name):
    inside = copy.path / name
    inside.parent.mkdir(exist_ok=True)
    shutil.copy(copy.map if name == "map" else copy.input, inside)
    refuses(copy, "1 entries that are no part of a release")
    assert name not in found(copy)[1]


@pytest.mark.parametrize("name", ["report.html", "records.csv", "taxonomy.parquet", "records.parquet"])
def test_a_file_that_is_gone(copy, name):
    (copy.path / name).unlink()
    refuses(copy, f"{name} is missing")


@pytest.mark.parametrize("name", ["report.html", "records.parquet", "manifest.json"])
def test_a_link_in_place_of_a_file(copy, name):
    (copy.path / name).rename(copy.path.parent / "elsewhere")
    (copy.path / name).symlink_to(copy.path.parent / "elsewhere")
    refuses(copy, "is a link")


@pytest.mark.parametrize(
    "change", [lambda page: page + "<!-- alice -->", lambda page: page.replace("3", "4", 1), lambda _: ""]
)
def test_another_report(copy, change):
    page = (copy.path / "report.html").read_text()
    (copy.path / "report.html").write_text(change(page))
    refuses(copy, "report.html is not the page of this release")


# What the manifest says.


def set_at(*way, value):
    def change(said):
        for step in way[:-1]:
            said = said[step]
        said[way[-1]] = value

    return change


@pytest.mark.parametrize(
    "way",
    [
        ("note",),
        ("claim", "note"),
        ("counts", "note"),
        ("losses", "note"),
        ("parameters", "note"),
        ("versions", "note"),
    ],
)
def test_a_field_too_many(copy, way):
    said = json.loads((copy.path / "manifest.json").read_text())
    set_at(*way, value="alice: leprosy")(said)
    (copy.path / "manifest.json").write_text(json.dumps(said, indent=2) + "\n")
    code, problems = found(copy)
    assert code == 1
    assert "alice" not in problems


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (set_at("claim", "not_promised", value=[]), "what is not promised"),
        (set_at("claim", "in_words", value="Perfectly anonymous."), "words"),
        (set_at("claim", "speaks_of", value="class"), "not the one of this method"),
        (set_at("claim", "within", value=9), "not the one of this method"),
        (set_at("claim", "typed_by", value=3), "not the one of this method"),
        (set_at("claim", "kind", value="none"), "not the one of this method"),
        (set_at("claim", "k", value=2), "not the one of this method"),
        (set_at("parameters", "k", value=2), "not the one of this method"),
        (set_at("parameters", "publish", value="alice: leprosy"), "parameters are not those of method"),
        (set_at("parameters", "unit", value="alice"), "parameters are not those of method"),
        (set_at("parameters", "taxonomy", value="alice.tsv"), "parameters are not those of method"),
        (set_at("method", value="magic"), "method that does not exist"),
        (set_at("account", value=["1. Asked alice about her leprosy."]), "account"),
        (set_at("losses", "ncp", value=0.123456), "more digits"),
        (set_at("versions", "incrowd", value="9.9.9"), "other versions"),
        (set_at("versions", "pyarrow", value="1.0.0"), "other versions"),
        (
            set_at("files", value=["manifest.json", "records.parquet", "report.html", "taxonomy.parquet"]),
            "no part of a release",
        ),
        (set_at("files", value=["alice.txt"]), "lists other files"),
        (set_at("counts", "withheld", value=77), "account"),
        (set_at("counts", "k_min", value=4), "account"),
        (set_at("counts", "labels", value=99), "labels is not what was counted"),
        (set_at("counts", "people_min", value=99), "people_min is not what was counted"),
        (set_at("counts", "avg_length", value=9.0), "average length"),
        (set_at("counts", "withheld", value=1), "below 3"),
        (set_at("counts", "withheld", value="fewer than 000777"), "below 3"),
        (set_at("counts", "people_min", value=-5), "below 3"),
        (set_at("lengths", value=[{"least": 1, "records": 15}, {"least": 777, "records": 1}]), "lengths"),
        (set_at("lengths", value=[{"least": 1, "records": 99}]), "lengths"),
        (set_at("bound", "rows", value=-(10**18)), "bound"),
        (set_at("losses", value=None), "lacks"),
        (set_at("use", value=None), "measures of use are not those of its method"),
        (set_at("use", "pairs_error", value=0.123456), "more digits"),
        (set_at("parameters", "seed", value=2**70), "parameters are not those of method"),
        (set_at("parameters", "taxonomy", value="file\n"), "parameters are not those of method"),
    ],
)
def test_a_manifest_that_lies(copy, change, words):
    reseal(copy.path, change)
    refuses(copy, words)


def test_a_key_that_stands_twice(copy):
    text = (copy.path / "manifest.json").read_text()
    (copy.path / "manifest.json").write_text(text.replace('"k": 3,', '"k": 2,\n    "k": 3,', 1))
    refuses(copy, "a key stands twice")


@pytest.mark.parametrize("more", [" ", "\n", "\n{}"])
def test_bytes_behind_the_manifest(copy, more):
    with (copy.path / "manifest.json").open("a") as file:
        file.write(more)
    assert call("audit", copy.path).code in (1, 2)


@pytest.mark.parametrize(
    ("way", "value"),
    [
        (("losses", "ggd_norm"), 0.0123),
        (("losses", "kept_exactly"), 0.99),
        (("utility", "recall"), 0.98),
        (("bound", "ggd_norm"), 0.0001),
        (("utility", "linkage"), 99.0),
        (("losses", "ic_norm"), 0.31),
        (("use", "items_error"), 0.0123),
        (("use", "links_kept"), 0.99),
        (("use", "trend_error"), 0.5),
    ],
)
def test_invented_figures_are_unchecked_alone_and_found_with_the_originals(copy, way, value):
    reseal(copy.path, set_at(*way, value=value))
    ran = call("audit", copy.path, "--json")
    assert ran.code == 0
    assert any("figures" in line for line in ran.json["unchecked"])
    code, problems = found(copy, *copy.originals)
    assert code == 1
    assert f"the manifest's {way[0]} are not what was measured" in problems


def test_an_invented_number_of_withheld_is_found_with_the_originals(copy):
    def invent(said):
        said["counts"]["withheld"] = 77
        said["account"][-1] = said["account"][-1].replace("fewer than 3", "77")

    reseal(copy.path, invent)
    assert call("audit", copy.path).code == 0
    code, problems = found(copy, *copy.originals)
    assert code == 1
    assert "withheld is not what was counted (fewer than 3)" in problems


# What the Parquet files hold besides their rows.


def dictionary_of_more(table):
    """Return the table with a dictionary that lists a value that no row has."""
    flat = table["items"].combine_chunks().flatten()
    names = [*sorted(set(flat.to_pylist())), "alice: leprosy"]
    codes = pa.array([names.index(one) for one in flat.to_pylist()], pa.int32())
    coded = pa.ListArray.from_arrays(
        table["items"].combine_chunks().offsets, pa.DictionaryArray.from_arrays(codes, pa.array(names))
    )
    return pa.table([coded, table["exact"], table["counts"]], names=table.column_names)


@pytest.mark.parametrize("name", ["records.parquet", "taxonomy.parquet"])
@pytest.mark.parametrize(
    "how",
    [
        "notes",
        "field notes",
        "row groups",
        "uncompressed",
        "bytes before the footer",
        "statistics",
        "dictionary",
        "another version",
    ],
)
def test_a_parquet_file_with_something_else_in_it(copy, name, how):
    path = copy.path / name
    table = pq.read_table(path)
    if how == "notes":
        pq.write_table(table.replace_schema_metadata({"who": "alice"}), path, compression="zstd")
    elif how == "field notes":
        field = table.schema.field(0).with_metadata({"who": "alice"})
        pq.write_table(table.cast(pa.schema([field, *list(table.schema)[1:]])), path, compression="zstd")
    elif how == "row groups":
        pq.write_table(table, path, compression="zstd", row_group_size=1)
    elif how == "uncompressed":
        pq.write_table(table, path, compression="none")
    elif how == "statistics":
        pq.write_table(table, path, compression="zstd", write_statistics=False)
    elif how == "another version":
        pq.write_table(table, path, compression="zstd", version="1.0")
    elif how == "dictionary":
        changed = dictionary_of_more(table) if name == "records.parquet" else table
        if name == "taxonomy.parquet":
            labels = table["label"].to_pylist()
            names = pa.array([*labels, "alice: leprosy"])
            coded = pa.DictionaryArray.from_arrays(pa.array(range(len(labels)), pa.int32()), names)
            changed = table.set_column(0, "label", coded)
        pq.write_table(changed, path, compression="zstd")
    else:
        content = path.read_bytes()
        footer = int.from_bytes(content[-8:-4], "little") + 8
        path.write_bytes(content[:-footer] + b"alice: leprosy" + content[-footer:])
        pq.read_table(path)  # readers do not mind
    code, problems = found(copy)
    assert code == 1
    assert "alice" not in problems


def test_a_taxonomy_with_labels_that_nothing_needs(copy):
    path = copy.path / "taxonomy.parquet"
    rows = pq.read_table(path).to_pylist()
    root = next(row for row in rows if row["parent"] is None)
    rows.append({"label": "alice's leprosy", "exact": True, "parent": root["label"], "level": 2, "leaves": 1})
    write_taxonomy(path, pa.Table.from_pylist(rows, pq.read_schema(path)))
    reseal(copy.path)
    refuses(copy, "neither published nor above a published one")


@pytest.mark.parametrize("leaves", [0, -1, 10_000])
def test_a_taxonomy_with_impossible_leaves(copy, leaves):
    path = copy.path / "taxonomy.parquet"
    rows = pq.read_table(path).to_pylist()
    next(row for row in rows if row["label"] == "bread")["leaves"] = leaves
    write_taxonomy(path, pa.Table.from_pylist(rows, pq.read_schema(path)))
    reseal(copy.path)
    refuses(copy, "number of leaves")


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\u2060", "\u00ad", "\u202e", "\ufeff", "\x1b[31m", "\u00a0", "e\u0301"]
)
def test_labels_that_differ_by_what_cannot_be_seen(copy, hidden):
    """One class is marked: five rows say bread, and three say bread with something invisible in it."""
    marked = f"bread{hidden}"

    def mark(records):
        return sorted(
            (
                (
                    tuple(
                        sorted(
                            (marked, exact) if text == "bread" and size == K else (text, exact)
                            for text, exact in labels
                        )
                    ),
                    counts,
                ),
                size,
            )
            for (labels, counts), size in records
        )

    rewrite(copy.path / "records.parquet", mark)
    path = copy.path / "taxonomy.parquet"
    rows = pq.read_table(path).to_pylist()
    rows.append({**next(row for row in rows if row["label"] == "bread"), "label": marked})
    write_taxonomy(path, pa.Table.from_pylist(rows, pq.read_schema(path)))
    reseal(copy.path, set_at("counts", "labels", value=1 + read_manifest(copy.path).counts.labels))
    code, problems = found(copy)
    assert code == 1
    assert "cannot be seen" in problems


def test_a_class_that_says_what_its_people_do_not_have(copy):
    """A whole class is changed alike: still k-anonymous, and sealed, but not true."""

    def falsify(records):
        (first, size), *rest = records
        untrue = (first[0], tuple(count + 9 for count in first[1]))
        return sorted([(untrue, size), *rest])

    rewrite(copy.path / "records.parquet", falsify)
    for form in ("csv", "jsonl"):
        (copy.path / f"records.{form}").unlink()
    digest = read_part(copy.path / "records.parquet").digest
    rows = pq.read_table(copy.path / "taxonomy.parquet").to_pylist()
    length, level = digest.means({(row["label"], row["exact"]): row["level"] for row in rows})

    def seal(said):
        said["files"] = ["manifest.json", "records.parquet", "report.html", "taxonomy.parquet"]
        said["counts"] |= {"avg_length": four_digits(length), "avg_level": four_digits(level)}

    reseal(copy.path, seal)
    assert call("audit", copy.path).code == 0
    code, problems = found(copy, *copy.originals)
    assert code == 1
    assert "does not generalize" in problems


def test_a_release_of_nothing(copy):
    pq.write_table(RECORDS_SCHEMA.empty_table(), copy.path / "records.parquet", compression="zstd")
    code, _ = found(copy)
    assert code == 1


# Who is who.


def change_map(path, change):
    rows = pq.read_table(path).to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(path)), path)


def test_people_come_from_the_log_and_never_from_the_map(visits, tmp_path):
    """A class of five sessions of one person: the map can call them five people, the log cannot."""
    copy = copied(visits, tmp_path)
    assert call("audit", copy.path, *copy.originals).code == 0
    options = ("--k", 5, "--unit", "session:1h", "--distinct", "records")
    claimed = published(tmp_path_of(tmp_path, "records"), copy.input, *options)
    forged = copied(claimed, tmp_path_of(tmp_path, "forged"))

    def promise_people(said):
        said["claim"] = msgspec.to_builtins(read_manifest(copy.path).claim)
        said["counts"]["people_min"] = 5

    reseal(forged.path, promise_people)
    alone = call("audit", forged.path, "--json").json
    assert not alone["confirmed"]

    def call_them_five(rows):
        for number, row in enumerate(rows):
            row["owner"] = f"person {number}#1"

    believed = copied(forged.path.parent, tmp_path_of(tmp_path, "believed"))
    change_map(believed.map, call_them_five)
    told = call("audit", believed.path, "--private-map", believed.map, "--json").json
    assert not told["confirmed"]  # a map alone proves nothing
    originals = ("--original", copy.input, "--private-map")
    assert found(believed, *originals, believed.map)[0] == 1
    code, problems = found(forged, *originals, forged.map)
    assert code == 1
    assert "different people" in problems or "people_min" in problems


def tmp_path_of(tmp_path, name):
    (tmp_path / name).mkdir(exist_ok=True)
    return tmp_path / name


@pytest.mark.parametrize(
    "renamed",
    [
        {"unlisted 1.1": "unlisted"},
        {"unlisted 1.1": "anything"},
        {"unlisted 1.1": "unlisted 2.1"},
        {"milk": "bread"},
    ],
)
def test_a_map_cannot_rename_classes_as_it_likes(copy, renamed):
    table = pq.read_table(copy.map)
    notes = {**table.schema.metadata, b"renamed": json.dumps(renamed).encode()}
    pq.write_table(table.replace_schema_metadata(notes), copy.map)
    assert found(copy, *copy.originals)[0] == 1


def test_what_was_asked_for_and_cannot_be_checked_is_not_confirmed(tmp_path):
    """Queries whose typists are not at hand: with originals given, that is a failure."""
    rows = [["a", "b"]] * 6 + [["b", "c"]] * 6
    data = ic.Transactions.from_rows(rows).with_events()
    (tmp_path / "tree").write_text("".join(f"{leaf}\tall\n" for leaf in "abc"))
    release = ic.anonymize(data, ic.read_taxonomy(tmp_path / "tree"), k=3, method="microaggregation")
    release.write(tmp_path / "release")
    without = release.originals.transactions
    blind = ic.Transactions(without.indptr, without.items, without.counts, without.vocabulary, without.owners)
    originals = Originals(blind, release.taxonomy, release.originals.row_of, release.originals.renamed)
    result = ic.audit(tmp_path / "release", originals=originals)
    assert result.holds is False
    assert any("could not be checked" in problem for problem in result.problems)


def test_a_damaged_release_may_be_replaced_and_a_strange_directory_may_not(copy):
    (copy.path / "records.parquet").write_bytes(b"junk")
    assert is_release(copy.path)
    (copy.path / "thesis.tex").write_text("years of work")
    assert not is_release(copy.path)
