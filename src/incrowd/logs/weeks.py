"""When units were active, week by week, and whether a log has clicks: for measures of what a release is of use for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from incrowd.core.activity import DAY
from incrowd.core.transactions import Weeks
from incrowd.logs.units import EVENTS_BY_USER, VISITS_BY_UNIT

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.logs.store import Store
    from incrowd.logs.units import Unit

__all__ = ["WEEK", "clicks_in", "in_rows", "weeks_between", "weeks_of"]

WEEK = 7 * DAY
LEAST_DAYS, MOST_DAYS = 14, 36_525  # where a log seems to span a century, its times are not to be believed

_WEEKS = """
    SELECT DISTINCT unit, ((time - {first}) // {week})::INTEGER AS week FROM {units}
"""


def weeks_of(store: Store, unit: Unit, units: int) -> Weeks | None:
    """Return the weeks in which each unit has lines, counted from the log's first; None if the log spans less than two weeks.

    The table `units` must exist.
    """
    first, last = store.row("SELECT min(time), max(time) FROM events")
    number = weeks_between(first, last)
    if number is None:
        return None
    rows = VISITS_BY_UNIT if unit.is_part else EVENTS_BY_USER
    found = store.table(_WEEKS.format(first=first, week=WEEK, units=rows))
    return in_rows(found.column("unit"), found.column("week"), units, number)


def weeks_between(first: int | None, last: int | None) -> int | None:
    """Return how many weeks a log has, given its first and last time; None if it spans less than two.

    Days are begun ones: a log from a Monday to the Sunday after the next spans 14.
    """
    days = 0 if first is None or last is None else -(-(last - first) // DAY)
    return -(-days // 7) if LEAST_DAYS <= days <= MOST_DAYS else None


def in_rows(row: pa.ChunkedArray, week: pa.ChunkedArray, rows: int, number: int) -> Weeks:
    """Return the weeks of each row, given pairs of a row and a week in any order; the log's last second is of its last week."""
    whose, when = (np.array(column, dtype=np.int64) for column in (row, week))
    order = np.lexsort((when, whose))
    start = np.searchsorted(whose[order], np.arange(rows + 1)).astype(np.int64)
    return Weeks(start, np.minimum(when[order], number - 1).astype(np.int32), number)


def clicks_in(store: Store) -> bool:
    """Tell whether a log says which addresses were clicked."""
    return bool(store.row("SELECT count(*) FROM (SELECT 1 FROM events WHERE url <> '' LIMIT 1)")[0])
