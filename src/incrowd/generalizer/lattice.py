"""Guessing entropy of every generalization of a query, in one pass over the auxiliary table.

A generalization of a query is a *state*: a rung for each fixed attribute (0 is the query's own value, the top is
"don't care"; without ladders that is the lattice of all subsets). Each row has a lowest state in which it
still matches, attribute by attribute. Rows are counted by (lowest state, protected value); running sums along
every attribute then give the counts of all states at once, since a row matches a state exactly if its lowest
rungs are nowhere above the state's. Without ladders these are the superset sums over agreement bitmasks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.core.types import Ints32, Ints64
from incrowd.errors import BadInputError
from incrowd.generalizer.entropy import as_fraction, guess_sums
from incrowd.generalizer.schema import AuxiliaryTable, Node, Schema
from incrowd.kernels.jit import kernel

__all__ = ["MOST_CELLS", "Lattice", "Lattices", "Rungs", "build_lattice", "check_states"]

MOST_CELLS = 1 << 22
"""The most states times protected values: twelve attributes and a thousand values, 32 MB."""

Rungs = tuple[int, ...]
"""A state: the rung of each fixed attribute."""

_BLOCK = 1 << 15
_new = object.__new__


class Lattice:
    """Exact guessing entropies of all states of one query.

    Parameters
    ----------
    shape
        The number of rungs of each fixed attribute, "don't care" included.
    totals
        For each state (in C order of the rungs) the number of rows that match it.
    guesses
        For each protected attribute and state the sum of i * c_i.
    """

    __slots__ = ("counts", "protected", "shape")

    def __init__(self, shape: Rungs, totals: Ints64, guesses: Mapping[str, Ints64]) -> None:
        self.shape = shape
        self.protected = tuple(guesses)
        self.counts = np.array([[totals, *guesses.values()]], dtype=np.int64)

    @classmethod
    def of_counts(cls, shape: Rungs, protected: tuple[str, ...], counts: Ints64) -> Lattice:
        """Return a lattice of 1 x (totals, guesses of each protected attribute) x states."""
        lattice = _new(cls)
        lattice.shape = shape
        lattice.protected = protected
        lattice.counts = counts
        return lattice

    def __repr__(self) -> str:
        return f"Lattice(shape={self.shape}, protected={self.protected})"

    @property
    def totals(self) -> Ints64:
        """For each state the number of rows that match it."""
        return np.asarray(self.counts[0, 0])

    @property
    def guesses(self) -> dict[str, Ints64]:
        """For each protected attribute and state the sum of i * c_i."""
        return dict(zip(self.protected, self.counts[0, 1:], strict=True))

    def state(self, rungs: Rungs) -> int:
        """Return the place of a state in the arrays."""
        place = 0
        for size, rung in zip(self.shape, rungs, strict=True):
            place = place * size + rung
        return place

    def rungs(self, state: int) -> Rungs:
        """Return the rungs of a state, the reverse of `state`."""
        return _rungs(self.shape, state)

    def entropies(self, rungs: Rungs) -> dict[str, Fraction]:
        """Return G of every protected attribute in a state; 0 if no row matches."""
        total, *sums = self.counts[0, :, self.state(rungs)].tolist()
        return {name: as_fraction(found, total) for name, found in zip(self.protected, sums, strict=True)}


class Lattices:
    """The states of one query, counted in several lattices; the first is the query by itself."""

    __slots__ = ("_all",)

    def __init__(self, lattices: Sequence[Lattice]) -> None:
        self._all = lattices

    def rungs(self, state: int) -> Rungs:
        """Return the rungs of a state."""
        return _rungs(self._all[0].shape, state)

    def rows(self, state: int) -> int:
        """Return the rows that match a state."""
        return int(self._all[0].totals[state])

    def entropies(self, state: int) -> dict[str, Fraction]:
        """Return G of every protected attribute in a state, the least over all lattices."""
        rungs = self.rungs(state)
        found = [lattice.entropies(rungs) for lattice in self._all]
        return {name: min(each[name] for each in found) for name in found[0]}


@lru_cache(maxsize=1 << 16)
def _rungs(shape: Rungs, state: int) -> Rungs:
    """Return the rungs of a state. Cached, since queries share few states."""
    found = []
    for size in reversed(shape):
        state, rung = divmod(state, size)
        found.append(rung)
    return tuple(reversed(found))


def check_states(states: int, fixed: int) -> None:
    """Refuse a query with more states than can be tried."""
    if states > MOST_CELLS:
        raise BadInputError(
            f"the query fixes {fixed} attributes, too many to try all their combinations; fix fewer"
        )


def build_lattice(
    table: AuxiliaryTable,
    fixed: Mapping[str, int],
    protected: Sequence[str],
    past: Mapping[str, Node] | None = None,
) -> Lattice:
    """Count all states of a query.

    Parameters
    ----------
    table
        The auxiliary table.
    fixed
        The query: for each fixed attribute its value's place in the domain. None of them is protected.
    protected
        The attributes whose guessing entropy is wanted, at least one.
    past
        Past disclosures: only rows that agree with them are counted, in every state.
    """
    shape = tuple(table.schema[name].top + 1 for name in fixed)
    widest = max(len(table.schema[name].domain) for name in protected)
    check_states(math.prod(shape) * widest, len(fixed))
    counts = {
        name: np.zeros((math.prod(shape), len(table.schema[name].domain)), dtype=np.int64)
        for name in protected
    }
    _count_lowest(table, _steps(table.schema, fixed, past or {}, shape), counts)
    for each in counts.values():
        _add_up(each, shape)
    totals = next(iter(counts.values())).sum(axis=1)
    return Lattice(shape, totals, {name: guess_sums(each) for name, each in counts.items()})


def _steps(
    schema: Schema, fixed: Mapping[str, int], past: Mapping[str, Node], shape: Rungs
) -> list[tuple[str, Ints32]]:
    """Return for some attributes what each value adds to the number of a row's lowest state."""
    steps = []
    stride = states = math.prod(shape)
    for (name, code), size in zip(fixed.items(), shape, strict=True):
        stride //= size
        steps.append((name, (schema[name].agreement(code) * stride).astype(np.int32)))
    for name, (code, rung) in past.items():
        # Rows that disagree with past disclosures belong to no state.
        steps.append((name, np.where(schema[name].agreement(code) <= rung, 0, states).astype(np.int32)))
    return steps


