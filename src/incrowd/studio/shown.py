"""Numbers and times as people read them."""

from __future__ import annotations

import time

__all__ = ["masked", "moment", "seconds_in_words", "size_in_words"]

MINUTE, HOUR = 60, 3600
LONGEST_MASK = 24
FEW_SECONDS = 10
KILO = 1000


def moment(seconds: float) -> str:
    """Return a time as the machine's clock has it, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def seconds_in_words(seconds: float) -> str:
    """Return how long something takes."""
    if seconds < FEW_SECONDS:
        return f"{seconds:.1f} s"
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / MINUTE:.0f} min" if seconds < 2 * HOUR else f"{seconds / HOUR:.1f} h"


def size_in_words(size: float) -> str:
    """Return a number of bytes."""
    for unit in ("B", "kB", "MB"):
        if size < KILO:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"  # noqa: PLR2004
        size /= KILO
    return f"{size:.1f} GB"


def masked(text: str) -> str:
    """Return a text of which only the shape is left: letters and digits are dots."""
    dots = "".join("\u2022" if character.isalnum() else character for character in text[:LONGEST_MASK])
    return dots + ("\u2026" if len(text) > LONGEST_MASK else "")
