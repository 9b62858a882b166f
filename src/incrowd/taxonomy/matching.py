"""Finds the nodes that the data's items mean: by id, by full path, by name; else by these in another case.

Whichever way an item is found, it stays the item that it is: what is published of it is its own text, never the
taxonomy's. So a wrong guess about its case moves it to another place in the tree and changes no word of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.types import Bools, Ints32
from incrowd.taxonomy.tree import Taxonomy, are_single, find_by_label, positions

__all__ = ["ARROW", "CategoryFinder", "Located", "find_in_paths", "in_own_place", "locate", "own_names"]

ARROW = " > "
SEPARATORS = ("/", ARROW)


class Located(NamedTuple):
    """The node of each item, -1 where there is none, and which items were found in another case only."""

    node: Ints32
    other_case: Bools


def locate(tree: Taxonomy, items: pa.Array) -> Located:
    """Find the node of each item; items that the tree lacks are looked for in any case."""
    node = tree.find(tree, items)
    lacking = node < 0
    if lacking.any():
        node = node.copy()
        node[lacking] = tree.find(tree, items.filter(pa.array(lacking)), any_case=True)
    return Located(node, lacking & (node >= 0))


def in_own_place(tree: Taxonomy, items: pa.Array, node: Ints32, above: Ints32) -> Bools:
    """Tell which items, given the nodes that they mean, hang where the tree has them if they hang below some nodes.

    That is below the node that an item means, or as that node itself where this is a leaf of the item's name. What the tree lacks
    (-1) hangs nowhere in it.
    """
    at = np.maximum(node, 0)
    is_node = np.array(pc.equal(tree.labels_of(at), items), dtype=np.bool_) & tree.is_leaf[at]
    own: Bools = (node >= 0) & ((above == node) | (is_node & (above == tree.parent[at])))
    return own


def own_names(tree: Taxonomy) -> pa.StringArray:
    """Return the labels, without the parent's label where a path begins with it."""
    names, above = tree.labels, tree.labels_of(np.maximum(tree.parent, 0))
    for separator in SEPARATORS:
        last_step = pc.replace_substring_regex(tree.labels, f"^.*{separator}", "")
        is_path = pc.equal(pc.binary_join_element_wise(above, last_step, separator), tree.labels)
        names = pc.if_else(is_path, last_step, names)
    return names


def find_in_paths(tree: Taxonomy, items: pa.Array, *, any_case: bool = False) -> Ints32:
    """Find an item by its whole path, else by its last step where no other path ends in it."""
    return _first_found(
        find_by_label(tree, items, any_case=any_case), _find_by_name(tree, items, any_case=any_case)
    )


@dataclass(frozen=True, eq=False)
class CategoryFinder:
    """Finds an item by its id, else by its whole path, else by its name where no other node has it.

    Parameters
    ----------
    ids, labels
        The ids that a file gives, and the labels of their nodes.
    """

    ids: pa.StringArray
    labels: pa.StringArray

    def __call__(self, tree: Taxonomy, items: pa.Array, *, any_case: bool = False) -> Ints32:
        """Return each item's node; -1 where there is none."""
        known = positions(items, self.ids, any_case=any_case)
        labels = self.labels.take(pa.array(known, mask=known < 0))
        spaced = pc.replace_substring_regex(items, r"\s*>\s*", ARROW)
        return _first_found(positions(labels, tree.labels), find_in_paths(tree, spaced, any_case=any_case))


def _find_by_name(tree: Taxonomy, items: pa.Array, *, any_case: bool) -> Ints32:
    """Find an item by a name that only one node has."""
    names = own_names(tree)
    node = positions(items, names, any_case=any_case)
    return np.where(are_single(names)[node] & (node >= 0), node, -1).astype(np.int32)


def _first_found(first: Ints32, second: Ints32) -> Ints32:
    return np.where(first >= 0, first, second)
