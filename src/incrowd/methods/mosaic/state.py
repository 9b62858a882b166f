"""What is known while tiles are joined: the tiles, the units of each, and the slots of every unit; and what a pair pays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Floats, Ints64, Words64
from incrowd.kernels.jit import helper, kernel
from incrowd.methods.mosaic.cover import Cover, Labels, People, kinds_in
from incrowd.methods.mosaic.held import count_owners
from incrowd.methods.mosaic.piles import Pile
from incrowd.methods.mosaic.slots import Slots, slots_of

__all__ = ["State", "Tiles", "room_for", "score_of", "state_of"]

MILLION = (
    1_000_000  # scores are compared in millionths: logarithms differ between platforms in their last digits
)


class Tiles(NamedTuple):
    """The tiles while they are joined; there is room for all that can be made.

    Parameters
    ----------
    units, people
        How many units hold a tile now, and a lower bound of their owners who count.
    begin, end
        Where its list of units is, ascending; units that hold it no more may be in it.
    changed
        The step at which it last lost units.
    first
        Where its labels are.
    word
        The sum of its labels' random words: equal for tiles of equal content.
    kinds, weight
        The set of its labels' kinds, and the sum of their weights.
    """

    units: Ints64
    people: Ints64
    begin: Ints64
    end: Ints64
    changed: Ints64
    first: Ints64
    word: Words64
    kinds: Ints64
    weight: Floats


class State(NamedTuple):
    """The tiles, their lists of units one after the other, and what every unit holds."""

    tiles: Tiles
    lists: Pile
    held: Slots


@kernel
def state_of(cover: Cover, labels: Labels, people: People, k: int) -> State:
    """Return where joining begins."""
    tiles = _tiles(cover, labels, k)
    lists = _lists(cover, tiles, people)
    return State(tiles, lists, slots_of(cover, tiles.begin, tiles.end, lists.value))


@helper
def room_for(cover: Cover, k: int) -> int:
    """Return how many tiles there can be in the end: every join saves at least k places in units."""
    return len(cover.first) + len(cover.tile) // k


@helper
def _tiles(cover: Cover, labels: Labels, k: int) -> Tiles:
    """Return the tiles of a cover, with room for those to come."""
    number, room = len(cover.first) - 1, room_for(cover, k)
    first, word = np.zeros(room + 1, np.int64), np.zeros(room, np.uint64)
    kinds, weight = np.zeros(room, np.int64), np.zeros(room, np.float64)
    first[: number + 1] = cover.first
    for tile in range(number):
        some = cover.label[cover.first[tile] : cover.first[tile + 1]]
        kinds[tile] = kinds_in(some, labels)
        for label in some:
            word[tile] += labels.word[label]
            weight[tile] += labels.weight[label]
    units, people, begin = np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64)
    end, changed = np.zeros(room, np.int64), np.zeros(room, np.int64)
    return Tiles(units, people, begin, end, changed, first, word, kinds, weight)


@helper
def _lists(cover: Cover, tiles: Tiles, people: People) -> Pile:
    """Return the units of every tile, one tile after the other."""
    for tile in cover.tile:
        tiles.units[tile] += 1
    at = 0
    for tile in range(len(cover.first) - 1):
        tiles.begin[tile] = tiles.end[tile] = at
        at += tiles.units[tile]
    value = np.empty(
        2 * at, np.int32
    )  # room for those of tiles to come: what is not written yet takes no memory
    for unit in range(len(cover.start) - 1):
        for i in range(cover.start[unit], cover.start[unit + 1]):
            tile = cover.tile[i]
            value[tiles.end[tile]] = unit
            tiles.end[tile] += 1
    for tile in range(len(cover.first) - 1):
        tiles.people[tile] = count_owners(value[tiles.begin[tile] : tiles.end[tile]], people)
    return Pile(value, at)


@helper
def score_of(n: int, f: int, g: int, tiles: Tiles, labels: Labels, units: int, power: float) -> int:
    """Return what joining two tiles pays, in millionths; 0 if they meet no more often than by chance, or both say only when and where."""
    contexts = labels.needs.is_context[tiles.kinds[f]] + labels.needs.is_context[tiles.kinds[g]]
    sizes = tiles.weight[f] * tiles.weight[g]
    return _paid(n, n * units / (tiles.units[f] * tiles.units[g]), contexts, sizes, power)


@helper
def _paid(n: int, lift: float, contexts: int, sizes: float, power: float) -> int:
    """Return a score. Only numbers are given: each array that is given to a function with branches takes time to count."""
    if contexts > 1 or (contexts == 0 and lift <= 1.0):
        return 0
    return int(np.rint(MILLION * n**power * sizes * sizes * np.log(lift + contexts)))
