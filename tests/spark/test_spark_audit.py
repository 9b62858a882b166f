"""The audit on Spark: it confirms a good release, and finds each kind of fault in a bad one, as the local audit does."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as f

import incrowd as ic
from incrowd.auditing.audit import Figured, audit
from incrowd.auditing.taxonomy import write_taxonomy
from incrowd.kernels.arrays import leaf_rows
from incrowd.release.files.manifest import Manifest, canonical_text
from incrowd.release.files.parts import read_part
from incrowd.release.files.records import RecordTable
from incrowd.spark.audit import SparkOriginals, on_executors
from incrowd.spark.bags import lists
from incrowd.spark.work import Work
from test_architecture import everything_behind, part_of

ROWS = [["1", "2"], ["1", "3"], ["1", "2", "2"], ["7"], ["7", "8"], ["8"], ["9"], ["1"]]


@pytest.fixture
def written(spark, tmp_path):
    """Write a release of the local engine's in two parts; return it with what it was made from."""
    return in_two_parts(spark, tmp_path)


def in_two_parts(spark, tmp_path, people=None):
    """Write a release; `people` says whose each row is, where one person may have several."""
    data = ic.Transactions.from_rows(ROWS, people=people)
    release = ic.anonymize(data, ic.balanced(data, 2), method="partition", k=2)
    release.write(tmp_path / "out")
    whole = tmp_path / "out/records.parquet"
    part = read_part(whole, keep=True)
    whole.unlink()
    whole.mkdir()
    middle = len(part.records) // 2
    cut = sum(part.sizes[:middle])
    for number, some in enumerate([slice(None, middle), slice(middle, None)]):
        RecordTable.of(part.records[some], part.sizes[some]).write(whole / f"part-0000{number}.parquet")
    rows, place = leaf_rows(data, release.taxonomy), release.records.row_of
    own = {"leaf": lists(rows.start, rows.leaf), "times": lists(rows.start, rows.times)}
    where = {
        "file": pa.array(place >= cut).cast(pa.int32()),
        "position": np.where(place >= cut, place - cut, place),
    }
    work, number = Work(spark, tmp_path), np.arange(len(data))
    owned = SparkOriginals(
        work,
        whole,
        work.table(pa.table({"row": number, "person": data.person.astype(int), **own}), "rows.parquet"),
        release.taxonomy,
        work.table(pa.table({"row": number, **where}), "where.parquet"),
        release.entries.named.renamed,
        has_parts=people is not None,
    )
    return tmp_path / "out", owned, release.figured()


def audited(directory, owned, figured):
    """Audit a release on the cluster."""
    return audit(directory, originals=owned, measure=lambda *_: figured, map_parts=on_executors(owned.work))


def assert_found(written, line):
    """Check that the audit finds a fault, and names it first."""
    assert re.search(line, audited(*written).problems[0])


def rewrite(path, change):
    """Change the distinct records of a part and write them in their only form."""
    part = read_part(path, keep=True)
    records, sizes = zip(*change(list(zip(part.records, part.sizes, strict=True))), strict=True)
    RecordTable.of(records, sizes).write(path)


def test_a_good_release_is_confirmed(written):
    found = audited(*written)
    local = json.loads((written[0] / "manifest.json").read_text(encoding="utf-8"))["counts"]
    assert found.confirmed
    assert (found.records, found.classes, found.k_min, found.people_min) == (
        local["records_out"],
        local["groups"],
        local["k_min"],
        local["people_min"],
    )
    assert ic.audit(written[0]).confirmed
    assert set(ic.audit(written[0]).checks) <= set(found.checks)


def more_copies(records):
    return [((labels, tuple(count + 5 for count in counts)), size) for (labels, counts), size in records]


def one_of_its_own(records):
    *rest, ((labels, counts), size) = records
    return [*rest, ((labels, counts), size - 1), ((labels, tuple(count + 1 for count in counts)), 1)]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda records: records[::-1], "out of order"),
        (
            lambda records: records[:-1],
            "neither published|not what was counted|exactly one owner|not the page",
        ),
        (more_copies, "not the page|do not generalize"),
        (one_of_its_own, "shared by fewer than 2"),
        (lambda records: [((((("who", True),), (1,))), size) for _, size in records[:1]], "does not list"),
        (
            lambda records: [((labels, (0,) * len(counts)), size) for (labels, counts), size in records],
            "at least 1",
        ),
    ],
)
def test_a_fault_is_found(written, change, line):
    rewrite(written[0] / "records.parquet/part-00001.parquet", change)
    assert_found(written, line)


