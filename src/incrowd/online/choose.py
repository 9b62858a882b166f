"""The strategies, as kernels over the counts of all states of a query.

A query is judged in several lattices (by itself, and together with what was told before) and by several
policies. The *score* of a state is the least G / Gmin over all of them, kept as two integers: guesses * den
over num * rows, with Gmin = num / den. It is private if its score is at least 1; no rows score 0. Scores are
compared exactly: where products would not fit 64 bits, both fractions are taken apart by Euclid's algorithm.

States are numbered in C order of their rungs, the last attribute fastest. Of equal states the one that keeps
the most attributes is chosen, then the one with the fewest steps up, then the one with the least number: it
has the lowest rungs on the attributes first in the schema.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.jit import helper, kernel

__all__ = [
    "BEST_FIT",
    "BRUTE_FORCE",
    "LEAST_ROWS",
    "NONE",
    "NUMBERS",
    "RANDOM_FIT",
    "TOO_LARGE",
    "WORST_FIT",
    "choose",
    "gather",
    "only_if_private",
]

BRUTE_FORCE, BEST_FIT, WORST_FIT, RANDOM_FIT, LEAST_ROWS = 0, 1, 2, 3, 4
NUMBERS = {
    "brute-force": BRUTE_FORCE,
    "best-fit": BEST_FIT,
    "worst-fit": WORST_FIT,
    "random-fit": RANDOM_FIT,
    "least-rows": LEAST_ROWS,
}
_HALF = 1 << 31  # the product of two numbers below it fits 64 bits
NONE = -1
"""No state is private."""
TOO_LARGE = -2
"""The numbers could leave 64 bits."""


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


@kernel
def choose(
    counts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    minima: NDArray[np.int64],
    strategy: int,
    draws: NDArray[np.uint32],
) -> tuple[int, bool]:
    """Return the state to send (or `NONE`, or `TOO_LARGE`), and whether a greedy way to it ran out of attributes.

    `counts` is lattices x (totals, guesses of each policy) x states, `sizes` the number of rungs of each
    attribute. `minima` has for each policy num, den and the most rows with which no product leaves 64 bits.
    `draws` has a number for each step of random-fit.
    """
    if _is_too_large(counts, minima):
        return TOO_LARGE, False
    scores = _scores(counts, minima)
    if strategy == BRUTE_FORCE:
        return _least_private(scores, sizes), False
    if strategy == LEAST_ROWS:
        return _fewest_rows(counts[0, 0], scores, sizes), False
    state = _walk(scores, sizes, strategy, draws)
    if state != NONE:
        return state, False
    return _least_private(scores, sizes), True


@kernel
def only_if_private(counts: NDArray[np.int64], minima: NDArray[np.int64], state: int) -> int:
    """Return a state that was fixed in advance if it is private, else `NONE`; or `TOO_LARGE`. See `choose`."""
    if _is_too_large(counts, minima):
        return TOO_LARGE
    scores = _scores(counts, minima)
    return state if scores[state, 0] >= scores[state, 1] else NONE


@helper
def _is_too_large(counts: NDArray[np.int64], minima: NDArray[np.int64]) -> bool:
    """Tell whether a product of counts with a policy's numbers could leave 64 bits."""
    most = minima[0, 2]
    for policy in range(1, minima.shape[0]):
        most = min(most, minima[policy, 2])
    for lattice in range(counts.shape[0]):
        for state in range(counts.shape[2]):
            if counts[lattice, 0, state] > most:
                return True
    return False


