"""Apriori-based anonymization: k^m-anonymity by bottom-up, global generalization."""

from __future__ import annotations

import numpy as np

from incrowd.core.classes import WITHHELD, Classes, filled_rows
from incrowd.core.ragged import starts_of
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints64
from incrowd.errors import check_least
from incrowd.kernels.arrays import compact, leaf_rows, tree_arrays
from incrowd.methods.apriori.kernel import Cover, cover, lift_rare
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["apriori", "check_apriori"]


def apriori(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    m: int = 2,
    seed: int = 0,  # noqa: ARG001 - every method has a seed; this one makes no random choice
) -> Classes:
    """Generalize all rows to one hierarchy cut, so that any m published items are shared by at least k rows.

    This is algorithm AA of Terrovitis, Mamoulis and Kalnis ("Privacy-preserving anonymization of set-valued data", VLDB
    2008), as He & Naughton (VLDB 2009, section 5) describe it. The same item is published as the same node everywhere,
    and a row publishes the set of the nodes that cover its items.

    The cut starts at the leaves. For each size i = 1, ..., m, while an itemset (i different nodes of the cut
    that some row holds together) has fewer than k rows:

    1. take the first such itemset: its nodes are written in pre-order, and itemsets compare node by node;
    2. of its nodes' parents, take the one P that raises the item uncertainty (NCP) over all original occurrences
       least; of equals, the first in pre-order;
    3. move the cut up to P, which takes the place of all nodes of the cut below it: siblings go together.

    An itemset that is still rare after step 3 is again the first one, so it is generalized until it is not.

    Parameters
    ----------
    transactions, taxonomy
        Data and a tree to which its items are attached.
    k
        The least number of rows that share an itemset; where a person may have several rows, of people.
    m
        The most items in an itemset: how many items of a person an attacker may know.
    seed
        Has no effect: Apriori makes no random choice.
    """
    check_apriori(m=m)
    filled = filled_rows(transactions, k)
    tree = tree_arrays(taxonomy)
    # A person's rows one after the other, so that people can be counted in one walk.
    order = np.argsort(transactions.person, kind="stable")
    rows = compact(leaf_rows(transactions, taxonomy), order)
    data = cover(rows, tree, transactions.person[order], transactions.people is not None)
    size = 1
    while size <= min(m, data.length.max()):  # rows get shorter as their nodes merge
        lift_rare(data, tree, k, size)
        size += 1
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return _classes(data, filled, place)


def check_apriori(*, m: int, **_: object) -> None:
    """Refuse parameters out of range."""
    check_least("m", m)


def _classes(data: Cover, filled: Ints64, place: Ints64) -> Classes:
    """Put rows that publish the same set together; classes are numbered in order of their first row."""
    of_row = np.full(len(data.length), WITHHELD, dtype=np.int32)
    number: dict[bytes, int] = {}
    for row, at in zip(filled.tolist(), place[filled].tolist(), strict=True):
        nodes = data.node[data.start[at] : data.start[at] + data.length[at]].tobytes()
        of_row[row] = number.setdefault(nodes, len(number))
    sets = [np.frombuffer(nodes, dtype=np.int32) for nodes in number]
    start = starts_of([len(nodes) for nodes in sets])
    return Classes(of_row, start, np.concatenate(sets), np.ones(start[-1], dtype=np.int32))
