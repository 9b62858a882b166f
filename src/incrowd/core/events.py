"""Query events: single queries with time and clicks, for methods that publish or remove whole queries."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from incrowd.core.ragged import filtered_starts, list_ids, starts_of, take_lists
from incrowd.core.types import Bools, Ints32, Ints64

__all__ = ["QueryEvents"]


@dataclass(frozen=True, eq=False)
class QueryEvents:
    """The query events of every row of transactions, in order of time. Private.

    Parameters
    ----------
    start
        Row r has the events ``start[r] .. start[r + 1] - 1``, ascending by time, then by text.
    query
        The query of each event, as a position in `texts`.
    time
        The time of each event in seconds since 1970; all 0 where the log has no times.
    clicks, site
        Event e was followed by clicks on ``site[clicks[e]:clicks[e + 1]]``, positions in `sites`, distinct.
    texts
        The distinct queries, normalised, sorted by code point.
    sites
        The distinct addresses that were clicked, as they stand in the log, sorted by code point.
    concept_start, concept
        Query q means the items ``concept[concept_start[q]:concept_start[q + 1]]``, positions in the transactions'
        vocabulary, ascending and distinct; none where no concept was found in it.
    """

    start: Ints64
    query: Ints32
    time: Ints64
    clicks: Ints64
    site: Ints32
    texts: pa.Array
    sites: pa.Array
    concept_start: Ints64
    concept: Ints32

    def __len__(self) -> int:
        """Return the number of query events."""
        return len(self.query)

    def rows(self, chosen: Ints64) -> QueryEvents:
        """Return the events of some rows of the transactions."""
        start, events = take_lists(self.start, chosen)
        clicks, sites = take_lists(self.clicks, events)
        return replace(
            self,
            start=start,
            query=self.query[events],
            time=self.time[events],
            clicks=clicks,
            site=self.site[sites],
        )

    def only_rows(self, kept: Bools) -> QueryEvents:
        """Return the events of some rows; the others have none."""
        keep = kept[list_ids(self.start)]
        clicks, sites = take_lists(self.clicks, np.flatnonzero(keep))
        return replace(
            self,
            start=filtered_starts(self.start, keep),
            query=self.query[keep],
            time=self.time[keep],
            clicks=clicks,
            site=self.site[sites],
        )

    def without_items(self, unwanted: Bools) -> QueryEvents:
        """Return the events without the meanings that are no items any more; a query may lose all its meanings."""
        keep = ~unwanted[self.concept]
        renumbered = np.cumsum(~unwanted, dtype=np.int64) - 1
        return replace(
            self,
            concept_start=filtered_starts(self.concept_start, keep),
            concept=renumbered[self.concept[keep]].astype(np.int32),
        )

    def with_items(self, of_item: Ints32) -> QueryEvents:
        """Return the events with other items as meanings: `of_item` has the new one of each; a query means each once."""
        query, meaning = list_ids(self.concept_start), of_item[self.concept]
        pairs = np.unique(np.stack([query, meaning]), axis=1)
        numbers = np.bincount(pairs[0], minlength=len(self.texts))
        return replace(self, concept_start=starts_of(numbers), concept=pairs[1].astype(np.int32))
