"""Disclosure risk by record linkage: how often the nearest original is the right one (equation 10).

An attacker who knows all original logs takes, for each published log, those that have the most queries in common
with it, and picks one of them (semantic-microaggregation.txt, section 5.1).
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.errors import BadInputError
from incrowd.lists import added_up, list_of
from incrowd.methods.classes import WITHHELD

__all__ = ["QueryRows", "count_queries", "record_linkage"]

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]


class QueryRows(NamedTuple):
    """Bags of queries: row r asks ``query[start[r]:start[r + 1]]``, all different, so many `times` each."""

    start: Ints64
    query: Ints32 | Ints64
    times: Ints32 | Ints64


def count_queries(start: Ints64, query: Ints32 | Ints64) -> QueryRows:
    """Return the bags of rows in which a query stands as often as it was asked."""
    return QueryRows(*added_up(list_of(start), query, np.ones(len(query), dtype=np.int64), len(start) - 1))


def record_linkage(original: QueryRows, published: QueryRows, record_of_user: Ints32 | Ints64) -> float:
    """Return RL: the percentage of users whose published log is expected to be linked with them.

    For each user u, G are the originals with the most queries in common with what is published of u. If u is in
    G, the attacker is right with probability 1 / |G|, else never; nor where no query is in common with anybody,
    or u is withheld.

    Parameters
    ----------
    original
        What each user asked.
    published
        The published logs, each once however many users share it, with the queries' numbers in `original`.
        Those that nobody asked have other numbers, none below 0.
    record_of_user
        Which of the published logs is each user's; WITHHELD for none.

    Notes
    -----
    Logs are bags: a query asked x times here and y times there is min(x, y) queries in common. So a log that is
    published as it is has itself in G, and besides it only the logs that contain it, copies and all.

    All users of a class have the same G, so the probabilities of a class add up to at most 1: RL is at most 100
    times the number of published logs by that of users, and 100 / k for a k-anonymous release.

    The sum is of fractions, rounded once at the end.
    """
    users = len(original.start) - 1
    if len(record_of_user) != users:
        raise BadInputError(f"record_of_user must have the {users:,} users (got {len(record_of_user):,})")
    asked = _Askers(original, width=1 + max(int(rows.query.max(initial=0)) for rows in (original, published)))
    linked: Counter[int] = Counter()  # how many users are among so many candidates
    for record, members in _members(record_of_user):
        place = slice(published.start[record], published.start[record + 1])
        common = asked.in_common(published.query[place], published.times[place])
        most = common.max(initial=0)
        if most > 0:
            candidates = int(np.count_nonzero(common == most))
            linked[candidates] += int(np.count_nonzero(common[members] == most))
    right = sum((Fraction(count, candidates) for candidates, count in linked.items()), Fraction())
    return float(100 * right / max(users, 1))


def _members(record_of_user: Ints32 | Ints64) -> list[tuple[int, Ints64]]:
    """Return each published log that is somebody's, with its users."""
    order = np.argsort(record_of_user, kind="stable")
    record, first = np.unique(record_of_user[order], return_index=True)
    members = np.split(order, first[1:])
    return [(one, users) for one, users in zip(record.tolist(), members, strict=False) if one != WITHHELD]


class _Askers:
    """Who asked each query, and how often: so nobody is compared with those who share nothing."""

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
