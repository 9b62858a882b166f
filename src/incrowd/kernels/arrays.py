"""The data and the tree as the kernels see them: named tuples of plain arrays."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel
from incrowd.taxonomy.tree import Taxonomy
from incrowd.transactions import Transactions

__all__ = ["Rows", "Tree", "child_towards", "leaf_rows", "tree_arrays"]

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]
Array = TypeVar("Array", bound=npt.NDArray[Any])


class Rows(NamedTuple):
    """Bags of leaf ranks: row r owns positions ``start[r] .. start[r + 1] - 1``, ascending by leaf."""

    start: Ints64
    leaf: Ints32
    times: Ints32


class Tree(NamedTuple):
    """A taxonomy's arrays; ``weight`` is M * NCP as an integer, so that gains add up without rounding."""

    parent: Ints32
    leaf_nodes: Ints32
    first_leaf: Ints32
    last_leaf: Ints32
    child_start: Ints32
    children: Ints32
    weight: Ints64


def leaf_rows(transactions: Transactions, taxonomy: Taxonomy) -> Rows:
    """Return the transactions in terms of the taxonomy's leaves."""
    assert taxonomy.item_leaf is not None  # noqa: S101 - ground() has run; methods see to that
    leaf = taxonomy.item_leaf[transactions.items]
    steps = np.diff(leaf)
    inner = np.ones(len(leaf), dtype=np.bool_)
    inner[transactions.indptr[:-1][np.diff(transactions.indptr) > 0]] = False
    if bool((steps[inner[1:]] > 0).all()):
        return Rows(transactions.indptr, _read_only(leaf), transactions.counts)
    row = np.repeat(np.arange(len(transactions)), np.diff(transactions.indptr))
    order = np.lexsort((leaf, row))
    return Rows(transactions.indptr, _read_only(leaf[order]), _read_only(transactions.counts[order]))


def _read_only(array: Array) -> Array:
    """Return a view that cannot be written, so that kernels always see one type and are compiled once."""
    view = array.view()
    view.flags.writeable = False
    return view


def tree_arrays(taxonomy: Taxonomy) -> Tree:
    """Return the taxonomy's arrays for the kernels."""
    leaves = (taxonomy.last_leaf - taxonomy.first_leaf).astype(np.int64)
    return Tree(
        _read_only(taxonomy.parent),
        _read_only(taxonomy.leaf_nodes),
        _read_only(taxonomy.first_leaf),
        _read_only(taxonomy.last_leaf),
        _read_only(taxonomy.child_start),
        _read_only(taxonomy.children),
        _read_only(np.where(taxonomy.is_leaf, 0, leaves)),
    )


@kernel
def child_towards(tree: Tree, node: int, leaf: int) -> int:
    """Return the child of `node` that covers the leaf (which `node` must cover)."""
    low, high = tree.child_start[node], tree.child_start[node + 1] - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if tree.first_leaf[tree.children[middle]] <= leaf:
            low = middle
        else:
            high = middle - 1
    child: int = tree.children[low]
    return child
