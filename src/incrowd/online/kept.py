"""Values that are kept so that they need not be worked out again, and not too many of them."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["keep"]

Key = TypeVar("Key")
Value = TypeVar("Value")


def keep(kept: dict[Key, Value], key: Key, value: Value, most: int) -> Value:
    """Keep a value and return it; where there are `most`, begin anew: people choose the keys, and must not fill the memory."""
    if len(kept) >= most:
        kept.clear()
    kept[key] = value
    return value
