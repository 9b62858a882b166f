"""Record linkage (RL): how often an attacker who has the originals links a published log to its owner.

For each published log, the attacker takes the original logs that have the most queries in common with it and picks one
of them at random (Batet et al., Information Sciences 2013, section 5.1, equation 10).
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from incrowd.core.classes import WITHHELD
from incrowd.core.ragged import count_by_group, list_ids
from incrowd.core.types import Ints32, Ints64
from incrowd.errors import BadInputError

__all__ = ["QueryRows", "count_queries", "record_linkage"]


class QueryRows(NamedTuple):
    """Bags of queries: row r holds ``query[start[r]:start[r + 1]]``, all different, each `times` times."""

    start: Ints64
    query: Ints32 | Ints64
    times: Ints32 | Ints64


def count_queries(start: Ints64, query: Ints32 | Ints64) -> QueryRows:
    """Return a bag for each row, given its queries with repetitions."""
    return QueryRows(*count_by_group(list_ids(start), query, 1, len(start) - 1))


def record_linkage(original: QueryRows, published: QueryRows, record_of_user: Ints32 | Ints64) -> float:
    """Return RL: the percentage of users whose published log is expected to be linked with them.

    For each user u, G are the originals with the most queries in common with what is published of u. If u is in
    G, the attacker is right with probability 1 / |G|, else never. A user who has no query in common with the published
    log, or who is withheld, is never linked.

    Parameters
    ----------
    original
        The queries of each user.
    published
        The published logs, each once however many users share it, with the queries' numbers in `original`.
        Queries that no user typed have other numbers, none below 0.
    record_of_user
        Which of the published logs is each user's; WITHHELD for none.

    Notes
    -----
    Logs are bags: a query that occurs x times in one and y times in the other is min(x, y) queries in common. So a log
    that is published unchanged has itself in G, and besides it only the logs that contain it, repetitions included.

    All users of a class have the same G, so the probabilities of a class add up to at most 1: RL is at most 100
    times the number of published logs divided by that of users, and 100 / k for a k-anonymous release.

    Fractions are summed exactly and rounded once at the end.
    """
    users = len(original.start) - 1
    if len(record_of_user) != users:
        raise BadInputError(f"record_of_user must have the {users:,} users (got {len(record_of_user):,})")
    events = _UsersByQuery(
        original, width=1 + max(int(rows.query.max(initial=0)) for rows in (original, published))
    )
    linked: Counter[int] = Counter()  # how many users have each number of candidates
    for record, members in _members(record_of_user):
        place = slice(published.start[record], published.start[record + 1])
        common = events.in_common(published.query[place], published.times[place])
        most = common.max(initial=0)
        if most > 0:
            candidates = int(np.count_nonzero(common == most))
            linked[candidates] += int(np.count_nonzero(common[members] == most))
    right = sum((Fraction(count, candidates) for candidates, count in linked.items()), Fraction())
    return float(100 * right / max(users, 1))


def _members(record_of_user: Ints32 | Ints64) -> list[tuple[int, Ints64]]:
    """Return each published log that has users, with these users."""
    order = np.argsort(record_of_user, kind="stable")
    record, first = np.unique(record_of_user[order], return_index=True)
    members = np.split(order, first[1:])
    return [(one, users) for one, users in zip(record.tolist(), members, strict=False) if one != WITHHELD]


class _UsersByQuery:
    """The users of each query and how often they typed it, so that only users who share queries are compared."""

    def __init__(self, rows: QueryRows, *, width: int) -> None:
        self._users = len(rows.start) - 1
        order = np.argsort(rows.query, kind="stable")
        self._user = np.repeat(np.arange(self._users), np.diff(rows.start))[order]
        self._times = rows.times[order]
        self._start = np.searchsorted(rows.query[order], np.arange(width + 1))

    def in_common(self, query: Ints32 | Ints64, times: Ints32 | Ints64) -> Ints64:
        """Return how many queries of a bag each user has in common with it."""
        first, askers = self._start[query], self._start[query + 1] - self._start[query]
        end = np.cumsum(askers)
        at = np.arange(end[-1] if len(end) else 0) + np.repeat(first - (end - askers), askers)
        shared = np.minimum(self._times[at], np.repeat(times, askers))
        return np.bincount(self._user[at], weights=shared, minlength=self._users).astype(np.int64)
