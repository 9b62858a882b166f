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
from pyspark import Broadcast, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.lists import list_of
from incrowd.parts import PART_NAME
from incrowd.published import PublishedNodes, published_nodes
from incrowd.record_table import RECORDS_SCHEMA, write_parquet
from incrowd.release_manifest import Counts
from incrowd.spark.bags import rows_of
from incrowd.spark.work import Work
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Labels", "count_records", "published_labels", "spell", "write_records"]

Ints32 = npt.NDArray[np.int32]
KEYS = "row bigint, ranks binary, counts binary"
WRITTEN = "row bigint, file int, position bigint"
ROWS_A_PART = 200_000


class Labels(NamedTuple):
    """The published labels, sorted, which of them are words, and the published nodes, ascending, with the ranks of their labels.

    ``named`` is what the nodes and all above them are called.
    """

    names: pa.Array
    exact: npt.NDArray[np.bool_]
    nodes: Ints32
    ranks: Ints32
    named: PublishedNodes


def published_labels(published: DataFrame, taxonomy: Taxonomy) -> Labels:
    """Return what is published, node by node."""
    found = published.select(f.explode("nodes").alias("node")).distinct().toArrow().column("node")
    nodes = np.sort(np.array(found, dtype=np.int32))
    named = published_nodes(taxonomy, nodes)
    place = named.places(nodes)
    texts, exact = named.labels.take(pa.array(place)), named.exact[place]
    order = pc.sort_indices(
        pa.table([texts, pa.array(exact)], names=["text", "exact"]),
        [("text", "ascending"), ("exact", "ascending")],
    )
    rank = np.empty(len(nodes), dtype=np.int32)
    rank[np.array(order)] = np.arange(len(nodes), dtype=np.int32)
    return Labels(texts.take(order), exact[np.array(order)], nodes, rank, named)


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
        bounds = (4 * np.searchsorted(row, np.arange(len(batch) + 1))).tolist()
        columns = [_cut(values, bounds) for values in (rank, times)]
        yield pa.record_batch([batch.column("row"), *columns], ["row", "ranks", "counts"])


def _cut(values: Ints32, bounds: list[int]) -> pa.Array:
    """Return lists of numbers as bytes, the most significant first."""
    data = values.astype(">u4").tobytes()
    return pa.array([data[a:b] for a, b in pairwise(bounds)], pa.binary())


def write_records(work: Work, spelled: DataFrame, labels: Broadcast[Labels], directory: Path) -> DataFrame:
    """Write the records, sorted, as Parquet parts of a directory; return the `file` and `position` of each `row`.

    Equal records are in one part, whatever their number.
    """
    directory.mkdir()
    keys = ["ranks", "counts"]
    parts = -(-spelled.count() // ROWS_A_PART)
    ordered = spelled.repartitionByRange(parts, *keys).sortWithinPartitions(*keys, "row")
    written = ordered.mapInArrow(partial(_write_part, labels=labels, directory=str(directory)), WRITTEN)
    settled = work.settle(written, "written")
    for stray in directory.glob(".*"):  # of a task that was lost
        stray.unlink(missing_ok=True)
    return _numbered(work, settled, directory)


def _numbered(work: Work, written: DataFrame, directory: Path) -> DataFrame:
    """Give the parts numbers without gaps, where some got no records."""
    names = sorted(part.name for part in directory.iterdir())
    numbers = [
        (int(name.removeprefix("part-").removesuffix(".parquet")), new) for new, name in enumerate(names)
    ]
    for name, (_, new) in zip(names, numbers, strict=True):
        (directory / name).rename(directory / PART_NAME.format(new))
    places = work.spark.createDataFrame(numbers, "file int, number int")
    joined = written.join(f.broadcast(places), "file")
    return joined.select("row", f.col("number").alias("file"), "position")


def _write_part(
    batches: Iterable[pa.RecordBatch], *, labels: Broadcast[Labels], directory: str
) -> Iterator[pa.RecordBatch]:
    """Write one part under a name of its own; it gets its place when it is whole, whichever attempt is first."""
    context = TaskContext.get()
    assert context is not None  # noqa: S101 - this runs in a task
    number = context.partitionId()
    draft = Path(directory) / f".{number}-{context.taskAttemptId()}"
    spelled = list(batches)
    write_parquet(draft, (_records(batch, labels.value) for batch in spelled), RECORDS_SCHEMA)
    with draft.open("rb") as whole:
        os.fsync(whole.fileno())
    written = sum(map(len, spelled))
    if written:
        draft.replace(Path(directory) / PART_NAME.format(number))
    else:
        draft.unlink()
    before = 0
    for batch in spelled:
        file, positions = np.full(len(batch), number, np.int32), np.arange(before, before + len(batch))
        before += len(batch)
        yield pa.record_batch([batch.column("row"), file, positions], ["row", "file", "position"])


def _records(batch: pa.RecordBatch, labels: Labels) -> pa.RecordBatch:
    """Return the records that the bytes stand for."""
    ranks, counts = (
        np.frombuffer(b"".join(batch.column(name).to_pylist()), ">u4").astype(np.int64)
        for name in ("ranks", "counts")
    )
    lengths = np.array(pc.binary_length(batch.column("ranks")), dtype=np.int64) // 4
    bounds = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    columns = (
        labels.names.take(pa.array(ranks)),
        pa.array(labels.exact[ranks], pa.bool_()),
        pa.array(counts.astype(np.int32), pa.int32()),
    )
    return pa.record_batch([pa.ListArray.from_arrays(bounds, one) for one in columns], schema=RECORDS_SCHEMA)


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
