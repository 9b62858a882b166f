"""How many digits of a number leave: exact figures about a few people, or with sixteen digits, identify them."""

from __future__ import annotations

__all__ = ["at_least", "four_digits"]


def four_digits(value: float) -> float:
    """Return a measure with four significant digits: more of them are a checksum of the data it was measured on."""
    return float(f"{value:.4g}")


def at_least(k: int, number: int) -> int | str:
    """Return a number of people or records, or ``"fewer than k"`` where it speaks of fewer than k."""
    return number if number >= k else f"fewer than {k}"
