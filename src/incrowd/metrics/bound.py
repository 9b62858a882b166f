"""A lower bound of the generalization loss (GGD) of any method, for given data, taxonomy and k (docs/papers/flock.md).

Let c_t(v) be the items of row t below node v, W(c) the sum of w(v) * c(v) with w(v) = LM(parent v) - LM(v), and m_S the least
counts of a group S. A group loses GGD(S) = sum over t in S of (|t| - W(m_S)), or more if it publishes less than it could.
As m_S <= min(c_t, c_u) for any two of its rows, these two lose at least d(t, u) = |t| + |u| - 2 W(min(c_t, c_u)) together. Each of
the s >= k rows is in s - 1 pairs, so GGD(S) >= sum over pairs of d(t, u) / (s - 1): for each row half the mean of s - 1 distances,
and that is at least half the mean of its k - 1 smallest distances to any rows. The sum of those over all rows is the bound.
Empty rows add nothing. A withheld row loses |t|, which may be less, so the bound holds for methods that publish every
row that is not empty.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from weakref import WeakKeyDictionary

import msgspec
import numpy as np

from incrowd.core.claims import Claim
from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.ragged import list_sums
from incrowd.core.transactions import Transactions
from incrowd.core.types import Floats, Ints64
from incrowd.errors import BadInputError
from incrowd.kernels.arrays import compact, leaf_rows, lm_drops, tree_arrays
from incrowd.kernels.lcg import ancestor_rows
from incrowd.metrics.nearest_rows import Neighbours, invert, nearest_sums, repeats
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Bound", "bound_of", "lower_bound"]


BUDGET = 80_000_000  # evaluations: two or three tenths of a second on two cores
BUDGET_BY_ENTRY = 4  # of the inverted lists: where building them takes seconds, using them may too
PILOT = 16  # rows from which the cost of a row is estimated
LEAST_SAMPLE = 100
PART = 64  # rows that a thread takes at a time
SAFE_ERRORS = 3


class Bound(msgspec.Struct, frozen=True, rename={"value": "ggd_norm"}):
    """A lower bound of `ggd_norm` for every method that publishes all records.

    Parameters
    ----------
    value
        The bound. From a sample: the estimate less three standard errors, so that it is too high for only one in
        several hundred data sets.
    error
        The standard error of the estimate; 0 where the bound is exact.
    rows
        Rows whose nearest rows were searched; each was compared with all rows.
    """

    value: float
    error: float
    rows: int


class _Measure(NamedTuple):
    """The inputs of the distances: the rows, `scale` times w(v), and how many of the nearest rows count."""

    rows: Neighbours
    weight: Ints64
    scale: int
    nearest: int


_KNOWN: WeakKeyDictionary[Transactions, WeakKeyDictionary[Taxonomy, dict[int, Bound]]] = WeakKeyDictionary()


def bound_of(transactions: Transactions, taxonomy: Taxonomy, classes: Classes, claim: Claim) -> Bound | None:
    """Return the bound that holds for a release, or None.

    There is none where records do not generalize their owners' items, where there is no k-anonymity, where
    non-empty records are withheld, and where a release follows others: the number of rows would tell how many people have left. All methods on the same data with the same k have the same bound; it is computed
    once.
    """
    withheld = np.any(transactions.lengths[classes.of_row == WITHHELD])
    if claim.kind != "k-anonymity" or claim.speaks_of != "owner" or claim.follows is not None or withheld:
        return None
    known = _KNOWN.setdefault(transactions, WeakKeyDictionary()).setdefault(taxonomy, {})
    if claim.least not in known:
        known[claim.least] = lower_bound(transactions, taxonomy, k=claim.least)
    return known[claim.least]


def lower_bound(
    transactions: Transactions, taxonomy: Taxonomy, *, k: int, budget: int | None = None
) -> Bound:
    """Return the lower bound: exact where that is cheap, else from a sample that is always the same.

    Parameters
    ----------
    transactions, taxonomy
        Data and a tree to which its items are attached.
    k
        The least number of rows in a group.
    budget
        How many evaluations it may take; by default as many as a few tenths of a second allow, more only for data on
        which a method takes minutes.
    """
    filled = len(transactions) - transactions.empty_rows
    if not 1 < k <= filled:
        raise BadInputError(f"k must be from 2 to {filled:,}, the records that hold anything (got {k})")
    measure = _measure(transactions, taxonomy, k)
    losing = np.flatnonzero(measure.rows.copies < k)  # the others have k - 1 rows at distance 0
    share = (measure.rows.length * measure.rows.copies)[losing] / transactions.occurrences
    dice, chance = np.random.default_rng(0), share / max(share.sum(), 1e-300)
    size = len(losing)
    if size > LEAST_SAMPLE:  # the pilot's rows are left out of the estimate, so that it stays unbiased
        size = min(_affordable(measure, dice.choice(losing, PILOT, p=chance), budget), size)
    if size == len(losing):
        return Bound(float((share * _lost_by_item(measure, losing)).sum()), 0.0, filled)
    # Rows are drawn by their items: the loss of an item varies far less than that of a row.
    found = share.sum() * _lost_by_item(measure, dice.choice(losing, size, p=chance))
    error = float(found.std(ddof=1) / np.sqrt(size))
    return Bound(max(float(found.mean()) - SAFE_ERRORS * error, 0.0), error, size)


def _measure(transactions: Transactions, taxonomy: Taxonomy, k: int) -> _Measure:
    """Order the rows by length, equal ones together, and keep one of each."""
    scale, weight = max(taxonomy.leaf_count - 1, 1), lm_drops(taxonomy)
    weight[0] = scale - (taxonomy.leaf_count - 1)  # 1 - LM(root): 0, but for a tree of one leaf
    rows, length = leaf_rows(transactions, taxonomy), transactions.lengths
    # A row's sum of random marks brings equal rows together; it depends on the content alone, not on the position.
    mark = np.random.default_rng(0).integers(-(1 << 63), (1 << 63) - 1, taxonomy.leaf_count)
    marks = list_sums(rows.start, mark[rows.leaf] * rows.times)
    order = np.lexsort((marks, length))[transactions.empty_rows :]
    first = np.flatnonzero(~repeats(compact(rows, order)))
    copies = np.diff(np.append(first, len(order)))
    bags = ancestor_rows(compact(rows, order[first]), tree_arrays(taxonomy))
    return _Measure(
        Neighbours(bags, length[order[first]], copies, invert(bags, weight)), weight, scale, k - 1
    )


def _affordable(measure: _Measure, pilot: Ints64, budget: int | None) -> int:
    """Return for how many rows the budget lasts, given the cost of some."""
    if budget is None:
        budget = max(BUDGET, BUDGET_BY_ENTRY * len(measure.rows.lists.row))
    _, evaluations = nearest_sums(*measure[:3], pilot, measure.nearest)
    return max(budget * len(pilot) // evaluations, LEAST_SAMPLE)


def _lost_by_item(measure: _Measure, chosen: Ints64) -> Floats:
    """Return half the mean distance of each chosen row to its nearest ones, divided by its length; on all cores."""
    parts = np.array_split(chosen, len(chosen) // PART + 1)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        sums = list(pool.map(lambda part: nearest_sums(*measure[:3], part, measure.nearest)[0], parts))
    return np.concatenate(sums) / (2 * measure.nearest * measure.scale * measure.rows.length[chosen])
