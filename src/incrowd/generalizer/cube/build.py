"""Count the rows of every cell of a cube, one slab (a node of the longest axis) after the other.

Rows are sorted by their value on the longest axis. Those of a slab are counted by their values on the other
axes and by protected value; each node then adds its counts to the node one rung up, axis by axis, until
"don't care" counts all rows. Only the counts of one slab are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.core.types import Ints64
from incrowd.generalizer.cube.layout import Axis, Layout
from incrowd.generalizer.schema import AuxiliaryTable
from incrowd.kernels.jit import helper, kernel

__all__ = ["Slab", "slabs"]

Slab = tuple[NDArray[Any], NDArray[Any]]
"""The rows and the sums of i * c_i of a slab's cells."""

_LARGEST_INT32 = 2**31 - 1


def slabs(table: AuxiliaryTable, layout: Layout) -> Iterator[Slab]:
    """Yield the slabs of a cube in order. Each slab overwrites the one before."""
    outer, inner = layout.axes[:1], layout.axes[1:]
    places, starts = _sorted_places(table, layout)
    counts = np.empty(layout.slab_cells * layout.values, dtype=layout.count_type)
    totals = np.empty(layout.slab_cells, dtype=layout.totals_type)
    guesses = np.empty(layout.slab_cells, dtype=layout.guesses_type)
    falling = np.empty(layout.values, dtype=np.int64)
    for runs in _runs(outer[0], starts) if outer else [[(0, table.rows)]]:
        counts.fill(0)
        for begin, end in runs:
            _count(places[begin:end], counts)
        for axis in inner:
            # Cells before this axis, its nodes, cells after it.
            width = axis.step * layout.values
            _add_up(counts.reshape(-1, axis.length, width), axis.parents)
        _sum_up(counts.reshape(layout.slab_cells, layout.values), totals, guesses, falling)
        yield totals, guesses


def _sorted_places(table: AuxiliaryTable, layout: Layout) -> tuple[NDArray[Any], Ints64]:
    """Return the rows' places within their slab, sorted by slab, and where the rows of each value start."""
    most = layout.slab_cells * layout.values
    places = np.zeros(table.rows, dtype=np.int32 if most <= _LARGEST_INT32 else np.int64)
    for axis in layout.axes[1:]:
        steps = axis.nodes[0] * (axis.step * layout.values)
        _add_steps(places, table.columns[axis.name], steps.astype(places.dtype))
    own = np.arange(layout.values).astype(places.dtype)
    _add_steps(places, table.columns[layout.protected], own)
    if not layout.axes:
        return places, np.zeros(1, dtype=np.int64)
    column = table.columns[layout.axes[0].name]
    starts = np.zeros(layout.axes[0].nodes.shape[1] + 1, dtype=np.int64)
    np.cumsum(np.bincount(column, minlength=len(starts) - 1), out=starts[1:])
    in_order = np.empty_like(places)
    _sort(column, places, starts.copy(), in_order)
    return in_order, starts


def _runs(axis: Axis, starts: Ints64) -> Iterator[list[tuple[int, int]]]:
    """Yield for each node of an axis the runs of sorted rows under it."""
    bounds = starts.tolist()
    under: list[list[tuple[int, int]]] = [[] for _ in range(axis.length - 1)]
    for rung in axis.nodes[:-1]:
        for code, node in enumerate(rung.tolist()):
            under[node].append((bounds[code], bounds[code + 1]))
    yield from under
    yield [(0, bounds[-1])]


@kernel
def _add_steps(places: NDArray[Any], column: NDArray[Any], steps: NDArray[Any]) -> None:
    """Add the step of each row's value to the row's place."""
    for row in range(len(places)):
        places[row] += steps[column[row]]


@kernel
def _sort(column: NDArray[Any], places: NDArray[Any], free: Ints64, in_order: NDArray[Any]) -> None:
    """Put the rows of each value together; `free` has where each value's next row goes."""
    for row in range(len(column)):
        code = column[row]
        in_order[free[code]] = places[row]
        free[code] += 1


@kernel
def _count(places: NDArray[Any], counts: NDArray[Any]) -> None:
    """Count rows by place."""
    for row in range(len(places)):
        counts[places[row]] += 1


@kernel
def _add_up(counts: NDArray[Any], parents: Ints64) -> None:
    """Add each node's counts to the node one rung up; lower rungs have lower numbers."""
    for outer in range(counts.shape[0]):
        for node in range(counts.shape[1] - 1):
            parent = parents[node]
            for place in range(counts.shape[2]):
                counts[outer, parent, place] += counts[outer, node, place]


@kernel
def _sum_up(counts: NDArray[Any], totals: NDArray[Any], guesses: NDArray[Any], falling: Ints64) -> None:
    """Turn each cell's counts by protected value into the rows and the sum of i * c_i."""
    for cell in range(counts.shape[0]):
        found = 0
        total = 0
        for value in range(counts.shape[1]):
            count = counts[cell, value]
            if count:
                falling[found] = count
                found += 1
                total += count
        _sort_falling(falling, found)
        guessed = 0
        for place in range(found):
            guessed += (place + 1) * falling[place]
        totals[cell] = total
        guesses[cell] = guessed


@helper
def _sort_falling(numbers: Ints64, many: int) -> None:
    """Sort the first numbers, greatest first (Shell's method: most cells have few)."""
    gap = many // 2
    while gap > 0:
        for place in range(gap, many):
            number = numbers[place]
            hole = place
            while hole >= gap and numbers[hole - gap] < number:
                numbers[hole] = numbers[hole - gap]
                hole -= gap
            numbers[hole] = number
        gap = 1 if gap == 2 else gap * 5 // 11  # noqa: PLR2004 - so that the last gap is 1
