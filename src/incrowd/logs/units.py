"""Privacy units: the person or session that each row of the transactions stands for, and its queries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incrowd.errors import BadInputError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from incrowd.logs.store import Store

__all__ = ["Unit", "make_units", "parse_unit", "queries_by_unit"]

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST_GAP = 3650 * 86_400
_GAP = re.compile(r"(\d{1,9})([smhd]?)", re.ASCII)

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

# Rows of the same second are peers in the sum, so they share a visit whatever their order.
_VISITS = """
    CREATE OR REPLACE TABLE visits AS
    SELECT "user", time, query, 1 + sum(starts) OVER (PARTITION BY "user" ORDER BY time) AS visit
    FROM (
        SELECT "user", query, time,
            (time - lag(time, 1, time) OVER (PARTITION BY "user" ORDER BY time) > {gap})::INTEGER AS starts
        FROM ({events})
    )
"""
_SESSIONS = """
    CREATE OR REPLACE TABLE units AS
    SELECT (row_number() OVER (ORDER BY "user", visit) - 1)::INTEGER AS unit,
        "user" || '#' || visit AS owner, "user", visit
    FROM (SELECT DISTINCT "user", visit FROM visits)
"""
_QUERIES_BY_SESSION = """
    SELECT unit, query FROM visits JOIN units USING ("user", visit) WHERE query <> ''
"""


@dataclass(frozen=True)
class Unit:
    """What a row stands for: a user, or a user's session that ends at a pause longer than `gap` seconds."""

    gap: int | None = None

    def __str__(self) -> str:
        return "user" if self.gap is None else f"session:{self.gap}"


def parse_unit(text: str) -> Unit:
    """Read ``"user"`` or ``"session:GAP"``, with a gap like ``30m``, ``1h``, ``90s``, ``1d`` or plain seconds.

    Examples
    --------
    >>> parse_unit("session:30m")
    Unit(gap=1800)
    """
    if text == "user":
        return Unit()
    kind, _, gap = text.partition(":")
    if kind != "session":
        hint = nearest(kind, ("user", "session"))
        raise BadInputError(f"unit must be 'user' or 'session:GAP', as session:30m (got '{text}'){hint}")
    match = _GAP.fullmatch(gap)
    if not match:
        raise BadInputError(f"unit needs a gap like session:30m, session:1h or session:90s (got '{text}')")
    seconds = int(match[1]) * _SECONDS[match[2]]
    if seconds > _LONGEST_GAP:
        raise BadInputError(f"unit must have a gap of at most 3650d, ten years (got '{text}')")
    return Unit(seconds)


def make_units(store: Store, unit: Unit) -> None:
    """Make the table `units` (unit, owner) from the table `events`.

    Units are numbered from 0 by user id (in code point order), then by session. An empty query counts
    as activity: it can keep a session open, and its user is a unit.
    """
    if unit.gap is None:
        store.run(_USERS)
        return
    store.run(_VISITS.format(events=_WITH_TIMES, gap=unit.gap))
    store.run(_SESSIONS)


def queries_by_unit(store: Store, unit: Unit, *, has_times: bool) -> Iterator[pa.RecordBatch]:
    """Yield batches of (unit, query) with all queries, in no order."""
    if unit.gap is not None:
        return store.batches(_QUERIES_BY_SESSION)
    return store.batches(_QUERIES_BY_USER.format(events=_WITH_TIMES if has_times else _WITHOUT_TIMES))
