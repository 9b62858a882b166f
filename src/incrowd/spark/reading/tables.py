"""Parquet files as Spark reads them; a row's number in its file stands for its line number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from incrowd.errors import BadInputError
from incrowd.logs.formats.columns import find_columns
from incrowd.logs.formats.parquet import rows_of
from incrowd.logs.formats.source import PARQUET_MAGIC
from incrowd.logs.rejects import Rejects
from incrowd.spark.reading.events import EVENTS, event_batches
from incrowd.spark.reading.survey import Survey

__all__ = ["is_parquet", "read_tables"]

FILE, NUMBER = "_incrowd_file", "_incrowd_row"


def is_parquet(lines: DataFrame) -> bool:
    """Tell by the first bytes whether what looks like lines is Parquet."""
    first = lines.select(f.substring("value", 1, len(PARQUET_MAGIC)).alias("head")).first()
    return first is not None and bytes(first["head"]) == PARQUET_MAGIC


def read_tables(
    spark: SparkSession,
    source: str,
    *,
    name: str,
    columns: Mapping[str, str] | None,
    keep_rejected: bool,
) -> tuple[Survey, DataFrame]:
    """Return what all Parquet files of a path are, and their rows as :func:`incrowd.spark.reading.events.parse` gives them."""
    try:
        table = spark.read.parquet(source)
    except AnalysisException:
        raise BadInputError(
            f"{name} cannot be read as Parquet: give whole files that all have the same columns"
        ) from None
    places = find_columns(table.columns, columns, file=name)
    names = {role: table.columns[place] for role, place in places.items()}
    _check_kinds(table, names)
    counted = table.groupBy(f.col("_metadata.file_path").alias("file")).count().collect()
    sizes = {row["file"]: row["count"] for row in counted}
    files = tuple(sorted(sizes))
    numbered = _wanted(table, names).select(
        "*", f.col("_metadata.file_path").alias(FILE), f.col("_metadata.row_index").alias(NUMBER)
    )
    rows = numbered.mapInArrow(partial(_parsed, names=names, files=files, keep_text=keep_rejected), EVENTS)
    total = sum(sizes.values())
    return Survey(files, "parquet", "time" in names, total, total, 0, {}), rows


def _check_kinds(table: DataFrame, names: Mapping[str, str]) -> None:
    """Refuse columns that are no text and no times, before any row is read."""
    schema = _wanted(table, names).limit(0).toArrow().schema
    rows_of(_named(pa.RecordBatch.from_pylist([], schema), names), names, np.empty(0, np.int64))


def _wanted(table: DataFrame, names: Mapping[str, str]) -> DataFrame:
    """Return the columns that matter, by their numbers: Spark does not take every name."""
    quoted = (name.replace("`", "``") for name in dict.fromkeys(names.values()))
    return table.select(*(f.col(f"`{name}`").alias(str(number)) for number, name in enumerate(quoted)))


def _named(batch: pa.RecordBatch, names: Mapping[str, str]) -> pa.RecordBatch:
    """Return these columns by their names."""
    real = list(dict.fromkeys(names.values()))
    return pa.RecordBatch.from_arrays(batch.columns[: len(real)], real)


def _parsed(
    batches: Iterable[pa.RecordBatch], *, names: Mapping[str, str], files: tuple[str, ...], keep_text: bool
) -> Iterator[pa.RecordBatch]:
    numbers = {file: number for number, file in enumerate(files)}
    rejects = Rejects(keep_text=keep_text)
    for batch in batches:
        for file in batch.column(FILE).unique().to_pylist():
            part = batch.filter(pc.equal(batch.column(FILE), file))
            lines = np.array(part.column(NUMBER)) + 1
            yield from event_batches([rows_of(_named(part, names), names, lines)], rejects, numbers[file])
