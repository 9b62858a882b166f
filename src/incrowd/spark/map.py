"""The private map of a release that a cluster wrote: who has which row."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.errors import BadInputError
from incrowd.folder import private_file
from incrowd.private_map import MAP_SCHEMA
from incrowd.spark.transactions import Gathered

__all__ = ["write_map"]

ROWS_AT_ONCE = 50_000


def write_map(draft: Path, gathered: Gathered, written: DataFrame, notes: Mapping[str, str]) -> None:
    """Write which owner has which row (mode 0600), in the order of owners; the driver holds some of them at a time."""
    if gathered.units is None:
        raise BadInputError(
            "the private map of baskets is written by the local engine only: use --engine local"
        )
    sizes = {row["file"]: row["count"] for row in written.groupBy("file").count().collect()}
    files = sorted(sizes)
    before = dict(zip(files, accumulate([0, *(sizes[file] for file in files)]), strict=False))
    starts = written.sparkSession.createDataFrame(list(before.items()), "file int, before bigint")
    rows = written.join(f.broadcast(starts), "file").join(gathered.units, "row").orderBy("row")
    owned = rows.select("key", (f.col("before") + f.col("position")).alias("place")).toLocalIterator()
    schema = MAP_SCHEMA.with_metadata(dict(notes))
    with pq.ParquetWriter(private_file(draft), schema, compression="zstd") as writer:
        while some := list(islice(owned, ROWS_AT_ONCE)):
            owners, places = [row["key"] for row in some], [row["place"] for row in some]
            writer.write_table(pa.table([owners, places], schema=schema))
