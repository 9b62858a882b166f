"""What units hold while a step works: slots of tiles that are changed in place, and counts of their owners."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.jit import helper
from incrowd.methods.mosaic.cover import People

__all__ = ["Held", "count_owners", "holds", "owners_by_rank", "packed", "put_instead"]


class Held(NamedTuple):
    """Unit u holds ``tile[start[u] : start[u] + number[u]]``, in any order."""

    start: Ints64
    number: Ints64
    tile: Ints32


@helper
def holds(held: Held, unit: int, tile: int) -> bool:
    """Tell whether a unit holds a tile."""
    for at in range(held.start[unit], held.start[unit] + held.number[unit]):
        if held.tile[at] == tile:
            return True
    return False


@helper
def put_instead(held: Held, unit: int, tiles: Ints32, new: int) -> None:
    """Let a unit hold a new tile in place of some that it holds."""
    to = held.start[unit]
    for at in range(held.start[unit], held.start[unit] + held.number[unit]):
        stays = True
        for tile in tiles:
            if held.tile[at] == tile:
                stays = False
        if stays:
            held.tile[to] = held.tile[at]
            to += 1
    held.tile[to] = new
    held.number[unit] = to + 1 - held.start[unit]


@helper
def packed(held: Held) -> tuple[Ints64, Ints32]:
    """Return the units' tiles without gaps, as a cover has them."""
    start = np.zeros(len(held.start), np.int64)
    start[1:] = np.cumsum(held.number)
    tile = np.empty(start[-1], np.int32)
    for unit in range(len(held.number)):
        begin = held.start[unit]
        tile[start[unit] : start[unit + 1]] = held.tile[begin : begin + held.number[unit]]
    return start, tile


@helper
def count_owners(units: Ints32, people: People) -> int:
    """Count the owners of ascending units who count towards k."""
    number, last = 0, -1
    for unit in units:
        if people.owner[unit] != last:
            last = people.owner[unit]
            number += people.counts[last]
    return number


@helper
def owners_by_rank(units: Ints32, people: People) -> Ints32:
    """Return the owners of ascending units, in the order in which they are held back."""
    owners = np.empty(len(units), np.int32)
    number, last = 0, -1
    for unit in units:
        if people.owner[unit] != last:
            last = people.owner[unit]
            owners[number] = last
            number += 1
    return owners[:number][np.argsort(people.rank[owners[:number]])]
