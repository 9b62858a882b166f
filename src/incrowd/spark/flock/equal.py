"""Equal rows on Spark: they form groups before all others, as in :func:`incrowd.methods.flock.method.equal_groups`.

However many rows are equal, no task holds them together: Spark numbers them, sorted on disk if need be, and a group has fewer
than 2k of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from incrowd.errors import BadInputError
from incrowd.kernels.lcg import ancestor_rows
from incrowd.methods.flock.blocks import digests
from incrowd.spark.bags import rows_of
from incrowd.spark.flock.measure import Measure
from incrowd.spark.work import Work

__all__ = ["equal_and_other_rows"]

EQUAL = b"\x00"  # how the places of groups of equal rows begin: they come before all others
DIGEST_BYTES, PLACE_BYTES = 8, 16
PLACED = "row bigint, leaf array<int>, times array<int>, place binary"


def equal_and_other_rows(
    rows: DataFrame, measure: Measure, k: int, work: Work
) -> tuple[DataFrame, DataFrame]:
    """Return units of k to 2k - 1 equal rows, and units of one row for those that are in none.

    Where fewer than k rows would be in no group, the rows of the last kind are set free to join them.
    """
    kinds = work.settle(_kinds(rows.mapInArrow(partial(_placed, measure), PLACED)), "kinds")
    is_common = f.col("copies") >= k
    found = kinds.agg(
        f.count("*").alias("rows"),
        f.count(f.when(~is_common, 1)).alias("others"),
        f.max(f.when(is_common, f.struct("digest", "kind"))).alias("last"),
    ).collect()[0]
    if k > found["rows"]:
        raise BadInputError(
            f"k must be at most {found['rows']:,}, the number of records that hold anything (got {k})"
        )
    if 0 < found["others"] < k and found["last"] is not None:
        digest, kind = found["last"]
        is_common &= (f.col("digest") != f.lit(bytes(digest))) | (f.col("kind") != kind)
    return _groups(kinds.where(is_common), k), _single(kinds.where(~is_common))


def _placed(measure: Measure, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give each row its place in the order of contents: a digest of what it holds, and then its number."""
    tree = measure.weighted_tree().tree
    for batch in batches:
        bags = ancestor_rows(rows_of(batch.column("leaf"), batch.column("times")), tree)
        number = batch.column("row").to_numpy().astype(np.uint64)
        places = np.stack([digests(bags, np.arange(len(batch))), number], axis=1).astype(">u8").tobytes()
        place = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(PLACE_BYTES), len(batch), [None, pa.py_buffer(places)]
        )
        columns = [*map(batch.column, ("row", "leaf", "times")), place.cast(pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, ["row", "leaf", "times", "place"])


def _kinds(placed: DataFrame) -> DataFrame:
    """Add to each row how many rows are equal to it (`copies`), and which of them it is (`nth`, from 0).

    Equal rows have the same digest. Should different rows have it too, a kind is a run of equal rows, as in the local method.
    """
    same_digest = Window.partitionBy("digest").orderBy("row")
    before = [f.lag(name).over(same_digest) for name in ("leaf", "times")]
    is_new = ~(f.col("leaf").eqNullSafe(before[0]) & f.col("times").eqNullSafe(before[1]))
    same_kind = Window.partitionBy("digest", "kind")
    return (
        placed.withColumn("digest", f.substring("place", 1, DIGEST_BYTES))
        .withColumn("is_new", is_new.cast("int"))
        .withColumn("kind", f.sum("is_new").over(same_digest))
        .withColumn("copies", f.count("*").over(same_kind))
        .withColumn("nth", f.row_number().over(same_kind.orderBy("row")) - 1)
        .drop("is_new")
    )


def _groups(kinds: DataFrame, k: int) -> DataFrame:
    """Make units of k equal rows; the last of a kind takes what is left over as well."""
    number = f.least(f.floor(f.col("nth") / k), f.floor(f.col("copies") / k) - 1)
    groups = kinds.groupBy("digest", "kind", number.alias("number")).agg(
        f.array_sort(f.collect_list("row")).alias("row"),
        f.min("place").alias("place"),
        f.first("leaf").alias("leaf"),
        f.first("times").alias("times"),
    )
    times = f.size("row")
    return groups.select(
        f.lit("").alias("part"),
        f.concat(f.lit(EQUAL), "place").alias("place"),
        "row",
        f.array_repeat(f.size("leaf"), times).alias("items"),
        *(f.flatten(f.array_repeat(name, times)).alias(name) for name in ("leaf", "times")),
    )


def _single(kinds: DataFrame) -> DataFrame:
    """Make a unit of each row."""
    items = f.array(f.size("leaf")).alias("items")
    return kinds.select(f.lit("").alias("part"), "place", f.array("row").alias("row"), items, "leaf", "times")
