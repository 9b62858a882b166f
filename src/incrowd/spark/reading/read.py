"""An input as the cluster has read it: events or baskets, written down, with everything that was counted on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from incrowd.core.activity import DAY
from incrowd.core.window import Window
from incrowd.logs.files import short_names
from incrowd.logs.form import InputForm
from incrowd.logs.input import Input, check_has_rows
from incrowd.spark.reading.events import events_with, parse
from incrowd.spark.reading.lines import read_lines, whole_files
from incrowd.spark.reading.survey import Survey, survey
from incrowd.spark.reading.tables import is_parquet, read_tables
from incrowd.spark.work import Work

__all__ = ["Reading", "read", "within"]


@dataclass(eq=False, repr=False, kw_only=True)
class Reading(Input):
    """What the cluster has read.

    Parameters
    ----------
    name, format, lines, bad_bytes, has_times, rows, rejected, encoding
        As of any input; see :class:`incrowd.logs.input.Input`.
    found
        What the first look at the input has found.
    parsed
        Events or words of baskets, and rejected lines; see :func:`incrowd.spark.reading.events.parse`.
    has_clicks
        Whether any event has a click.
    """

    found: Survey
    parsed: DataFrame
    has_clicks: bool

    @property
    def good(self) -> DataFrame:
        """The rows that are no rejects."""
        return self.parsed.where(f.col("reason").isNull())

    def count_within(self, windows: Sequence[Window]) -> list[int]:
        """Return how many events each window has."""
        counts = [f.count(f.when(within(window), 1)) for window in windows]
        return list(self.good.agg(*counts).collect()[0])

    def last_day(self, people: int, start: int) -> int | None:
        """Return the last day from a time on that has events of so many different people, as a number."""
        day = f.floor(f.col("time") / DAY).alias("day")
        users = (
            self.good.where(f.col("time") >= start).groupBy(day).agg(f.countDistinct("user").alias("users"))
        )
        found: int | None = users.where(f.col("users") >= people).agg(f.max("day")).collect()[0][0]
        return found

    def rejected_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rejected lines, ordered by file and line; the file is named where there are several."""
        wanted = self.parsed.where(f.col("reason").isNotNull()).select("file", "line", "reason", "text")
        names = short_names([unquote(file) for file in self.found.files])
        for row in wanted.orderBy("file", "line", "reason").toLocalIterator():
            yield {**row.asDict(), "file": names[row["file"]] if len(names) > 1 else None}


def within(window: Window) -> Column:
    """Tell whether an event is in a window."""
    return (f.col("time") >= window.first) & (f.col("time") < window.stop)


def read(work: Work, sources: Sequence[str], form: InputForm, *, keep_rejected: bool) -> Reading:
    """Read all files of some paths, as :func:`incrowd.logs.read_log` does."""
    name = sources[0].rstrip("/").rpartition("/")[2] if len(sources) == 1 else f"{len(sources):,} inputs"
    look = partial(survey, source=name, form=form)
    lines = read_lines(work.spark, sources)
    if form.format in ("auto", "parquet") and is_parquet(lines):
        tables = read_tables(work.spark, sources, name=name, form=form, keep_rejected=keep_rejected)
        return _counted(work, name, *tables)
    found = look(lines)
    if len(found.plans) > len(found.files) and any(plan.layout.quoted for plan in found.plans.values()):
        with whole_files(work.spark):
            lines = read_lines(work.spark, sources)
            return _parsed(work, name, lines, look(lines), form, keep_rejected=keep_rejected)
    return _parsed(work, name, lines, found, form, keep_rejected=keep_rejected)


def _parsed(
    work: Work, name: str, lines: DataFrame, found: Survey, form: InputForm, *, keep_rejected: bool
) -> Reading:
    plans = work.spark.sparkContext.broadcast(found.plans)
    rows = parse(lines, plans, columns=events_with(form), keep_rejected=keep_rejected)
    return _counted(work, name, found, rows)


def _counted(work: Work, name: str, found: Survey, parsed: DataFrame) -> Reading:
    """Write down what was read, and count."""
    rows = work.settle(parsed, "read")
    sums = (
        rows.groupBy("reason").agg(f.count("*").alias("count"), f.max("clicked").alias("clicked")).collect()
    )
    counted = {row["reason"]: row["count"] for row in sums}
    events = counted.pop(None, 0)
    kept = found.records if found.format == "dat" else events
    check_has_rows(name, kept, counted)
    return Reading(
        name=name,
        format=found.format,
        lines=found.lines,
        bad_bytes=found.bad_bytes,
        has_times=found.has_times,
        rows=kept,
        rejected=counted,
        found=found,
        parsed=rows,
        has_clicks=any(row["clicked"] for row in sums),
        roles=found.roles,
    )
