"""Queries with noisy counts, (eps, delta)-differentially private.

Korolova, Kenthapadi, Mishra & Ntoulas, "Releasing search queries and clicks privately", WWW 2009. Each row keeps its
first d query events. Noise is added to the count of every remaining query, and the query is published with its noisy
count if that exceeds a threshold. The proof, with the threshold, is in ``docs/papers/korolova.md``.

The noise is discrete and drawn exactly, from whole numbers and secure random bits only: floating-point noise has gaps
that reveal the true count (Mironov, CCS 2012).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.claims import MOST_DELTA, MOST_EPS
from incrowd.core.events import QueryEvents
from incrowd.core.noise import (
    LEAST_EPS,
    MILLION,
    Words,
    discrete_laplace,
    noise_rate,
    secure_words,
    threshold,
)
from incrowd.core.ragged import list_ids
from incrowd.core.types import Ints32, Ints64
from incrowd.errors import BadInputError
from incrowd.methods.baselines import ranks_within

__all__ = [
    "NoisyCounts",
    "check_korolova",
    "korolova",
]


MOST_COUNT = 2**31 - 1  # the largest count in a file; larger noisy counts are published as this
WIDEST_EPS = 1_000  # the limit of the arithmetic


class NoisyCounts(NamedTuple):
    """The published queries (positions in the texts, ascending) and their noisy counts."""

    query: Ints32
    times: Ints64
    threshold: int


def korolova(
    events: QueryEvents, *, d: int, eps: float, delta: float, words: Words = secure_words
) -> NoisyCounts:
    """Publish the queries whose noisy counts exceed a threshold.

    Parameters
    ----------
    events
        The query events. The promise protects a row, so each person must have one row.
    d
        A row's first d query events count, repetitions included; the others are left out.
    eps, delta
        Any two logs that differ by one whole row give any set of releases with probabilities P <= e^eps Q + delta.
        Digits of eps beyond the millionth are cut off, which protects more.
    words
        The source of random bits. Any other than the default is for tests and promises nothing.
    """
    _check_arithmetic(d, eps, delta)
    counted = events.query[ranks_within(list_ids(events.start)) < d]
    query, times = np.unique(counted, return_counts=True)
    noisy = times + discrete_laplace(len(query), noise_rate(d, eps), words)
    least = threshold(d, eps, delta)
    passed = noisy > least
    # Cutting a noisy count reveals nothing more.
    return NoisyCounts(query[passed].astype(np.int32), np.minimum(noisy[passed], MOST_COUNT), least)


def check_korolova(*, d: int, eps: float, delta: float, **_: object) -> None:
    """Refuse parameters out of range, and those that would promise next to nothing."""
    if not 1 <= d <= MILLION:
        raise BadInputError(f"d must be between 1 and {MILLION:,} (got {d})")
    if not LEAST_EPS <= eps <= MOST_EPS:
        raise BadInputError(
            f"eps must be between {LEAST_EPS:f} and {MOST_EPS:g}: more would promise nothing (got {eps:g})"
        )
    if not 0 < delta < MOST_DELTA:
        raise BadInputError(
            f"delta must be greater than 0 and less than {MOST_DELTA}: more would promise nothing (got {delta:g})"
        )
    if threshold(d, eps, delta) >= MOST_COUNT:
        raise BadInputError(
            f"d = {d:,} with eps = {eps:g} needs counts above {MOST_COUNT:,}: use a smaller d or a greater eps"
        )


def _check_arithmetic(d: int, eps: float, delta: float) -> None:
    """Refuse values outside the range of the arithmetic."""
    if not (1 <= d <= MILLION and LEAST_EPS <= eps <= WIDEST_EPS and 0 < delta < 1):
        raise BadInputError(
            f"d must be from 1 to {MILLION:,}, eps from {LEAST_EPS:f} to {WIDEST_EPS:,} and delta between 0 and 1 "
            f"(got {d}, {eps:g} and {delta:g})"
        )
