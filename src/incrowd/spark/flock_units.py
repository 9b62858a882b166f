"""Units of rows: what flock moves about on Spark, a row alone at first and a group of rows later.

A unit travels as one line with all that its rows hold, so whoever has the unit needs nothing else. Its columns:

- ``part``: the part of all units that it is in, as the turns of the splits that led there (``0`` left, ``1`` right),
- ``place``: bytes whose order is the order of the units of a part, as the local method has it,
- ``row``: the numbers of its rows, in the group's order; ``items``: how many different items each of them has,
- ``leaf``, ``times``: what the rows hold, one row behind the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incrowd.kernels.arrays import Rows, Tree, compact
from incrowd.kernels.lcg import AncestorRows, ancestor_rows, common_counts

__all__ = [
    "COLUMNS",
    "SCHEMA",
    "Units",
    "as_list",
    "in_order",
    "least_counts",
    "read_rows",
    "read_units",
    "written",
]

Ints64 = npt.NDArray[np.int64]

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
    row, items = _flat(table.column("row")), _flat(table.column("items"))
    return Units(
        _ends(_lengths(table.column("row"))),
        row.astype(np.int64),
        Rows(_ends(items), _flat(table.column("leaf")), _flat(table.column("times"))),
    )


def read_rows(table: pa.Table | pa.RecordBatch) -> Rows:
    """Read rows from Arrow, a line each."""
    leaf = table.column("leaf")
    return Rows(_ends(_lengths(leaf)), _flat(leaf), _flat(table.column("times")))


def written(units: Units, start: Ints64, members: Ints64) -> dict[str, pa.Array]:
    """Return new units of old units' rows as columns: unit u has the rows ``members[start[u]:start[u + 1]]``."""
    rows = compact(units.rows, members)
    return {
        "row": as_list(start, units.row[members]),
        "items": as_list(start, np.diff(rows.start).astype(np.int32)),
        "leaf": as_list(rows.start[start], rows.leaf),
        "times": as_list(rows.start[start], rows.times),
    }


def in_order(table: pa.Table) -> pa.Table:
    """Return a part's units in the order of their places."""
    return table.sort_by("place")


def least_counts(units: Units, tree: Tree) -> tuple[AncestorRows, AncestorRows]:
    """Return c_t of every row, and the least counts of every unit."""
    bags = ancestor_rows(units.rows, tree)
    return bags, common_counts(bags, units.start, np.arange(len(units.row)))


def as_list(start: Ints64, values: npt.NDArray[np.generic]) -> pa.Array:
    """Return values as lists; list i is ``values[start[i]:start[i + 1]]``."""
    return pa.ListArray.from_arrays(pa.array(start, pa.int32()), pa.array(values))


def _flat(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[np.int32]:
    """Return the values of all lists of a column, one list behind the other, as an array of our own."""
    return np.concatenate([chunk.flatten().to_numpy(zero_copy_only=False) for chunk in _chunks(column)])


def _lengths(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[np.int32]:
    return np.concatenate([np.diff(chunk.offsets.to_numpy()) for chunk in _chunks(column)])


def _chunks(column: pa.ChunkedArray | pa.Array) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _ends(lengths: npt.NDArray[np.integer]) -> Ints64:
    """Return where each of some lists begins if they stand behind one another, and where the last ends."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
