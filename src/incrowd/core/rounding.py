"""Rounding of published figures: exact counts of few people, or measures with many digits, could identify them."""

from __future__ import annotations

__all__ = ["at_least", "four_digits", "spelled"]


def four_digits(value: float) -> float:
    """Return a measure with four significant digits; more digits would work as a checksum of the private data."""
    return float(f"{value:.4g}")


def at_least(k: int, number: int) -> int | str:
    """Return a number of people or records, or ``"fewer than k"`` where it is below k."""
    return number if number >= k else f"fewer than {k}"


def spelled(number: int | str) -> str:
    """Return what `at_least` returned as text for people."""
    return number if isinstance(number, str) else f"{number:,}"
