"""A log that was read: queries or baskets in a temporary database, ready to become transactions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from incrowd.core.kinds import parse_kinds
from incrowd.core.shown import html_table
from incrowd.core.transactions import Transactions
from incrowd.core.types import Progress
from incrowd.core.window import Window
from incrowd.errors import BadInputError, option
from incrowd.logs.events import collect_events
from incrowd.logs.input import Input
from incrowd.logs.items import (
    WHOLE_QUERIES,
    WORD_ITEMS,
    CompressedRows,
    compress,
    count_kinds,
    look_up_words,
    lookup_of,
    words_of,
)
from incrowd.logs.kinds import add_kinds, check_kinds
from incrowd.logs.tokens import TokenTable
from incrowd.logs.units import Unit, find_activity, make_units, parse_unit, queries_by_unit
from incrowd.logs.weeks import clicks_in, weeks_of
from incrowd.logs.windows import count_within, cut_events, last_day, until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from incrowd.logs.rejects import Rejects
    from incrowd.logs.store import Store
    from incrowd.taxonomy import Taxonomy
    from incrowd.text.never import NeverList

__all__ = ["Log"]

_NO_QUERIES = "this method needs a query log: baskets hold no queries"


@dataclass(eq=False, repr=False, kw_only=True)
class Log(Input):
    """A query log or a file of baskets, on disk while it is open. Close it, or use it as a context manager.

    Parameters
    ----------
    name, format, lines, bad_bytes, has_times, rows, rejected, encoding
        What was read; see :class:`incrowd.logs.input.Input`.
    store
        The database that holds its rows.
    rejects
        The lines that could not be read.
    summary
        The counts of the last call of `transactions`, by name.
    """

    store: Store
    rejects: Rejects
    summary: dict[str, int] = field(default_factory=dict)
    has_rows: bool = field(default=True, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Delete the temporary files. The counts stay available."""
        self.store.close()

    def free_rows(self) -> None:
        """Free the memory that the rows take, once the transactions are made. The rejects stay."""
        self.store.keep_only("rejects")
        self.has_rows = False

    def rejected_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rejected lines in order."""
        return self.rejects.rows()

    @property
    def users(self) -> int:
        """How many users (or baskets) the log has."""
        if self.is_baskets:
            return self.rows
        return int(self.store.row('SELECT count(DISTINCT "user") FROM events')[0])

    def count_within(self, windows: Sequence[Window]) -> list[int]:
        """Return how many events each window has."""
        return count_within(self.store, windows)

    def last_day(self, people: int, start: int) -> int | None:
        """Return the last day from a time on that has events of so many different people, as a number."""
        return last_day(self.store, people, start)

    def transactions(
        self,
        *,
        unit: str | Unit = "user",
        items: str | None = None,
        bags: bool = True,
        knowledge: Taxonomy | None = None,
        events: bool = False,
        places: bool = False,
        kinds: str | Sequence[str] = (),
        never: NeverList | None = None,
        named: bool = False,
        window: Window | None = None,
        progress: Progress | None = None,
    ) -> Transactions:
        """Build one row of items for each privacy unit.

        Parameters
        ----------
        unit
            As :func:`incrowd.logs.units.parse_unit` reads it: ``"user"``, ``"session:30m"``, ``"query"`` and so on. Baskets have one row for each record.
        items
            ``"nouns"`` (the nouns of WordNet and the words that it does not know; the default), ``"terms"`` (all words but function
            words), ``"queries"``, ``"concepts"`` (what queries mean), or for baskets ``"raw"``.
        bags, knowledge
            Whether to count repeats; and the tree in which concepts are looked for, WordNet if it is not given.
        events, places
            Whether to keep every query event too, which takes memory; whether to note where in a query each word of a row stands first.
        kinds, never, named
            Further kinds of items that a row shall have, as ``"url,week,place"``; words that are left out, with every query that holds one;
            and whether words that WordNet lacks become what is published in their place (``unlisted="name"``; see docs/words.md).
        window, progress
            Take only its events (days of activity count everything before its end); and what is called with (steps done, steps in all).

        Returns
        -------
        Transactions
            Rows ordered by user id and session (baskets: by line). A unit without items has an empty row.
        """
        chosen = self._check_items(items, events=events)
        places = places and chosen in WORD_ITEMS
        report = progress or (lambda *_: None)
        wanted = unit if isinstance(unit, Unit) else parse_unit(unit)
        label, more = self.name_of_unit(wanted), parse_kinds(kinds)
        check_kinds(more, wanted, self.roles, has_times=self.has_times)
        counts: dict[str, int] = {}
        if not self.is_baskets:
            self._make_units(wanted, window)
            # Finding the words and counting them take about as long.
            counts["queries"] = self._fill_tokens(wanted, chosen, more, report, places=places, named=named)
        look_up_words(self.store, lookup_of(chosen, knowledge, never, has_kinds=bool(more), named=named))
        counts |= count_kinds(self.store)
        half = partial(_second_half, report)
        rows = compress(self.store, by_part=wanted.is_part, places=places, progress=half)
        made = self._finish(rows, label, chosen, counts, bags=bags)
        made = self._with_times(made, wanted, window, has_weeks="week" in more)
        if not events:
            return made
        found = collect_events(self.store, wanted, len(made), has_times=self.has_times, never=never)
        return replace(made, events=found)

    def _make_units(self, unit: Unit, window: Window | None) -> None:
        """Make the units of all events, or of a window's."""
        cut_events(self.store, window)
        make_units(self.store, unit, has_times=self.has_times)

    def _with_times(
        self, made: Transactions, unit: Unit, window: Window | None, *, has_weeks: bool
    ) -> Transactions:
        """Add when units were active, and whether there are clicks, where the log says so; weeks may be among the items."""
        if self.has_times:
            weeks = None if has_weeks else weeks_of(self.store, unit, len(made))
            active = find_activity(self.store, unit, until(window))
            made = replace(made, activity=active, weeks=weeks, window=window)
        return made if self.is_baskets else replace(made, has_clicks=clicks_in(self.store))

    def _check_items(self, items: str | None, *, events: bool) -> str:
        """Return the kind of items; refuse a kind that this log does not have."""
        if not self.has_rows:
            raise BadInputError("the rows of this log have been freed: read it again (read_log)")
        chosen = self.kind_of_items(items)
        if events and chosen not in WHOLE_QUERIES:
            raise BadInputError(
                _NO_QUERIES
                if self.is_baskets
                else f"this method needs whole queries: use {option('items', 'concepts')}"
            )
        return chosen

    def _fill_tokens(
        self, unit: Unit, items: str, kinds: Sequence[str], report: Progress, *, places: bool, named: bool
    ) -> int:
        """Write the words (or the whole queries) of every unit, and its items of other kinds; return how many queries there are."""
        tokens = TokenTable(self.store, places=places)
        queries = 0
        for batch in queries_by_unit(self.store, unit, has_times=self.has_times):
            words = words_of(batch.column("query").cast(pa.string()), items, named=named)
            tokens.add(np.array(batch.column("unit"), np.int32), words)
            queries += len(batch)
            report(queries, 2 * self.rows)
        add_kinds(self.store, tokens, unit, kinds, self.roles)
        return queries

    def _finish(
        self, rows: CompressedRows, unit: str, items: str, counts: dict[str, int], *, bags: bool
    ) -> Transactions:
        made = Transactions(
            rows.indptr,
            rows.items,
            rows.counts,
            rows.vocabulary,
            rows.owners,
            unit,
            people=rows.people,
            places=rows.places,
            kind=items,
        )
        made = made if bags else made.as_sets()
        counts |= {
            "units": len(made),
            "items": len(made.vocabulary),
            "occurrences": made.occurrences,
            "empty": made.empty_rows,
        }
        self.summary, account = self.summed_up(unit, items, counts)
        return replace(made, account=account)

    def _repr_html_(self) -> str:
        rows = [
            ("read as", self.format),
            ("lines", self.lines),
            ("rows", self.rows),
            ("times", "yes" if self.has_times else "no"),
            *((f"rejected: {reason}", count) for reason, count in sorted(self.rejected.items())),
        ]
        return html_table(f"Log {self.name}: private, so no row is shown", rows)

    def __repr__(self) -> str:
        users = (
            ""
            if self.store.closed or not self.has_rows
            else f", {self.users:,} {'records' if self.is_baskets else 'users'}"
        )
        return (
            f"Log({self.name}, {self.format}: {self.lines:,} lines{users}, "
            f"{len(self.rejects):,} rejected{', closed' if self.store.closed else ''})"
        )


def _second_half(report: Progress, done: int, of: int) -> None:
    """Report steps of which as many were done before."""
    report(of + done, 2 * of)
