"""Partition: top-down, local generalization.

Y. He and J. F. Naughton, "Anonymization of Set-Valued Data via Top-Down, Local Generalization", PVLDB 2(1), 2009, section 4.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np

from incrowd.core.classes import WITHHELD, Classes, Generalizations, filled_rows
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints64
from incrowd.kernels.arrays import Rows, Tree, leaf_rows, tree_arrays
from incrowd.kernels.generalize import Groups, smallest_counts
from incrowd.kernels.lcg import ancestor_rows, common_generalization
from incrowd.methods.partition.kernel import finish, joined, settled, split_rows, whole
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["partition", "partition_records", "published_by"]


ITEMS_IN_CACHE = 1 << 16  # a partition of so many items is finished by one thread, on a copy of its rows


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
        The data, and a tree to whose leaves its items are attached.
    k
        The least number of rows in a group.
    publish
        ``"set"``: the nodes of the group's hierarchy cut, once each. ``"bag"``: each node as often as all rows of the group
        have it (LG(bag) of J. Liu and K. Wang, "Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering",
        ICDM 2010, section V-A). ``"lcg"``: the least common generalization of the group's bags (A. Milani Fard and K. Wang,
        "An Effective Clustering Approach to Web Query Log Anonymization", SECRYPT 2010, Definition 2), which loses a little
        less again.
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
    shown = published_by(groups, rows, tree, publish)
    return Classes(of_row, shown.start, shown.nodes, shown.counts)


def partition_records(
    rows: Rows, tree: Tree, row_start: Ints64, members: Ints64, *, publish: str
) -> Generalizations:
    """Return what given groups of rows publish: the cut that partition would end with if it could not split them."""
    return published_by(settled(rows, tree, row_start, members), rows, tree, publish)


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

    def finished(group: int) -> Groups:
        members = coarse.rows[coarse.row_start[group] : coarse.row_start[group + 1]]
        cut = slice(coarse.node_start[group], coarse.node_start[group + 1])
        return finish(rows, tree, members, coarse.nodes[cut], coarse.gains[cut], k)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return joined(list(threads.map(finished, range(len(coarse.row_start) - 1))))
