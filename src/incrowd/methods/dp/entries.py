"""What people have, for method `dp`: items, pairs of items in one unit, queries with addresses that were clicked, or items by week."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.core.clean import clean_texts
from incrowd.core.events import QueryEvents
from incrowd.core.noise import Words, secure_words
from incrowd.core.ragged import list_ids
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints, Ints64
from incrowd.errors import BadInputError, option
from incrowd.methods.dp.mechanism import People
from incrowd.methods.dp.pairs import Rows, rows_of_people, sets_of_pairs
from incrowd.methods.dp.sets import Sets, sets_of, shuffled

__all__ = ["Entries", "Of", "entries_of", "events_with_clicks", "item_sets"]

Of = Literal["items", "pairs", "clicks", "weeks"]


class Entries(NamedTuple):
    """What each person has, and what its numbers mean: positions of items, or of two things, ``number // width`` and ``number % width``.

    They are positions of items in the vocabulary, or of queries and addresses in `texts`, which is None where they are items.
    """

    people: People
    width: int | None = None
    texts: tuple[pa.Array, pa.Array] | None = None

    def places(self, number: Ints64) -> tuple[Ints64, Ints64 | None]:
        """Return the position of the first, and of the second where there are pairs."""
        if self.width is None:
            return number, None
        first, second = np.divmod(number, self.width)
        return first, second


def entries_of(transactions: Transactions, of: Of, *, d: int, words: Words = secure_words) -> Entries:
    """Return what people have. What one person has depends on nobody else: numbers do, and they are not published."""
    if of == "clicks":
        return _clicks(transactions, d, words)
    rows, width = rows_of_people(transactions), len(transactions.vocabulary)
    if of == "pairs":
        return Entries(sets_of_pairs(rows, width, d, words), max(width, 1))
    return Entries(item_sets(rows, width, d, words))


def item_sets(rows: Rows, width: int, d: int, words: Words = secure_words) -> Sets:
    """Return the items that each person has in any row."""
    if len(rows.person) == rows.people:  # one row each
        return shuffled(Sets(rows.start, rows.item.astype(np.int64)), d, words)
    person = rows.person[list_ids(rows.start)].astype(np.int64)
    return sets_of(person, rows.item.astype(np.int64), width, d=d, people=rows.people, words=words)


def events_with_clicks(transactions: Transactions) -> QueryEvents:
    """Return the query events with their clicks; refuse rows without them."""
    if transactions.events is None:
        raise BadInputError(
            f"of=clicks needs a query log with clicks: use {option('items', 'queries')} (or events=True in Log.transactions)"
        )
    return transactions.events


def _clicks(transactions: Transactions, d: int, words: Words) -> Entries:
    """Return the pairs of a query and an address that a person clicked after it."""
    events = events_with_clicks(transactions)
    event = list_ids(events.clicks)
    row = np.searchsorted(events.start, event, side="right") - 1
    coded = clean_texts(events.sites).dictionary_encode()
    site = np.array(coded.indices, dtype=np.int64)[events.site]
    shown, width = _filled(coded.dictionary)[site], max(len(coded.dictionary), 1)
    person: Ints = transactions.person[row[shown]]
    number = events.query[event[shown]].astype(np.int64) * width + site[shown]
    sets = sets_of(person.astype(np.int64), number, width * max(len(events.texts), 1), d=d, words=words)
    return Entries(sets, width, (events.texts, coded.dictionary))


def _filled(texts: pa.Array) -> Bools:
    return np.array([bool(text) for text in texts.to_pylist()], dtype=np.bool_)
