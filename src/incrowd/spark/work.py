"""What lies between two steps of a job: Parquet files in a directory that the driver and all executors reach.

A step that is written down is never computed again: a lost executor costs its own tasks, not the steps before, and
numbers that were given by sorting cannot change when part of the work is repeated.
"""

from __future__ import annotations

import re
import shutil
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

__all__ = ["SHARD", "Work", "address"]

SHARD = 200_000
"""The most rows that a task holds at once, by default."""


class Work(NamedTuple):
    """The session and the directory of one job's steps."""

    spark: SparkSession
    directory: Path

    def settle(self, rows: DataFrame, name: str, *, by: str | None = None) -> DataFrame:
        """Write the rows down, apart by the values of a column if `by` is given, and return them as they were written."""
        path = self.directory / name
        self.spark.sparkContext.setJobDescription(f"incrowd: {name}")  # what people see in Spark's pages
        writer = rows.write.mode("overwrite").option("compression", "zstd")
        (writer.partitionBy(by) if by else writer).parquet(f"file://{path}")
        return self.spark.read.schema(rows.schema).parquet(address(path))

    def numbered(self, rows: DataFrame, column: str, name: str, number: str) -> DataFrame:
        """Return the rows, sorted by a column without duplicates, with a number from 0 on."""
        ordered = rows.repartitionByRange(column).sortWithinPartitions(column)
        written = self.settle(ordered, name)
        place = f.col("_metadata.file_name").alias("_file")
        sizes = self._sizes(name)
        before = list(zip(sizes, accumulate(sizes.values(), initial=0), strict=False))
        starts = self.spark.createDataFrame(before or [("", 0)], "_file string, _before long")
        row = (f.col("_before") + f.col("_row")).alias(number)
        placed = written.select(column, place, f.col("_metadata.row_index").alias("_row"))
        return placed.join(f.broadcast(starts), "_file").select(column, row)

    def count(self, name: str) -> int:
        """Return how many rows a step has: its files tell it, so that the cluster need not count."""
        return sum(self._sizes(name).values())

    def _sizes(self, name: str) -> dict[str, int]:
        """Return how many rows each file of a step has, in the order of the files."""
        files = sorted((self.directory / name).glob("*.parquet"))
        return {file.name: pq.read_metadata(file).num_rows for file in files}

    def table(self, table: pa.Table, name: str) -> DataFrame:
        """Return a table of the driver's as rows of the cluster's."""
        path = self.directory / name
        pq.write_table(table, path)
        return self.spark.read.parquet(address(path))

    def here(self, name: str, columns: list[str]) -> pa.Table:
        """Return some columns of a step in this process, in no order.

        The files are read where they lie: what Spark hands over itself may not be larger than ``spark.driver.maxResultSize``.
        """
        files = sorted((self.directory / name).glob("*.parquet"))
        return pa.concat_tables(pq.ParquetFile(file).read(columns) for file in files)

    def forget(self, name: str) -> None:
        """Remove the files of a step that is no longer needed."""
        shutil.rmtree(self.directory / name, ignore_errors=True)


def address(path: Path) -> str:
    """Return where Spark reads a path of the shared file system, whatever its default one is and whatever is in a name."""
    return "file://" + re.sub(r"([\[\]{}*?\\])", r"\\\1", str(path))
