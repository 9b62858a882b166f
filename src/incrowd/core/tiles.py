"""Tiles: small sets of labels that many people hold, and (privately) who holds which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from incrowd.core.types import Ints32, Ints64

__all__ = ["Tiles"]


@dataclass(frozen=True, eq=False)
class Tiles:
    """Distinct sets of taxonomy nodes, each held by some units; nothing published says which a unit holds.

    Parameters
    ----------
    start, nodes
        Tile t is the nodes ``nodes[start[t]:start[t + 1]]``, ascending and distinct.
    people, units
        How many different people who count hold each tile, and how many of their units, each person counted a limited number of
        times.
    held_start, held
        Row r of the transactions holds the tiles ``held[held_start[r]:held_start[r + 1]]``. Private.
    withheld
        How many items of rows no tile stands for.
    notes
        The method's account of its work, as sentences with numbers.
    used
        The method's own parameters as they were used, where that follows from the data or has a spelling of its own: `aged`, on how many
        different days an account must have been active to count among the people and in the units, `thresholds`, `weights`.
    """

    start: Ints64
    nodes: Ints32
    people: Ints64
    units: Ints64
    held_start: Ints64
    held: Ints32
    withheld: int
    notes: tuple[str, ...] = ()
    used: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def sizes(self) -> Ints64:
        """How many labels each tile has."""
        return np.diff(self.start)
