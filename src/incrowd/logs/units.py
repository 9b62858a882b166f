"""Privacy units: the person, or the part of a person's log, that each row of the transactions stands for, and its queries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from incrowd.core.activity import Activity
from incrowd.errors import BadInputError, nearest
from incrowd.logs.mini_sessions import number_mini_sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from incrowd.logs.store import Store

__all__ = [
    "EVENTS_BY_USER",
    "VISITS_BY_UNIT",
    "Part",
    "Unit",
    "find_activity",
    "make_units",
    "parse_unit",
    "queries_by_unit",
]

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST_GAP = 3650 * 86_400
_GAP = re.compile(r"(\d{1,9})([smhd]?)", re.ASCII)
_MINI = re.compile(r"(\d{1,9})/(.*)", re.ASCII)
SESSION, MINI_SESSION = "session", "mini-session"

# The clicks of one query are one row each, and the same user, time and query: they count once.
_WITH_TIMES = 'SELECT DISTINCT "user", time, query FROM events'
_WITHOUT_TIMES = 'SELECT "user", time, query FROM events'

# Text is compared byte by byte, which for UTF-8 is the order of code points.
_USERS = """
    CREATE OR REPLACE TABLE units AS
    SELECT (row_number() OVER (ORDER BY "user") - 1)::INTEGER AS unit, "user" AS owner
    FROM (SELECT DISTINCT "user" FROM events)
"""
_QUERIES_BY_USER = """
    SELECT unit, query FROM ({events}) AS queries JOIN units ON queries."user" = units.owner WHERE query <> ''
"""

# People get numbers in the order of their names: sorting and joining by a number takes a fraction of what names take.
_PEOPLE = """
    CREATE OR REPLACE TABLE people AS
    SELECT (row_number() OVER (ORDER BY "user") - 1)::INTEGER AS person, "user" FROM (SELECT DISTINCT "user" FROM events)
"""
_EVENTS_WITH_TIMES = 'SELECT DISTINCT person, time, query FROM events JOIN people USING ("user")'
_EVENTS_WITHOUT_TIMES = 'SELECT person, time, query FROM events JOIN people USING ("user")'

# Rows of the same second are peers in the sum, so they share a visit whatever their order.
_VISITS = """
    CREATE OR REPLACE TABLE visits AS
    SELECT person, time, query, (1 + sum(starts) OVER (PARTITION BY person ORDER BY time))::INTEGER AS visit
    FROM (
        SELECT person, query, time,
            (time - lag(time, 1, time) OVER (PARTITION BY person ORDER BY time) > {gap})::INTEGER AS starts
        FROM ({events})
    )
"""

# Days and weeks are UTC's; weeks begin on Monday, and 1 January 1970 was a Thursday.
_PLACES = {
    "query": "row_number() OVER (PARTITION BY person ORDER BY time, query)",
    "day": "dense_rank() OVER (PARTITION BY person ORDER BY floor(time / 86400))",
    "week": "dense_rank() OVER (PARTITION BY person ORDER BY floor((time / 86400 + 3) / 7))",
}
_VISITS_BY_PLACE = """
    CREATE OR REPLACE TABLE visits AS SELECT person, time, query, ({place})::INTEGER AS visit FROM ({events})
"""
# A person's visits are numbered from 1 without gaps, and so the units are those of the first person, of the second, and so on.
_FIRST_UNITS = """
    CREATE OR REPLACE TABLE first_units AS
    SELECT person, visits, (sum(visits) OVER (ORDER BY person) - visits)::INTEGER AS first_unit
    FROM (SELECT person, max(visit) AS visits FROM visits GROUP BY person)
"""
_PARTS = """
    CREATE OR REPLACE TABLE units AS
    SELECT (first_unit + place)::INTEGER AS unit, "user" || '#' || (place + 1) AS owner, "user"
    FROM (
        SELECT first_unit, "user", unnest(range(visits)) AS place FROM first_units JOIN people USING (person)
    )
"""
VISITS_BY_UNIT = "(SELECT (first_unit + visit - 1)::INTEGER AS unit, person, time, query FROM visits JOIN first_units USING (person))"
"""Every visit with its unit, as a table in a query."""
EVENTS_BY_USER = 'events JOIN units ON events."user" = units.owner'
"""Every event with its unit, where units are users, as a table in a query."""
_QUERIES_BY_PART = f"SELECT unit, query FROM {VISITS_BY_UNIT} WHERE query <> ''"  # noqa: S608 (a constant)

_DAYS = """
    SELECT days FROM units JOIN (
        SELECT "user" AS person, count(DISTINCT floor(time / 86400)) AS days FROM {events} GROUP BY "user"
    ) AS active ON active.person = {owner} ORDER BY unit
"""
_PEOPLE_BY_DAY = """
    SELECT day, count(*) AS people
    FROM (SELECT DISTINCT "user", floor(time / 86400)::BIGINT AS day FROM events) GROUP BY day ORDER BY day
