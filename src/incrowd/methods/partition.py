"""Partition: top-down, local generalization (partition.txt; He & Naughton, VLDB 2009)."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
import numpy.typing as npt

from incrowd.kernels.arrays import Rows, Tree, compact, leaf_rows, tree_arrays
from incrowd.kernels.generalize import smallest_counts
from incrowd.kernels.lcg import Generalizations, ancestor_rows, common_generalization
from incrowd.kernels.partition import CLOSED, Groups, split_rows, whole
from incrowd.methods.classes import WITHHELD, Classes, filled_rows
from incrowd.taxonomy.tree import Taxonomy
from incrowd.transactions import Transactions

__all__ = ["partition", "published_by"]

Ints64 = npt.NDArray[np.int64]

ITEMS_IN_CACHE = 1 << 16  # a partition of so many items is finished by one thread, on a copy of its own


def partition(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    publish: Literal["set", "bag", "lcg"] = "set",
    seed: int = 0,  # noqa: ARG001 - every method has a seed; this one makes no random choice
) -> Classes:
    """Split the rows top-down into groups of at least k that share a generalized set.

    Parameters
    ----------
    transactions, taxonomy
        Data and a tree that is grounded in its items.
    k
        The least number of rows in a group.
    publish
        ``"set"``: the nodes of the group's hierarchy cut, once each. ``"bag"``: each node as often as the
        group's rows all have it, LG(bag) of ssc.txt, section V-A. ``"lcg"``: the least common generalization
        of the group's bags (clump.txt, Definition 2), which loses a little less again.
    seed
        Has no effect: Partition makes no random choice.
    """
    rows, tree = leaf_rows(transactions, taxonomy), tree_arrays(taxonomy)
    filled = filled_rows(transactions, k)
    groups = _groups(rows, tree, filled, k)
    of_row = np.full(len(transactions), WITHHELD, dtype=np.int32)
    of_row[groups.rows] = np.repeat(
        np.arange(len(groups.row_start) - 1, dtype=np.int32), np.diff(groups.row_start)
    )
    said = published_by(groups, rows, tree, publish)
    return Classes(of_row, said.start, said.nodes, said.counts)


def published_by(groups: Groups, rows: Rows, tree: Tree, publish: str) -> Generalizations:
    """Return what each group publishes."""
    if publish == "lcg":
        return common_generalization(ancestor_rows(rows, tree), tree, groups.row_start, groups.rows)
    if publish == "bag":
        return Generalizations(groups.node_start, groups.nodes, smallest_counts(rows, tree, groups))
    return Generalizations(groups.node_start, groups.nodes, np.ones(len(groups.nodes), np.int32))


def _groups(rows: Rows, tree: Tree, order: Ints64, k: int) -> Groups:
    """Split until partitions are small, then finish those on all cores; threads do not change the result."""
    enough = max(ITEMS_IN_CACHE * len(order) // len(rows.leaf), k)
    coarse = split_rows(rows, tree, whole(tree, order), k, enough)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        parts = list(
            threads.map(
                lambda group: _finished(rows, tree, coarse, group, k), range(len(coarse.row_start) - 1)
            )
        )
    return Groups(
        _joined([part.row_start for part in parts]),
        np.concatenate([part.rows for part in parts]),
        _joined([part.node_start for part in parts]),
        np.concatenate([part.nodes for part in parts]),
        np.concatenate([part.gains for part in parts]),
    )


def _finished(rows: Rows, tree: Tree, groups: Groups, group: int, k: int) -> Groups:
    """Split one group to the end, on a compact copy of its rows."""
    members = groups.rows[groups.row_start[group] : groups.row_start[group + 1]]
    cut = slice(groups.node_start[group], groups.node_start[group + 1])
    nodes, gains = groups.nodes[cut], groups.gains[cut]
    alone = Groups(
        np.array([0, len(members)]), np.arange(len(members)), np.array([0, len(nodes)]), nodes, gains
    )
    if (gains == CLOSED).all():
        return alone._replace(rows=members)
    parts = split_rows(compact(rows, members), tree, alone, k, 0)
    return parts._replace(rows=members[parts.rows])


def _joined(starts: list[Ints64]) -> Ints64:
    """Return the starts of lists that are put behind one another."""
    return np.concatenate(([0], np.cumsum(np.concatenate([np.diff(start) for start in starts]))))
