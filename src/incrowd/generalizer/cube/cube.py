"""A counter that looks counts up: for each protected attribute a cube with the exact counts of every cell.

A query has a node on some axes and "don't care" on the others: that is a cell, and each generalization of the query
is another cell. So all states of a query are read from the cube without reading any row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.core.bounded import keep
from incrowd.core.types import Ints64
from incrowd.errors import BadInputError
from incrowd.generalizer.cube.build import Slab, slabs
from incrowd.generalizer.cube.file import content_digest, cube_path, load_or_build, map_again
from incrowd.generalizer.cube.layout import Layout
from incrowd.generalizer.lattice import Lattice, Rungs, check_states
from incrowd.generalizer.schema import AuxiliaryTable, Node, Schema
from incrowd.kernels.jit import helper, kernel

__all__ = ["Cube", "open_cube"]

_MOST_VIEWS = 1 << 12
_NOTHING: Mapping[str, Node] = {}


@dataclass(frozen=True)
class _View:
    """What all queries that fix the same attributes and protect the same ones have in common.

    Parameters
    ----------
    shape
        The number of rungs of each fixed attribute.
    size
        The counts to read: one lattice, totals and guesses, states.
    sides
        For each protected attribute its cube, the cell of a query whose fixed values all have code 0, and how
        many cells each fixed value is away from the next.
    """

    shape: Rungs
    size: tuple[int, int, int]
    sides: tuple[tuple[Face, int, tuple[int, ...]], ...]


class Cube:
    """Counts by looking the counts up in cubes.

    Parameters
    ----------
    schema
        The attributes.
    rows
        The rows that were counted.
    faces
        A cube for each protected attribute.
    reason
        Why this counter was chosen.
    table
        The table that was counted. It is not pickled.
    """

    kind = "cube"

    def __init__(
        self,
        schema: Schema,
        rows: int,
        faces: Sequence[Face],
        reason: str = "",
        table: AuxiliaryTable | None = None,
    ) -> None:
        self.schema = schema
        self.rows = rows
        self.reason = reason
        self.table = table
        self._faces = {face.layout.protected: face for face in faces}
        self._views: dict[tuple[tuple[str, ...], tuple[str, ...]], _View] = {}

    @property
    def nbytes(self) -> int:
        """The size of all cubes together."""
        return sum(face.layout.nbytes for face in self._faces.values())

    @property
    def protected(self) -> tuple[str, ...]:
        """The attributes that have a cube."""
        return tuple(self._faces)

    def cell(self, nodes: Mapping[str, Node], protected: Sequence[str]) -> tuple[int, ...]:
        """Look up one cell. See `incrowd.generalizer.counters.Counter`."""
        counts: tuple[int, ...] = ()
        for name in protected:
            face = self._face(name)
            place = face.cell(nodes)
            if not counts:
                counts = (face.totals.item(place),)
            counts += (face.guesses.item(place),)
        return counts

    def _face(self, name: str) -> Face:
        face = self._faces.get(name)
        if face is None:
            raise BadInputError(f"attribute '{name}' has no cube; protect {', '.join(self._faces)}")
        return face

    def lattice(
        self, fixed: Mapping[str, int], protected: Sequence[str], past: Mapping[str, Node] = _NOTHING
    ) -> Lattice:
        """Look up all states of a query. See `incrowd.generalizer.counters.Counter`."""
        protected = tuple(protected)
        names = tuple(fixed)
        view = self._views.get((names, protected)) or self._view(names, protected)
        counts = np.empty(view.size, np.int64)
        for row, (face, start, steps) in enumerate(view.sides, start=1):
            query = start + sum(map(mul, fixed.values(), steps))
            known = face.cell(past) if past else face.everything
            gather(query, known, face.axes, face.parents, face.totals, face.guesses, counts, row)
        return Lattice.of_counts(view.shape, protected, counts)

    def _view(self, names: tuple[str, ...], protected: tuple[str, ...]) -> _View:
        """Return what queries that fix the given attributes have in common."""
        places = [self.schema.names.index(self.schema[name].name) for name in names]
        if places != sorted(places):
            raise BadInputError(
                "fixed attributes must be in the schema's order; sort them as fixed_codes does"
            )
        shape = tuple(self.schema[name].top + 1 for name in names)
        check_states(math.prod(shape), len(names))
        sides = []
        for name in protected:
            face = self._face(name)
            start = face.cell(dict.fromkeys(names, (0, 0)))
            sides.append((face, start, tuple(face.steps[each] for each in names)))
        view = _View(shape, (1, len(sides) + 1, math.prod(shape)), tuple(sides))
        return keep(self._views, (names, protected), view, _MOST_VIEWS)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_views": {}, "table": None}


class Face:
    """The cube of one protected attribute.

    Parameters
    ----------
    schema
        The attributes.
    layout
        The layout of the cube.
    numbers
        The rows and the sums of every cell.
    file
        The file that the numbers are mapped from and its fingerprint; None if they are in memory.
    """

    def __init__(
        self, schema: Schema, layout: Layout, numbers: Slab, file: tuple[Path, str] | None = None
    ) -> None:
        self.layout = layout
        self.everything = layout.cells - 1  # the cell with "don't care" on every axis
        self.steps = {axis.name: axis.step for axis in layout.axes}
        # For each attribute, rung and value how many cells its node is before "don't care".
        self._before = {
            axis.name: ((axis.length - 1 - axis.nodes) * axis.step).tolist() for axis in layout.axes
        }
        self.axes, self.parents = _geometry(schema, layout)
        self.totals, self.guesses = numbers
        self._file = file

    def cell(self, nodes: Mapping[str, Node]) -> int:
        """Return the cell with some nodes, and "don't care" on the other axes."""
        cell = self.everything
        for name, (code, rung) in nodes.items():
            before = self._before.get(name)
            if before is None:
                raise BadInputError(
                    f"attribute '{name}' is protected: its cube cannot count rows by it; leave it out of the query and of past disclosures"
                )
            cell -= before[rung][code]
        return cell

    def __getstate__(self) -> dict[str, Any]:
        """Leave mapped arrays out of the pickle: the file's name is enough to map them again."""
        return self.__dict__ | ({} if self._file is None else {"totals": None, "guesses": None})

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        if self._file is not None:
            path, fingerprint = self._file
            self.totals, self.guesses = map_again(path, self.layout, fingerprint)


