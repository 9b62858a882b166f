"""An input as the cluster has read it: events or baskets, written down, with everything that was counted on the way."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.errors import BadInputError
from incrowd.folder import appearing, private_file
from incrowd.spark.events import parse
from incrowd.spark.lines import read_lines, whole_files
from incrowd.spark.survey import Survey, survey
from incrowd.spark.tables import is_parquet, read_tables
from incrowd.spark.work import Work

__all__ = ["Reading", "read"]


@dataclass(frozen=True, eq=False)
class Reading:
    """What was read.

    Parameters
    ----------
    name
        The input's name, without its directory.
    found
        What the first look at the input has found.
    rows
        Events or words of baskets, and rejected lines; see :func:`incrowd.spark.events.parse`.
    rejected
        How many lines were rejected for each reason.
    kept
        How many records were read.
    """

    name: str
    found: Survey
    rows: DataFrame
    rejected: Mapping[str, int]
    kept: int

    @property
    def is_baskets(self) -> bool:
        """Whether the input holds baskets of ready items, not queries."""
        return self.found.format == "dat"

    @property
    def good(self) -> DataFrame:
        """The rows that are no rejects."""
        return self.rows.where(f.col("reason").isNull())

    def write_rejects(self, path: Path) -> None:
        """Write one JSON object a line, ordered by file and line: number and reason, and the text if it was kept."""
        wanted = self.rows.where(f.col("reason").isNotNull()).select("file", "line", "reason", "text")
        names = [unquote(re.sub("^file:", "", file)) for file in self.found.files]
        with appearing(path) as draft, private_file(draft).open("w", encoding="utf-8") as out:
            for row in wanted.orderBy("file", "line", "reason").toLocalIterator():
                said = {"file": names[row["file"]]} if len(names) > 1 else {}
                said |= {"line": row["line"], "reason": row["reason"]}
                said |= {} if row["text"] is None else {"text": row["text"]}
                out.write(json.dumps(said, ensure_ascii=False) + "\n")


def read(
    work: Work, source: str, *, format_name: str, columns: Mapping[str, str] | None, keep_rejected: bool
) -> Reading:
    """Read all files of a path, as :func:`incrowd.logs.read_log` reads one."""
    name = source.rstrip("/").rpartition("/")[2]
    look = partial(survey, source=name, format_name=format_name, columns=columns)
    lines = read_lines(work.spark, source)
    if format_name in ("auto", "parquet") and is_parquet(lines):
        tables = read_tables(work.spark, source, name=name, columns=columns, keep_rejected=keep_rejected)
        return _counted(work, name, *tables)
    found = look(lines)
    if len(found.plans) > len(found.files) and any(plan.layout.quoted for plan in found.plans.values()):
        with whole_files(work.spark):
            lines = read_lines(work.spark, source)
            return _parsed(work, name, lines, look(lines), keep_rejected=keep_rejected)
    return _parsed(work, name, lines, found, keep_rejected=keep_rejected)


def _parsed(work: Work, name: str, lines: DataFrame, found: Survey, *, keep_rejected: bool) -> Reading:
    plans = work.spark.sparkContext.broadcast(found.plans)
    return _counted(work, name, found, parse(lines, plans, keep_rejected=keep_rejected))


def _counted(work: Work, name: str, found: Survey, parsed: DataFrame) -> Reading:
    """Write down what was read, and count."""
    rows = work.settle(parsed, "read")
    counted = {row["reason"]: row["count"] for row in rows.groupBy("reason").count().collect()}
    events = counted.pop(None, 0)
    kept = found.records if found.format == "dat" else events
    if not kept and not counted:
        raise BadInputError(f"{name} has no rows, only the names of columns: give a file with records")
    return Reading(name, found, rows, counted, kept)
