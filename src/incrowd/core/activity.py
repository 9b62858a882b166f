"""When people were active: on how many days each of them, and over what time the whole log."""

from __future__ import annotations

from datetime import date, timedelta
from typing import NamedTuple

from incrowd.core.types import Ints32, Ints64

__all__ = ["DAY", "Activity"]

DAY = 86_400  # seconds


class Activity(NamedTuple):
    """When the people behind rows were active. Private.

    ``days`` has for each row on how many different days (UTC) its person was active in the whole log; ``first`` and
    ``last`` are the times of the log's earliest and latest event, in seconds since 1970. ``people_by_day`` has the days since 1970 (UTC) on which
    anybody was active, and how many different people on each; None where nobody asked. Where rows are of a window, the log is everything that was
    read before the window's end, and the days are the window's.
    """

    days: Ints32
    first: int
    last: int
    people_by_day: tuple[Ints64, Ints64] | None = None

    def period(self, k: int) -> dict[str, str]:
        """Return the first and the last day on which at least k people were active, as parameters of a release; none if there is no such day."""
        if self.people_by_day is None:
            return {}
        days, people = self.people_by_day
        busy = days[people >= k]
        if not len(busy):
            return {}
        ends = (date(1970, 1, 1) + timedelta(days=int(day)) for day in (busy.min(), busy.max()))
        return dict(zip(("first_day", "last_day"), (day.isoformat() for day in ends), strict=True))

    @property
    def span(self) -> int:
        """How many days the log spans, the first and the last included."""
        return self.last // DAY - self.first // DAY + 1
