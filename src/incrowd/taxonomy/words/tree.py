"""WordNet's tree with the nodes and the words that the table adds to it. It is the same on every machine and for all data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.types import Ints32
from incrowd.taxonomy.sources.wordnet import lexicon
from incrowd.taxonomy.tree import Taxonomy, find_by_label, positions
from incrowd.taxonomy.words.names import names_of
from incrowd.taxonomy.words.table import word_table

__all__ = ["NamedFinder", "named_tree"]


@dataclass(frozen=True, eq=False)
class NamedFinder:
    """Finds WordNet's nouns at their first sense, nodes and words of the table by their labels, and other words at the node that tells their kind.

    A word that is published as something else, such as a telephone number, is found nowhere.

    Parameters
    ----------
    place
        The node of each of WordNet's own nodes.
    """

    place: Ints32

    def __call__(self, tree: Taxonomy, items: pa.Array, *, any_case: bool = False) -> Ints32:
        """Return each item's node; -1 where there is none."""
        if any_case:
            lowered = pc.utf8_lower(items)
            changed = np.array(pc.not_equal(lowered, items), dtype=np.bool_)
            found = np.full(len(items), -1, dtype=np.int32)
            found[changed] = self(tree, lowered.filter(pa.array(changed)))
            return found
        noun = lexicon().nodes_of(items)
        node = np.where(noun >= 0, self.place[noun], find_by_label(tree, items)).astype(np.int32)
        lacking = np.flatnonzero(node < 0)
        names = names_of(items.take(pa.array(lacking)))
        stays = pc.equal(names["item"], names["word"])
        above = pc.if_else(stays, names["parent"].cast(pa.string()), None)
        node[lacking] = positions(above.combine_chunks(), tree.labels)
        return node


@cache
def named_tree() -> Taxonomy:
    """Return the tree: the table's inner nodes below WordNet's, and its words as leaves below both."""
    known, table = lexicon(), word_table()
    labels = pa.concat_arrays(
        [known.labels, pa.array(table.parents.keys(), pa.string()), pa.array(table.words.keys(), pa.string())]
    )
    above = [*table.parents.values(), *(listed.parent for listed in table.words.values())]
    parent = np.concatenate([known.parent, positions(pa.array(above, pa.string()), labels)]).astype(np.int32)
    tag = pa.array(np.arange(len(labels), dtype=np.int32))
    numbered = Taxonomy.from_parents(parent, tag, name="wordnet")
    place = np.empty(len(labels), dtype=np.int32)
    place[numbered.labels.to_numpy()] = np.arange(len(labels), dtype=np.int32)
    finder = NamedFinder(place[: len(known.labels)])
    return replace(numbered, labels=labels.take(numbered.labels), find=finder)
