"""Words that WordNet lacks: what kind of word each is, what it is published as, and the node that it hangs under.

:mod:`~incrowd.taxonomy.words.entries` has the order in which kinds are tried, :mod:`~incrowd.taxonomy.words.names` asks it for many words, and :mod:`~incrowd.taxonomy.words.tree` WordNet's tree
with the nodes that are added for them. Nothing here depends on the data: the table ships with the package.
"""

from __future__ import annotations

from incrowd.taxonomy.words.entries import KINDS, Entry, name_words, why_unknown
from incrowd.taxonomy.words.names import names_of, published_as, with_texts
from incrowd.taxonomy.words.tree import named_tree

__all__ = [
    "KINDS",
    "Entry",
    "name_words",
    "named_tree",
    "names_of",
    "published_as",
    "why_unknown",
    "with_texts",
]
