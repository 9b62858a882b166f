"""What losses are made of, as sums over rows that are added up on the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.core.types import Floats, Ints64
from incrowd.kernels.arrays import Tree
from incrowd.kernels.generalize import what_is_kept
from incrowd.metrics.losses import Sums
from incrowd.spark.bags import rows_of
from incrowd.spark.warm import warmed
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["compile_kernels", "count_lengths", "sum_losses"]

KEPT_NAMES = ["occurrences", "weight", "lost", "exactly"]
KEPT = ", ".join(f"{name} bigint" for name in KEPT_NAMES)


def sum_losses(
    rows: DataFrame, published: DataFrame, tree: Broadcast[Tree], taxonomy: Taxonomy, records: int
) -> Sums:
    """Add up what losses are made of; `records` is how many are published."""
    both = rows.join(published, "row")
    kept = both.mapInArrow(partial(_kept, tree=tree), KEPT)
    sums = kept.agg(*(f.sum(name) for name in KEPT_NAMES)).collect()[0]
    occurrences, weight, lost, exactly = (int(value or 0) for value in sums)
    node, copies = _copies(published)
    values = (taxonomy.lm[node], taxonomy.ic[node], taxonomy.level[node])
    said = (float((value * copies).sum()) for value in values)
    return Sums(occurrences, weight, lost, exactly, records, float(copies.sum()), *said)


def count_lengths(rows: DataFrame, *, has_parts: bool) -> tuple[Ints64, list[tuple[list[int], int]]]:
    """Return what :func:`incrowd.release.lengths.bins_of_people` takes."""
    length = f.aggregate("times", f.lit(0).cast("bigint"), lambda total, times: total + times)
    lengths = rows.select("person", (f.length(f.bin(length)) - 1).alias("bin"))
    counted = {row["bin"]: row["count"] for row in lengths.groupBy("bin").count().collect()}
    records = np.array([counted.get(one, 0) for one in range(max(counted) + 1)], np.int64)
    if not has_parts:
        return records, [([one], number) for one, number in counted.items()]
    people = lengths.groupBy("person").agg(f.sort_array(f.collect_set("bin")).alias("bins"))
    return records, [(row["bins"], row["count"]) for row in people.groupBy("bins").count().collect()]


def _copies(published: DataFrame) -> tuple[Ints64, Floats]:
    """Return the published nodes, ascending, and how often each is published."""
    copies = published.select(f.explode(f.arrays_zip("nodes", "counts")).alias("one"))
    found = copies.groupBy("one.nodes").agg(f.sum("one.counts").alias("copies")).toArrow()
    found = found.sort_by("nodes")  # floats are added up in one order
    return np.array(found.column("nodes")), np.array(found.column("copies"), dtype=np.float64)


def _kept(batches: Iterable[pa.RecordBatch], *, tree: Broadcast[Tree]) -> Iterator[pa.RecordBatch]:
    """Yield what is kept of the rows of a batch, in four numbers."""
    warmed("kept", compile_kernels)
    for batch in batches:
        rows = rows_of(batch.column("leaf"), batch.column("times"))
        said = rows_of(batch.column("nodes"), batch.column("counts"))
        kept = what_is_kept(rows, tree.value, np.arange(len(batch), dtype=np.int32), *said)
        numbers = [int(rows.times.sum(dtype=np.int64)), *(int(value) for value in kept)]
        yield pa.record_batch([pa.array([number], pa.int64()) for number in numbers], KEPT_NAMES)


def compile_kernels() -> None:
    """Run the kernel on next to nothing."""
    zeros, level = np.zeros(1, np.int32), np.zeros((1, 1), np.int32)
    tree = Tree(zeros - 1, zeros, zeros, zeros, zeros + 1, level, np.zeros(1, np.int64))
    one = pa.array([[0]], pa.list_(pa.int32()))
    rows = rows_of(one, one)
    what_is_kept(rows, tree, np.arange(1, dtype=np.int32), *rows)