def test_parts_in_the_wrong_order_are_found(written):
    parts = written[0] / "records.parquet"
    (parts / "part-00000.parquet").rename(parts / "x")
    (parts / "part-00001.parquet").rename(parts / "part-00000.parquet")
    (parts / "x").rename(parts / "part-00001.parquet")
    assert_found(written, "begins before the last one ends")


@pytest.mark.parametrize("name", [".hidden", "part-00002.parquet", "part-00007.parquet", "log.tsv"])
def test_a_file_beside_the_parts_is_found(written, name):
    parts = written[0] / "records.parquet"
    shutil.copy(parts / "part-00001.parquet", parts / name)
    assert_found(written, r"other files than its parts|begins before")


@pytest.mark.parametrize("how", ["row groups", "notes", "footer"])
def test_a_part_with_something_else_in_it_is_found(written, how):
    path = written[0] / "records.parquet/part-00001.parquet"
    table = pq.read_table(path)
    if how == "row groups":
        pq.write_table(table, path, compression="zstd", row_group_size=1)
    elif how == "notes":
        pq.write_table(table.replace_schema_metadata({"who": "alice"}), path, compression="zstd")
    else:
        content = path.read_bytes()
        footer = int.from_bytes(content[-8:-4], "little") + 8
        path.write_bytes(content[:-footer] + b"alice" + content[-footer:])
    assert_found(written, r"no part of them|notes in its schema")


@pytest.mark.parametrize(
    ("way", "value", "line"),
    [
        (("counts", "people_min"), 7, "people_min"),
        (("claim", "kind"), "none", "not the one of this method"),
        (("claim", "speaks_of"), "class", "not the one of this method"),
        (("claim", "not_promised"), [], "not promised"),
        (("losses", "ncp"), 0.9, "not the page"),
    ],
)
def test_a_manifest_that_lies_is_found(written, way, value, line):
    path = written[0] / "manifest.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    said[way[0]][way[1]] = value
    path.write_text(canonical_text(msgspec.convert(said, Manifest)), encoding="utf-8")
    assert_found(written, line)


def test_a_label_that_nothing_needs_is_found(written):
    path = written[0] / "taxonomy.parquet"
    rows = pq.read_table(path).to_pylist()
    root = next(row["label"] for row in rows if row["parent"] is None)
    rows.append({"label": "alice", "exact": True, "parent": root, "level": 2, "leaves": 1})
    write_taxonomy(path, pa.Table.from_pylist(rows, pq.read_schema(path)))
    assert_found(written, "neither published nor above")


def test_invented_figures_are_found(written):
    directory, owned, figured = written
    other = Figured(
        {**figured.figures, "losses": {**figured.figures["losses"], "ncp": 0.9}}, figured.withheld
    )
    assert_found((directory, owned, other), "losses are not what was measured")


def test_two_rows_of_one_owner_are_found(written):
    directory, owned, figured = written
    twice = owned.places.where("row <> 0").union(owned.places.where("row = 1"))
    assert_found(
        (directory, replace(owned, places=twice), figured), "not every published row has exactly one owner"
    )


def test_records_that_one_person_shares_with_herself_are_found(spark, tmp_path):
    directory, owned, figured = in_two_parts(spark, tmp_path, people=list("abcdeefg"))
    assert audited(directory, owned, figured).confirmed
    hers = replace(owned, rows=owned.rows.withColumn("person", f.lit(0)))
    assert_found((directory, hers, figured), "shared by fewer than 2 different people")
    lost = replace(owned, rows=owned.rows.where("person < 3"))
    assert_found((directory, lost, figured), "exactly one owner")


def test_it_knows_no_method_and_no_kernel():
    rooms = {part_of(name) for name in everything_behind("incrowd.spark.audit") - {"incrowd.release"}}
    assert rooms & {"methods", "kernels", "metrics", "release", "jobs"} == set()
    assert "auditing" in rooms  # the search does follow imports
