"""Classes of a release that follows earlier ones of the same people: groups of the past stay whole (docs/papers/previous.md).

Newcomers are grouped by the method itself. Groups of fewer than k people who have a record are merged with the group to which that costs least,
and each group publishes what the method makes of its rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.classes import WITHHELD, Classes, Generalizations
from incrowd.core.ragged import filtered_starts, list_ids, starts_of
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.errors import BadInputError
from incrowd.kernels.arrays import Rows, Tree, leaf_rows, lm_drops, tree_arrays
from incrowd.kernels.lcg import ancestor_rows, common_generalization
from incrowd.methods.people import merge_poor
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["NEWCOMER", "Standing", "followed"]

NEWCOMER = -2


class Standing(NamedTuple):
    """Where people stand by the past: the group of each row (or NEWCOMER, or WITHHELD), and of each person who is counted without one."""

    of_row: Ints64
    of_left: Ints64


def followed(
    transactions: Transactions,
    taxonomy: Taxonomy,
    standing: Standing,
    run: Callable[..., Any],
    records_of: Callable[..., Generalizations],
    *,
    k: int,
) -> Classes:
    """Return classes in which people of one group are together, and newcomers are none or at least k.

    Parameters
    ----------
    transactions, taxonomy
        The data, one row a person, and a tree to whose leaves its items are attached.
    standing
        Where its people stand. Empty rows are WITHHELD.
    run, records_of
        The method, as ``run(transactions, taxonomy, k=k)``, and what it makes of given groups of rows, as
        ``records_of(rows, tree, row_start, members)``.
    k
        The least number of rows in a class.
    """
    group, newcomers = _with_newcomers(transactions, taxonomy, standing.of_row, run, k=k)
    rows, tree = leaf_rows(transactions, taxonomy), tree_arrays(taxonomy)
    number = _numbers(group, transactions.owners, int(max(group.max(), standing.of_left.max(initial=0))) + 1)
    published = np.flatnonzero(group >= 0)
    of_group = number[group[published]]
    of_class = _merged(rows, tree, taxonomy, of_group, published, k)
    of_row = of_class[of_group]
    start, members = _listed(of_row, published)
    shown = records_of(rows, tree, start, members)
    everyone = np.full(len(transactions), WITHHELD, dtype=np.int32)
    everyone[published] = of_row
    left = of_class[number[standing.of_left]].astype(np.int32)
    notes = (*newcomers, *_notes(int(number.max()) + 1, len(shown.start) - 1))
    return Classes(everyone, shown.start, shown.nodes, shown.counts, notes=notes, left=left)


def _with_newcomers(
    data: Transactions, tree: Taxonomy, of_row: Ints64, run: Callable[..., Any], *, k: int
) -> tuple[Ints64, tuple[str, ...]]:
    """Return the group of each row: newcomers have groups that the method made of them, or are withheld if they are fewer than k."""
    is_new = of_row == NEWCOMER
    group = np.where(is_new, WITHHELD, of_row)
    number = int(np.count_nonzero(is_new))
    if number < k:
        told = f"Withheld {number:,} newcomers: fewer than {k:,} would be known by being new."
        return group, (told,) if number else ()
    made = run(_alone(data, is_new), tree, k=k)
    group[is_new] = made.of_row[is_new] + (int(group.max(initial=WITHHELD)) + 1)
    return group, (f"Grouped {number:,} newcomers on their own.",)


def _alone(data: Transactions, chosen: Bools) -> Transactions:
    """Return the data with empty rows but for the chosen ones, so that the vocabulary and the rows' places are the same."""
    keep = chosen[list_ids(data.indptr)]
    return replace(
        data,
        indptr=filtered_starts(data.indptr, keep),
        items=data.items[keep],
        counts=data.counts[keep],
        places=None if data.places is None else data.places[keep],
    )


def _numbers(group: Ints64, owners: pa.Array, groups: int) -> Ints32:
    """Return a number for each group that has rows, by the first name in it, so that the order of rows does not matter."""
    rank = np.empty(len(group), dtype=np.int64)
    rank[pc.sort_indices(owners).to_numpy(zero_copy_only=False)] = np.arange(len(group))
    first = np.full(groups, len(group), dtype=np.int64)
    np.minimum.at(first, group[group >= 0], rank[group >= 0])
    used = np.flatnonzero(first < len(group))
    number = np.full(groups, WITHHELD, dtype=np.int32)
    number[used[np.argsort(first[used])]] = np.arange(len(used), dtype=np.int32)
    return number


def _merged(rows: Rows, tree: Tree, taxonomy: Taxonomy, of_row: Ints32, published: Ints64, k: int) -> Ints64:
    """Merge groups of fewer than k rows with others, each with the one to which that costs least; return the class of each group."""
    start, members = _listed(of_row, published)
    sizes = np.diff(start)
    if len(published) < k:
        raise BadInputError(
            f"{len(published):,} people of the earlier releases have a record, and newcomers are too few: "
            f"a release needs at least k = {k:,} of either; wait until there are more people"
        )
    if not np.any(sizes < k):
        return np.arange(len(sizes))
    shown = common_generalization(ancestor_rows(rows, tree), tree, start, members)
    person = np.arange(len(of_row), dtype=np.int32)
    return merge_poor(shown, sizes, of_row, person, tree, lm_drops(taxonomy), k, copies=True).of_class


def _listed(of_row: Ints64 | Ints32, published: Ints64) -> tuple[Ints64, Ints64]:
    """Return where each group begins, and all rows, group by group."""
    return starts_of(np.bincount(of_row)), published[np.argsort(of_row, kind="stable")]


def _notes(groups: int, classes: int) -> tuple[str, ...]:
    merged = groups - classes
    return (
        (f"Merged {merged:,} of {groups:,} groups with others: too few of their people have a record.",)
        if merged
        else ()
    )
