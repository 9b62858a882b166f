"""The strategies, as kernels over the counts of all states of a query.

A query is evaluated in several lattices (by itself, and together with past disclosures) and by several
policies. The *score* of a state is the least G / Gmin over all of them, kept as two integers: guesses * den
over num * rows, with Gmin = num / den. It is private if its score is at least 1; a state without rows has score 0. Scores are
compared exactly: where products would not fit 64 bits, both fractions are compared by Euclid's algorithm.

States are numbered in C order of their rungs, the last attribute fastest. Ties: the state that keeps the most
attributes, then the one with the fewest steps up, then the one with the least number, which has the lowest rungs on
the attributes that come first in the schema. The strategies are those of Oh, Kim & Obi (IEICE Trans. Inf. & Syst. 2012,
section 4), and least-rows, which is not in the paper.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.types import Floats, Ints64
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
    "chances",
    "choose",
    "choose_each",
    "easiest",
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
"""The numbers could overflow 64 bits."""


@kernel
def easiest(
    totals: Ints64,
    guesses: Ints64,
    axes: Ints64,
    rungs: Ints64,
    nothing: int,
) -> Ints64:
    """Return for each state the believable place with the least G; -1 if there is none.

    Places have counts, in C order of their rungs. `axes` has for each attribute its rungs there, the number of
    beliefs, and its rungs in the states; `rungs` has one after the other, attribute by attribute and belief by
    belief, the rung that is believed for each rung of the states, -1 if there is no such belief. Beliefs of
    different attributes combine freely, so the least over all combinations is found one attribute at a time.
    `nothing` is the place where nothing is known, which does not count as a belief; -1 if there is none.
    """
    places = np.arange(len(totals))
    if nothing >= 0:
        places[nothing] = -1
    outer, start = 1, 0
    for axis in range(axes.shape[0]):
        size, beliefs, states = axes[axis, 0], axes[axis, 1], axes[axis, 2]
        inner = len(places) // (outer * size)
        found = np.full(outer * states * inner, -1)
        for belief in range(beliefs):
            for cell in range(len(found)):
                rung = rungs[start + belief * states + cell // inner % states]
                place = (
                    places[(cell // (inner * states) * size + rung) * inner + cell % inner]
                    if rung >= 0
                    else -1
                )
                if place >= 0 and (found[cell] < 0 or _is_easier(totals, guesses, place, found[cell])):
                    found[cell] = place
        places = found
        start += beliefs * states
        outer *= states
    return places


@helper
def _is_easier(totals: Ints64, guesses: Ints64, one: int, other: int) -> bool:
    """Return whether G of one place is less than that of another one; without rows it is 0."""
    if totals[one] == 0 or totals[other] == 0:
        return bool(totals[other] > 0)
    return bool(_compared(guesses[one], totals[one], guesses[other], totals[other]) < 0)


@kernel
def choose(
    counts: Ints64,
    sizes: Ints64,
    minima: Ints64,
    strategy: int,
    draws: NDArray[np.uint32],
) -> tuple[int, bool]:
    """Return the state to send (or `NONE`, or `TOO_LARGE`), and whether a greedy strategy ran out of attributes.

    `counts` is lattices x (totals, guesses of each policy) x states, `sizes` the number of rungs of each
    attribute. `minima` has for each policy num, den and the most rows with which no product overflows 64 bits.
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
def only_if_private(counts: Ints64, minima: Ints64, state: int) -> int:
    """Return a given state if it is private, else `NONE`; or `TOO_LARGE`. See `choose`."""
    if _is_too_large(counts, minima):
        return TOO_LARGE
    scores = _scores(counts, minima)
    return state if scores[state, 0] >= scores[state, 1] else NONE


@kernel
def choose_each(counts: Ints64, sizes: Ints64, minima: Ints64, strategy: int) -> Ints64:
    """Return the state to send for each of many queries; `counts` is (totals, guesses) x states x queries."""
    states = np.empty(counts.shape[2], np.int64)
    draws = np.zeros(0, np.uint32)
    one = np.empty((1, counts.shape[0], counts.shape[1]), np.int64)
    for query in range(counts.shape[2]):
        one[0] = counts[:, :, query]
        states[query], _ = choose(one, sizes, minima, strategy, draws)
    return states


