"""When units were active, week by week, and whether a log has clicks: for measures of what a release is of use for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from incrowd.core.transactions import Weeks

if TYPE_CHECKING:
    from incrowd.logs.store import Store
    from incrowd.logs.units import Unit

__all__ = ["clicks_in", "weeks_of"]

DAY = 86_400
LEAST_DAYS, MOST_DAYS = 14, 36_525  # where a log seems to span a century, its times are not to be believed

_BY_USER = 'events JOIN units ON events."user" = units.owner'
_BY_SESSION = 'visits JOIN units USING ("user", visit)'
_WEEKS = """
    SELECT DISTINCT unit, ((time - {first}) // {week})::INTEGER AS week FROM {units} ORDER BY unit, week
"""


def weeks_of(store: Store, unit: Unit, units: int) -> Weeks | None:
    """Return the weeks in which each unit has lines, counted from the log's first; None if the log spans less than two weeks.

    The table `units` must exist. Days are begun ones: a log from a Monday to the Sunday after the next spans 14.
    """
    first, last = store.row("SELECT min(time), max(time) FROM events")
    days = 0 if first is None else -(-(last - first) // DAY)
    if not LEAST_DAYS <= days <= MOST_DAYS:
        return None
    weeks = -(-days // 7)
    rows = _BY_USER if unit.gap is None else _BY_SESSION
    found = store.table(_WEEKS.format(first=first, week=7 * DAY, units=rows))
    row, week = (np.array(found.column(name), dtype=np.int64) for name in ("unit", "week"))
    start = np.searchsorted(row, np.arange(units + 1)).astype(np.int64)
    return Weeks(start, np.minimum(week, weeks - 1).astype(np.int32), weeks)


def clicks_in(store: Store) -> bool:
    """Tell whether a log says which addresses were clicked."""
    return bool(store.row("SELECT count(*) FROM (SELECT 1 FROM events WHERE url <> '' LIMIT 1)")[0])
