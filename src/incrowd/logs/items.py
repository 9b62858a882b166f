"""Maps queries to words, words to items, and tokens to the compressed rows of transactions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.kinds import plain_texts
from incrowd.core.ragged import list_ids, starts_of, take_lists
from incrowd.core.types import Bytes, Ints32, Ints64, Progress
from incrowd.errors import BadInputError, nearest
from incrowd.logs.kinds import lookup_with_kinds
from incrowd.logs.tokens import LAST_PLACE, one_word_each
from incrowd.taxonomy.sources.wordnet import wordnet_tree
from incrowd.taxonomy.words import KINDS
from incrowd.text.concepts import Knowledge, find_concepts
from incrowd.text.private import join_private
from incrowd.text.words import (
    LISTED,
    NAMED,
    NEVER,
    OTHER,
    STOP,
    TERM,
    TYPED,
    UNLISTED,
    Nouns,
    find_named,
    find_nouns,
    find_terms,
    normalise,
    split_terms,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from incrowd.logs.store import Store
    from incrowd.taxonomy import Taxonomy
    from incrowd.text.never import NeverList

__all__ = [
    "ITEMS",
    "WHOLE_QUERIES",
    "WORD_ITEMS",
    "CompressedRows",
    "Lookup",
    "choose_items",
    "compress",
    "count_kinds",
    "key_of_kind",
    "look_up_words",
    "lookup_of",
    "named_by_kind",
    "words_of",
]


def key_of_kind(kind: str) -> str:
    """Return the name of a kind of words that WordNet lacks as a summary has it: ``given_name``."""
    return kind.replace(" ", "_").replace("-", "_")


Lookup = Callable[[pa.StringArray], pa.Table]
_FINDERS = {"nouns": find_nouns, "terms": find_terms}
WORD_ITEMS = tuple(_FINDERS)
WHOLE_QUERIES = ("queries", "concepts")
ITEMS = (*WORD_ITEMS, *WHOLE_QUERIES, "raw")
_KINDS = {
    LISTED: "listed",
    UNLISTED: "unlisted",
    OTHER: "other",
    STOP: "stop",
    TERM: "term",
    TYPED: "typed",
    NEVER: "never",
} | {NAMED + number: key_of_kind(kind) for number, kind in enumerate(KINDS)}

_EACH_TEXT_ITSELF = f"""
    CREATE OR REPLACE TABLE meanings AS SELECT DISTINCT text, text AS name, {TERM} AS kind FROM words
"""  # noqa: S608 (a constant)
_MAKE_VOCABULARY = """
    CREATE OR REPLACE TABLE vocabulary AS
    SELECT (row_number() OVER (ORDER BY name) - 1)::INTEGER AS item, name
    FROM (SELECT DISTINCT name FROM meanings WHERE name IS NOT NULL)
"""
_CODES = "SELECT word, item FROM words JOIN meanings USING (text) JOIN vocabulary USING (name)"
_TOKENS = "SELECT unit, word, {place} AS place FROM tokens WHERE unit >= {low} AND unit < {high}"

# Counting the texts in `meanings` needs no set of all texts in memory; in `words` one text may occur several times.
_KINDS_OF_WORDS = """
    SELECT kind, words, occurrences
    FROM (SELECT kind, count(*) AS words FROM meanings GROUP BY kind) JOIN (
        SELECT kind, sum(occurrences)::BIGINT AS occurrences
        FROM words JOIN meanings USING (text) GROUP BY kind
    ) USING (kind)
