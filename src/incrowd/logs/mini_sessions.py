"""Mini-sessions: a person's queries in order, cut after so many of them, or before one that is too long after the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from incrowd.core.types import Bools, Ints64

if TYPE_CHECKING:
    from incrowd.logs.store import Store

__all__ = ["find_starts", "number_mini_sessions"]

# Queries of one second are in the order of their texts, as where each is a unit of its own.
_ORDERED = """
    CREATE OR REPLACE TABLE ordered AS
    SELECT row_number() OVER (ORDER BY person, time, query) AS place, person, time, query FROM ({events})
"""
_IN_ORDER = "SELECT place, person, time FROM ordered ORDER BY place"
_VISITS = """
    CREATE OR REPLACE TABLE visits AS
    SELECT person, time, query, (sum((starts.place IS NOT NULL)::INTEGER) OVER (PARTITION BY person ORDER BY ordered.place))::INTEGER AS visit
    FROM ordered LEFT JOIN starts USING (place)
"""


def find_starts(person: Ints64, time: Ints64, most: int, within: int) -> Bools:
    """Tell which queries begin a mini-session.

    The first query begins one. It holds the next ones of the same person, at most `most` in all, as long as they are at most
    `within` seconds after its first; the query after these begins the next.

    Parameters
    ----------
    person, time
        Of each query, sorted by person and then by time.
    most, within
        How many queries a mini-session may have, and how many seconds its last may be after its first.
    """
    starts = np.zeros(len(person), dtype=np.bool_)
    if not len(person):
        return starts
    # Person and time in one number, so that one search finds the first query that is too late, or another person's.
    number = np.cumsum(np.diff(person, prepend=person[:1]) != 0)
    since = time - time.min()
    key = number * (int(since.max()) + within + 1) + since
    too_late = np.searchsorted(key, key + within, side="right")
    following = np.minimum(too_late, np.arange(len(key)) + most).tolist()
    place = 0
    while place < len(following):
        starts[place] = True
        place = following[place]
    return starts


def number_mini_sessions(store: Store, events: str, most: int, within: int) -> None:
    """Make the table `visits` (person, time, query, visit) of a query that gives persons, times and queries."""
    store.run(_ORDERED.format(events=events))
    store.run("CREATE OR REPLACE TABLE starts (place BIGINT)")
    open_rows = np.empty(
        (3, 0), dtype=np.int64
    )  # the mini-session that a batch may end in: it may go on in the next
    for batch in store.batches(_IN_ORDER):
        columns = [np.array(batch.column(name), dtype=np.int64) for name in ("place", "person", "time")]
        rows = np.concatenate((open_rows, np.array(columns)), axis=1)
        begins = find_starts(rows[1], rows[2], most, within)
        begins[: open_rows.shape[1]] = False  # told already
        store.insert("starts", pa.table({"place": rows[0][begins]}))
        last = int(np.flatnonzero(begins)[-1]) if begins.any() else 0
        open_rows = rows[:, last:]
    store.run(_VISITS)
    store.run("DROP TABLE ordered")
