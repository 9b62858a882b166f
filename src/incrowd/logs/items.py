"""Words to items, and tokens to the compressed rows of transactions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incrowd.taxonomy.concepts import Knowledge, find_concepts
from incrowd.taxonomy.wordnet import wordnet_tree
from incrowd.text.words import LISTED, OTHER, STOP, TERM, UNLISTED, Nouns, find_nouns, find_terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from incrowd.logs.store import Store
    from incrowd.taxonomy import Taxonomy

__all__ = ["KINDS", "LOOKUPS", "CompressedRows", "compress", "count_kinds", "look_up_words"]

Ints64 = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]

LOOKUPS: dict[str, Callable[[pa.StringArray], Nouns]] = {"nouns": find_nouns, "terms": find_terms}
KINDS = {LISTED: "listed", UNLISTED: "unlisted", OTHER: "other", STOP: "stop", TERM: "term"}

_EACH_TEXT_ITSELF = f"""
    CREATE OR REPLACE TABLE meanings AS SELECT DISTINCT text, text AS name, {TERM} AS kind FROM words
"""  # noqa: S608 (a constant)
_MAKE_VOCABULARY = """
    CREATE OR REPLACE TABLE vocabulary AS
    SELECT (row_number() OVER (ORDER BY name) - 1)::INTEGER AS item, name
    FROM (SELECT DISTINCT name FROM meanings WHERE name IS NOT NULL)
"""
_MAKE_CODES = """
    CREATE OR REPLACE TABLE codes AS
    SELECT word, item FROM words JOIN meanings USING (text) JOIN vocabulary USING (name)
"""
_PAIRS = """
    SELECT unit, item FROM tokens JOIN codes USING (word) WHERE unit >= {low} AND unit < {high}
"""

_TEXTS_OF_KINDS = "SELECT kind, count(*) AS number FROM meanings GROUP BY kind ORDER BY kind"
_OCCURRENCES_OF_KINDS = """
    SELECT kind, sum(occurrences)::BIGINT AS number
    FROM words JOIN meanings USING (text) GROUP BY kind ORDER BY kind
"""

# Sorting in memory is much faster than grouping in the database. So many at a time keep memory bounded: each takes
# some 40 bytes, and the database has its own share. Every time costs a look at all tokens and a table of all words.
_OCCURRENCES_AT_ONCE = 16_000_000
_MEMORY_FOR_EACH = 512


@dataclass(frozen=True, eq=False)
class CompressedRows:
    """The arrays of transactions: see `incrowd.transactions.Transactions`."""

    indptr: Ints64
    items: Ints32
    counts: Ints32
    vocabulary: pa.StringArray
    owners: pa.StringArray
    people: pa.StringArray | None


def look_up_words(store: Store, items: str, knowledge: Taxonomy | None = None) -> None:
    """Make the table `meanings` (text, name, kind): the item that each distinct text stands for, or null.

    A query that means several concepts has a row for each; one that means none stands for itself.
    """
    if items == "concepts":
        _look_up_concepts(store, knowledge)
        return
    if items not in LOOKUPS:
        store.run(_EACH_TEXT_ITSELF)
        return
    store.run("CREATE OR REPLACE TABLE meanings (text VARCHAR, name VARCHAR, kind TINYINT)")
    for batch in store.batches("SELECT DISTINCT text FROM words"):
        texts = batch.column("text")
        found = LOOKUPS[items](texts)
        store.insert("meanings", pa.table({"text": texts, "name": found.item, "kind": found.kind}))


def _look_up_concepts(store: Store, knowledge: Taxonomy | None) -> None:
    tree = knowledge or wordnet_tree()
    store.run("CREATE OR REPLACE TABLE meanings (text VARCHAR, name VARCHAR, kind TINYINT)")
    known = Knowledge.of(tree)
    for batch in store.batches("SELECT DISTINCT text FROM words"):
        texts = batch.column("text").cast(pa.string())
        found = find_concepts(texts, known)
        understood = np.repeat(np.arange(len(texts)), np.diff(found.start))
        unknown = np.flatnonzero(np.diff(found.start) == 0)
        names = pa.concat_arrays([tree.labels_of(found.node), texts.take(pa.array(unknown))])
        kinds = np.repeat(np.array([LISTED, UNLISTED], dtype=np.int8), [len(understood), len(unknown)])
        whose = texts.take(pa.array(np.concatenate((understood, unknown))))
        store.insert("meanings", pa.table({"text": whose, "name": names, "kind": kinds}))


def count_kinds(store: Store) -> dict[str, int]:
    """Return how many distinct texts and how many occurrences each kind of word has."""
    counts: dict[str, int] = {}
    # Each text stands once in `meanings`: counting there needs no set of all texts in memory.
    for query, what in ((_TEXTS_OF_KINDS, "words"), (_OCCURRENCES_OF_KINDS, "occurrences")):
        for row in store.table(query).to_pylist():
            counts[f"{KINDS[row['kind']]}_{what}"] = row["number"]
    return counts


def compress(store: Store, *, sessions: bool, progress: Callable[[int, int], None]) -> CompressedRows:
    """Join `units`, `tokens`, `words` and `meanings` into rows over the sorted vocabulary of what occurs.

    `progress` is told how many parts of how many are done.
    """
    store.run(_MAKE_VOCABULARY)
    store.run(_MAKE_CODES)
    vocabulary = _texts(store, "SELECT name FROM vocabulary ORDER BY item")
    owners = _texts(store, "SELECT owner FROM units ORDER BY unit")
    people = _texts(store, 'SELECT "user" FROM units ORDER BY unit') if sessions else None
    (tokens,) = store.row("SELECT count(*) FROM tokens")
    at_once = min(_OCCURRENCES_AT_ONCE, store.memory // _MEMORY_FOR_EACH)
    bounds = np.linspace(0, len(owners), num=2 + tokens // at_once, dtype=np.int64).tolist()
    parts = []
    for low, high in pairwise(bounds):
        parts.append(_count_pairs(store, low, high, len(vocabulary)))
        progress(len(parts), len(bounds) - 1)
    lengths, items, counts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    indptr = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    return CompressedRows(indptr, items, counts, vocabulary, owners, people)


def _count_pairs(store: Store, low: int, high: int, vocabulary: int) -> tuple[Ints64, Ints32, Ints32]:
    """Return the lengths of the rows of some units, their items in order, and the items' counts."""
    keys = [np.empty(0, np.int64)]  # unit and item in one number, so that one sort orders both
    for batch in store.batches(_PAIRS.format(low=low, high=high)):
        unit, item = (np.array(batch.column(name), np.int64) for name in ("unit", "item"))
        keys.append((unit - low) * vocabulary + item)
    ordered = np.concatenate(keys)
    ordered.sort()
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    units, items = np.divmod(ordered[starts], max(vocabulary, 1))
    counts = np.diff(starts, append=len(ordered))
    return np.bincount(units, minlength=high - low), items.astype(np.int32), counts.astype(np.int32)


def _texts(store: Store, sql: str) -> pa.StringArray:
    column = store.table(sql).column(0).cast(pa.string())
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], pa.string())
