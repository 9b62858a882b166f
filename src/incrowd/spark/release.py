"""A release written by a cluster: Parquet parts in the order of their content, and who has which row.

Records are compared as the local engine compares them: by the ranks of their labels, then by their counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import Broadcast, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.lists import list_of
from incrowd.manifest import Counts
from incrowd.records import RECORDS_SCHEMA
from incrowd.spark.bags import rows_of
from incrowd.spark.work import Work
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["NAME", "Labels", "count_records", "published_labels", "spell", "write_records"]

Ints32 = npt.NDArray[np.int32]
KEYS = "row bigint, ranks binary, counts binary"
WRITTEN = "row bigint, file int, position bigint"
ROWS_A_PART = 200_000
NAME = "part-{:05d}.parquet"


class Labels(NamedTuple):
    """The published labels, sorted by code point, and the published nodes, ascending, with the ranks of their labels."""

    names: pa.Array
    nodes: Ints32
    ranks: Ints32


def published_labels(published: DataFrame, taxonomy: Taxonomy) -> Labels:
    """Return what is published, node by node."""
    found = published.select(f.explode("nodes").alias("node")).distinct().toArrow().column("node")
    nodes = np.sort(np.array(found, dtype=np.int32))
    entries = taxonomy.labels_of(nodes).dictionary_encode()
    order = pc.sort_indices(entries.dictionary)
    rank = np.empty(len(order), dtype=np.int32)
    rank[np.array(order)] = np.arange(len(order), dtype=np.int32)
    return Labels(entries.dictionary.take(order), nodes, rank[np.array(entries.indices)])


def spell(published: DataFrame, labels: Broadcast[Labels]) -> DataFrame:
    """Return each row's record as bytes that sort as it does: `ranks` of labels, and `counts`."""
    return published.mapInArrow(partial(_spelled, labels=labels), KEYS)


def _spelled(batches: Iterable[pa.RecordBatch], *, labels: Broadcast[Labels]) -> Iterator[pa.RecordBatch]:
    known = labels.value
    for batch in batches:
        said = rows_of(batch.column("nodes"), batch.column("counts"))
        row, rank = list_of(said.start), known.ranks[np.searchsorted(known.nodes, said.leaf)]
        order = np.lexsort((rank, row))
        row, rank, times = row[order], rank[order], said.times[order]
        fresh = np.ones(len(row), dtype=np.bool_)  # a concept and its "this very concept" leaf share a label
        fresh[1:] = (row[1:] != row[:-1]) | (rank[1:] != rank[:-1])
        at = np.flatnonzero(fresh)
        times = np.add.reduceat(times, at) if len(at) else times
        bounds = (4 * np.searchsorted(row[at], np.arange(len(batch) + 1))).tolist()
        columns = [_cut(values, bounds) for values in (rank[at], times)]
        yield pa.record_batch([batch.column("row"), *columns], ["row", "ranks", "counts"])


def _cut(values: Ints32, bounds: list[int]) -> pa.Array:
    """Return lists of numbers as bytes, the most significant first."""
    data = values.astype(">u4").tobytes()
    return pa.array([data[a:b] for a, b in pairwise(bounds)], pa.binary())


def write_records(work: Work, spelled: DataFrame, labels: Broadcast[Labels], directory: Path) -> DataFrame:
    """Write the records, sorted, as Parquet parts of a directory; return the `file` and `position` of each `row`."""
    directory.mkdir()
    keys = ["ranks", "counts", "row"]
    parts = -(-spelled.count() // ROWS_A_PART)
    ordered = spelled.repartitionByRange(parts, *keys).sortWithinPartitions(*keys)
    written = ordered.mapInArrow(partial(_write_part, labels=labels, directory=str(directory)), WRITTEN)
    settled = work.settle(written, "written")
    for stray in directory.glob(".*"):  # of a task that was lost
        stray.unlink(missing_ok=True)
    return settled


def _write_part(
    batches: Iterable[pa.RecordBatch], *, labels: Broadcast[Labels], directory: str
) -> Iterator[pa.RecordBatch]:
    """Write one part under a name of its own; it gets its place when it is whole, whoever else tries the same."""
    context = TaskContext.get()
    assert context is not None  # noqa: S101 - this runs in a task
    number = context.partitionId()
    draft = Path(directory) / f".{number}-{context.taskAttemptId()}"
    written = 0
    with pq.ParquetWriter(draft, RECORDS_SCHEMA, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(_records(batch, labels.value.names))
            positions = np.arange(written, written + len(batch))
            written += len(batch)
            file = np.full(len(batch), number, np.int32)
            yield pa.record_batch([batch.column("row"), file, positions], ["row", "file", "position"])
    with draft.open("rb") as whole:
        os.fsync(whole.fileno())
    if written:
        draft.replace(Path(directory) / NAME.format(number))
    else:
        draft.unlink()


def _records(batch: pa.RecordBatch, names: pa.Array) -> pa.RecordBatch:
    """Return the records that the bytes stand for."""
    ranks, counts = (
        np.frombuffer(b"".join(batch.column(name).to_pylist()), ">u4") for name in ("ranks", "counts")
    )
    lengths = np.array(pc.binary_length(batch.column("ranks")), dtype=np.int64) // 4
    bounds = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    items = pa.ListArray.from_arrays(bounds, names.take(pa.array(ranks.astype(np.int64))))
    times = pa.ListArray.from_arrays(bounds, pa.array(counts.astype(np.int32), pa.int32()))
    return pa.record_batch([items, times], schema=RECORDS_SCHEMA)


def count_records(spelled: DataFrame, labels: Labels, records_in: int) -> Counts:
    """Count the distinct records and how many rows share each, on the cluster."""
    shared = spelled.groupBy("ranks", "counts").agg(f.count("*").alias("size"))
    found = shared.agg(f.count("*"), f.sum("size"), f.min("size")).collect()[0]
    groups, records, least = (int(value or 0) for value in found)
    return Counts(
        records_in=records_in,
        records_out=records,
        withheld=records_in - records,
        groups=groups,
        k_min=least,
        people_min=least,  # a row is a user's, or a record's own
        labels=len(labels.names),
    )
