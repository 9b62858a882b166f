"""Units of rows: what flock distributes on Spark, a single row at first and a group of rows later.

A unit is one line with all that its rows hold, so that a task needs nothing besides. Its columns:

- ``part``: the part of all units that it is in, as the sides of the splits that led there (``0`` left, ``1`` right),
- ``place``: bytes whose order is the order of the units of a part, as the local method has it,
- ``row``: the numbers of its rows, in the group's order; ``items``: how many different items each of them has,
- ``leaf``, ``times``: what the rows hold, one row behind the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.core.types import Ints64
from incrowd.kernels.arrays import Rows, compact
from incrowd.spark.bags import lists, starts

__all__ = ["COLUMNS", "SCHEMA", "Units", "columns_of", "read_units"]

COLUMNS = ("part", "place", "row", "items", "leaf", "times")
SCHEMA = "part string, place binary, row array<bigint>, items array<int>, leaf array<int>, times array<int>"


class Units(NamedTuple):
    """Units as arrays: unit u has the rows ``start[u] .. start[u + 1] - 1`` of `rows`, whose numbers are in `row`."""

    start: Ints64
    row: Ints64
    rows: Rows

    def __len__(self) -> int:
        return len(self.start) - 1


def read_units(table: pa.Table | pa.RecordBatch) -> Units:
    """Read units from Arrow."""
    row, items, leaf, times = (_whole(table.column(name)) for name in COLUMNS[2:])
    start = np.concatenate(([0], np.cumsum(items.flatten(), dtype=np.int64)))
    rows = Rows(start, np.array(leaf.flatten(), np.int32), np.array(times.flatten(), np.int32))
    return Units(starts(row), np.array(row.flatten(), np.int64), rows)


def columns_of(units: Units, start: Ints64, members: Ints64) -> dict[str, pa.Array]:
    """Return new units of old units' rows as columns: unit u has the rows ``members[start[u]:start[u + 1]]``."""
    rows = compact(units.rows, members)
    return {
        "row": lists(start, units.row[members]),
        "items": lists(start, np.diff(rows.start).astype(np.int32)),
        "leaf": lists(rows.start[start], rows.leaf),
        "times": lists(rows.start[start], rows.times),
    }


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
