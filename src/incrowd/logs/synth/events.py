"""When people of a made-up log search, what they repeat, and which results they click."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.core.types import Bools, Floats, Ints64
from incrowd.logs.synth.draws import powered, skewed, some

__all__ = ["ACTIVITY", "DAYS", "RANKS", "Events", "draw_activity"]

DAYS = 92
RANKS = 500
# Shares of lines: the query of the line before (its next page, or another click), or one of the person's earlier queries.
REPEATED, AGAIN = 0.205, 0.18
# The part of the repeated ones that are another click on the same page of results.
ANOTHER_CLICK = 0.20
CLICKED = 0.50
STARTS_SESSION = 0.66

DAY_SECONDS = 86_400
# Each eighth of a uniform day is mapped to these hours, so that few queries fall into the night.
EIGHTHS_START = np.array([0, 7, 10, 13, 15, 17, 19, 21, 24], dtype=np.int64) * 3_600


def _all_people() -> Floats:
    """Return a thousand quantiles of a whole log's lines a person: log-normal, median 19, mean 55, at most 4,000."""
    count = np.arange(1, 4_001)
    density = np.exp(-((np.log(count) - 2.95) ** 2) / (2 * 1.5**2)) / count
    below = np.searchsorted(np.cumsum(density / density.sum()), np.arange(1_001) / 1_001)
    return (below + 1).astype(np.float64)


# Equidistant quantiles of the number of lines a person.
ACTIVITY = {
    "heavy": np.array([120, 183, 220, 249, 272, 294, 321, 359, 405, 476, 888], dtype=np.float64),
    "all": _all_people(),
}


def draw_activity(rng: np.random.Generator, quantiles: Floats, count: int) -> Ints64:
    """Draw the numbers of lines of `count` people; in the last part, small numbers are the most likely."""
    place = rng.random(count) * (len(quantiles) - 1)
    part = place.astype(np.int64)
    within = place - part
    within = np.where(part == len(quantiles) - 2, powered(within, 3), within)
    return (quantiles[part] + within * (quantiles[part + 1] - quantiles[part])).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Events:
    """The lines of a chunk of people.

    Parameters
    ----------
    person
        Whose line it is; ascending.
    query
        Which of the chunk's fresh queries it holds.
    fresh
        Whether the line is the first with its query.
    repeats, same_moment
        Whether it has the query of the line before, and whether also its time: another click on the same page.
    """

    person: Ints64
    query: Ints64
    fresh: Bools
    repeats: Bools
    same_moment: Bools

    @classmethod
    def draw(cls, rng: np.random.Generator, person: Ints64) -> Events:
        """Draw what each line repeats."""
        count = len(person)
        first = np.flatnonzero(np.diff(person, prepend=-1))
        kind = rng.random(count)
        repeats = kind < REPEATED
        repeats[first] = False
        fresh = ~repeats & (kind >= REPEATED + AGAIN)
        fresh[first] = True
        latest = np.cumsum(fresh) - 1
        own_first = np.repeat(latest[first], np.diff(np.append(first, count)))
        # Early queries are repeated most, as habits are.
        earlier = own_first + skewed(rng, latest - own_first + 1, power=2)
        query = np.where(fresh, latest, earlier)
        source = np.maximum.accumulate(np.where(repeats, 0, np.arange(count)))
        return cls(person, query[source], fresh, repeats, repeats & some(rng, ANOTHER_CLICK, count))

    def times(self, rng: np.random.Generator) -> Ints64:
        """Draw the second of each line, counted from the first day; it ascends within a person.

        Seconds or minutes lie before every line, and a part of the person's free time before each session.
        """
        count = len(self.person)
        first = np.flatnonzero(np.diff(self.person, prepend=-1))
        length = np.diff(np.append(first, count))
        starts = ~self.repeats & some(rng, STARTS_SESSION, count)
        starts[first] = True
        gap = np.cumsum(np.where(self.same_moment, 0, 5 + skewed(rng, 595, power=3, shape=count)))
        pause = np.cumsum(np.where(starts, powered(rng.random(count), 2), 0.0))
        after = 0.05 + rng.random(len(first))

        last = first + length - 1
        gap_before, pause_before = (np.append(0, total[first[1:] - 1]) for total in (gap, pause))
        free = DAYS * DAY_SECONDS - (gap[last] - gap_before)
        own_pause = pause - np.repeat(pause_before, length)
        share = own_pause / np.repeat(pause[last] - pause_before + after, length)
        return _by_daylight(
            gap - np.repeat(gap_before, length) + (np.repeat(free, length) * share).astype(np.int64)
        )

    def ranks(self, rng: np.random.Generator, known: Bools) -> Ints64:
        """Draw the rank of the result that each line clicks; 0 is no click."""
        count = len(self.person)
        start = np.flatnonzero(~self.same_moment)
        length = np.diff(np.append(start, count))
        clicked = some(rng, CLICKED, len(start)) | (length > 1)
        deeper = np.where(known[start], 0, skewed(rng, 40, power=5, shape=len(start)))
        place = np.arange(count) - np.repeat(start, length)
        return np.where(np.repeat(clicked, length), 1 + np.repeat(deeper, length) + place, 0)


def _by_daylight(time: Ints64) -> Ints64:
    """Move uniformly distributed seconds to waking hours, keeping their order."""
    day, second = np.divmod(time, DAY_SECONDS)
    eighth, within = np.divmod(second, DAY_SECONDS // 8)
    length: Ints64 = np.diff(EIGHTHS_START)[eighth]
    return day * DAY_SECONDS + EIGHTHS_START[eighth] + within * length // (DAY_SECONDS // 8)
