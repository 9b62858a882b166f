"""When people were active: on how many days each of them, and over what time the whole log."""

from __future__ import annotations

from typing import NamedTuple

from incrowd.core.types import Ints32

__all__ = ["DAY", "Activity"]

DAY = 86_400  # seconds


class Activity(NamedTuple):
    """When the people behind rows were active. Private.

    ``days`` has for each row on how many different days (UTC) its person was active in the whole log; ``first`` and
    ``last`` are the times of the log's earliest and latest event, in seconds since 1970. Where rows are of a window, the log is
    everything that was read before the window's end.
    """

    days: Ints32
    first: int
    last: int

    @property
    def span(self) -> int:
        """How many days the log spans, the first and the last included."""
        return self.last // DAY - self.first // DAY + 1
