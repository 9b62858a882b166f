"""The tiles beside a new one: how many units and owners hold both, and which units these are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.jit import helper
from incrowd.methods.mosaic.cover import People
from incrowd.methods.mosaic.slots import FREE, Meetings, Slots, note_meeting

__all__ = ["IN_PEOPLE", "IN_UNITS", "LAST", "Beside", "beside_for", "count_beside", "forget", "list_beside"]

IN_UNITS, IN_PEOPLE, LAST = range(3)


class Beside(NamedTuple):
    """Counters of the tiles beside a new one, all zero between two uses.

    Parameters
    ----------
    counted
        The columns `IN_UNITS`, `IN_PEOPLE` and `LAST` of each tile: its units and owners, and the owner counted last, and 1. They
        are side by side because they are changed together.
    touched
        The tiles that have been counted.
    to
        Where to write the next unit of both tiles, and 1; 0 for a tile that makes no pair.
    """

    counted: Ints32
    touched: Ints32
    to: Ints64


@helper
def beside_for(room: int) -> Beside:
    """Return counters for so many tiles."""
    return Beside(np.zeros((room, 4), np.int32), np.empty(room, np.int32), np.zeros(room, np.int64))


@helper
def count_beside(
    tile: int, own: Ints32, held: Slots, people: People, beside: Beside, owners: int, need: int
) -> int:
    """Count the units and owners of every older tile in a tile's own units; return how many such tiles there are.

    Of the tile's `owners` who count, `need` must hold the older one too. A tile that is first seen where fewer are left is
    not counted, and nothing more is when no tile can be held by so many: all counts are then below the need.
    """
    touched, count = 0, beside.counted
    last, left, most = -1, owners, 0  # the owner, how many are yet to come, and the highest count
    may_be_new = True
    for unit in own:
        owner = people.owner[unit]
        if owner != last:
            if most + left < need:
                return touched
            may_be_new = left >= need
            left -= people.counts[owner]
            last = owner
        for at in range(held.start[unit], held.start[unit + 1]):
            other = held.tile[at]
            if other > tile:
                break  # slots ascend as long as there are younger tiles
            if FREE < other < tile:
                if count[other, IN_UNITS] == 0:
                    if not may_be_new:
                        continue
                    beside.touched[touched] = other
                    touched += 1
                count[other, IN_UNITS] += 1
                if count[other, LAST] != owner + 1:
                    count[other, LAST] = owner + 1
                    count[other, IN_PEOPLE] += people.counts[owner]
                    most = max(most, count[other, IN_PEOPLE])
    return touched


@helper
def list_beside(tile: int, own: Ints32, held: Slots, beside: Beside, pairs: Meetings) -> None:
    """Write down the units of each pair that was pushed."""
    for unit in own:
        start, stop = held.start[unit], held.start[unit + 1]
        own_slot = start
        while held.tile[own_slot] != tile:
            own_slot += 1
        for at in range(start, stop):
            other = held.tile[at]
            if other > tile:
                break
            if other != FREE and beside.to[other] > 0:  # never itself
                note_meeting(pairs, beside.to[other] - 1, unit, own_slot - start, at - start)
                beside.to[other] += 1


@helper
def forget(beside: Beside, touched: int) -> None:
    """Set the counters of the tiles that were counted to zero."""
    count = beside.counted
    for i in range(touched):
        other = beside.touched[i]
        count[other, IN_UNITS] = count[other, IN_PEOPLE] = count[other, LAST] = 0
        beside.to[other] = 0
