"""What nodes mean: concepts of a knowledge base, in which what is not listed is like nothing but itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.likeness import Categories
from incrowd.lists import added_up, list_of
from incrowd.taxonomy.ground import SAME_CONCEPT, UNRELATED
from incrowd.taxonomy.tree import Taxonomy
from incrowd.transactions import Transactions

__all__ = ["Meaning", "categories", "meaning_of", "row_categories"]

Bools = npt.NDArray[np.bool_]
Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]


class Meaning(NamedTuple):
    """Concepts, as nodes of a tree.

    ``of_node`` is the concept that each node means, ``private`` tells of the nodes whose labels are people's own words;
    ``instead`` is the node whose name may be published for them. ``parent`` and ``depth`` are those of a tree in which
    unlisted items hang directly below the root.
    """

    of_node: Ints32
    private: Bools
    instead: Ints32
    parent: Ints32
    depth: Ints32


def meaning_of(taxonomy: Taxonomy) -> Meaning:
    """Return what the nodes of a grounded taxonomy mean.

    A leaf that was added below its concept means the concept.
    """
    nodes = np.arange(len(taxonomy), dtype=np.int32)
    parent, depth = taxonomy.parent.copy(), (taxonomy.level - 1).astype(np.int32)
    if taxonomy.edge is None:  # made from the data: all its leaves are people's own words
        return Meaning(nodes, taxonomy.is_leaf, np.maximum(taxonomy.parent, 0), parent, depth)
    of_node = np.where(taxonomy.is_leaf & (taxonomy.edge == SAME_CONCEPT), taxonomy.parent, nodes)
    private = taxonomy.is_leaf & (taxonomy.edge >= UNRELATED)
    branch = np.flatnonzero((taxonomy.parent == 0) & (taxonomy.edge >= UNRELATED))
    instead = np.where(private, branch[0] if len(branch) else 0, of_node)
    parent[private], depth[private] = 0, 1
    return Meaning(of_node.astype(np.int32), private, instead.astype(np.int32), parent, depth)


def row_categories(transactions: Transactions, taxonomy: Taxonomy, meaning: Meaning) -> Categories:
    """Return each row as a bag of concepts."""
    assert taxonomy.item_leaf is not None  # noqa: S101 - ground() has run; methods see to that
    leaves = taxonomy.leaf_nodes[taxonomy.item_leaf[transactions.items]]
    return categories(transactions.indptr, leaves, transactions.counts, meaning)


def categories(start: Ints64, nodes: Ints32, counts: Ints32, meaning: Meaning) -> Categories:
    """Return bags of nodes as bags of the concepts that they mean; nodes of the same meaning are added up."""
    bags = added_up(list_of(start), meaning.of_node[nodes], counts, len(start) - 1)
    return Categories(bags.start, bags.value.astype(np.int32), bags.times.astype(np.int32))
