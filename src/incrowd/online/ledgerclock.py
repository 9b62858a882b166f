"""The ledger's own time, which no setting of the clock can hurry.

While a process runs, the ledger counts with a clock that cannot be set. Over a restart only the clock on the wall knows how
long that took; if it says what is hardly possible (backwards, or more than a tenth of the time to live), that
is not counted and the ledger goes on from where it was. So entries may live longer than they must, never much shorter.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["LedgerClock", "steady_seconds"]

PLAUSIBLE = 0.1
"""Of the time to live: the longest time away that is counted."""
WORTH_SAYING = 60.0
"""Seconds by which the clock on the wall must be off to be spoken of."""
_BOOT = getattr(time, "CLOCK_BOOTTIME", None)


def steady_seconds() -> float:
    """Return the time of a clock that cannot be set; where there is one, it goes on while the machine sleeps."""
    return time.monotonic() if _BOOT is None else time.clock_gettime(_BOOT)


class LedgerClock:
    """The time of one opened ledger, from the first look at it.

    Parameters
    ----------
    wall, steady
        The clock on the wall, and one that cannot be set; in seconds.
    last_wall, last_time
        What the wall and the ledger's time were when it was last written.
    time_to_live
        Seconds that entries live.
    """

    def __init__(
        self,
        wall: Callable[[], float],
        steady: Callable[[], float],
        *,
        last_wall: float,
        last_time: float,
        time_to_live: float,
    ) -> None:
        self._wall = wall
        self._steady = steady
        self._wall_seen = wall()
        self._steady_seen = steady()
        away = self._wall_seen - last_wall
        counted = away if 0 <= away <= PLAUSIBLE * time_to_live else 0.0
        self._ahead = last_time + counted - self._steady_seen
        self._jump = away - counted

    def now(self, last_time: float) -> float:
        """Return the ledger's time; `last_time` is what it was when it was last written, by any process."""
        return max(last_time, self._ahead + self._steady())

    def wall(self) -> float:
        """Return what the wall says, to be written down for the next start."""
        wall, steady = self._wall(), self._steady()
        self._jump += (wall - self._wall_seen) - (steady - self._steady_seen)
        self._wall_seen, self._steady_seen = wall, steady
        return wall

    def take_jump(self) -> float:
        """Return by how many seconds the wall moved without being counted since this was last called; 0 if hardly."""
        if abs(self._jump) < WORTH_SAYING:
            return 0.0
        jump, self._jump = self._jump, 0.0
        return jump
