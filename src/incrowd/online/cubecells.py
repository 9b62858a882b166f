"""Reading the counts of all states of a query out of a cube."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.jit import helper, kernel

__all__ = ["gather"]


@kernel
def gather(  # noqa: PLR0917 - kernels take arrays by position
    asked: int,
    told: int,
    axes: NDArray[np.int64],
    parents: NDArray[np.int64],
    totals: NDArray[Any],
    guesses: NDArray[Any],
    counts: NDArray[np.int64],
    row: int,
) -> None:
    """Read the counts of all states of a query out of a cube.

    A cell of the cube has a node for each axis; `asked` and `told` are cells, with "don't care" (the last
    node) on the axes of which nothing is said. `axes` has for each axis, in the schema's order, its step in
    the cube, its number of nodes, and where its part of `parents` begins: the node one rung up of each node.
    Fills row 0 of `counts` (of one lattice) with the totals and row `row` with the guesses, 0 where asked and told exclude
    each other.
    """
    cells, steps = counts[0, row], counts[0, 0]
    cells[0] = 0
    states = 1
    for axis in range(axes.shape[0]):
        step, length, start = axes[axis, 0], axes[axis, 1], axes[axis, 2]
        known = told // step % length
        node = asked // step % length
        steps[0] = node * step
        rungs = 1
        while node != length - 1:
            node = parents[start + node]
            steps[rungs] = node * step
            rungs += 1
        if known != length - 1:
            for rung in range(rungs):
                steps[rung] = _finer(steps[rung] // step, known, length - 1, start, parents) * step
        # From the back, in place: no number is written over before it is read.
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
def _finer(one: int, other: int, last: int, start: int, parents: NDArray[np.int64]) -> int:
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
