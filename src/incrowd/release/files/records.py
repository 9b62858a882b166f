"""The records as they are published: distinct ones in order, each with how many rows share it, and their one file form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from incrowd.core.kinds import text_of
from incrowd.core.ragged import take_lists
from incrowd.core.types import Bools, Ints32, Ints64

__all__ = [
    "LEFT",
    "RECORDS_SCHEMA",
    "ROWS_A_GROUP",
    "Label",
    "Record",
    "RecordTable",
    "class_name",
    "is_canonical",
    "shown",
    "write_parquet",
]

Label = tuple[str, bool]  # a text, and whether it is the very item; else it is a class
Record = tuple[tuple[Label, ...], tuple[int, ...]]  # labels in order, and how often each is published
RECORDS_SCHEMA = pa.schema(
    [("items", pa.list_(pa.string())), ("exact", pa.list_(pa.bool_())), ("counts", pa.list_(pa.int32()))]
)
ROWS_A_GROUP = 65_536
LEFT = "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}"
RIGHT = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"


def class_name(text: str) -> str:
    """Return the name of a class as people see it: never as a word that was typed."""
    return f"{LEFT}{text}{RIGHT}"


def shown(label: Label) -> str:
    """Return a label as people see it, without its kind; a bracket in a word is doubled, so that no word looks like a class."""
    text, exact = text_of(label[0]), label[1]
    return text.replace(LEFT, 2 * LEFT) if exact else class_name(text)


@dataclass(frozen=True, eq=False)
class RecordTable:
    """Distinct published records, in order, each with the number of rows that share it.

    Parameters
    ----------
    labels, exact
        The published labels, sorted by code point, classes before words of the same spelling; and which are words.
    start, rank, counts
        Record r says ``labels[rank[start[r]:start[r + 1]]]``, ascending, with their `counts`.
    sizes
        How many rows share each record.
    """

    labels: pa.Array
    exact: Bools
    start: Ints64
    rank: Ints32
    counts: Ints32
    sizes: Ints64

    @classmethod
    def of(cls, records: Sequence[Record], sizes: Sequence[int]) -> Self:
        """Return a table of records that are in order already."""
        names = sorted({label for labels, _ in records for label in labels})
        place = {label: number for number, label in enumerate(names)}
        lengths = np.array([0, *(len(labels) for labels, _ in records)], dtype=np.int64)
        return cls(
            pa.array([text for text, _ in names], pa.string()),
            np.array([exact for _, exact in names], dtype=np.bool_),
            np.cumsum(lengths),
            np.array([place[label] for labels, _ in records for label in labels], dtype=np.int32),
            np.array([count for _, counts in records for count in counts], dtype=np.int32),
            np.array(sizes, dtype=np.int64),
        )

    def __len__(self) -> int:
        """Return the number of distinct records."""
        return len(self.sizes)

    @property
    def rows(self) -> int:
        """Rows in the table."""
        return int(self.sizes.sum())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the table, every record as often as it is shared, a row group at a time."""
        record = np.repeat(np.arange(len(self)), self.sizes)
        for first in range(0, len(record), ROWS_A_GROUP):
            yield self.expand(record[first : first + ROWS_A_GROUP])

    def expand(self, record: Ints64) -> pa.RecordBatch:
        """Return some distinct records as a batch of rows."""
        offsets, take = take_lists(self.start, record)
        bounds = pa.array(offsets, pa.int32())
        rank = self.rank[take]
        items = pa.ListArray.from_arrays(bounds, self.labels.take(pa.array(rank)))
        exact = pa.ListArray.from_arrays(bounds, pa.array(self.exact[rank], pa.bool_()))
        counts = pa.ListArray.from_arrays(bounds, pa.array(self.counts[take], pa.int32()))
        return pa.record_batch([items, exact, counts], schema=RECORDS_SCHEMA)

    def records(self) -> Iterator[tuple[Record, int]]:
        """Yield each distinct record with the number of rows that share it."""
        labels = list(zip(self.labels.to_pylist(), self.exact.tolist(), strict=True))
        rank, counts, start = self.rank.tolist(), self.counts.tolist(), self.start.tolist()
        for number, size in enumerate(self.sizes.tolist()):
            part = slice(start[number], start[number + 1])
            yield (tuple(labels[place] for place in rank[part]), tuple(counts[part])), size

    def write(self, sink: Path | pa.NativeFile) -> None:
        """Write the rows in their only form."""
        write_parquet(sink, self.batches(), RECORDS_SCHEMA)


def is_canonical(path: Path, write: Callable[[pa.NativeFile], None]) -> bool:
    """Tell whether writing what was read from a file again gives the very same bytes: it holds nothing else."""
    sink = pa.BufferOutputStream()
    write(sink)
    return bool(sink.getvalue() == pa.py_buffer(path.read_bytes()))


def write_parquet(sink: Path | pa.NativeFile, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> None:
    """Write rows to a Parquet file in a form that depends on nothing but the rows: groups of one size, one chunk each."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for batch in batches:
            waiting.append(batch)
            rows += len(batch)
            while rows >= ROWS_A_GROUP:
                group, rest = _split(waiting, schema)
                writer.write_table(group, row_group_size=ROWS_A_GROUP)
                waiting, rows = [rest], len(rest)
        if rows:
            writer.write_table(_split(waiting, schema)[0], row_group_size=ROWS_A_GROUP)


def _split(batches: list[pa.RecordBatch], schema: pa.Schema) -> tuple[pa.Table, Any]:
    """Return the first row group, in one piece, and the rows behind it."""
    table = pa.Table.from_batches(batches, schema).combine_chunks()
    rest = table.slice(ROWS_A_GROUP).combine_chunks().to_batches()
    left = rest[0] if rest else pa.RecordBatch.from_pylist([], schema)
    return table.slice(0, ROWS_A_GROUP).combine_chunks(), left
