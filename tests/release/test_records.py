"""Classes of nodes become rows of labels: sorted, merged where they say the same, one row for each owner."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from incrowd.core.classes import WITHHELD, Classes
from incrowd.release import rows as records_module
from incrowd.release.files import records as module
from incrowd.release.files.records import RECORDS_SCHEMA, RecordTable, write_parquet
from incrowd.taxonomy import Taxonomy

# Node 1 ("b") is an item itself: node 2 is its leaf and has its label.
LABELS = ["root", "b", "b", "ä", "a", "Z"]
TREE = Taxonomy.from_parents(
    np.array([-1, 0, 1, 1, 0, 0], dtype=np.int32), pa.array(LABELS, pa.string()), name="test"
)
B, B_ITSELF, UMLAUT, A, Z = (1, 2, 3, 4, 5)


def classes_of(of_row, *bags):
    """Build classes from {node: count} bags."""
    start = np.cumsum([0, *map(len, bags)])
    nodes = [node for bag in bags for node in bag]
    counts = [count for bag in bags for count in bag.values()]
    return Classes(
        np.array(of_row, dtype=np.int32),
        start.astype(np.int64),
        np.array(nodes, dtype=np.int32),
        np.array(counts, dtype=np.int32),
    )


def records_of(classes, tree):
    return records_module.records_of(classes, records_module.entries_of(classes, tree))


def rows(records):
    table = pa.Table.from_batches(records.batches(), schema=RECORDS_SCHEMA).to_pydict()
    return [dict(zip(*row, strict=True)) for row in zip(table["items"], table["counts"], strict=True)]


def test_rows_are_sorted_by_labels_in_code_point_order_then_by_counts():
    records = records_of(classes_of([0, 1, 2, 3, 4], {UMLAUT: 1}, {A: 2}, {A: 1}, {A: 1, Z: 1}, {B: 1}), TREE)
    assert rows(records) == [{"Z": 1, "a": 1}, {"a": 1}, {"a": 2}, {"b": 1}, {"ä": 1}]
    assert records.labels.to_pylist() == ["Z", "a", "b", "ä"]
    assert records.row_of.tolist() == [4, 2, 1, 0, 3]


def test_labels_within_a_row_are_in_code_point_order():
    table = next(records_of(classes_of([0], {B: 1, UMLAUT: 2, A: 3, Z: 4}), TREE).batches())
    assert table.to_pylist() == [
        {"items": ["Z", "a", "b", "ä"], "exact": [True, True, False, True], "counts": [4, 3, 1, 2]}
    ]


def test_a_concept_and_its_own_leaf_are_a_class_and_a_word():
    records = records_of(classes_of([0, 0, 1, 2], {B: 1}, {B_ITSELF: 1}, {B: 1, B_ITSELF: 2}), TREE)
    word, concept = ("b", True), ("b", False)
    assert list(records.records()) == [
        (((concept,), (1,)), 2),
        (((concept, word), (1, 2)), 1),
        (((word,), (1,)), 1),
    ]
    assert records.row_of.tolist() == [0, 1, 3, 2]


def test_every_published_row_has_one_owner_and_the_withheld_have_none():
    of_row = [1, WITHHELD, 0, 1, WITHHELD, 0, 0]
    bags = [{A: 1}, {Z: 1}]
    records = records_of(classes_of(of_row, *bags), TREE)
    assert records.rows == 5
    published = rows(records)
    names = [{"a": 1}, {"Z": 1}]
    for owner, row in zip(of_row, records.row_of.tolist(), strict=True):
        assert row == WITHHELD if owner == WITHHELD else published[row] == names[owner]
    assert sorted(row for row in records.row_of.tolist() if row != WITHHELD) == list(range(5))


def test_rows_come_in_batches_of_bounded_size(monkeypatch):
    monkeypatch.setattr(module, "ROWS_A_GROUP", 3)
    records = records_of(classes_of([0, 1, 1, 0, 1, 0, 1], {A: 1}, {A: 1, Z: 2}), TREE)
    assert [len(batch) for batch in records.batches()] == [3, 3, 1]
    assert rows(records) == [{"Z": 2, "a": 1}] * 4 + [{"a": 1}] * 3


def test_nothing_is_published():
    records = records_of(classes_of([WITHHELD, WITHHELD], {A: 1}), TREE)
    assert rows(records) == []
    assert records.row_of.tolist() == [WITHHELD, WITHHELD]


def test_the_file_depends_on_the_rows_alone(monkeypatch):
    """However the rows are cut into batches, the bytes are the same; and reading them gives the same table."""
    monkeypatch.setattr(module, "ROWS_A_GROUP", 4)
    records = records_of(classes_of([0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1], {A: 1, B: 2}, {A: 1, Z: 2}), TREE)
    table = pa.Table.from_batches(records.batches(), schema=RECORDS_SCHEMA)
    written = []
    for size in (1, 2, 3, 4, 5, 11, 100):
        sink = pa.BufferOutputStream()
        write_parquet(sink, table.to_batches(max_chunksize=size), RECORDS_SCHEMA)
        written.append(sink.getvalue().to_pybytes())
    assert len(set(written)) == 1
    file = pq.ParquetFile(pa.BufferReader(written[0]))
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [4, 4, 3]
    distinct, sizes = zip(*records.records(), strict=True)
    sink = pa.BufferOutputStream()
    RecordTable.of(distinct, sizes).write(sink)
    assert sink.getvalue().to_pybytes() == written[0]
