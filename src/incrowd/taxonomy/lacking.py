"""Which items a taxonomy lacks, and below which class each would hang all the same. Private: it names items of the data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.core.kinds import are_typed
from incrowd.core.types import Ints32, Ints64
from incrowd.taxonomy.matching import locate
from incrowd.taxonomy.moves import Moves
from incrowd.taxonomy.tree import Taxonomy, positions
from incrowd.taxonomy.words import named_tree
from incrowd.taxonomy.words.table import word_table

__all__ = ["LackingItems", "lacking_items"]


class LackingItems(NamedTuple):
    """The items that a taxonomy lacks, as positions, and the node of the class that each hangs below: -1 where nothing is known of it."""

    item: Ints64
    above: Ints32
    tree: Taxonomy

    def below(self, places: Ints64) -> list[str | None]:
        """Return the labels of the classes that some of them hang below; None where nothing is known."""
        above = self.above[places]
        labels: list[str] = self.tree.labels_of(np.maximum(above, 0)).to_pylist()
        return [label if node >= 0 else None for node, label in zip(above.tolist(), labels, strict=True)]


def lacking_items(
    tree: Taxonomy, items: pa.Array, *, named: bool = False, moves: Moves | None = None
) -> LackingItems:
    """Return the items that a tree lacks, but for those of further kinds and those that were moved: these have a place.

    With `named`, the tree is WordNet's, and a word that it lacks hangs below the class that tells its kind. What is published in place of a
    word, such as the class of telephone numbers, is no word that WordNet lacks.
    """
    lacking = (locate(tree, items).node < 0) & ~are_typed(items)
    full = named_tree() if named else tree
    if moves is not None:
        lacking &= moves.on(full, named=named).below(items) < 0
    if not named:
        found = np.flatnonzero(lacking)
        return LackingItems(found, np.full(len(found), -1, dtype=np.int32), full)
    lacking &= positions(items, pa.array(word_table().parents.keys(), pa.string())) < 0
    found = np.flatnonzero(lacking)
    words = items.take(pa.array(found))
    node = locate(full, words).node
    at = np.maximum(node, 0)
    itself = (node >= 0) & (positions(words, full.labels, any_case=True) == node)
    return LackingItems(found, np.where(itself, full.parent[at], node).astype(np.int32), full)
