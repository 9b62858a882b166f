"""What people have, for method `dp`: items, pairs of items in one unit, or queries with addresses that were clicked."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.core.clean import clean_texts
from incrowd.core.ragged import distinct, list_ids, pairs_within
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints, Ints64
from incrowd.errors import BadInputError, option
from incrowd.methods.dp.mechanism import Sets, sets_of

__all__ = ["Entries", "Of", "entries_of"]

Of = Literal["items", "pairs", "clicks"]


class Entries(NamedTuple):
    """What each person has, and what it is: entry e is ``first[e]``, with ``second[e]`` where entries are pairs.

    Both are positions: of items in the vocabulary, of queries and addresses in `texts`, which is None where they are items.
    """

    sets: Sets
    first: Ints64
    second: Ints64 | None = None
    texts: tuple[pa.Array, pa.Array] | None = None


def entries_of(transactions: Transactions, of: Of) -> Entries:
    """Return what people have. What one person has depends on nobody else: numbers do, and they are not published."""
    if of == "clicks":
        return _clicks(transactions)
    return _pairs(transactions) if of == "pairs" else _items(transactions)


def _items(transactions: Transactions) -> Entries:
    size = len(transactions.vocabulary)
    everything = np.arange(size, dtype=np.int64)
    if transactions.people is None:
        return Entries(Sets(transactions.indptr, transactions.items, size), everything)
    person = transactions.person[list_ids(transactions.indptr)].astype(np.int64)
    return Entries(sets_of(person, transactions.items.astype(np.int64), size), everything)


def _pairs(transactions: Transactions) -> Entries:
    """Return the pairs of items that are in one row of a person."""
    row, first, second = pairs_within(transactions.indptr)
    items = transactions.items
    return _coded(transactions.person[row], items[first], items[second], len(transactions.vocabulary))


def _clicks(transactions: Transactions) -> Entries:
    """Return the pairs of a query and an address that a person clicked after it."""
    events = transactions.events
    if events is None:
        raise BadInputError(
            f"of=clicks needs a query log with clicks: use {option('items', 'queries')} (or events=True in Log.transactions)"
        )
    event = list_ids(events.clicks)
    row = np.searchsorted(events.start, event, side="right") - 1
    coded = clean_texts(events.sites).dictionary_encode()
    site = np.array(coded.indices, dtype=np.int64)[events.site]
    shown = _filled(coded.dictionary)[site]
    made = _coded(
        transactions.person[row[shown]], events.query[event[shown]], site[shown], len(coded.dictionary)
    )
    return made._replace(texts=(events.texts, coded.dictionary))


def _filled(texts: pa.Array) -> Bools:
    return np.array([bool(text) for text in texts.to_pylist()], dtype=np.bool_)


def _coded(person: Ints, first: Ints, second: Ints, width: int) -> Entries:
    """Return pairs as entries, numbered in their order."""
    codes: Ints64 = first.astype(np.int64) * max(width, 1) + second
    known = distinct(codes)
    sets = sets_of(person.astype(np.int64), np.searchsorted(known, codes), len(known))
    return Entries(sets, known // max(width, 1), known % max(width, 1))
