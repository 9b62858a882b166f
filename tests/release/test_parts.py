"""Written records, read again: the same runs as a plain reading gives, and the same sums however they are added up."""

from __future__ import annotations

from itertools import groupby

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import digest_of
from incrowd.release.files import parts
from incrowd.release.files.digest import Digest, digest_of_table
from incrowd.release.files.parts import read_part
from incrowd.release.files.records import RECORDS_SCHEMA, RecordTable

LABELS = st.tuples(st.sampled_from(["a", "b", "ä", "a b", "Z"]), st.booleans())
RECORDS = st.dictionaries(LABELS, st.integers(1, 3), min_size=1, max_size=4).map(
    lambda bag: (tuple(sorted(bag)), tuple(bag[label] for label in sorted(bag)))
)
TABLES = st.dictionaries(RECORDS, st.integers(1, 5), min_size=1, max_size=8).map(
    lambda some: sorted(some.items())
)


def written(path, rows):
    """Write rows of (labels, counts) as they come, sorted or not."""
    columns = [
        [[text for text, _ in labels] for labels, _ in rows],
        [[exact for _, exact in labels] for labels, _ in rows],
        [list(counts) for _, counts in rows],
    ]
    pq.write_table(pa.table(columns, schema=RECORDS_SCHEMA), path, compression="zstd")


@settings(max_examples=60)
@given(st.lists(RECORDS, min_size=1, max_size=30), st.integers(1, 7))
def test_runs_are_those_of_a_plain_reading(tmp_path_factory, rows, batch):
    path = tmp_path_factory.mktemp("part") / "records.parquet"
    written(path, rows)
    whole, parts.ROWS_A_BATCH = parts.ROWS_A_BATCH, batch
    try:
        found = list(parts._runs(path, []))
    finally:
        parts.ROWS_A_BATCH = whole
    assert found == [(record, len(list(same))) for record, same in groupby(rows)]


@settings(max_examples=60)
@given(TABLES, st.integers(0, 8))
def test_sums_are_the_same_by_records_by_arrays_and_by_parts(table, cut):
    records, sizes = zip(*table, strict=True)
    by_records = digest_of(table)
    assert digest_of_table(RecordTable.of(records, sizes)) == by_records
    by_parts = Digest()
    for some in (table[:cut], table[cut:]):
        by_parts.merge(digest_of(some))
    assert by_parts == by_records
    assert by_records.rows == sum(sizes)
    assert by_records.fewer_than(3) == sum(size < 3 for size in sizes)


@settings(max_examples=40)
@given(TABLES)
def test_what_is_written_is_read_and_canonical(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("part") / "records.parquet"
    records, sizes = zip(*table, strict=True)
    RecordTable.of(records, sizes).write(path)
    part = read_part(path, keep=True)
    assert part.problems == []
    assert (part.records, part.sizes) == (list(records), list(sizes))
    assert (part.first, part.last) == (records[0], records[-1])
    assert read_part(path).records == []


@pytest.mark.parametrize(
    "row",
    [
        {"items": ["a"], "exact": [True], "counts": [1, 2]},
        {"items": ["a", "b"], "exact": [True], "counts": [1, 2]},
        {"items": ["a"], "exact": [None], "counts": [1]},
        {"items": [], "exact": [], "counts": []},
        {"items": ["a"], "exact": [True], "counts": [0]},
        {"items": ["a", "a"], "exact": [True, False], "counts": [1, 1]},
        {"items": None, "exact": None, "counts": None},
    ],
)
def test_a_row_that_is_no_record_is_a_problem(tmp_path, row):
    path = tmp_path / "records.parquet"
    pq.write_table(pa.Table.from_pylist([row, row], RECORDS_SCHEMA), path, compression="zstd")
    assert read_part(path).problems
