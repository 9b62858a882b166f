"""The layout of a cube: axes, nodes, cells, and how many bytes they take.

The cube of a protected attribute has an axis for each other attribute. The nodes of an axis are the values of
its domain, then the distinct coarser values of each rung of its ladder, then "don't care". A cell has a node on
every axis and stands for the rows under all of them. The longest axis is the outermost, so that a cube can be
built in many small slabs, and the shortest are innermost, so that the states of a query are near each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from incrowd.core.types import Ints64
from incrowd.generalizer.schema import Attribute, Schema

__all__ = ["ALIGNMENT", "HEADER_BYTES", "Axis", "Layout", "predicted_bytes", "slab_bytes"]

HEADER_BYTES = 4096
"""The size of the header of a file: a page."""
ALIGNMENT = 64
_SMALL = 2**31


@dataclass(frozen=True)
class Axis:
    """An attribute's nodes and its place in a cube.

    Parameters
    ----------
    name
        The attribute.
    nodes
        For each rung ("don't care" included) and value of the domain its node.
    step
        How many cells one node is away from the next.
    """

    name: str
    nodes: Ints64 = field(repr=False)
    step: int = 1

    @classmethod
    def of(cls, attribute: Attribute) -> Axis:
        """Return the nodes of an attribute, numbered rung by rung."""
        rungs = [np.arange(len(attribute.domain), dtype=np.int64)]
        last = len(attribute.domain)
        for rung in attribute.ladder:
            numbers = {value: last + place for place, value in enumerate(dict.fromkeys(rung))}
            rungs.append(np.array([numbers[value] for value in rung], dtype=np.int64))
            last += len(numbers)
        return cls(attribute.name, np.array([*rungs, np.full(len(attribute.domain), last, dtype=np.int64)]))

    @property
    def length(self) -> int:
        """The number of nodes; the last one is "don't care"."""
        return int(self.nodes[-1, 0]) + 1 if self.nodes.size else 1

    @property
    def parents(self) -> Ints64:
        """For each node the one a rung up; "don't care" is its own."""
        parents = np.full(self.length, self.length - 1, dtype=np.int64)
        for rung in range(len(self.nodes) - 1):
            parents[self.nodes[rung]] = self.nodes[rung + 1]
        return parents


@dataclass(frozen=True)
class Layout:
    """The cube of one protected attribute.

    Parameters
    ----------
    protected
        The attribute.
    values
        The size of its domain.
    rows
        The rows of the auxiliary table.
    axes
        The other attributes, longest axis first.
    """

    protected: str
    values: int
    rows: int
    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, schema: Schema, rows: int, protected: str) -> Layout:
        """Lay out the cube of an attribute."""
        others = [Axis.of(each) for each in schema.attributes if each.name != protected]
        others.sort(key=lambda axis: -axis.length)
        step = math.prod(axis.length for axis in others)
        axes = []
        for axis in others:
            step //= axis.length
            axes.append(replace(axis, step=step))
        return cls(protected, len(schema[protected].domain), rows, tuple(axes))

    @property
    def cells(self) -> int:
        """The number of cells."""
        return math.prod(axis.length for axis in self.axes)

    @property
    def slab_cells(self) -> int:
        """The number of cells with the same node on the longest axis."""
        return self.axes[0].step if self.axes else 1

    @property
    def totals_type(self) -> np.dtype[Any]:
        """The smallest type that holds the number of rows."""
        return _smallest(self.rows)

    @property
    def guesses_type(self) -> np.dtype[Any]:
        """The smallest type that holds a sum of i * c_i: it is greatest if all values are equally frequent."""
        return _smallest(self.rows * (self.values + 1) // 2)

    @property
    def count_type(self) -> np.dtype[Any]:
        """The type in which rows are counted while the cube is built."""
        return np.dtype(np.int32 if self.rows < _SMALL else np.int64)

    @property
    def guesses_start(self) -> int:
        """Where the sums begin in a file, after the header and the totals."""
        end = HEADER_BYTES + self.cells * self.totals_type.itemsize
        return -(-end // ALIGNMENT) * ALIGNMENT

    @property
    def nbytes(self) -> int:
        """The size of the file."""
        return self.guesses_start + self.cells * self.guesses_type.itemsize


def _smallest(most: int) -> np.dtype[Any]:
    """Return the smallest unsigned type of at least two bytes that holds a number."""
    return np.promote_types(np.min_scalar_type(most), np.uint16)


def predicted_bytes(schema: Schema, rows: int, protected: Sequence[str]) -> int:
    """Return how many bytes the cubes of some attributes take, in memory and on disk."""
    return sum(Layout.of(schema, rows, name).nbytes for name in protected)


def slab_bytes(schema: Schema, rows: int, protected: Sequence[str]) -> int:
    """Return the most bytes that counting one slab takes while the cubes of some attributes are built."""
    layouts = [Layout.of(schema, rows, name) for name in protected]
    return max(layout.slab_cells * layout.values * layout.count_type.itemsize for layout in layouts)
