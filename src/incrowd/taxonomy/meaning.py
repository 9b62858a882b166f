"""The concepts that taxonomy nodes mean; an unlisted item is a concept of its own, unlike every other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.ragged import count_by_group, list_ids
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.taxonomy.attach import SAME_CONCEPT, UNRELATED
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Categories", "Meaning", "categories", "meaning_of", "row_categories"]


class Categories(NamedTuple):
    """Bags of nodes: user u has ``node[start[u]:start[u + 1]]``, ascending and distinct, each `times` times."""

    start: Ints64
    node: Ints32
    times: Ints32


class Meaning(NamedTuple):
    """Concepts, as nodes of a tree.

    ``of_node`` is the concept that each node means, ``private`` marks the nodes whose labels are people's own words;
    ``instead`` is the node whose name may be published for them. ``parent`` and ``depth`` are those of a tree in which
    unlisted items hang directly below the root.
    """

    of_node: Ints32
    private: Bools
    instead: Ints32
    parent: Ints32
    depth: Ints32


def meaning_of(taxonomy: Taxonomy) -> Meaning:
    """Return what the nodes of a taxonomy mean to which items are attached.

    A leaf that was added below its concept means the concept.
    """
    nodes = np.arange(len(taxonomy), dtype=np.int32)
    parent, depth = taxonomy.parent.copy(), (taxonomy.level - 1).astype(np.int32)
    if taxonomy.edge is None:  # built from the data: all its leaves are people's own words
        return Meaning(nodes, taxonomy.is_leaf, np.maximum(taxonomy.parent, 0), parent, depth)
    of_node = np.where(taxonomy.is_leaf & (taxonomy.edge == SAME_CONCEPT), taxonomy.parent, nodes)
    private = taxonomy.is_leaf & (taxonomy.edge >= UNRELATED)
    branch = np.flatnonzero((taxonomy.parent == 0) & (taxonomy.edge >= UNRELATED))
    instead = np.where(private, branch[0] if len(branch) else 0, of_node)
    parent[private], depth[private] = 0, 1
    return Meaning(of_node.astype(np.int32), private, instead.astype(np.int32), parent, depth)


def row_categories(transactions: Transactions, taxonomy: Taxonomy, meaning: Meaning) -> Categories:
    """Return each row as a bag of concepts."""
    leaves = taxonomy.leaves_of(transactions.items)
    return categories(transactions.indptr, leaves, transactions.counts, meaning)


def categories(start: Ints64, nodes: Ints32, counts: Ints32, meaning: Meaning) -> Categories:
    """Return bags of nodes as bags of the concepts that they mean; counts of nodes with the same meaning are added up."""
    bags = count_by_group(list_ids(start), meaning.of_node[nodes], counts, len(start) - 1)
    return Categories(bags.start, bags.value.astype(np.int32), bags.times.astype(np.int32))
