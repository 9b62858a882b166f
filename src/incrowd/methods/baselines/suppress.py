"""Rare-item suppression: items of fewer than k people are removed. It promises nothing.

Adar, "User 4XXXXX9: Anonymizing query logs", Query Log Analysis workshop at WWW 2007.
"""

from __future__ import annotations

import numpy as np

from incrowd.core.classes import WITHHELD, Classes, filled_rows
from incrowd.core.ragged import count_distinct, list_ids, starts_of
from incrowd.core.transactions import Transactions
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["suppress"]


def suppress(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    seed: int = 0,  # noqa: ARG001 - every method has a seed; this one makes no random choice
) -> Classes:
    """Remove the items of fewer than k rows and publish the rest unchanged; rows may stay unique.

    Parameters
    ----------
    transactions, taxonomy
        Data and a tree to which its items are attached.
    k
        The least number of rows that share a published item; where a person may have several rows, of people.
    seed
        Has no effect.
    """
    filled_rows(transactions, k)
    row = list_ids(transactions.indptr)
    people = count_distinct(transactions.items, transactions.person[row], len(transactions.vocabulary))
    kept = people[transactions.items] >= k
    row = row[kept]
    nodes = taxonomy.leaves_of(transactions.items[kept])
    order = np.lexsort((nodes, row))
    published, lengths = np.unique(row, return_counts=True)
    of_row = np.full(len(transactions), WITHHELD, dtype=np.int32)
    of_row[published] = np.arange(len(published), dtype=np.int32)
    start = starts_of(lengths)
    return Classes(of_row, start, nodes[order], transactions.counts[kept][order])
