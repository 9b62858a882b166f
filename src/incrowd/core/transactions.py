"""Transactions: the items of each privacy unit, as compressed sparse rows."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.activity import Activity
from incrowd.core.claims import plural_of
from incrowd.core.events import QueryEvents
from incrowd.core.ragged import filtered_starts, list_ids, list_sums, starts_of, take_lists
from incrowd.core.shown import html_table
from incrowd.core.types import Bools, Bytes, Ints32, Ints64
from incrowd.core.window import Window

__all__ = ["Row", "Transactions", "Weeks"]


class Weeks(NamedTuple):
    """The weeks in which each row has a query: row r in ``week[start[r]:start[r + 1]]``, of `number` weeks from 0. Private."""

    start: Ints64
    week: Ints32
    number: int

    def rows(self, chosen: Ints64) -> Weeks:
        """Return the weeks of some rows."""
        start, at = take_lists(self.start, chosen)
        return self._replace(start=start, week=self.week[at])


class Row(Mapping[str, int]):
    """The items of one row, and how often each occurs. Private: it prints none of them until it is asked to, by ``dict(row)``."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = counts

    def __getitem__(self, item: str) -> int:
        if item not in self._counts:
            raise KeyError("this row does not have the item")  # an error quotes no item
        return self._counts[item]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __repr__(self) -> str:
        return f"Row({len(self):,} distinct items, {sum(self._counts.values()):,} occurrences; dict(row) shows them)"


