"""A cache of bounded size."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["keep"]

Key = TypeVar("Key")
Value = TypeVar("Value")


def keep(kept: dict[Key, Value], key: Key, value: Value, most: int) -> Value:
    """Store a value and return it; empty the cache first if it has `most` entries, since users choose the keys."""
    if len(kept) >= most:
        kept.clear()
    kept[key] = value
    return value
