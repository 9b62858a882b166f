"""Rows in Arrow columns as the kernels' arrays, and back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from incrowd.core.types import Ints, Ints64
from incrowd.kernels.arrays import Rows

__all__ = ["PUBLISHED", "lists", "of_table", "rows_of", "starts"]

PUBLISHED = "row bigint, place binary, nodes array<int>, counts array<int>"
"""What every method returns on Spark: a line for each row, with the nodes that it publishes, ascending, and how often each.

Rows of one class, and no others, have the same place; the order of places is that of the local method's classes."""


def rows_of(leaf: pa.Array, times: pa.Array) -> Rows:
    """Return columns of lists as rows for the kernels."""
    return Rows(starts(leaf), np.array(leaf.flatten(), np.int32), np.array(times.flatten(), np.int32))


def starts(column: pa.Array) -> Ints64:
    """Return where each list of a column begins in its values, and where the last ends."""
    offsets = np.array(column.offsets, dtype=np.int64)
    start: Ints64 = offsets - offsets[0]
    return start


def lists(start: Ints64, values: Ints) -> pa.ListArray:
    """Return lists that stand behind one another as a column."""
    return pa.ListArray.from_arrays(pa.array(start, pa.int32()), pa.array(values))


def of_table(step: Callable[..., pa.Table], *arguments: object) -> Callable[[pa.Table], pa.Table]:
    """Return a step, whose last argument is a table, as a function of the table alone.

    ``applyInArrow`` reads the types of its function, which those of :func:`functools.partial` do not have.
    """

    def taken(table: pa.Table) -> pa.Table:
        return step(*arguments, table)

    return taken
