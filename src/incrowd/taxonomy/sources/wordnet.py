"""WordNet's nouns as a taxonomy: first sense, first hypernym."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.taxonomy.tree import Found, Taxonomy, find_by_label
from incrowd.text.lexicon import lexicon

__all__ = ["wordnet_tree"]


def wordnet_tree() -> Taxonomy:
    """Return the tree of all noun synsets, each under its first hypernym, ``entity`` at the root.

    A word is placed at its first sense. Synonyms share a synset: the word that the synset is called by
    is the synset itself, every other one becomes a leaf below it.
    """
    words = lexicon()
    return Taxonomy.from_parents(words.parent, words.labels, name="wordnet", find=_find_word)


def _find_word(tree: Taxonomy, items: pa.Array) -> Found:
    """Find each word's first sense; the synset is the item itself where its name is that word.

    A name such as ``mouse (sense 3)`` is found as well.
    """
    node = lexicon().nodes_of(items)
    node = np.where(node >= 0, node, find_by_label(tree, items)[0])
    label = tree.labels_of(np.maximum(node, 0))
    same = pc.equal(label, items).to_numpy(zero_copy_only=False)
    return node, same & (node >= 0)