"""
Part = Literal["query", "day", "week"]


@dataclass(frozen=True)
class Unit:
    """What a row stands for: a user, a user's session that ends at a pause longer than `gap` seconds, or another part of the log.

    A mini-session has at most `most` queries, and its last is at most `within` seconds after its first.
    """

    gap: int | None = None
    part: Part | None = None
    most: int | None = None
    within: int = 0

    def __str__(self) -> str:
        if self.most is not None:
            return f"{MINI_SESSION}:{self.most}/{self.within}"
        return self.kind if self.gap is None else f"{SESSION}:{self.gap}"

    @property
    def kind(self) -> str:
        """What it is called."""
        if self.most is not None:
            return MINI_SESSION
        return self.part or ("user" if self.gap is None else SESSION)

    @property
    def is_part(self) -> bool:
        """Whether a person may have several rows."""
        return self.kind != "user"

    @property
    def needs_times(self) -> bool:
        """Whether it takes times to tell one row from the next."""
        return self.kind in {SESSION, MINI_SESSION, "day", "week"}


def parse_unit(text: str) -> Unit:
    """Read ``"user"``, ``"query"``, ``"day"``, ``"week"``, ``"session:GAP"`` or ``"mini-session:QUERIES/TIME"``.

    Gaps and times are like ``30m``, ``1h``, ``90s``, ``1d`` or plain seconds.

    Examples
    --------
    >>> str(parse_unit("session:30m")), str(parse_unit("mini-session:5/10m"))
    ('session:1800', 'mini-session:5/600')
    """
    if text == "user":
        return Unit()
    for part in get_args(Part):
        if text == part:
            return Unit(part=part)
    kind, _, rest = text.partition(":")
    if kind == SESSION:
        return Unit(_seconds(rest, text, "a gap like session:30m, session:1h or session:90s"))
    if kind == MINI_SESSION:
        return _mini_session(rest, text)
    hint = nearest(kind, ("user", SESSION, MINI_SESSION, *get_args(Part)))
    raise BadInputError(
        f"unit must be user, query, day, week, session:GAP, as session:30m, or mini-session:QUERIES/TIME, as mini-session:5/10m (got '{text}'){hint}"
    )


def _mini_session(rest: str, text: str) -> Unit:
    needed = "a number of queries, at least 1, and a time, like mini-session:5/10m"
    match = _MINI.fullmatch(rest)
    if not match or not int(match[1]):
        raise BadInputError(f"unit needs {needed} (got '{text}')")
    return Unit(most=int(match[1]), within=_seconds(match[2], text, needed))


def _seconds(length: str, text: str, needed: str) -> int:
    """Read a length of time; `text` is the whole unit, of which `needed` says what it lacks."""
    match = _GAP.fullmatch(length)
    if not match:
        raise BadInputError(f"unit needs {needed} (got '{text}')")
    seconds = int(match[1]) * _SECONDS[match[2]]
    if seconds > _LONGEST_GAP:
        raise BadInputError(f"unit must have a gap of at most 3650d, ten years (got '{text}')")
    return seconds


def make_units(store: Store, unit: Unit, *, has_times: bool) -> None:
    """Make the table `units` (unit, owner) from the table `events`.

    Units are numbered from 0 by user id (in code point order), then by time. An empty query counts
    as activity: it can keep a session open, and its user is a unit.
    """
    if not unit.is_part:
        store.run(_USERS)
        return
    store.run(_PEOPLE)
    events = _EVENTS_WITH_TIMES if has_times else _EVENTS_WITHOUT_TIMES
    if unit.most is not None:
        number_mini_sessions(store, events, unit.most, unit.within)
    elif unit.part is None:
        store.run(_VISITS.format(events=events, gap=unit.gap))
    else:
        store.run(_VISITS_BY_PLACE.format(events=events, place=_PLACES[unit.part]))
    store.run(_FIRST_UNITS)
    store.run(_PARTS)


def find_activity(store: Store, unit: Unit, events: str = "events") -> Activity:
    """Return on how many days the person of each unit was active, when the first and the last event were, and how many people each day has.

    `events` is the table that tells how old accounts are: the units' own events, or more.
    """
    first, last = store.row(f"SELECT coalesce(min(time), 0), coalesce(max(time), 0) FROM {events}")  # noqa: S608
    owner = 'units."user"' if unit.is_part else "units.owner"
    days = store.table(_DAYS.format(owner=owner, events=events)).column(0)
    by_day = store.table(_PEOPLE_BY_DAY)
    counted = (np.array(by_day["day"], dtype=np.int64), np.array(by_day["people"], dtype=np.int64))
    return Activity(np.array(days, dtype=np.int32), first, last, counted)


def queries_by_unit(store: Store, unit: Unit, *, has_times: bool) -> Iterator[pa.RecordBatch]:
    """Yield batches of (unit, query) with all queries, in no order."""
    if unit.is_part:
        return store.batches(_QUERIES_BY_PART)
    return store.batches(_QUERIES_BY_USER.format(events=_WITH_TIMES if has_times else _WITHOUT_TIMES))
