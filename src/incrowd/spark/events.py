"""Lines into events or baskets, by the local parsers, on the executors; lines that cannot be read are set apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame

from incrowd.logs.baskets import split_baskets
from incrowd.logs.blocks import Block, BlockCutter
from incrowd.logs.delimited import DelimitedParser
from incrowd.logs.jsonl import JsonParser
from incrowd.logs.rejects import Rejects
from incrowd.logs.rows import BLANK_LINE, Rows, accept
from incrowd.spark.lines import Place, Text, cut_blocks, streams
from incrowd.spark.survey import Plan

__all__ = ["EVENTS", "Collected", "event_batches", "parse"]

Plans = Broadcast[Mapping[Place, Plan]]
_SCHEMA = pa.schema(
    [
        ("unit", pa.int64()),
        ("user", pa.string()),
        ("time", pa.int64()),
        ("query", pa.string()),
        ("file", pa.int32()),
        ("line", pa.int64()),
        ("reason", pa.string()),
        ("text", pa.string()),
    ]
)
EVENTS = "unit long, user string, time long, query string, file int, line long, reason string, text string"


class Collected(Rejects):
    """Rejects of one block, kept in memory until they go on."""

    def __init__(self, *, keep_text: bool) -> None:  # there is no store on an executor
        self.counts = Counter()
        self.keep_text = keep_text
        self._waiting: list[tuple[int, str, str | None]] = []

    def _flush(self) -> None:
        """They wait until they are taken."""

    def take(self, file: int) -> pa.RecordBatch | None:
        """Return what has been rejected since the last time, if anything."""
        if not self._waiting:
            return None
        lines, reasons, texts = zip(*self._waiting, strict=True)
        self._waiting.clear()
        return _batch(len(lines), file=[file] * len(lines), line=lines, reason=reasons, text=texts)


def parse(lines: DataFrame, plans: Plans, *, keep_rejected: bool) -> DataFrame:
    """Return a row for each event (`user`, `time`, `query`), for each word of a basket (`unit`, `query`) and for each
    rejected line (`file`, `line`, `reason` and, if it is kept, its `text`).
    """  # noqa: D205 - three kinds of rows in one sentence
    return lines.mapInArrow(partial(_parsed, plans=plans, keep_text=keep_rejected), EVENTS)


def _parsed(batches: Iterable[pa.RecordBatch], *, plans: Plans, keep_text: bool) -> Iterator[pa.RecordBatch]:
    for place, text in streams(batches):
        plan, rejects = plans.value[place], Collected(keep_text=keep_text)
        layout = plan.layout
        cutter = BlockCutter(
            rejects.add, quoted_by=layout.delimiter if layout.quoted else None, width=layout.width
        )
        read = _baskets if layout.format == "dat" else _events
        for rows in read(text, cutter, plan, rejects):
            yield rows
            yield from filter(None, [rejects.take(plan.file)])
        yield from filter(None, [rejects.take(plan.file)])


def _events(text: Text, cutter: BlockCutter, plan: Plan, rejects: Collected) -> Iterator[pa.RecordBatch]:
    layout = plan.layout
    parser = (JsonParser if layout.format == "jsonl" else DelimitedParser)(layout, rejects)
    header_to_come = layout.header and plan.lines_before == 0
    for block in cut_blocks(text, cutter, lines_before=plan.lines_before):
        records = block
        while header_to_come and len(records):
            header_to_come = _is_blank_line(records, rejects)
            records = records.without_first()
        for rows in parser.parse(records) if len(records) else ():
            yield from event_batches(rows, rejects)


def event_batches(rows: Rows, rejects: Collected) -> Iterator[pa.RecordBatch]:
    """Yield the good rows, if there are any, and put the others among the rejects."""
    good = accept(rows, rejects).combine_chunks()
    if len(good):
        yield _batch(len(good), **{name: _only(good, name) for name in ("user", "time", "query")})


def _only(table: pa.Table, name: str) -> pa.Array:
    return table.column(name).chunk(0)


def _is_blank_line(block: Block, rejects: Rejects) -> bool:
    """Whether the block's first record is blank; if so it is a reject."""
    blank = not block.data[: int(block.ends[0])].strip()
    if blank:
        rejects.add(int(block.lines[0]), BLANK_LINE, "")
    return blank


def _baskets(text: Text, cutter: BlockCutter, plan: Plan, _rejects: Collected) -> Iterator[pa.RecordBatch]:
    unit = plan.records_before
    for block in cut_blocks(text, cutter, lines_before=plan.lines_before):
        words = split_baskets(block)
        lengths = np.diff(np.array(words.offsets))
        units = np.repeat(np.arange(unit, unit + len(block)), lengths)
        unit += len(block)
        yield _batch(len(units), unit=units, query=words.flatten())


def _batch(rows: int, **columns: object) -> pa.RecordBatch:
    """Return a batch with nulls in all other columns."""
    arrays = []
    for field in _SCHEMA:
        given = columns.get(field.name)
        if given is None:
            arrays.append(pa.nulls(rows, field.type))
        else:
            arrays.append(given if isinstance(given, pa.Array) else pa.array(given, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)