@helper
def _scores(counts: NDArray[np.int64], minima: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the least G / Gmin of each state over all lattices and policies, as a fraction: states x 2."""
    scores = np.empty((counts.shape[2], 2), np.int64)
    for state in range(counts.shape[2]):
        top, bottom = counts[0, 1, state] * minima[0, 1], counts[0, 0, state] * minima[0, 0]
        for lattice in range(counts.shape[0]):
            total = counts[lattice, 0, state]
            for policy in range(minima.shape[0]):
                over = counts[lattice, policy + 1, state] * minima[policy, 1]
                under = total * minima[policy, 0]
                if total == 0 or bottom == 0:
                    top, bottom = 0, 0
                elif _compared(over, under, top, bottom) < 0:
                    top, bottom = over, under
        scores[state, 0], scores[state, 1] = top, max(bottom, 1)
    return scores


@helper
def _compared(top: int, bottom: int, other_top: int, other_bottom: int) -> int:
    """Return -1, 0 or 1: a fraction is less than another one, equal, or greater. Both are at least 0."""
    if (top | bottom | other_top | other_bottom) < _HALF:
        over, other_over = top * other_bottom, other_top * bottom
        return int(over > other_over) - int(over < other_over)
    while True:
        whole, other_whole = top // bottom, other_top // other_bottom
        if whole != other_whole:
            return -1 if whole < other_whole else 1
        rest, other_rest = top - whole * bottom, other_top - other_whole * other_bottom
        if rest == 0 or other_rest == 0:
            return int(rest > 0) - int(other_rest > 0)
        # What is left is below 1; of two such fractions the one with the greater reciprocal is less.
        top, bottom, other_top, other_bottom = other_bottom, other_rest, bottom, rest


@helper
def _least_private(scores: NDArray[np.int64], sizes: NDArray[np.int64]) -> int:
    """Brute force: return the private state with the least score, or `NONE`."""
    best = NONE
    for state in range(scores.shape[0]):
        top, bottom = scores[state, 0], scores[state, 1]
        if top < bottom:
            continue
        order = -1 if best == NONE else _compared(top, bottom, scores[best, 0], scores[best, 1])
        if order < 0 or (order == 0 and _keeps_more(state, best, sizes)):
            best = state
    return best


@helper
def _fewest_rows(totals: NDArray[np.int64], scores: NDArray[np.int64], sizes: NDArray[np.int64]) -> int:
    """Return the private state that the fewest rows match, or `NONE`: what costs the least traffic."""
    best = NONE
    for state in range(scores.shape[0]):
        if scores[state, 0] < scores[state, 1]:
            continue
        order = -1 if best == NONE else totals[state] - totals[best]
        if order < 0 or (order == 0 and _keeps_more(state, best, sizes)):
            best = state
    return best


@helper
def _keeps_more(one: int, other: int, sizes: NDArray[np.int64]) -> bool:
    """Tell whether a state keeps more attributes than another one, or as many with fewer steps up."""
    dropped, climbed = 0, 0
    for place in range(len(sizes) - 1, -1, -1):
        size = sizes[place]
        rung, other_rung = one % size, other % size
        dropped += int(rung == size - 1) - int(other_rung == size - 1)
        climbed += rung - other_rung
        one, other = one // size, other // size
    return dropped < 0 or (dropped == 0 and climbed < 0)


@helper
def _walk(
    scores: NDArray[np.int64], sizes: NDArray[np.int64], strategy: int, draws: NDArray[np.uint32]
) -> int:
    """Go up one rung of one attribute at a time until the state is private; `NONE` if nothing is left to do."""
    state = 0
    step = 0
    while scores[state, 0] < scores[state, 1]:
        if state == scores.shape[0] - 1:
            return NONE
        if strategy == RANDOM_FIT:
            state = _next_by_chance(state, sizes, draws[step])
        else:
            state = _next_by_score(state, scores, sizes, strategy)
        step += 1
    return state


@helper
def _next_by_score(state: int, scores: NDArray[np.int64], sizes: NDArray[np.int64], strategy: int) -> int:
    """Return the state one rung up with the least score (best-fit) or the greatest (worst-fit)."""
    best, best_drops = NONE, False
    stride = 1
    # The last attribute first: of equals that keep as much, the first in the schema stays low.
    for place in range(len(sizes) - 1, -1, -1):
        size = sizes[place]
        rung = state // stride % size
        if rung < size - 1:
            up, drops = state + stride, rung == size - 2
            order = -1
            if best != NONE:
                order = _compared(scores[up, 0], scores[up, 1], scores[best, 0], scores[best, 1])
                order = -order if strategy == WORST_FIT else order
            if order < 0 or (order == 0 and best_drops and not drops):
                best, best_drops = up, drops
        stride *= size
    return best


@helper
def _next_by_chance(state: int, sizes: NDArray[np.int64], draw: int) -> int:
    """Return the state one rung up that a number draws."""
    ways = 0
    rest = state
    for place in range(len(sizes) - 1, -1, -1):
        ways += int(rest % sizes[place] < sizes[place] - 1)
        rest //= sizes[place]
    wanted = np.int64(draw) % ways
    stride = 1
    for place in range(len(sizes) - 1, -1, -1):
        size = sizes[place]
        if state // stride % size < size - 1:
            if wanted == 0:
                return state + stride
            wanted -= 1
        stride *= size
    return NONE
