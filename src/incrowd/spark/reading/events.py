"""Lines into events or baskets, by the local parsers, on the executors; lines that cannot be read are set apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import Broadcast
from pyspark.sql import DataFrame

from incrowd.logs.form import InputForm
from incrowd.logs.formats.baskets import split_baskets
from incrowd.logs.formats.blocks import Block
from incrowd.logs.formats.columns import MORE_ROLES
from incrowd.logs.formats.rows import Rows, accept
from incrowd.logs.formats.text import cutter_of, parse_blocks
from incrowd.logs.formats.times import Times
from incrowd.logs.rejects import Rejects
from incrowd.spark.reading.lines import Place, arrow_schema, cut_blocks, streams
from incrowd.spark.reading.survey import Plan

__all__ = ["event_batches", "events_with", "parse"]

Plans = Broadcast[Mapping[Place, Plan]]
_EVENTS = "unit long, user string, time long, query string, clicked boolean, file int, line long, reason string, text string"


def events_with(form: InputForm) -> str:
    """Return the columns of what is read: those of events, baskets and rejects, and those that further kinds of items take."""
    more = {*form.wanted, *(("rank",) if "shown" in form.wanted else ())}
    return ", ".join([_EVENTS, *(f"{role} string" for role in ("url", *MORE_ROLES) if role in more)])


def parse(lines: DataFrame, plans: Plans, *, columns: str, keep_rejected: bool) -> DataFrame:
    """Return a row for each event (`user`, `time`, `query`, and whether an address was `clicked`), for each word of a basket (`unit`, `query`, `line`) and for each
    rejected line (`file`, `line`, `reason` and, if it is kept, its `text`), with these `columns`.
    """  # noqa: D205 - three kinds of rows in one sentence
    parsed = partial(_parsed, plans=plans, columns=columns, keep_text=keep_rejected)
    return lines.mapInArrow(parsed, columns)


def _parsed(
    batches: Iterable[pa.RecordBatch], *, plans: Plans, columns: str, keep_text: bool
) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema(columns)
    for place, text in streams(batches):
        plan, rejects = plans.value[place], Rejects(keep_text=keep_text)
        layout = plan.layout
        cutter = cutter_of(layout, rejects, name=place.file)
        blocks = cut_blocks(text, cutter, lines_before=plan.lines_before)
        if layout.format == "dat":
            yield from _basket_batches(blocks, plan.records_before, schema)
            yield from _reject_batches(rejects, plan.file, schema)
        else:
            header = layout.header and plan.lines_before == 0
            rows = parse_blocks(blocks, layout, rejects, header=header)
            yield from event_batches(rows, rejects, plan.file, layout.times, columns)


def event_batches(
    rows: Iterable[Rows], rejects: Rejects, file: int, times: Times, columns: str
) -> Iterator[pa.RecordBatch]:
    """Yield the good rows, and the rejected lines with their file's number."""
    schema = arrow_schema(columns)
    for some in rows:
        good = accept(some, rejects, times).combine_chunks()
        if len(good):
            known = {name: good.column(name).chunk(0) for name in good.column_names if name in schema.names}
            clicked = pc.fill_null(pc.not_equal(good.column("url").chunk(0), ""), fill_value=False)
            yield _batch(len(good), schema, **known, clicked=clicked)
        yield from _reject_batches(rejects, file, schema)
    yield from _reject_batches(rejects, file, schema)


def _basket_batches(
    blocks: Iterable[Block], records_before: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    unit = records_before
    for block in blocks:
        words = split_baskets(block)
        lengths = np.diff(np.array(words.offsets))
        units, lines = (np.repeat(of, lengths) for of in (np.arange(unit, unit + len(block)), block.lines))
        unit += len(block)
        yield _batch(len(units), schema, unit=units, query=words.flatten(), line=lines)


def _reject_batches(rejects: Rejects, file: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield what has been rejected since the last time, if anything."""
    taken = rejects.take()
    if len(taken):
        columns = {name: taken.column(name).chunk(0) for name in taken.column_names}
        yield _batch(len(taken), schema, file=[file] * len(taken), **columns)


def _batch(rows: int, schema: pa.Schema, **columns: object) -> pa.RecordBatch:
    """Return a batch with nulls in all other columns."""
    arrays = []
    for field in schema:
        given = columns.get(field.name)
        if given is None:
            arrays.append(pa.nulls(rows, field.type))
        else:
            arrays.append(given if isinstance(given, pa.Array) else pa.array(given, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
