"""Who counts the rows of all states of a query: a cube looks them up, a scan reads every row, a sample some.

A cube is chosen at load if it fits the memory. A sample is never chosen unless it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import BadInputError
from incrowd.online.cube import open_cube, predicted_bytes, slab_bytes
from incrowd.online.cubelayout import Axis
from incrowd.online.lattice import Lattice, build_lattice
from incrowd.online.schema import AuxiliaryTable, Node, Schema

__all__ = ["Counter", "Sample", "SampleSize", "Scan", "choose_counter", "describe", "only_cell", "slack"]

_NOTHING: Mapping[str, Node] = {}


class Counter(Protocol):
    """Counts the rows that match the states of a query.

    `reason` says why it was chosen, `nbytes` how much memory it needs.
    """

    @property
    def kind(self) -> str:
        """Which one it is: "cube", "scan" or "sample"."""

    @property
    def schema(self) -> Schema:
        """The attributes."""

    @property
    def rows(self) -> int:
        """The rows that are counted."""

    @property
    def nbytes(self) -> int:
        """The memory that is needed."""

    @property
    def reason(self) -> str:
        """Why this one was chosen."""

    @property
    def table(self) -> AuxiliaryTable | None:
        """The whole auxiliary table; None in another process, where it may not be needed."""

    def cell(self, nodes: Mapping[str, Node], protected: Sequence[str]) -> tuple[int, ...]:
        """Count the rows that agree with nodes of some attributes.

        Parameters
        ----------
        nodes
            The attributes, none of them protected, each with a node below "don't care".
        protected
            The attributes whose guessing entropy is wanted.

        Returns
        -------
        tuple of int
            The rows, and for each protected attribute the sum of i * c_i.
        """

    def lattice(
        self, fixed: Mapping[str, int], protected: Sequence[str], told: Mapping[str, Node] = ...
    ) -> Lattice:
        """Count the rows of every state.

        Parameters
        ----------
        fixed
            The query: for each fixed attribute, in the schema's order, its value's code. None is protected.
        protected
            The attributes whose guessing entropy is wanted, at least one.
        told
            What is known besides, of attributes that are not protected: a row counts only if it agrees with it.
        """


class SampleSize(Protocol):
    """How much to sample."""

    @property
    def rows(self) -> int:
        """The rows to draw."""

    @property
    def error(self) -> float:
        """The chance that some bound is wrong."""


class Scan:
    """Counts by reading every row, for each query.

    Parameters
    ----------
    table
        The auxiliary table.
    reason
        Why this counter was chosen.
    """

    kind = "scan"

    def __init__(self, table: AuxiliaryTable, reason: str = "") -> None:
        self.schema = table.schema
        self.rows = table.rows
        self.nbytes = sum(column.nbytes for column in table.columns.values())
        self.reason = reason
        self._table = table

    @property
    def table(self) -> AuxiliaryTable | None:
        """The auxiliary table."""
        return self._table

    def cell(self, nodes: Mapping[str, Node], protected: Sequence[str]) -> tuple[int, ...]:
        """Count in one pass over the columns."""
        return only_cell(self.lattice({}, protected, nodes))

    def lattice(
        self, fixed: Mapping[str, int], protected: Sequence[str], told: Mapping[str, Node] = _NOTHING
    ) -> Lattice:
        """Count all states in one pass over the columns."""
        return build_lattice(self._table, fixed, protected, told)


class Sample:
    """Counts some rows, and says of every state how hard a guess is at least.

    Rows are drawn with replacement. Among the n of them that match a state, values occur as often as p says,
    among all matching rows as often as q says. G is the least expected rank over all orders of guessing, so it
    is concave and the mean of G(p) is at most G(q). One row more or less of a value changes G(p) by at most
    (V - 1) / n, V being the number of values. By McDiarmid's inequality G(p) exceeds G(q) by more than
    (V - 1) * sqrt(ln(1 / e) / 2n) with a chance of at most e. That much is taken off, and G is never below 1.
    With e = error / (number of states of all queries that can be asked, with all that can have been told) all
    bounds hold at once with a chance of at least 1 - error: it does not matter how often or what is asked.

    Totals are of drawn rows.

    Parameters
    ----------
    table
        The auxiliary table.
    protected
        The attributes that policies may protect.
    rows
        How many rows to draw.
    error
        The chance that some bound is wrong.
    seed
        Decides which rows are drawn.
    reason
        Why this counter was chosen.
    """

    kind = "sample"

    def __init__(
        self,
        table: AuxiliaryTable,
        protected: Sequence[str],
        rows: int,
        error: float,
        seed: int = 0,
        *,
        reason: str = "",
    ) -> None:
        if rows < 1:
            raise BadInputError(f"sample: rows must be at least 1 (got {rows})")
        if not 0 < error < 1:
            raise BadInputError(f"sample: error must be between 0 and 1 (got {error})")
        drawn = np.random.default_rng(seed).integers(max(table.rows, 1), size=rows if table.rows else 0)
        columns = {name: column[drawn] for name, column in table.columns.items()}
        self._scan = Scan(AuxiliaryTable(table.schema, len(drawn), columns))
        self.schema = table.schema
        self.rows = len(drawn)
        self.nbytes = self._scan.nbytes
        self.reason = reason
        self.table: AuxiliaryTable | None = table
        self._protected = tuple(protected)
        self._doubt = _all_states(table.schema) + math.log(len(self._protected) / error)

    def __getstate__(self) -> dict[str, Any]:
        """Travel to another process without the rows that were not drawn."""
        return self.__dict__ | {"table": None}

    def cell(self, nodes: Mapping[str, Node], protected: Sequence[str]) -> tuple[int, ...]:
        """Count among the drawn rows."""
        return only_cell(self.lattice({}, protected, nodes))

    def lattice(
        self, fixed: Mapping[str, int], protected: Sequence[str], told: Mapping[str, Node] = _NOTHING
    ) -> Lattice:
        """Count all states among the drawn rows and take off of each G what chance may have added."""
        for name in protected:
            if name not in self._protected:
                raise BadInputError(
                    f"attribute '{name}' is not allowed for in the sample; protect {', '.join(self._protected)}"
                )
        found = self._scan.lattice(fixed, protected, told)
        bounds = {
            name: np.maximum(
                sums - slack(found.totals, len(self.schema[name].domain), self._doubt), found.totals
            )
            for name, sums in found.guesses.items()
        }
        return Lattice(found.shape, found.totals, bounds)


def only_cell(lattice: Lattice) -> tuple[int, ...]:
    """Return the counts of a lattice of one state."""
    rows, *guesses = lattice.counts[0, :, 0].tolist()
    return rows, *guesses


def slack(totals: NDArray[np.int64], values: int, doubt: float) -> NDArray[np.int64]:
    """Return what to take off a sum of i * c_i over some drawn rows; `doubt` is ln(1 / e)."""
    return np.asarray(np.ceil((values - 1) * np.sqrt(totals * doubt / 2)), dtype=np.int64)


def _all_states(schema: Schema) -> float:
    """Return the logarithm of the number of states: a node or "don't care" for each attribute."""
    return math.fsum(math.log(Axis.of(attribute).length) for attribute in schema.attributes)


def choose_counter(
    table: AuxiliaryTable,
    protected: Sequence[str],
    *,
    memory: int,
    directory: Path | None = None,
    sample: SampleSize | None = None,
) -> Counter:
    """Choose who counts: a cube for every protected attribute if they fit, else the sample if any, else a scan.

    Parameters
    ----------
    table
        The auxiliary table.
    protected
        Every attribute that some policy protects.
    memory
        The most bytes that cubes may take, together and while they are built.
    directory
        Where cubes are kept and found again; None builds them in memory.
    sample
        How much to sample where cubes do not fit.
    """
    if not protected:
        raise BadInputError("protect must name at least one attribute")
    needed = predicted_bytes(table.schema, table.rows, protected)
    building = slab_bytes(table.schema, table.rows, protected)
    facts = f"{len(protected)} cube(s) take {_size(needed)}, the memory budget is {_size(memory)}"
    if max(needed, building) <= memory:
        return open_cube(table, protected, directory, facts)
    if building > memory >= needed:
        facts = f"building the cubes takes {_size(building)}, the memory budget is {_size(memory)}"
    if sample is not None:
        return Sample(table, protected, sample.rows, sample.error, reason=facts)
    return Scan(table, facts)


def describe(counter: Counter) -> str:
    """Say in a line how rows are counted and why."""
    how = {
        "cube": "looked up in cubes",
        "scan": f"counted by a scan of {counter.rows:,} rows for each query",
        "sample": f"counted by a scan of {counter.rows:,} drawn rows for each query, as lower bounds",
    }[counter.kind]
    return f"Entropies are {how}" + (f": {counter.reason}." if counter.reason else ".")


def _size(size: int) -> str:
    """Write a number of bytes for people."""
    power = min(len(str(size)) - 1, 9) // 3
    unit = ("bytes", "KB", "MB", "GB")[power]
    return f"{size / 1000**power:,.{1 if power else 0}f} {unit}"
