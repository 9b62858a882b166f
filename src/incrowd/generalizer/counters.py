"""Counters: how the rows that match each state of a query are counted.

A cube looks the counts up, a scan reads every row, a sample reads some rows. A cube is chosen at load if it fits the memory
budget. A sample is chosen only if the configuration has one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from incrowd.core.types import Ints64
from incrowd.errors import BadInputError, check_least
from incrowd.generalizer.cube.cube import open_cube
from incrowd.generalizer.cube.layout import Axis, predicted_bytes, slab_bytes
from incrowd.generalizer.lattice import Lattice, build_lattice
from incrowd.generalizer.schema import AuxiliaryTable, Node, Schema

__all__ = ["Counter", "Sample", "SampleSize", "Scan", "choose_counter", "describe", "only_cell", "slack"]

_NOTHING: Mapping[str, Node] = {}


class Counter(Protocol):
    """Counts the rows that match the states of a query.

    `reason` says why it was chosen, `nbytes` how much memory it needs.
    """

    @property
    def kind(self) -> str:
        """The kind of counter: "cube", "scan" or "sample"."""

    @property
    def schema(self) -> Schema:
        """The attributes."""

    @property
    def rows(self) -> int:
        """The rows that are counted."""

    @property
    def nbytes(self) -> int:
        """The memory that the counter needs, in bytes."""

    @property
    def reason(self) -> str:
        """Why this counter was chosen."""

    @property
    def table(self) -> AuxiliaryTable | None:
        """The whole auxiliary table; None in another process, which may not need it."""

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
        self, fixed: Mapping[str, int], protected: Sequence[str], past: Mapping[str, Node] = ...
    ) -> Lattice:
        """Count the rows of every state.

        Parameters
        ----------
        fixed
            The query: for each fixed attribute, in the schema's order, its value's code. None is protected.
        protected
            The attributes whose guessing entropy is wanted, at least one.
        past
            Past disclosures, of attributes that are not protected: only rows that agree with them are counted.
        """


class SampleSize(Protocol):
    """The size of a sample."""

    @property
    def rows(self) -> int:
        """The rows to draw."""

    @property
    def error(self) -> float:
        """The probability that some bound is wrong."""


class Scan:
    """Counts by reading every row for each query.

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
        self, fixed: Mapping[str, int], protected: Sequence[str], past: Mapping[str, Node] = _NOTHING
    ) -> Lattice:
        """Count all states in one pass over the columns."""
        return build_lattice(self._table, fixed, protected, past)


class Sample:
    """Counts a sample of the rows and returns lower bounds of the guessing entropy of every state.

    Rows are drawn with replacement. Let p be the distribution of protected values among the n drawn rows that
    match a state, and q the one among all matching rows. G is the least expected rank over all orders of guessing,
    so it is concave and the mean of G(p) is at most G(q). One row more or less of a value changes G(p) by at most
    (V - 1) / n, V being the number of values. By McDiarmid's inequality G(p) exceeds G(q) by more than
    (V - 1) * sqrt(ln(1 / e) / 2n) with a probability of at most e. That much is subtracted, and G is never
    below 1. With e = error / (number of states of all possible queries and past disclosures) all bounds hold at once
    with a probability of at least 1 - error, whatever and however many queries there are.

    Totals count drawn rows.

    Parameters
    ----------
    table
        The auxiliary table.
    protected
        The attributes that policies may protect.
    rows
        How many rows to draw.
    error
        The probability that some bound is wrong.
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
        check_least("sample: rows", rows)
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
        self._log_inverse_error = _all_states(table.schema) + math.log(len(self._protected) / error)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the rows that were not drawn out of the pickle."""
        return self.__dict__ | {"table": None}

    def cell(self, nodes: Mapping[str, Node], protected: Sequence[str]) -> tuple[int, ...]:
        """Count among the drawn rows."""
        return only_cell(self.lattice({}, protected, nodes))

    def lattice(
        self, fixed: Mapping[str, int], protected: Sequence[str], past: Mapping[str, Node] = _NOTHING
    ) -> Lattice:
        """Count all states among the drawn rows and subtract from each G what the draw may have added."""
        for name in protected:
            if name not in self._protected:
                raise BadInputError(
                    f"attribute '{name}' was not declared for the sample; protect {', '.join(self._protected)}"
                )
        found = self._scan.lattice(fixed, protected, past)
        bounds = {
            name: np.maximum(
                sums - slack(found.totals, len(self.schema[name].domain), self._log_inverse_error),
                found.totals,
            )
            for name, sums in found.guesses.items()
        }
        return Lattice(found.shape, found.totals, bounds)


def only_cell(lattice: Lattice) -> tuple[int, ...]:
    """Return the counts of a lattice of one state."""
    rows, *guesses = lattice.counts[0, :, 0].tolist()
    return rows, *guesses


def slack(totals: Ints64, values: int, log_inverse_error: float) -> Ints64:
    """Return what to subtract from a sum of i * c_i over drawn rows; `log_inverse_error` is ln(1 / e)."""
    return np.asarray(np.ceil((values - 1) * np.sqrt(totals * log_inverse_error / 2)), dtype=np.int64)


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
    """Choose a counter: cubes if those of all protected attributes fit, else a sample if one is configured, else a scan.

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
    """Return one line that says how rows are counted and why."""
    how = {
        "cube": "looked up in cubes",
        "scan": f"counted by a scan of {counter.rows:,} rows for each query",
        "sample": f"counted by a scan of {counter.rows:,} drawn rows for each query, as lower bounds",
    }[counter.kind]
    return f"Entropies are {how}" + (f": {counter.reason}." if counter.reason else ".")


def _size(size: int) -> str:
    """Return a number of bytes for display."""
    power = min(len(str(size)) - 1, 9) // 3
    unit = ("bytes", "KB", "MB", "GB")[power]
    return f"{size / 1000**power:,.{1 if power else 0}f} {unit}"
