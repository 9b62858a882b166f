"""The table of units and their words, between texts and transactions, kept in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.types import Bytes, Ints32, Ints64

if TYPE_CHECKING:
    from incrowd.logs.store import Store

__all__ = ["LAST_PLACE", "TokenTable", "one_word_each", "places_within", "without_empty_words"]


LAST_PLACE = 255


class TokenTable:
    """Two tables: `tokens` (unit, word) with one row per occurrence, and `words` (word, text, occurrences).

    Texts are numbered batch by batch, so one text may have several numbers; they are joined when the words are looked
    up. That keeps memory bounded for any number of texts.

    Parameters
    ----------
    store
        Where the tables are; older ones are replaced.
    places
        Whether `tokens` also says where in its list each word stands, from 0 to `LAST_PLACE`, which stands for all beyond too.
    """

    def __init__(self, store: Store, *, places: bool = False) -> None:
        self._store = store
        self._next_word = 0
        self._places = places
        place = ", place UTINYINT" if places else ""
        store.run(f"CREATE OR REPLACE TABLE tokens (unit INTEGER, word BIGINT{place})")
        store.run("CREATE OR REPLACE TABLE words (word BIGINT, text VARCHAR, occurrences BIGINT)")

    def add(self, units: Ints32, words: pa.ListArray) -> None:
        """Append each unit's words, one list for each element of `units`."""
        encoded = words.flatten().dictionary_encode()
        codes = np.array(encoded.indices, dtype=np.int64)
        texts = encoded.dictionary
        numbers = np.arange(self._next_word, self._next_word + len(texts))
        lengths = np.diff(np.array(words.offsets))
        columns = {"unit": np.repeat(units, lengths), "word": codes + self._next_word}
        if self._places:
            columns["place"] = places_within(lengths)
        self._store.insert("tokens", pa.table(columns))
        occurrences = np.bincount(codes, minlength=len(texts))
        self._store.insert("words", pa.table({"word": numbers, "text": texts, "occurrences": occurrences}))
        self._next_word += len(texts)


def places_within(lengths: Ints64) -> Bytes:
    """Return where in its list each word of lists of these lengths stands; the last place stands for all beyond, too."""
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    places: Bytes = np.minimum(within, LAST_PLACE).astype(np.uint8)
    return places


def one_word_each(texts: pa.StringArray) -> pa.ListArray:
    """Return each text as a list of that text alone; an empty text as an empty list."""
    return without_empty_words(
        pa.ListArray.from_arrays(pa.array(np.arange(len(texts) + 1, dtype=np.int32)), texts)
    )


def without_empty_words(lists: pa.ListArray) -> pa.ListArray:
    """Return the lists without empty words."""
    words = lists.flatten()
    kept = np.array(pc.not_equal(words, ""), dtype=np.bool_)
    kept_before = np.concatenate(([0], np.cumsum(kept, dtype=np.int32)))
    offsets = kept_before[np.array(lists.offsets) - lists.offsets[0].as_py()]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), words.filter(pa.array(kept)))
