"""A window on the events of a log: only its events become units, and everything before its end says how old accounts are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.activity import DAY
from incrowd.core.window import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incrowd.logs.store import Store

__all__ = ["count_within", "cut_events", "last_day", "until"]

EVERYTHING = "all_events"

# What was read stays in a table of its own; whoever reads `events` sees the window.
_IS_CUT = f"SELECT count(*) FROM duckdb_tables() WHERE table_name = '{EVERYTHING}'"  # noqa: S608 (a constant)
_CUT = "CREATE OR REPLACE VIEW events AS SELECT * FROM all_events WHERE {within}"
_WITHIN = "time >= {start} AND time < {stop}"
_COUNT = "count(*) FILTER ({within})"
_LAST_DAY = """
    SELECT max(day) FROM (
        SELECT floor(time / {day})::BIGINT AS day FROM {events} WHERE time >= {start}
        GROUP BY day HAVING count(DISTINCT "user") >= {people}
    )
"""


def cut_events(store: Store, window: Window | None) -> None:
    """Let `events` be those of a window; without one, all."""
    if not store.row(_IS_CUT)[0]:
        if window is None:
            return
        store.run(f"ALTER TABLE events RENAME TO {EVERYTHING}")
    within = "true" if window is None else _WITHIN.format(start=window.first, stop=window.stop)
    store.run(_CUT.format(within=within))


def until(window: Window | None) -> str:
    """Return all events that were read, up to a window's end, as a table in a query; it must have been cut out."""
    return "events" if window is None else f"(SELECT * FROM {EVERYTHING} WHERE time < {window.stop})"  # noqa: S608


def count_within(store: Store, windows: Sequence[Window]) -> list[int]:
    """Return how many events of all that were read each window has."""
    counts = [
        _COUNT.format(within=_WITHIN.format(start=window.first, stop=window.stop)) for window in windows
    ]
    return list(store.row(f"SELECT {', '.join(counts)} FROM {_all(store)}"))  # noqa: S608


def last_day(store: Store, people: int, start: int) -> int | None:
    """Return the last day from a time on that has events of so many different people, as a number; None if no day has."""
    sql = _LAST_DAY.format(events=_all(store), day=DAY, start=start, people=people)
    found: int | None = store.row(sql)[0]
    return found


def _all(store: Store) -> str:
    return EVERYTHING if store.row(_IS_CUT)[0] else "events"