"""

# Sorting in memory is much faster than grouping in the database. This many at a time keep memory bounded: each takes
# some 40 bytes, and the database has its own share. Each pass reads all tokens.
_OCCURRENCES_AT_ONCE = 4_000_000
_MEMORY_FOR_EACH = 512


@dataclass(frozen=True, eq=False)
class CompressedRows:
    """The arrays of transactions: see `incrowd.core.transactions.Transactions`."""

    indptr: Ints64
    items: Ints32
    counts: Ints32
    vocabulary: pa.StringArray
    owners: pa.StringArray
    people: pa.StringArray | None
    places: Bytes | None


def choose_items(chosen: str | None, *, is_baskets: bool) -> str:
    """Return the chosen kind of items, or the default of the input; refuse a kind that the input does not have."""
    fitting, what = (ITEMS[-1:], "baskets") if is_baskets else (ITEMS[:-1], "a query log")
    if chosen is not None and chosen not in fitting:
        raise BadInputError(
            f"items must be one of {', '.join(fitting)} for {what} (got '{chosen}'){nearest(chosen, fitting)}"
        )
    return chosen or fitting[0]


def words_of(queries: pa.StringArray, items: str, *, named: bool = False) -> pa.ListArray:
    """Return the texts of each query that are looked up for items: the query itself, or its words; with `named`, a number or an address is one."""
    texts = normalise(queries)
    if items in WHOLE_QUERIES:
        return one_word_each(texts)
    return split_terms(join_private(texts) if named else texts)


def lookup_of(
    items: str,
    tree: Taxonomy | None = None,
    never: NeverList | None = None,
    *,
    has_kinds: bool = False,
    named: bool = False,
) -> Lookup | None:
    """Return the function that maps distinct texts to items; None where each text is an item unchanged.

    It gives rows of text, name (null where the text is left out) and kind. Concepts are looked for in a tree that is not
    fitted to any data, WordNet if none is given: a query that means several has a row for each, and one that means none
    stands for itself. With `has_kinds`, texts may be items of further kinds. With `named`, words that
    WordNet lacks are what :mod:`incrowd.taxonomy.words` publishes in their place. What holds a word of `never`, as a text or as an
    item, is left out.
    """
    lookup: Lookup | None = None
    if items in _FINDERS:
        lookup = partial(_nouns_of, find=partial(_FINDERS[items], named=named))
    elif named and items == "raw":
        lookup = partial(_nouns_of, find=find_named)
    if items == "concepts":
        lookup = partial(_concepts_of, knowledge=Knowledge.of(tree or wordnet_tree()))
    lookup = lookup_with_kinds(lookup or _itself) if has_kinds else lookup
    return lookup if never is None else partial(_without_never, lookup=lookup or _itself, never=never)


def _itself(texts: pa.StringArray) -> pa.Table:
    return pa.table({"text": texts, "name": texts, "kind": np.full(len(texts), TERM, dtype=np.int8)})


def _without_never(texts: pa.StringArray, *, lookup: Lookup, never: NeverList) -> pa.Table:
    found = lookup(texts).combine_chunks()
    texts, names = (plain_texts(found[name].combine_chunks()) for name in ("text", "name"))
    held = never.found_in(texts) | never.found_in(names)
    names = pc.if_else(pa.array(held), None, found["name"])
    kinds = np.where(held, NEVER, np.array(found["kind"], dtype=np.int8)).astype(np.int8)
    return pa.table({"text": found["text"], "name": names, "kind": kinds})


def _nouns_of(texts: pa.StringArray, *, find: Callable[[pa.StringArray], Nouns]) -> pa.Table:
    found = find(texts)
    return pa.table({"text": texts, "name": found.item, "kind": found.kind})


def _concepts_of(texts: pa.StringArray, *, knowledge: Knowledge) -> pa.Table:
    found = find_concepts(texts, knowledge)
    understood = np.repeat(np.arange(len(texts)), np.diff(found.start))
    unknown = np.flatnonzero(np.diff(found.start) == 0)
    names = pa.concat_arrays([knowledge.tree.labels_of(found.node), texts.take(pa.array(unknown))])
    kinds = np.repeat(np.array([LISTED, UNLISTED], dtype=np.int8), [len(understood), len(unknown)])
    whose = texts.take(pa.array(np.concatenate((understood, unknown))))
    return pa.table({"text": whose, "name": names, "kind": kinds})


def named_by_kind(rows: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the counts of each kind (`kind`, `words`, `occurrences`) under the names of a summary."""
    ordered = sorted(rows, key=lambda row: row["kind"])
    return {
        f"{_KINDS[row['kind']]}_{what}": row[what] for what in ("words", "occurrences") for row in ordered
    }


