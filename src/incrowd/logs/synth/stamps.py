"""The texts of times and ranks in a made-up log's lines."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from incrowd.core.types import Ints64
from incrowd.logs.synth.events import DAYS, RANKS

__all__ = ["Stamps"]

FIRST_DAY = datetime(2006, 3, 1, tzinfo=UTC)


@dataclass(frozen=True, eq=False)
class Stamps:
    """Pieces of text for days, minutes, seconds and ranks, and where each kind begins; the first piece is empty."""

    pieces: pa.StringArray
    start: dict[str, int]

    @classmethod
    def make(cls, *, goes_on: bool = False) -> Stamps:
        """Spell all of them, for lines that end behind the address of the click or go on there."""
        end = "" if goes_on else "\n"
        kinds = {
            "nothing": [""],
            "day": [(FIRST_DAY + timedelta(days=day)).strftime("\t%Y-%m-%d ") for day in range(DAYS)],
            "minute": [f"{minute // 60:02}:{minute % 60:02}:" for minute in range(24 * 60)],
            "second": [f"{second:02}\t" for second in range(60)],
            "rank": [f"\t{end}", *(f"{rank}\thttp://www." for rank in range(1, RANKS))],
            "end": [end],
            "newline": ["\n"],
        }
        start = dict(zip(kinds, np.cumsum([0, *map(len, kinds.values())]).tolist(), strict=False))
        return cls(pa.array([piece for kind in kinds.values() for piece in kind], pa.string()), start)

    def of_time(self, time: Ints64) -> tuple[Ints64, Ints64, Ints64]:
        """Return the pieces of times: day, minute, second."""
        minute, second = np.divmod(time, 60)
        day, minute = np.divmod(minute, 24 * 60)
        return self.start["day"] + day, self.start["minute"] + minute, self.start["second"] + second

    def of_rank(self, rank: Ints64, address: Ints64) -> tuple[Ints64, Ints64, Ints64]:
        """Return the pieces of the last two fields of a line; rank 0 is no click."""
        return self.start["rank"] + rank, address, np.where(rank > 0, self.start["end"], 0)

    def ends(self, count: int) -> Ints64:
        """Return the pieces of the ends of lines that go on behind the address."""
        return np.full(count, self.start["newline"])
