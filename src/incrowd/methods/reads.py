"""What a method takes of a query log unless the owner says otherwise."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Reads"]


class Reads(NamedTuple):
    """The items and the unit that a method takes, whether it needs every single query event, and further kinds of items."""

    items: str
    unit: str = "user"
    events: bool = False
    kinds: tuple[str, ...] = ()