def look_up_words(store: Store, lookup: Lookup | None) -> None:
    """Make the table `meanings` (text, name, kind) of all distinct texts."""
    if lookup is None:
        store.run(_EACH_TEXT_ITSELF)
        return
    store.run("CREATE OR REPLACE TABLE meanings (text VARCHAR, name VARCHAR, kind TINYINT)")
    for batch in store.batches("SELECT DISTINCT text FROM words"):
        store.insert("meanings", lookup(batch.column("text").cast(pa.string())))


def count_kinds(store: Store) -> dict[str, int]:
    """Return how many distinct texts and how many occurrences each kind of word has."""
    return named_by_kind(store.table(_KINDS_OF_WORDS).to_pylist())


def compress(store: Store, *, by_part: bool, places: bool = False, progress: Progress) -> CompressedRows:
    """Join `units`, `tokens`, `words` and `meanings` into rows over the sorted vocabulary of the items that occur.

    With `places`, it is also noted where in a query each item of a row stands, at the earliest. `progress` is called with
    the number of parts done and of all parts.
    """
    store.run(_MAKE_VOCABULARY)
    items_of = _items_of_words(store)
    vocabulary = _texts(store, "SELECT name FROM vocabulary ORDER BY item")
    owners = _texts(store, "SELECT owner FROM units ORDER BY unit")
    people = _texts(store, 'SELECT "user" FROM units ORDER BY unit') if by_part else None
    (tokens,) = store.row("SELECT count(*) FROM tokens")
    at_once = min(_OCCURRENCES_AT_ONCE, store.memory // _MEMORY_FOR_EACH)
    bounds = np.linspace(0, len(owners), num=2 + tokens // at_once, dtype=np.int64).tolist()
    parts = []
    for low, high in pairwise(bounds):
        parts.append(_count_pairs(store, items_of, low, high, len(vocabulary), places=places))
        progress(len(parts), len(bounds) - 1)
    lengths, items, counts, first = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    indptr = starts_of(lengths)
    return CompressedRows(indptr, items, counts, vocabulary, owners, people, first if places else None)


class _ItemsOfWords(NamedTuple):
    """Word w stands for ``item[start[w]:start[w + 1]]``: one item, or for concepts any number.

    Looking words up in arrays takes a fraction of a join in the database, which would build its table again for each pass.
    """

    start: Ints64
    item: Ints32


def _items_of_words(store: Store) -> _ItemsOfWords:
    codes = store.table(_CODES)
    word, item = (np.array(codes.column(name).combine_chunks()) for name in ("word", "item"))
    (words,) = store.row("SELECT coalesce(max(word) + 1, 0) FROM words")
    return _ItemsOfWords(starts_of(np.bincount(word, minlength=words)), item[np.argsort(word, kind="stable")])


def _count_pairs(
    store: Store, items_of: _ItemsOfWords, low: int, high: int, vocabulary: int, *, places: bool
) -> tuple[Ints64, Ints32, Ints32, Bytes]:
    """Return the lengths of the rows of some units, their items in order, the items' counts and earliest places."""
    bits = LAST_PLACE.bit_length() if places else 0
    keys = [np.empty(0, np.int64)]  # unit, item and place in one number, so that one sort orders all
    for batch in store.batches(_TOKENS.format(low=low, high=high, place="place" if places else "0")):
        unit, word, place = (np.array(batch.column(name), np.int64) for name in ("unit", "word", "place"))
        start, at = take_lists(items_of.start, word)
        token = list_ids(start)
        keys.append(((unit[token] - low) * vocabulary + items_of.item[at] << bits) + place[token])
    ordered = np.concatenate(keys)
    ordered.sort()
    starts = np.flatnonzero(np.diff(ordered >> bits, prepend=-1))
    units, items = np.divmod(ordered[starts] >> bits, max(vocabulary, 1))
    counts = np.diff(starts, append=len(ordered))
    first = (ordered[starts] & ((1 << bits) - 1)).astype(np.uint8)
    return np.bincount(units, minlength=high - low), items.astype(np.int32), counts.astype(np.int32), first


def _texts(store: Store, sql: str) -> pa.StringArray:
    return store.table(sql).column(0).cast(pa.string()).combine_chunks()
