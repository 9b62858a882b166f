"""Rounding of published figures: exact counts of few people, or measures with many digits, could identify them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

__all__ = [
    "ROUNDED_TO",
    "about",
    "about_step",
    "at_least",
    "four_digits",
    "keyed_share",
    "rounded_from",
    "spelled",
]

ROUNDED_TO = 5


def four_digits(value: float) -> float:
    """Return a measure with four significant digits; more digits would work as a checksum of the private data."""
    return float(f"{value:.4g}")


def about_step(number: int) -> int:
    """Return what `about` rounds a number of this size to multiples of: two digits are left, and never more than the tens."""
    return int(10 ** max(len(str(number)) - 2, 1))


def about(number: int) -> int:
    """Return a number of units with two significant digits; below 100 with one, for two would be all of it."""
    step = about_step(number)
    return (number + step // 2) // step * step


def at_least(k: int, number: int) -> int | str:
    """Return a number of people or records, or ``"fewer than k"`` where it is below k."""
    return number if number >= k else f"fewer than {k}"


def keyed_share(seed: int, labels: Iterable[tuple[str, bool]]) -> float:
    """Return a number from 0 to below 1 that follows from a secret seed and a set of labels, and looks random without the seed."""
    hashed = hashlib.blake2b(digest_size=8, key=seed.to_bytes(8, "big"), person=b"rounding")
    for text, exact in sorted(labels):
        content = text.encode()
        hashed.update(len(content).to_bytes(8, "big") + content + bytes([exact]))
    return (int.from_bytes(hashed.digest(), "big") >> 11) / 2**53


def rounded_from(k: int, number: int, share: float) -> int:
    """Round a number of at least k to one of k, k + 5, k + 10, ...: up if the share is small enough, so that sums stay right.

    The steps begin at k, for if they were the multiples of 5, numbers between k and the next of them could only be raised.
    The same share for two numbers keeps their order, and says no more about two equal ones than about one.
    """
    over = (number - k) % ROUNDED_TO
    return number - over + ROUNDED_TO * (share * ROUNDED_TO < over)


def spelled(number: int | str) -> str:
    """Return what `at_least` returned as text for people."""
    return number if isinstance(number, str) else f"{number:,}"
