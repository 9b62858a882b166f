"""Partition: top-down, local generalization (partition.txt; He & Naughton, VLDB 2009)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from incrowd.kernels.arrays import leaf_rows, tree_arrays
from incrowd.kernels.generalize import smallest_counts
from incrowd.kernels.partition import partition_rows
from incrowd.methods.classes import WITHHELD, Classes
from incrowd.taxonomy.tree import Taxonomy
from incrowd.transactions import Transactions

__all__ = ["partition"]


def partition(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    publish: Literal["set", "bag"] = "set",
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
        group's rows all have it, LG(bag) of ssc.txt, section V-A.
    seed
        Has no effect: Partition makes no random choice.
    """
    rows, tree = leaf_rows(transactions, taxonomy), tree_arrays(taxonomy)
    filled = np.flatnonzero(np.diff(transactions.indptr) > 0)
    groups = partition_rows(rows, tree, filled, k)
    of_row = np.full(len(transactions), WITHHELD, dtype=np.int32)
    of_row[groups.rows] = np.repeat(
        np.arange(len(groups.row_start) - 1, dtype=np.int32), np.diff(groups.row_start)
    )
    if publish == "bag":
        counts = smallest_counts(rows, tree, groups)
    else:
        counts = np.ones(len(groups.nodes), dtype=np.int32)
    return Classes(of_row, groups.node_start, groups.nodes, counts)