def _geometry(schema: Schema, layout: Layout) -> tuple[Ints64, Ints64]:
    """Return for each axis, in the schema's order, its step, length and place in the parents; and the parents."""
    by_name = {axis.name: axis for axis in layout.axes}
    axes = [by_name[name] for name in schema.names if name in by_name]
    starts = np.cumsum([0, *(axis.length for axis in axes)])
    rows = [(axis.step, axis.length, start) for axis, start in zip(axes, starts, strict=False)]
    parents = [axis.parents for axis in axes]
    return np.array(rows, dtype=np.int64).reshape(-1, 3), np.concatenate([np.zeros(0, np.int64), *parents])


def open_cube(
    table: AuxiliaryTable, protected: Sequence[str], directory: Path | None = None, reason: str = ""
) -> Cube:
    """Build the cubes of some attributes, or map the files of cubes that exist already.

    Parameters
    ----------
    table
        The auxiliary table.
    protected
        The attributes that policies may protect.
    directory
        Where cubes are kept and found again; None builds them in memory.
    reason
        Why this counter was chosen.
    """
    content = "" if directory is None else content_digest(table)
    faces = []
    for name in protected:
        layout = Layout.of(table.schema, table.rows, name)
        if directory is None:
            faces.append(Face(table.schema, layout, _in_memory(table, layout)))
        else:
            path = cube_path(directory, table, name)
            numbers, fingerprint = load_or_build(path, table, layout, content)
            faces.append(Face(table.schema, layout, numbers, (path, fingerprint)))
    return Cube(table.schema, table.rows, faces, reason, table)


def _in_memory(table: AuxiliaryTable, layout: Layout) -> Slab:
    """Build a cube without a file."""
    totals = np.empty(layout.cells, dtype=layout.totals_type)
    guesses = np.empty(layout.cells, dtype=layout.guesses_type)
    for number, (some_totals, some_guesses) in enumerate(slabs(table, layout)):
        place = slice(number * layout.slab_cells, (number + 1) * layout.slab_cells)
        totals[place], guesses[place] = some_totals, some_guesses
    totals.flags.writeable = guesses.flags.writeable = False  # as if mapped: one kernel serves both
    return totals, guesses


@kernel
def gather(  # noqa: PLR0917 - kernels take arrays by position
    query: int,
    past: int,
    axes: Ints64,
    parents: Ints64,
    totals: NDArray[Any],
    guesses: NDArray[Any],
    counts: Ints64,
    row: int,
) -> None:
    """Read the counts of all states of a query out of a cube.

    A cell of the cube has a node for each axis; `query` and `past` are cells, with "don't care" (the last
    node) on the axes that they leave open. `axes` has for each axis, in the schema's order, its step in
    the cube, its number of nodes, and where its part of `parents` begins: the node one rung up of each node.
    Fills row 0 of `counts` (of one lattice) with the totals and row `row` with the guesses, 0 where the
    query and past disclosures exclude each other.
    """
    cells, steps = counts[0, row], counts[0, 0]
    cells[0] = 0
    states = 1
    for axis in range(axes.shape[0]):
        step, length, start = axes[axis, 0], axes[axis, 1], axes[axis, 2]
        known = past // step % length
        node = query // step % length
        steps[0] = node * step
        rungs = 1
        while node != length - 1:
            node = parents[start + node]
            steps[rungs] = node * step
            rungs += 1
        if known != length - 1:
            for rung in range(rungs):
                steps[rung] = _finer(steps[rung] // step, known, length - 1, start, parents) * step
        # In place and from the back, so that no number is overwritten before it is read.
        for state in range(states - 1, -1, -1):
            before = cells[state]
            for rung in range(rungs - 1, -1, -1):
                excluded = before < 0 or steps[rung] < 0
                cells[state * rungs + rung] = -1 if excluded else before + steps[rung]
        states *= rungs
    for state in range(states):
        cell = cells[state]
        counts[0, 0, state] = totals[cell] if cell >= 0 else 0
        counts[0, row, state] = guesses[cell] if cell >= 0 else 0


@helper
def _finer(one: int, other: int, last: int, start: int, parents: Ints64) -> int:
    """Return the lower of two nodes of which one is above the other or the same; -1 if they exclude each other."""
    above = one
    while above not in (other, last):
        above = parents[start + above]
    if above == other:
        return one
    above = other
    while above not in (one, last):
        above = parents[start + above]
    return other if above == one else -1