@kernel
def chances(counts: Ints64, sizes: Ints64, minima: Ints64) -> Floats:
    """Return queries x states: the probability that random-fit sends each state, without knowledge of the key.

    A query without a private state has only zeros; `counts` as in `choose_each`, small enough for 64 bits.
    """
    found = np.zeros((counts.shape[2], counts.shape[1]), np.float64)
    one = np.empty((1, counts.shape[0], counts.shape[1]), np.int64)
    for query in range(counts.shape[2]):
        one[0] = counts[:, :, query]
        _spread(found[query], _scores(one, minima), sizes)
    return found


@helper
def _spread(found: Floats, scores: Ints64, sizes: Ints64) -> None:
    """Distribute the probability of each state that is not private equally over the states one rung up."""
    found[0] = 1.0
    last = len(found) - 1
    for state in range(last + 1):  # states further up have greater numbers
        chance = found[state]
        if chance == 0.0 or scores[state, 0] >= scores[state, 1]:
            continue
        found[state] = 0.0
        if state == last:
            best = _least_private(scores, sizes)
            if best != NONE:
                found[best] += chance
            continue
        ways = _ways_up(state, sizes)
        stride = 1
        for place in range(len(sizes) - 1, -1, -1):
            if state // stride % sizes[place] < sizes[place] - 1:
                found[state + stride] += chance / ways
            stride *= sizes[place]


@helper
def _is_too_large(counts: Ints64, minima: Ints64) -> bool:
    """Return whether a product of counts with a policy's numbers could overflow 64 bits."""
    most = minima[0, 2]
    for policy in range(1, minima.shape[0]):
        most = min(most, minima[policy, 2])
    for lattice in range(counts.shape[0]):
        for state in range(counts.shape[2]):
            if counts[lattice, 0, state] > most:
                return True
    return False


@helper
def _scores(counts: Ints64, minima: Ints64) -> Ints64:
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
        # Both remainders are below 1; the one with the greater reciprocal is less.
        top, bottom, other_top, other_bottom = other_bottom, other_rest, bottom, rest


@helper
def _least_private(scores: Ints64, sizes: Ints64) -> int:
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
def _fewest_rows(totals: Ints64, scores: Ints64, sizes: Ints64) -> int:
    """Least-rows: return the private state that the fewest rows match (the least traffic), or `NONE`."""
    best = NONE
    for state in range(scores.shape[0]):
        if scores[state, 0] < scores[state, 1]:
            continue
        order = -1 if best == NONE else totals[state] - totals[best]
        if order < 0 or (order == 0 and _keeps_more(state, best, sizes)):
            best = state
    return best


@helper
def _keeps_more(one: int, other: int, sizes: Ints64) -> bool:
    """Return whether a state keeps more attributes than another one, or as many with fewer steps up."""
    dropped, climbed = 0, 0
    for place in range(len(sizes) - 1, -1, -1):
        size = sizes[place]
        rung, other_rung = one % size, other % size
        dropped += int(rung == size - 1) - int(other_rung == size - 1)
        climbed += rung - other_rung
        one, other = one // size, other // size
    return dropped < 0 or (dropped == 0 and climbed < 0)


@helper
def _walk(scores: Ints64, sizes: Ints64, strategy: int, draws: NDArray[np.uint32]) -> int:
    """Move one attribute at a time up one rung until the state is private; `NONE` if all attributes are dropped before."""
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
def _next_by_score(state: int, scores: Ints64, sizes: Ints64, strategy: int) -> int:
    """Return the state one rung up with the least score (best-fit) or the greatest (worst-fit)."""
    best, best_drops = NONE, False
    stride = 1
    # The last attribute first: of equal candidates, attributes that come first in the schema stay on low rungs.
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
def _next_by_chance(state: int, sizes: Ints64, draw: int) -> int:
    """Return the state one rung up that a random number selects."""
    wanted = np.int64(draw) % _ways_up(state, sizes)
    stride = 1
    for place in range(len(sizes) - 1, -1, -1):
        size = sizes[place]
        if state // stride % size < size - 1:
            if wanted == 0:
                return state + stride
            wanted -= 1
        stride *= size
    return NONE


@helper
def _ways_up(state: int, sizes: Ints64) -> int:
    """Return how many attributes can move up a rung."""
    ways = 0
    for place in range(len(sizes) - 1, -1, -1):
        ways += int(state % sizes[place] < sizes[place] - 1)
        state //= sizes[place]
    return ways
