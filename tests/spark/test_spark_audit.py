"""The audit on Spark: it confirms a good release, and finds each kind of fault in a bad one."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import incrowd as ic
from incrowd.errors import ClaimError
from incrowd.kernels.arrays import leaf_rows
from incrowd.spark.audit import Owned, audit_on_spark
from incrowd.spark.bags import lists
from incrowd.spark.work import Work
from test_architecture import everything_behind, part_of

ROWS = [["1", "2"], ["1", "3"], ["1", "2", "2"], ["7"], ["7", "8"], ["8"], ["9"], ["1"]]


@pytest.fixture
def written(spark, tmp_path):
    """Write a release of the local engine's in two parts; return it with what it was made from."""
    data = ic.Transactions.from_rows(ROWS)
    release = ic.anonymize(data, ic.balanced(data, 2), method="partition", k=2)
    release.write(tmp_path / "out")
    table = pq.read_table(tmp_path / "out/records.parquet")
    (tmp_path / "out/records.parquet").unlink()
    (tmp_path / "out/records.parquet").mkdir()
    cut = len(table) // 2
    for number, part in enumerate([table[:cut], table[cut:]]):
        pq.write_table(part, tmp_path / f"out/records.parquet/part-0000{number}.parquet")
    rows, place = leaf_rows(data, release.taxonomy), release.records.row_of
    own = {"leaf": lists(rows.start, rows.leaf), "times": lists(rows.start, rows.times)}
    where = {
        "file": pa.array(place >= cut).cast(pa.int32()),
        "position": np.where(place >= cut, place - cut, place),
    }
    work, number = Work(spark, tmp_path), np.arange(len(data))
    owned = Owned(
        work.table(pa.table({"row": number, **own}), "rows.parquet"),
        release.taxonomy,
        work.table(pa.table({"row": number, **where}), "where.parquet"),
    )
    return work, tmp_path / "out", owned


def rewrite(path, change):
    """Change the rows of a part."""
    rows = change(pq.read_table(path).to_pylist())
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(path)), path)


def test_a_good_release_is_confirmed(written):
    found = audit_on_spark(*written)
    local = json.loads((written[1] / "manifest.json").read_text(encoding="utf-8"))["counts"]
    assert found.holds
    assert (found.records, found.classes, found.k_min) == (
        local["records_out"],
        local["groups"],
        local["k_min"],
    )
    assert len(found.checks) == 6


def more_copies(rows):
    return [{"items": row["items"], "counts": [count + 5 for count in row["counts"]]} for row in rows]


def one_of_its_own(rows):
    return [*rows[:-1], {"items": rows[-1]["items"], "counts": [count + 1 for count in rows[-1]["counts"]]}]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda rows: rows[::-1], "out of order"),
        (lambda rows: rows[:-1], "shared by fewer than 2|not what was counted"),
        (more_copies, "do not generalize their owners' records"),
        (one_of_its_own, "shared by fewer than 2"),
        (lambda rows: [{"items": ["who"], "counts": [1]} for _ in rows], "taxonomy.parquet does not list"),
        (
            lambda rows: [{"items": row["items"], "counts": [0] * len(row["counts"])} for row in rows],
            "at least 1",
        ),
    ],
)
def test_a_fault_is_found(written, change, line):
    rewrite(written[1] / "records.parquet/part-00001.parquet", change)
    with pytest.raises(ClaimError, match=line):
        audit_on_spark(*written)


def test_parts_in_the_wrong_order_are_found(written):
    parts = written[1] / "records.parquet"
    (parts / "part-00000.parquet").rename(parts / "x")
    (parts / "part-00001.parquet").rename(parts / "part-00000.parquet")
    (parts / "x").rename(parts / "part-00001.parquet")
    with pytest.raises(ClaimError, match="begins before the file before it ends"):
        audit_on_spark(*written)


def test_two_rows_of_one_owner_are_found(written):
    work, directory, owned = written
    twice = owned.written.where("row <> 0").union(owned.written.where("row = 1"))
    with pytest.raises(ClaimError, match="not every published row has exactly one owner"):
        audit_on_spark(work, directory, Owned(owned.rows, owned.taxonomy, twice))


def test_it_knows_no_method_and_no_kernel():
    rooms = {part_of(name) for name in everything_behind("incrowd.spark.audit")}
    assert rooms & {"methods", "kernels", "metrics", "release", "records"} == set()
    assert "relations" in rooms  # the search does follow imports
