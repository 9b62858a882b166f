"""What was asked, query by query: for methods that publish real queries, and for those that only remove some."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incrowd.lists import starts_of_kept

__all__ = ["Asked"]

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Asked:
    """The queries of every row of transactions, in the order in which they were asked. Private.

    Parameters
    ----------
    start
        Row r asked ``start[r] .. start[r + 1] - 1``, ascending by time, then by text.
    query
        What was asked each time, as a position in `texts`.
    time
        When, in seconds since 1970; all 0 where the log does not say.
    clicks, site
        Asking number a was followed by clicks on ``site[clicks[a]:clicks[a + 1]]``, positions in `sites`, distinct.
    texts
        The distinct queries, normalised, sorted by code point.
    sites
        The distinct addresses that were clicked, as they stand in the log, sorted by code point.
    concept_start, concept
        Query q means the items ``concept[concept_start[q]:concept_start[q + 1]]``, positions in the transactions'
        vocabulary, ascending and distinct; none where it was not understood.
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
        """Return how often anything was asked."""
        return len(self.query)

    def without_items(self, unwanted: npt.NDArray[np.bool_]) -> Asked:
        """Return the same less the meanings that are no items any more; queries may lose all they mean."""
        keep = ~unwanted[self.concept]
        renumbered = np.cumsum(~unwanted, dtype=np.int64) - 1
        return replace(
            self,
            concept_start=starts_of_kept(self.concept_start, keep),
            concept=renumbered[self.concept[keep]].astype(np.int32),
        )
