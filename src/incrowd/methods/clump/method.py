"""Clump: clusters of similar transactions, each published as its least common generalization.

Milani Fard & Wang, "An Effective Clustering Approach to Web Query Log Anonymization", SECRYPT 2010.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from incrowd.core.classes import WITHHELD, Classes, filled_rows
from incrowd.core.ragged import starts_of
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints64
from incrowd.errors import check_count
from incrowd.kernels.arrays import leaf_rows, lm_drops, tree_arrays
from incrowd.kernels.lcg import ancestor_rows, common_generalization
from incrowd.methods.clump.kernel import clump_rows
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["check_clump", "clump"]


def clump(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    criterion: Literal["increase", "total"] = "increase",
    r: int = 10,
    order: Literal["descending", "ascending", "random"] = "descending",
    duplicates: Literal["keep", "drop"] = "keep",
    seed: int = 0,
) -> Classes:
    """Grow clusters of k around seeds by least generalization loss; publish what their rows have in common.

    Parameters
    ----------
    transactions, taxonomy
        Data and a tree to which its items are attached.
    k
        The least number of rows in a cluster.
    criterion
        ``"increase"``: a row joins the cluster whose generalization loss (GGD) grows least. ``"total"``: the cluster
        whose loss is least with it, as the paper says literally; it favours short clusters and loses far more.
    r
        How many of the first clusters that are not full are tried for each row.
    order
        Rows by length: the longest first (the paper's), the shortest first, or shuffled by the seed.
    duplicates
        ``"keep"`` (Clump1): a node as often as all rows of the cluster have it. ``"drop"`` (Clump2): once.
    seed
        For ``order="random"``.
    """
    check_clump(r=r)
    filled = filled_rows(transactions, k)
    rows, tree = leaf_rows(transactions, taxonomy), tree_arrays(taxonomy)
    ancestors = ancestor_rows(rows, tree)
    position = _ordered(transactions, filled, order, seed)
    scale = max(taxonomy.leaf_count - 1, 1)
    cluster = clump_rows(ancestors, lm_drops(taxonomy), scale, position, k, r, criterion == "increase")
    members = position[np.argsort(cluster, kind="stable")]
    row_start = starts_of(np.bincount(cluster))
    published = common_generalization(ancestors, tree, row_start, members)
    of_row = np.full(len(transactions), WITHHELD, dtype=np.int32)
    of_row[position] = cluster
    counts = published.counts if duplicates == "keep" else np.ones_like(published.counts)
    return Classes(of_row, published.start, published.nodes, counts)


def check_clump(*, r: int, **_: object) -> None:
    """Refuse parameters out of range."""
    check_count("r", r)


def _ordered(transactions: Transactions, filled: Ints64, order: str, seed: int) -> Ints64:
    """Return the rows in the order in which they are assigned; equal lengths stay in input order."""
    if order == "random":
        return np.random.default_rng(seed).permutation(filled)
    length = transactions.lengths[filled]
    return filled[np.argsort(length if order == "ascending" else -length, kind="stable")]
