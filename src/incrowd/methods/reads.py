"""What a method takes of a query log unless the owner says otherwise."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Reads"]


class Reads(NamedTuple):
    """The items and the unit that a method takes, and whether it needs every single query event."""

    items: str
    unit: str = "user"
    events: bool = False
