"""What a release loses, as sums over rows that are added up on the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.kernels.arrays import Tree
from incrowd.kernels.generalize import what_is_kept
from incrowd.metrics import Losses
from incrowd.spark.bags import rows_of
from incrowd.spark.warm import warmed
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["count_lengths", "measure_losses"]

KEPT = "weight bigint, lost bigint, exactly bigint, occurrences bigint"


class _Published(NamedTuple):
    """Sums over what is published: copies, and their LM, IC and levels."""

    copies: float
    lm: float
    ic: float
    level: float


def measure_losses(
    rows: DataFrame, published: DataFrame, ground: Broadcast[Tree], taxonomy: Taxonomy, records: int
) -> Losses:
    """Measure what is lost, as :func:`incrowd.metrics.measure_losses` does; `records` is how many are published."""
    both = rows.join(published, "row")
    kept = both.mapInArrow(partial(_kept, tree=ground), KEPT)
    sums = kept.agg(*(f.sum(name) for name in ("weight", "lost", "exactly", "occurrences"))).collect()[0]
    weight, lost, exactly, occurrences = (int(value or 0) for value in sums)
    said = _published(published, taxonomy)
    suppressed = occurrences - said.copies
    ggd, whole = suppressed + said.lm, max(occurrences, 1)
    return Losses(
        ncp=(weight / taxonomy.leaf_count + lost) / whole,
        ggd=ggd,
        ggd_norm=ggd / whole,
        ic_norm=(suppressed + said.ic) / whole,
        kept_exactly=exactly / whole,
        blm=ggd / whole,
        avg_length=said.copies / max(records, 1),
        avg_level=said.level / max(said.copies, 1.0),
    )


def count_lengths(rows: DataFrame) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the lengths of the original records, ascending, and how many records have each."""
    length = f.aggregate("times", f.lit(0).cast("bigint"), lambda total, times: total + times)
    found = rows.groupBy(length.alias("length")).count().orderBy("length").toArrow()
    return np.array(found.column("length"), dtype=np.int64), np.array(found.column("count"), dtype=np.int64)


def _published(published: DataFrame, taxonomy: Taxonomy) -> _Published:
    """Sum up what is published; the cluster counts the copies of each node."""
    copies = published.select(f.explode(f.arrays_zip("nodes", "counts")).alias("one"))
    found = copies.groupBy("one.nodes").agg(f.sum("one.counts").alias("copies")).orderBy("nodes").toArrow()
    node, times = np.array(found.column("nodes")), np.array(found.column("copies"), dtype=np.float64)
    values = (taxonomy.lm[node], taxonomy.ic[node], taxonomy.level[node])
    return _Published(float(times.sum()), *(float((value * times).sum()) for value in values))


def _kept(batches: Iterable[pa.RecordBatch], *, tree: Broadcast[Tree]) -> Iterator[pa.RecordBatch]:
    """Yield what is kept of the rows of a batch, in four numbers."""
    warmed("kept", _compile)
    for batch in batches:
        rows = rows_of(batch.column("leaf"), batch.column("times"))
        said = rows_of(batch.column("nodes"), batch.column("counts"))
        kept = what_is_kept(rows, tree.value, np.arange(len(batch), dtype=np.int32), *said)
        numbers = [*(int(value) for value in kept), int(rows.times.sum(dtype=np.int64))]
        yield pa.record_batch(
            [pa.array([number], pa.int64()) for number in numbers],
            ["weight", "lost", "exactly", "occurrences"],
        )


def _compile() -> None:
    """Run the kernel on next to nothing."""
    zeros, level = np.zeros(1, np.int32), np.zeros((1, 1), np.int32)
    tree = Tree(zeros - 1, zeros, zeros, zeros, zeros + 1, level, np.zeros(1, np.int64))
    one = pa.array([[0]], pa.list_(pa.int32()))
    rows = rows_of(one, one)
    what_is_kept(rows, tree, np.arange(1, dtype=np.int32), *rows)
