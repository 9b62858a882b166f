"""Words to items, and tokens to the compressed rows of transactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incrowd.text.words import LISTED, OTHER, STOP, TERM, UNLISTED, Nouns, find_nouns, find_terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from incrowd.logs.store import Store

__all__ = ["CompressedRows", "compress", "count_kinds", "look_up_words"]

_LOOKUPS: dict[str, Callable[[pa.StringArray], Nouns]] = {"nouns": find_nouns, "terms": find_terms}
_KINDS = {LISTED: "listed", UNLISTED: "unlisted", OTHER: "other", STOP: "stop", TERM: "term"}

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
_ROWS = """
    SELECT unit, item, count(*)::INTEGER AS n
    FROM tokens JOIN codes USING (word) GROUP BY unit, item ORDER BY unit, item
"""


@dataclass(frozen=True, eq=False)
class CompressedRows:
    """The arrays of transactions: see `incrowd.transactions.Transactions`."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    vocabulary: pa.StringArray
    owners: pa.StringArray


def look_up_words(store: Store, items: str) -> None:
    """Make the table `meanings` (text, name, kind): the item that each distinct text stands for, or null."""
    if items not in _LOOKUPS:
        store.run(_EACH_TEXT_ITSELF)
        return
    store.run("CREATE OR REPLACE TABLE meanings (text VARCHAR, name VARCHAR, kind TINYINT)")
    for batch in store.batches("SELECT DISTINCT text FROM words"):
        texts = batch.column("text")
        found = _LOOKUPS[items](texts)
        store.insert("meanings", pa.table({"text": texts, "name": found.item, "kind": found.kind}))


def count_kinds(store: Store) -> dict[str, int]:
    """Return how many distinct texts and how many occurrences each kind of word has."""
    rows = store.table("""
        SELECT kind, count(DISTINCT text) AS texts, sum(occurrences)::BIGINT AS occurrences
        FROM words JOIN meanings USING (text) GROUP BY kind ORDER BY kind
    """)
    counts: dict[str, int] = {}
    for row in rows.to_pylist():
        counts[f"{_KINDS[row['kind']]}_words"] = row["texts"]
        counts[f"{_KINDS[row['kind']]}_occurrences"] = row["occurrences"]
    return counts


def compress(store: Store) -> CompressedRows:
    """Join `units`, `tokens`, `words` and `meanings` into rows over the sorted vocabulary of what occurs."""
    store.run(_MAKE_VOCABULARY)
    store.run(_MAKE_CODES)
    batches = [
        [np.array(batch.column(name), np.int32) for name in ("unit", "item", "n")]
        for batch in store.batches(_ROWS)
    ]
    units, items, counts = (
        np.concatenate([np.empty(0, np.int32), *columns])
        for columns in (zip(*batches, strict=True) if batches else ([],) * 3)
    )
    vocabulary = _texts(store, "SELECT name FROM vocabulary ORDER BY item")
    owners = _texts(store, "SELECT owner FROM units ORDER BY unit")
    indptr = np.concatenate(([0], np.cumsum(np.bincount(units, minlength=len(owners)), dtype=np.int64)))
    return CompressedRows(indptr, items, counts, vocabulary, owners)


def _texts(store: Store, sql: str) -> pa.StringArray:
    column = store.table(sql).column(0).cast(pa.string())
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], pa.string())
