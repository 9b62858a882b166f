"""The written records, read again part by part: counted, and held against their only file form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from incrowd.core.ragged import list_ids, take_lists
from incrowd.core.types import Bools, Ints64
from incrowd.release.files.digest import Digest
from incrowd.release.files.records import RECORDS_SCHEMA, Record, RecordTable, is_canonical

__all__ = ["PART_NAME", "Part", "part_files", "read_part", "runs_in", "same_schema"]

PART_NAME = "part-{:05d}.parquet"
ROWS_A_BATCH = 16_384
_PART = re.compile(r"part-\d{5}\.parquet")


@dataclass
class Part:
    """What a file of records holds.

    Parameters
    ----------
    digest
        Its records in sums.
    first, last
        The first and the last record; None where there is none.
    problems
        What is wrong with it; rows are named by number.
    records, sizes
        The distinct records and how many rows share each, where they were asked for.
    """

    digest: Digest = field(default_factory=Digest)
    first: Record | None = None
    last: Record | None = None
    problems: list[str] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


def part_files(path: Path) -> list[Path]:
    """Return the files of the records in order: one, or those that a cluster wrote."""
    if not path.is_dir():
        return [path]
    return sorted(part for part in path.iterdir() if _PART.fullmatch(part.name))


def read_part(path: Path, *, keep: bool = False) -> Part:
    """Read a file of records; a file that cannot be read is a problem, whose own words could quote a record."""
    part = Part()
    try:
        for number, (record, size) in enumerate(_runs(path, part.problems)):
            _check(number, record, part)
            part.digest.add(record, size)
            part.first = part.first or record
            part.last = record
            part.records.append(record)
            part.sizes.append(size)
        if not part.problems and not is_canonical(path, RecordTable.of(part.records, part.sizes).write):
            part.problems.append(
                f"{path.name} is not written as its records are: it holds bytes that are no part of them"
            )
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        pa.ArrowException,
    ) as error:
        part.problems.append(f"a file of the release is missing or damaged ({type(error).__name__})")
    if not keep:
        part.records, part.sizes = [], []
    return part


def runs_in(files: Iterable[Path]) -> Iterator[tuple[Record, int]]:
    """Yield the distinct records of files whose parts were found in order, each with how many rows share it."""
    for path in files:
        yield from _runs(path, [])


def _runs(path: Path, problems: list[str]) -> Iterator[tuple[Record, int]]:
    """Yield each record with how many equal ones stand together."""
    last: Record | None = None
    size = 0
    with pq.ParquetFile(path) as file:
        if not same_schema(file.schema_arrow, RECORDS_SCHEMA):
            problems.append(
                "records.parquet has other columns than items, exact and counts, or notes in its schema"
            )
            return
        for batch in file.iter_batches(ROWS_A_BATCH):
            for record, equal in _runs_of_batch(batch):
                if record == last:
                    size += equal
                    continue
                if last is not None:
                    yield last, size
                last, size = record, equal
    if last is not None:
        yield last, size


def _runs_of_batch(batch: pa.RecordBatch) -> Iterator[tuple[Record, int]]:
    """Yield the records of a batch, each with how many equal ones follow one another."""
    if any(column.null_count or column.flatten().null_count for column in batch.columns):
        raise ValueError("a record or an item is missing")
    offsets = [
        np.array(column.offsets, dtype=np.int64) - column.offsets[0].as_py() for column in batch.columns
    ]
    if any(not np.array_equal(offsets[0], other) for other in offsets):
        raise ValueError("a record has an item without a count of at least 1")
    items, exact, counts = (column.flatten() for column in batch.columns)
    codes = np.array(items.dictionary_encode().indices, dtype=np.int64)
    bounds = offsets[0]
    repeats = np.ones(len(batch), dtype=np.bool_)
    for values in (codes, np.array(exact), np.array(counts)):
        repeats &= _same_as_before(bounds, values)
    first = np.flatnonzero(~repeats)
    sizes = np.diff(first, append=len(batch)).tolist()
    starts, place = take_lists(bounds, first)
    chosen = pa.array(place)
    labels = list(zip(items.take(chosen).to_pylist(), exact.take(chosen).to_pylist(), strict=True))
    times = counts.take(chosen).to_pylist()
    for (low, high), size in zip(pairwise(starts.tolist()), sizes, strict=True):
        yield (tuple(labels[low:high]), tuple(times[low:high])), size


def _same_as_before(bounds: Ints64, values: npt.NDArray[Any]) -> Bools:
    """Tell which lists are equal to the one before: as long, and with the same values."""
    lengths = np.diff(bounds)
    same = np.zeros(len(lengths), dtype=np.bool_)
    same[1:] = lengths[1:] == lengths[:-1]
    row = list_ids(bounds)
    inside = np.flatnonzero(same[row])
    differs = values[inside] != values[inside - lengths[row[inside]]]
    same[row[inside[differs]]] = False
    return same


def same_schema(found: pa.Schema, wanted: pa.Schema) -> bool:
    """Tell whether a file has exactly the columns that it must have, and no notes anywhere."""
    notes = found.metadata or any(field.metadata for field in found if not _only_numbers(field))
    return bool(found.equals(wanted)) and not notes


def _only_numbers(column: pa.Field) -> bool:
    """Tell whether a column's notes are the numbers that Parquet itself gives to columns."""
    return set(column.metadata or {}) <= {b"PARQUET:field_id"}


def _check(number: int, record: Record, part: Part) -> None:
    """Check one distinct record: labels in order, none twice, each with a count; and its place."""
    labels, counts = record
    if len(labels) != len(counts) or any(count < 1 for count in counts) or not labels:
        part.problems.append(f"distinct record {number} has an item without a count of at least 1, or none")
    if any(first >= second for first, second in pairwise(labels)):
        part.problems.append(f"distinct record {number} has items out of order or twice")
    if part.last is not None and record <= part.last:
        part.problems.append(
            f"distinct record {number} is out of order: its place could tell where it came from"
        )