def _count_lowest(
    table: AuxiliaryTable,
    steps: Sequence[tuple[str, Ints32]],
    counts: Mapping[str, Ints64],
) -> None:
    """Count rows by their lowest state and protected value, in blocks that stay in the processor's cache."""
    block = np.empty(_BLOCK, dtype=np.int32)
    for start in range(0, table.rows, _BLOCK):
        some = slice(start, start + _BLOCK)
        lowest = block[: table.rows - start]
        lowest.fill(0)
        for name, each in steps:
            _add_steps(lowest, table.columns[name][some], each)
        for name, found in counts.items():
            _count(lowest, table.columns[name][some], found)


def _add_up(counts: Ints64, shape: Rungs) -> None:
    """Turn the counts of rows whose lowest state it is into counts of rows that match each state."""
    inner = counts.size
    for size in shape:
        inner //= size
        by_rung = counts.reshape(-1, size, inner)
        for rung in range(1, size):
            by_rung[:, rung] += by_rung[:, rung - 1]


@kernel
def _add_steps(lowest: Ints32, column: NDArray[Any], steps: Ints32) -> None:
    """Add to each row the step of its value."""
    for row in range(len(lowest)):
        lowest[row] += steps[column[row]]


@kernel
def _count(lowest: Ints32, column: NDArray[Any], counts: Ints64) -> None:
    """Count the rows of each state and protected value; rows that belong to no state are left out."""
    for row in range(len(lowest)):
        if lowest[row] < counts.shape[0]:
            counts[lowest[row], column[row]] += 1
