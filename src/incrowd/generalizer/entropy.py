"""Guessing entropy: how many guesses a protected value takes on average, in exact integers.

Among N rows whose protected values occur c_1 >= c_2 >= ... times, the best guesser tries the values in that
order and needs G = (1 * c_1 + 2 * c_2 + ...) / N guesses on average (Oh, Kim & Obi, IEICE Trans. Inf. & Syst. 2012,
section 2, equation 2). G is kept as the pair (sum of i * c_i, N), so that comparisons are exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from incrowd.core.types import Ints64

__all__ = ["as_fraction", "guess_sum", "guess_sums", "is_private"]


def guess_sum(counts: Iterable[int]) -> tuple[int, int]:
    """Return the sum of i * c_i over the counts in falling order, and N, the sum of the counts."""
    falling = sorted((int(count) for count in counts), reverse=True)
    return sum(place * count for place, count in enumerate(falling, start=1)), sum(falling)


def guess_sums(counts: Ints64) -> Ints64:
    """Return the sum of i * c_i for each row of a table of counts (one column a protected value)."""
    rising = np.sort(counts, axis=-1)
    places = np.arange(counts.shape[-1], 0, -1, dtype=np.int64)
    return np.asarray(rising @ places, dtype=np.int64)


def is_private(guesses: int, total: int, minimum: Fraction) -> bool:
    """Return whether G = guesses / total reaches the minimum. A query that matches no row (N = 0) is not private."""
    return total > 0 and guesses * minimum.denominator >= minimum.numerator * total


@lru_cache(maxsize=1 << 14)
def as_fraction(guesses: int, total: int) -> Fraction:
    """Return G; 0 if there are no rows. Cached, since queries share few cells."""
    return Fraction(guesses, total) if total else Fraction(0)
