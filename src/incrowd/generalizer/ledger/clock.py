"""The ledger's own time, which setting the system clock cannot advance.

While a process runs, the ledger uses a monotonic clock. Only the wall clock knows how long a restart took. If it went
backwards or ahead by more than a tenth of the time to live, the difference is not counted and the ledger continues from its
last time. So entries may live longer than configured, but never much shorter.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["LedgerClock", "steady_seconds"]

PLAUSIBLE = 0.1
"""The longest time between two runs that is counted, as a share of the time to live."""
LEAST_JUMP = 60.0
"""Seconds by which the wall clock must have jumped to be reported."""
_BOOT = getattr(time, "CLOCK_BOOTTIME", None)


def steady_seconds() -> float:
    """Return the time of a monotonic clock, which also counts while the machine sleeps where the system has such a clock."""
    return time.monotonic() if _BOOT is None else time.clock_gettime(_BOOT)


class LedgerClock:
    """The time of one opened ledger.

    Parameters
    ----------
    wall, steady
        The wall clock and a monotonic clock, in seconds.
    last_wall, last_time
        The wall clock and the ledger's time at the last write.
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
        """Return the ledger's time; `last_time` is the time of the last write by any process."""
        return max(last_time, self._ahead + self._steady())

    def wall(self) -> float:
        """Return the wall clock's time, to be stored for the next start."""
        wall, steady = self._wall(), self._steady()
        self._jump += (wall - self._wall_seen) - (steady - self._steady_seen)
        self._wall_seen, self._steady_seen = wall, steady
        return wall

    def take_jump(self) -> float:
        """Return by how many seconds the wall clock jumped since the last call; 0 if by less than `LEAST_JUMP`."""
        if abs(self._jump) < LEAST_JUMP:
            return 0.0
        jump, self._jump = self._jump, 0.0
        return jump