@dataclass(frozen=True, eq=False)
class Transactions:
    """Bags of items, one per privacy unit. Never mutated.

    Parameters
    ----------
    indptr
        Row r owns ``items[indptr[r]:indptr[r + 1]]``; a row may be empty.
    items
        Positions in `vocabulary`, ascending and distinct within a row.
    counts
        How often the unit has each item (at least 1).
    vocabulary
        The items' texts, sorted by code point, without duplicates (an Arrow string array).
    owners
        The owner of each row. Private: it never enters a release.
    unit
        What a row stands for: ``"user"``, ``"session:1800"``, ``"query"``, ``"day"``, ``"week"``, ``"record"``.
    account
        What was done to the input, in order, as sentences with numbers.
    people
        The person behind each row, where one person may have several rows (sessions); None: one row a person.
        Private, like the owners.
    events
        Every query of every row, where a method needs them.
    activity
        On how many days each row's person was active, where the input has times.
    places
        Where in a query of the row each item stands, at the earliest; None where that was not asked for, or items are not words.
    weeks, has_clicks
        When each row has queries, where the log has times and spans two weeks or more; and whether the log has clicks.
    kind
        What the items are: ``"nouns"``, ``"terms"``, ``"queries"``, ``"concepts"``, ``"raw"``; None where that is not known.
    window
        The time that the rows are of, where only some of the log was taken.
    """

    indptr: Ints64
    items: Ints32
    counts: Ints32
    vocabulary: pa.Array
    owners: pa.Array
    unit: str = "record"
    account: tuple[str, ...] = field(default=())
    people: pa.Array | None = None
    events: QueryEvents | None = None
    activity: Activity | None = None
    places: Bytes | None = None
    weeks: Weeks | None = None
    has_clicks: bool = False
    kind: str | None = None
    window: Window | None = None

    def __post_init__(self) -> None:
        for name in ("indptr", "items", "counts"):
            view = getattr(self, name).view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Sequence[str]],
        *,
        owners: Sequence[str] | None = None,
        people: Sequence[str] | None = None,
    ) -> Transactions:
        """Build transactions from in-memory bags of strings (repeats count)."""
        bags = [sorted(row) for row in rows]
        vocabulary = sorted({item for bag in bags for item in bag})
        position = {item: i for i, item in enumerate(vocabulary)}
        indptr, items, counts = [0], [], []
        for bag in bags:
            distinct, repeats = np.unique([position[item] for item in bag], return_counts=True)
            items.extend(distinct.tolist())
            counts.extend(repeats.tolist())
            indptr.append(len(items))
        names = [str(i + 1) for i in range(len(bags))] if owners is None else list(owners)
        return cls(
            np.array(indptr, dtype=np.int64),
            np.array(items, dtype=np.int32),
            np.array(counts, dtype=np.int32),
            pa.array(vocabulary, pa.string()),
            pa.array(names, pa.string()),
            people=None if people is None else pa.array(people, pa.string()),
        )

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Transactions: ...
    def __getitem__(self, index: int | slice) -> Row | Transactions:
        """Return the items of a row, or the transactions of some rows."""
        if isinstance(index, slice):
            return self._rows(np.arange(len(self))[index])
        place = operator.index(index)
        if not -len(self) <= place < len(self):
            raise IndexError(f"there are {len(self):,} rows, from 0 (got {place})")
        return Row(self.row(place % len(self)))

    def __iter__(self) -> Iterator[Row]:
        return (self[place] for place in range(len(self)))

    @property
    def occurrences(self) -> int:
        """Items over all rows, repeats counted."""
        return int(self.counts.sum(dtype=np.int64))

    @property
    def lengths(self) -> Ints64:
        """Items in each row, repeats counted."""
        return list_sums(self.indptr, self.counts)

    @cached_property
    def person(self) -> Ints32:
        """A number for the person behind each row."""
        if self.people is None:
            return np.arange(len(self), dtype=np.int32)
        return np.array(self.people.dictionary_encode().indices, dtype=np.int32)

    @property
    def empty_rows(self) -> int:
        """Number of empty rows."""
        return int(np.count_nonzero(np.diff(self.indptr) == 0))

    def row(self, index: int) -> dict[str, int]:
        """Return one unit's bag as ``{item: count}``. Private: for the owner of the data only."""
        part = slice(int(self.indptr[index]), int(self.indptr[index + 1]))
        names = self.vocabulary.take(pa.array(self.items[part])).to_pylist()
        return dict(zip(names, self.counts[part].tolist(), strict=True))

    def as_sets(self) -> Transactions:
        """Return the same rows with every count set to one."""
        return self._with(counts=np.ones_like(self.counts))

    def with_events(self) -> Transactions:
        """Return the same rows with query events: each item is a query, one event for each time it counts."""
        times = np.repeat(np.arange(len(self.items)), self.counts)
        everything = np.arange(len(self.vocabulary), dtype=np.int32)
        events = QueryEvents(
            start=starts_of(self.counts)[self.indptr],
            query=self.items[times],
            time=np.zeros(len(times), dtype=np.int64),
            clicks=np.zeros(len(times) + 1, dtype=np.int64),
            site=np.empty(0, dtype=np.int32),
            texts=self.vocabulary,
            sites=pa.array([], pa.string()),
            concept_start=np.arange(len(self.vocabulary) + 1, dtype=np.int64),
            concept=everything,
        )
        return self._with(events=events)

    def without_items(self, unwanted: Bools, *, note: str) -> Transactions:
        """Return the rows without the items whose vocabulary position is `unwanted`; rows may become empty."""
        keep = ~unwanted[self.items]
        renumbered = np.cumsum(~unwanted, dtype=np.int64) - 1
        return self._with(
            indptr=filtered_starts(self.indptr, keep),
            items=renumbered[self.items[keep]].astype(np.int32),
            counts=self.counts[keep],
            places=None if self.places is None else self.places[keep],
            vocabulary=self.vocabulary.filter(pa.array(~unwanted)),
            account=(*self.account, note),
            events=None if self.events is None else self.events.without_items(unwanted),
        )

    def renamed(self, texts: pa.Array, *, note: str) -> Transactions:
        """Return the rows with other texts in place of the items; items that get the same text become one, and their counts are added up.

        Of several places in a query the earliest is kept.
        """
        vocabulary = pa.array(sorted(set(texts.to_pylist())), pa.string())
        of_item = np.array(pc.index_in(texts, value_set=vocabulary), dtype=np.int32)
        keys = list_ids(self.indptr) * len(vocabulary) + of_item[self.items]
        entry, place = np.unique(keys, return_inverse=True)
        row, item = np.divmod(entry, max(len(vocabulary), 1))
        places = None
        if self.places is not None:
            places = np.full(len(entry), np.iinfo(self.places.dtype).max, dtype=self.places.dtype)
            np.minimum.at(places, place, self.places)
        return self._with(
            indptr=starts_of(np.bincount(row, minlength=len(self))),
            items=item.astype(np.int32),
            counts=np.bincount(place, weights=self.counts, minlength=len(entry)).astype(np.int32),
            places=places,
            vocabulary=vocabulary,
            account=(*self.account, note),
            events=None if self.events is None else self.events.with_items(of_item),
        )

    def only_rows(self, kept: Bools) -> Transactions:
        """Return all rows, empty but for some; the vocabulary stays as it is, and so does what is attached to it."""
        keep = kept[list_ids(self.indptr)]
        return self._with(
            indptr=filtered_starts(self.indptr, keep),
            items=self.items[keep],
            counts=self.counts[keep],
            places=None if self.places is None else self.places[keep],
            events=None if self.events is None else self.events.only_rows(kept),
        )

    def take_rows(self, chosen: Ints64) -> Transactions:
        """Return some rows; the vocabulary stays as it is, and so does what is attached to it."""
        indptr, at = take_lists(self.indptr, chosen)
        which = pa.array(chosen)
        active = self.activity
        return self._with(
            indptr=indptr,
            items=self.items[at],
            counts=self.counts[at],
            places=None if self.places is None else self.places[at],
            owners=self.owners.take(which),
            people=None if self.people is None else self.people.take(which),
            events=None if self.events is None else self.events.rows(chosen),
            activity=None if active is None else active._replace(days=active.days[chosen]),
            weeks=None if self.weeks is None else self.weeks.rows(chosen),
        )

    def _rows(self, chosen: Ints64) -> Transactions:
        """Return some rows, and of the vocabulary what occurs in them."""
        some = self.take_rows(chosen)
        missing = np.ones(len(self.vocabulary), dtype=np.bool_)
        missing[some.items] = False
        return some.without_items(missing, note=f"Took {len(chosen):,} of {len(self):,} rows.")

    def _with(self, **changes: Any) -> Transactions:
        """Return a copy with some fields replaced."""
        fields = {name: changes.get(name, getattr(self, name)) for name in self.__dataclass_fields__}
        return Transactions(**fields)

    def __repr__(self) -> str:
        rows = len(self)
        mean = self.occurrences / rows if rows else 0.0
        return (
            f"Transactions({rows:,} {plural_of(self.unit.split(':')[0])}, {len(self.vocabulary):,} distinct items, "
            f"{self.occurrences:,} occurrences, {mean:.2f} a row)"
        )

    def _repr_html_(self) -> str:
        rows = [
            ("rows", len(self)),
            ("a row is a", self.unit),
            ("distinct items", len(self.vocabulary)),
            ("occurrences", self.occurrences),
        ]
        return html_table("Transactions: private, so no item is shown", rows)
