"""The tiles beside a new one: how many units and owners hold both, and which units these are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.jit import helper
from incrowd.methods.mosaic.cover import Cover, People
from incrowd.methods.mosaic.slots import FREE, Meetings, Slots, note_meeting

__all__ = ["IN_PEOPLE", "IN_UNITS", "LAST", "Beside", "beside_for", "count_beside", "list_beside"]

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
def beside_for(cover: Cover, k: int) -> Beside:
    """Return counters for the tiles of a cover and those to come: every join saves at least k places in units."""
    room = len(cover.first) + len(cover.tile) // k + 1
    return Beside(np.zeros((room, 4), np.int32), np.empty(room, np.int32), np.zeros(room, np.int64))


@helper
def count_beside(tile: int, own: Ints32, held: Slots, people: People, beside: Beside) -> int:
    """Count the units and owners of every older tile in a tile's own units; return how many such tiles there are."""
    touched, count = 0, beside.counted
    for unit in own:
        owner = people.owner[unit]
        for at in range(held.start[unit], held.start[unit + 1]):
            other = held.tile[at]
            if other > tile:
                break  # slots ascend as long as there are younger tiles
            if FREE < other < tile:
                if count[other, IN_UNITS] == 0:
                    beside.touched[touched] = other
                    touched += 1
                count[other, IN_UNITS] += 1
                if count[other, LAST] != owner + 1:
                    count[other, LAST] = owner + 1
                    count[other, IN_PEOPLE] += people.counts[owner]
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
