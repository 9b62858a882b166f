"""What many words are, as columns. What was found is remembered: reading a log names its words, and attaching its items asks again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.types import Ints64
from incrowd.taxonomy.sources.wordnet import lexicon
from incrowd.taxonomy.tree import positions
from incrowd.taxonomy.words.entries import KINDS, name_words

__all__ = ["UNKNOWN", "names_of", "published_as", "with_texts"]

UNKNOWN = -1
REMEMBERED = 4_000_000  # words; some 40 bytes each
_AT_ONCE = 100_000
_COLUMNS = pa.schema(
    [
        ("word", pa.string()),
        ("kind", pa.int8()),
        ("item", pa.string()),
        ("parent", pa.dictionary(pa.int32(), pa.string())),
    ]
)


class _Memory:
    """The words that were named last, in no order."""

    table = _COLUMNS.empty_table()


_memory = _Memory()


def names_of(words: pa.Array) -> pa.Table:
    """Return what each word (in small letters) is, as :func:`~incrowd.taxonomy.words.entries.name_words` says it.

    Returns
    -------
    pyarrow.Table
        Of ``word``, ``kind`` (its number in ``KINDS``, or `UNKNOWN`), ``item`` (what is published in its place: the word itself
        where nothing is known) and ``parent`` (the label of the node above; null where nothing is known).
    """
    known = _memory.table
    place = positions(words, known["word"]).copy()
    missing = place < 0
    if missing.any():
        lacking = words.filter(pa.array(missing))
        new = lacking.unique()
        place[missing] = len(known) + positions(lacking, new)
        found = _named(new)
        known = pa.concat_tables([known, found]).unify_dictionaries()
        _memory.table = known if len(known) <= REMEMBERED else found
    return known.take(pa.array(place))


def published_as(items: pa.Array) -> pa.Array:
    """Return what is published in each item's place where WordNet lacks it: mostly the item itself, whatever the case of its letters."""
    lowered = pc.utf8_lower(items)
    lacking = np.flatnonzero((lexicon().nodes_of(items) < 0) & (lexicon().nodes_of(lowered) < 0))
    small = lowered.take(pa.array(lacking))
    instead = names_of(small)["item"].combine_chunks()
    changed = np.array(pc.not_equal(instead, small), dtype=np.bool_)
    return with_texts(items, lacking[changed], instead.filter(pa.array(changed)))


def with_texts(texts: pa.Array, place: Ints64, others: pa.Array) -> pa.Array:
    """Return texts with those at some places replaced."""
    taken = np.arange(len(texts))
    taken[place] = len(texts) + np.arange(len(place))
    return pa.concat_arrays([texts, others]).take(pa.array(taken))


def _named(words: pa.Array) -> pa.Table:
    """Name words by the rules, some at a time: as objects they take much memory."""
    number = {kind: place for place, kind in enumerate(KINDS)}
    tables = []
    for start in range(0, len(words), _AT_ONCE):
        some = words[start : start + _AT_ONCE].to_pylist()
        entries = name_words(some)
        columns = {
            "word": some,
            "kind": [UNKNOWN if entry is None else number[entry.kind] for entry in entries],
            "item": [
                word if entry is None else entry.item for word, entry in zip(some, entries, strict=True)
            ],
            "parent": [None if entry is None else entry.parent for entry in entries],
        }
        tables.append(pa.table(columns).cast(_COLUMNS))
    return pa.concat_tables(tables)
