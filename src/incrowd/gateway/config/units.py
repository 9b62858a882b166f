"""Durations and sizes as they are written in a configuration: ``500ms 10s 5m 2h 90d`` and ``64KB 50MB 2GB``."""

from __future__ import annotations

import re

from incrowd.errors import BadInputError

__all__ = ["parse_duration", "parse_size", "size_in_words"]

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
# At most nine digits: more is a typing error.
_QUANTITY = re.compile(r"([0-9]{1,9})([A-Za-z]+)")


def parse_duration(value: object) -> float:
    """Return the seconds of a duration such as ``10s``; a unit is required."""
    found = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[2] not in SECONDS:
        raise BadInputError("must be a duration such as 500ms, 10s, 5m, 2h or 90d")
    # A thousandth has no exact double: dividing rounds once, multiplying would round twice.
    return int(found[1]) / 1000 if found[2] == "ms" else int(found[1]) * SECONDS[found[2]]


def parse_size(value: object) -> int:
    """Return the bytes of a size such as ``50MB`` (powers of 1000); a whole number alone is in bytes."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    found = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[2] not in BYTES:
        raise BadInputError("must be a size such as 64KB, 50MB or 2GB")
    return int(found[1]) * BYTES[found[2]]


def size_in_words(size: int) -> str:
    """Format a size: ``1.9 GB``."""
    unit = max((name for name in BYTES if BYTES[name] <= size), key=BYTES.__getitem__, default="B")
    return f"{size} B" if unit == "B" else f"{size / BYTES[unit]:,.1f} {unit}"
