"""The first look at an input: how each file is written, and how many lines and records each block of it has."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import NamedTuple
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, Row

from incrowd.core.temporary import private_directory
from incrowd.errors import BadInputError, option
from incrowd.logs.form import InputForm
from incrowd.logs.formats.blocks import BlockCutter
from incrowd.logs.formats.detect import Layout, find_layout
from incrowd.logs.formats.encoding import UTF8, too_many, wrong_encoding
from incrowd.logs.formats.parts import Part, with_times
from incrowd.logs.formats.source import HEAD_BYTES, Source
from incrowd.logs.formats.times import Times
from incrowd.spark.reading.lines import Place, Text, arrow_schema, cut_blocks, streams

__all__ = ["Plan", "Survey", "survey"]

_FOUND = (
    "file string, block long, lines long, records long, read_bytes long, bad_bytes long, likely string, layout string, "
    "error string"
)
_SCHEMA = arrow_schema(_FOUND)


class Plan(NamedTuple):
    """How to read one block: its file's number and layout, and what comes before it."""

    file: int
    layout: Layout
    lines_before: int
    records_before: int


class Survey(NamedTuple):
    """What was found: the files in order, their common format, sums, a plan for each block, and the roles of the columns."""

    files: tuple[str, ...]
    format: str
    has_times: bool
    lines: int
    records: int
    bad_bytes: int
    plans: Mapping[Place, Plan]
    roles: tuple[str, ...] = ()


def survey(lines: DataFrame, *, source: str, form: InputForm) -> Survey:
    """Look at all files. What comes to the driver is a line of numbers for each block."""
    look = partial(_look, form=form)
    found = sorted(lines.mapInArrow(look, _FOUND).collect(), key=lambda one: (one["file"], one["block"]))
    if not found:
        raise BadInputError(f"{source} is empty: give a file with at least one line")
    for one in found:
        if one["error"]:
            raise BadInputError(one["error"])
    layouts = {one["file"]: _layout_from(one["layout"]) for one in found if one["layout"]}
    formats = {layout.format for layout in layouts.values()}
    times = {layout.times if layout.has_times else None for layout in layouts.values()}
    if len(formats) > 1 or len(times) > 1:
        raise BadInputError(
            f"the files of {source} are not written in one way ({', '.join(sorted(formats))}): "
            f"give one kind at a time, or name it ({option('format')})"
        )
    files, plans, done = tuple(sorted(layouts)), {}, Counter[str]()
    for one in found:
        file, place = one["file"], Place(one["file"], one["block"])
        plans[place] = Plan(files.index(file), layouts[file], done[file], done["records"])
        done.update({file: one["lines"], "records": one["records"]})
    total = sum(one["lines"] for one in found), sum(one["records"] for one in found)
    bad_bytes = _count_bad_bytes(found, refuse=not form.by_first_lines)
    roles = tuple(layouts[files[0]].columns)
    return Survey(files, formats.pop(), times.pop() is not None, *total, bad_bytes, plans, roles)


def _count_bad_bytes(found: Sequence[Row], *, refuse: bool) -> int:
    """Return how many bytes are not UTF-8; refuse a file with so many that it must be in another encoding, where all its lines may tell."""
    bad, read, likely = Counter[str](), Counter[str](), dict[str, str]()
    for one in found:
        bad[one["file"]] += one["bad_bytes"]
        read[one["file"]] += one["read_bytes"]
        likely[one["file"]] = likely.get(one["file"]) or one["likely"]
    for file, count in bad.items():
        if refuse and too_many(count, read[file]):
            name, names = unquote(file).rpartition("/")[2], likely[file].split(",")
            raise wrong_encoding(name, UTF8, count / read[file], [one for one in names if one])
    return bad.total()


def _look(batches: Iterable[pa.RecordBatch], *, form: InputForm) -> Iterator[pa.RecordBatch]:
    """Count each block's lines and records; look at how a file is written where it begins."""
    for place, text in streams(batches):
        layout = error = None
        if place.block == 0:
            try:
                layout = json.dumps(asdict(_layout(place.file, text, form)))
            except BadInputError as reason:
                error = str(reason)
        before = int(place.block > 0)  # a byte order mark means something in the first line only
        cutter = BlockCutter(_ignore)
        records = sum(len(block) for block in cut_blocks(text, cutter, lines_before=before))
        seen = cutter.seen
        likely = ",".join(seen.likely()) if seen.bad else ""
        row = [*place, cutter.line - before, records, seen.read, seen.bad, likely, layout, error]
        yield pa.RecordBatch.from_pylist([dict(zip(_SCHEMA.names, row, strict=True))], _SCHEMA)


def _ignore(_line: int, _reason: str) -> None:
    """Lines are rejected when they are read; here they are counted."""


def _layout(file: str, text: Text, form: InputForm) -> Layout:
    """Tell how a file is written by a look at its first bytes, as the local engine does."""
    with private_directory() as directory:
        head = directory / unquote(file).rpartition("/")[2]
        head.write_bytes(text.head(HEAD_BYTES))
        source = Source(head)
        if source.is_parquet and form.format in ("auto", "parquet"):
            raise BadInputError(f"{source.name} is a Parquet file among text: give one kind at a time")
        if source.encoding != UTF8:
            raise BadInputError(
                f"{source.name} is in {source.encoding}: convert it to UTF-8, or use --engine local"
            )
        if form.by_first_lines:
            source.check_encoding()
        layout = find_layout(source, form)
        if layout.format == "json":
            raise BadInputError(
                f"{source.name} is a JSON array: write one object a line, or use --engine local"
            )
        return with_times([Part(source, layout)], form, look_further=False)[0].layout


def _layout_from(text: str) -> Layout:
    said = json.loads(text)
    return Layout(**said | {"times": Times(**said["times"])})
