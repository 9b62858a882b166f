"""A balanced tree built from the data: each F neighbours in the sorted items get a parent, level by level, up to a root."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.ragged import starts_of
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints32, Ints64
from incrowd.errors import BadInputError
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["balanced", "balanced_tree", "unused_label"]

LEAST_FAN_OUT = 2
MOST_FAN_OUT = 1_000_000
INTEGER = r"^-?[0-9]{1,18}$"
NUMBER = r"^-?[0-9]+(\.[0-9]+)?$"


def balanced(transactions: Transactions, fan_out: int = 5) -> Taxonomy:
    """Build the balanced tree over the items that occur (He & Naughton, VLDB 2009, section 5.1.2).

    Items are sorted as numbers if all of them are numbers, else by code point. Its inner nodes are
    called ``group LEVEL.INDEX``, so no label quotes an item.
    """
    if not LEAST_FAN_OUT <= fan_out <= MOST_FAN_OUT:
        raise BadInputError(
            f"balanced:F needs a fan-out F from {LEAST_FAN_OUT} to {MOST_FAN_OUT:,} (got {fan_out})"
        )
    items = transactions.vocabulary
    if not len(items):
        raise BadInputError("balanced: there are no items to build a taxonomy on; every record is empty")
    order = _sort_order(items)
    made = balanced_tree(items.take(pa.array(order)), fan_out, "group", root="anything")
    places = pa.array(np.arange(len(made.parent), dtype=np.int32))
    tree = Taxonomy.from_parents(made.parent, places, name=f"balanced:{fan_out}")
    leaf = np.empty(len(items), dtype=np.int32)
    leaf[order] = np.arange(len(items), dtype=np.int32)
    return replace(
        tree,
        labels=made.labels.take(tree.labels),
        items=items,
        item_leaf=leaf,
        made=~tree.is_leaf,
        given_leaves=made.room[tree.labels.to_numpy()],
    )


class BalancedTree(NamedTuple):
    """A balanced tree: the leaves first, then level by level, the root last.

    ``room`` is how many leaves each node can have: 1 for a leaf, 0 for the root, which can have any number.
    """

    parent: Ints32
    labels: pa.Array
    room: Ints32


def balanced_tree(leaves: pa.Array, fan_out: int, prefix: str, *, root: str) -> BalancedTree:
    """Return a balanced tree over leaves; inner nodes are named by their level and number."""
    widths = [len(leaves)]
    while len(widths) == 1 or widths[-1] > 1:
        widths.append(-(-widths[-1] // fan_out))
    starts = starts_of(widths)
    parents, labels, room = [], [leaves], []
    for level, width in enumerate(widths[:-1]):
        parents.append(starts[level + 1] + np.arange(width) // fan_out)
        room.append(np.full(width, min(fan_out**level, np.iinfo(np.int32).max)))
        if level:
            numbers = pa.array(np.arange(1, width + 1)).cast(pa.string())
            labels.append(pc.binary_join_element_wise(pa.scalar(f"{prefix} {level}."), numbers, ""))
    labels.append(pa.array([root], pa.string()))
    return BalancedTree(
        np.concatenate([*parents, [-1]]).astype(np.int32),
        pa.concat_arrays(labels),
        np.concatenate([*room, [0]]).astype(np.int32),
    )


def unused_label(wish: str, taken: pa.Array) -> str:
    """Return `wish`, with as many ``~`` appended as needed so that neither it nor ``wish 1.2`` is a class of the tree.

    It may equal an item: items are distinguished from classes by more than the label.
    """
    while pc.any(pc.match_substring_regex(taken, f"^{re.escape(wish)}( [0-9]+[.][0-9]+)?$")).as_py():
        wish += "~"
    return wish


def _sort_order(items: pa.Array) -> Ints64:
    """Return the order of the items: by value if all are numbers, else as they come (by code point)."""
    if pc.all(pc.match_substring_regex(items, INTEGER)).as_py():
        return np.argsort(items.cast(pa.int64()).to_numpy(), kind="stable")
    if pc.all(pc.match_substring_regex(items, NUMBER)).as_py():
        return np.argsort(items.cast(pa.float64()).to_numpy(), kind="stable")
    return np.arange(len(items))
