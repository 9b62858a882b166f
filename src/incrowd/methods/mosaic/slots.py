"""What units hold while tiles are joined: slots that stay where they are, so that a list of units can say where to look."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Bytes, Ints32, Ints64
from incrowd.kernels.jit import helper
from incrowd.methods.mosaic.cover import Cover

__all__ = [
    "FREE",
    "Meetings",
    "Slots",
    "holds_at",
    "meetings_of",
    "note_meeting",
    "put_at",
    "slot_of",
    "slots_of",
    "with_meetings",
    "without_gaps",
]

FREE = -1
FAR = 255  # slots from this one on are looked for: one byte says where the others are


class Slots(NamedTuple):
    """Unit u holds what is in ``tile[start[u]:start[u + 1]]``, FREE slots apart. A tile keeps its slot until it is joined."""

    start: Ints64
    tile: Ints32


class Meetings(NamedTuple):
    """Units in which two tiles meet, pair after pair, with the slots of both, and how much of the arrays is used.

    Most units of a pair have lost one of its tiles when its turn comes. To see that, two slots are read, and not the unit.
    """

    unit: Ints32
    slot: Bytes
    other_slot: Bytes
    used: int


@helper
def slots_of(cover: Cover, begin: Ints64, end: Ints64, units: Ints32) -> Slots:
    """Return what units hold by a cover, ascending, to be changed; the units of tile t are ``units[begin[t]:end[t]]``."""
    tile, to = np.empty(len(cover.tile), np.int32), cover.start[:-1].copy()
    for one in range(len(cover.first) - 1):
        for unit in units[begin[one] : end[one]]:
            tile[to[unit]] = one
            to[unit] += 1
    return Slots(cover.start, tile)


@helper
def slot_of(held: Slots, unit: int, tile: int) -> int:
    """Return in which of its slots a unit holds a tile; -1 if it does not hold it."""
    for at in range(held.start[unit], held.start[unit + 1]):
        if held.tile[at] == tile:
            return int(at - held.start[unit])
    return -1


@helper
def holds_at(held: Slots, unit: int, slot: int, tile: int) -> bool:
    """Tell whether a unit holds a tile that it once held in a slot."""
    if slot < FAR:
        return bool(held.tile[held.start[unit] + slot] == tile)
    return slot_of(held, unit, tile) >= 0


@helper
def put_at(held: Slots, unit: int, one: int, other: int, new: int) -> None:
    """Let a unit hold a new tile in place of two that it holds, or of one that is given twice."""
    start = held.start[unit]
    held.tile[start + slot_of(held, unit, one)] = new
    if other != one:
        held.tile[start + slot_of(held, unit, other)] = FREE


@helper
def without_gaps(held: Slots) -> tuple[Ints64, Ints32]:
    """Return the units' tiles without free slots, as a cover has them."""
    start, tile = np.zeros(len(held.start), np.int64), np.empty(len(held.tile), np.int32)
    to = 0
    for unit in range(len(held.start) - 1):
        for at in range(held.start[unit], held.start[unit + 1]):
            if held.tile[at] != FREE:
                tile[to] = held.tile[at]
                to += 1
        start[unit + 1] = to
    return start, tile[:to].copy()


def meetings_of(number: int) -> Meetings:
    """Return so many meetings, yet to be written, with room for as many more: what is not written yet takes no memory."""
    room = 2 * number
    return Meetings(np.empty(room, np.int32), np.empty(room, np.uint8), np.empty(room, np.uint8), number)


@helper
def with_meetings(meetings: Meetings, more: int) -> Meetings:
    """Return so many more meetings, yet to be written; the arrays may be larger ones."""
    before, used = meetings.used, meetings.used + more
    if used <= len(meetings.unit):
        return Meetings(meetings.unit, meetings.slot, meetings.other_slot, used)
    room = max(used, 2 * len(meetings.unit))
    unit, slot, other_slot = np.empty(room, np.int32), np.empty(room, np.uint8), np.empty(room, np.uint8)
    unit[:before], slot[:before] = meetings.unit[:before], meetings.slot[:before]
    other_slot[:before] = meetings.other_slot[:before]
    return Meetings(unit, slot, other_slot, used)


@helper
def note_meeting(meetings: Meetings, at: int, unit: int, slot: int, other_slot: int) -> None:
    """Write down a unit, and in which of its slots it holds two tiles."""
    meetings.unit[at] = unit
    meetings.slot[at], meetings.other_slot[at] = min(slot, FAR), min(other_slot, FAR)
