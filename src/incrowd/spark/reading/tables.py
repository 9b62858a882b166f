"""Parquet files as Spark reads them; a row's number in its file stands for its line number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from incrowd.errors import BadInputError
from incrowd.logs.form import InputForm
from incrowd.logs.formats.columns import find_columns
from incrowd.logs.formats.parquet import rows_of
from incrowd.logs.formats.source import PARQUET_MAGIC
from incrowd.logs.formats.time_styles import choose_times, undecided
from incrowd.logs.formats.times import Times
from incrowd.logs.rejects import Rejects
from incrowd.spark.reading.events import event_batches, events_with
from incrowd.spark.reading.survey import Survey

__all__ = ["is_parquet", "read_tables"]

_SAMPLE_ROWS = 1000
FILE, NUMBER = "_incrowd_file", "_incrowd_row"


def is_parquet(lines: DataFrame) -> bool:
    """Tell by the first bytes whether what looks like lines is Parquet."""
    first = lines.select(f.substring("value", 1, len(PARQUET_MAGIC)).alias("head")).first()
    return first is not None and bytes(first["head"]) == PARQUET_MAGIC


def read_tables(
    spark: SparkSession,
    sources: Sequence[str],
    *,
    name: str,
    form: InputForm,
    keep_rejected: bool,
) -> tuple[Survey, DataFrame]:
    """Return what all Parquet files of some paths are, and their rows as :func:`incrowd.spark.reading.events.parse` gives them."""
    try:
        table = spark.read.parquet(*sources)
    except AnalysisException:
        raise BadInputError(
            f"{name} cannot be read as Parquet: give whole files that all have the same columns"
        ) from None
    places = find_columns(table.columns, form.columns, file=name, wanted=form.wanted)
    names = {role: table.columns[place] for role, place in places.items()}
    times = _times(table, names, name, form)
    counted = table.groupBy(f.col("_metadata.file_path").alias("file")).count().collect()
    sizes = {row["file"]: row["count"] for row in counted}
    files = tuple(sorted(sizes))
    numbered = _wanted(table, names).select(
        "*", f.col("_metadata.file_path").alias(FILE), f.col("_metadata.row_index").alias(NUMBER)
    )
    columns = events_with(form)
    parsed = partial(_parsed, names=names, files=files, times=times, keep_text=keep_rejected, columns=columns)
    rows = numbered.mapInArrow(parsed, columns)
    total = sum(sizes.values())
    return Survey(files, "parquet", "time" in names, total, total, 0, {}, tuple(names)), rows


def _times(table: DataFrame, names: Mapping[str, str], name: str, form: InputForm) -> Times:
    """Tell how times are written by the first rows; refuse columns that are no text and no times, before any other is read."""
    first = _wanted(table, names).limit(_SAMPLE_ROWS).toArrow().combine_chunks()
    batch = next(iter(first.to_batches()), pa.RecordBatch.from_pylist([], first.schema))
    sample = rows_of(_named(batch, names), names, np.arange(1, len(batch) + 1)).time
    if isinstance(sample, pa.StringArray):
        times = choose_times({name: sample}, form)
        if times is None:
            raise undecided(name)
        return times
    if form.time_format or form.day:
        raise BadInputError(f"{name} has no times as text: drop --time-format and --day")
    return Times()


def _wanted(table: DataFrame, names: Mapping[str, str]) -> DataFrame:
    """Return the columns that matter, by their numbers: Spark does not take every name."""
    quoted = (name.replace("`", "``") for name in dict.fromkeys(names.values()))
    return table.select(*(f.col(f"`{name}`").alias(str(number)) for number, name in enumerate(quoted)))


def _named(batch: pa.RecordBatch, names: Mapping[str, str]) -> pa.RecordBatch:
    """Return these columns by their names."""
    real = list(dict.fromkeys(names.values()))
    return pa.RecordBatch.from_arrays(batch.columns[: len(real)], real)


def _parsed(
    batches: Iterable[pa.RecordBatch],
    *,
    names: Mapping[str, str],
    files: tuple[str, ...],
    times: Times,
    keep_text: bool,
    columns: str,
) -> Iterator[pa.RecordBatch]:
    numbers = {file: number for number, file in enumerate(files)}
    rejects = Rejects(keep_text=keep_text)
    for batch in batches:
        for file in batch.column(FILE).unique().to_pylist():
            part = batch.filter(pc.equal(batch.column(FILE), file))
            lines = np.array(part.column(NUMBER)) + 1
            rows = rows_of(_named(part, names), names, lines)
            yield from event_batches([rows], rejects, numbers[file], times, columns)
