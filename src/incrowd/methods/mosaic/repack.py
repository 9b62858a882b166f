"""Repacking: a unit is filled anew from the tiles that exist, if they fit it better than those that it holds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from incrowd.core.ragged import starts_of
from incrowd.core.types import Bools, Floats, Ints32, Ints64
from incrowd.kernels.jit import helper, kernel
from incrowd.methods.mosaic.cover import Cover, Labels, People, need_of
from incrowd.methods.mosaic.fill import filled
from incrowd.methods.mosaic.frequent import MOST_FREQUENT, with_frequent_pairs
from incrowd.methods.mosaic.piles import added, empty_pile, with_room
from incrowd.methods.mosaic.table import EMPTY, number_of, pair_word, pairs_in, place_of

__all__ = ["repack"]

MILLION = 1_000_000
MOST_FITTING = 256
FREQUENT_WORTH = 12.0
PARTS = 8


class Proposals(NamedTuple):
    """Units that would be better off, by how much (in millionths), and the tiles of more than one label that each would hold."""

    unit: Ints64
    gain: Ints64
    first: Ints64
    tile: Ints32


def repack(
    cover: Cover, units: Cover, labels: Labels, people: People, confidence: float, *, threads: int
) -> Cover:
    """Fill units anew from the tiles that exist, where that keeps more; no tile is left with fewer owners than it needs.

    Parameters
    ----------
    cover
        The cover, with tiles in order (singles first).
    units
        The cover by single labels: which labels every unit has.
    labels, people, confidence
        As in :func:`incrowd.methods.mosaic.join.join`.
    threads
        How many threads look for better covers.
    """
    single = _single_tiles(cover, len(labels.word))
    cover = with_frequent_pairs(_with_all_singles(cover, single), units, labels)
    value = _values(cover, units, labels.weight)
    by_last = _by_last_label(cover, len(labels.word))
    bounds = np.linspace(0, len(cover.start) - 1, PARTS * threads + 1).astype(np.int64)

    def part(i: int) -> Proposals:
        return Proposals(*_propose(bounds[i], bounds[i + 1], cover, units, value, *by_last, len(labels.word)))

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(part, range(PARTS * threads)))
    unit, gain, tile = (
        np.concatenate([getattr(one, name) for one in parts]) for name in ("unit", "gain", "tile")
    )
    proposals = Proposals(unit, gain, starts_of(np.concatenate([np.diff(one.first) for one in parts])), tile)
    start, now = _settle(cover, units, proposals, single, labels, people, confidence)
    return Cover(start, now, cover.first, cover.label)


def _single_tiles(cover: Cover, labels: int) -> Ints32:
    """Return the tile of each label alone; tiles that are missing get numbers after all others."""
    single = np.full(labels, -1, dtype=np.int32)
    alone = np.flatnonzero(cover.sizes == 1)
    single[cover.label[cover.first[alone]]] = alone
    missing = np.flatnonzero(single < 0)
    single[missing] = len(cover.first) - 1 + np.arange(len(missing))
    return single


def _with_all_singles(cover: Cover, single: Ints32) -> Cover:
    tiles = len(cover.first) - 1
    missing = np.flatnonzero(single >= tiles).astype(np.int32)
    first = np.concatenate((cover.first, cover.first[-1] + 1 + np.arange(len(missing))))
    return Cover(cover.start, cover.tile, first, np.concatenate((cover.label, missing)))


def _by_last_label(cover: Cover, labels: int) -> tuple[Ints64, Ints32]:
    """Return the tiles of more than one label by their rarest one."""
    large = np.flatnonzero(cover.sizes > 1)
    last = cover.label[cover.first[large + 1] - 1]
    order = np.argsort(last, kind="stable")
    return starts_of(np.bincount(last, minlength=labels)), large[order].astype(np.int32)


@kernel
def _values(cover: Cover, units: Cover, weights: Floats) -> Floats:
    """Return the worth of each tile: the sum over the pairs of its labels, times their weights.

    A pair is worth 1 and ln(lift), how much oftener than by chance the two meet. An analyst reckons with chance: of the n units of
    a frequent pair, n (1 - 1 / lift) are missed if it is published apart, and each unit in which it is published together mends an n-th of
    its count. So one of the most frequent pairs is worth up to `FREQUENT_WORTH` more, the more the fewer units have it.
    """
    pairs = pairs_in(cover.first, cover.label, np.zeros(len(cover.first) - 1, np.int64))
    count = np.zeros(len(units.first) - 1, np.int64)
    for unit in range(len(units.start) - 1):
        for i in range(units.start[unit], units.start[unit + 1]):
            a = units.tile[i]
            count[a] += 1
            for j in range(i + 1, units.start[unit + 1]):
                place = place_of(pairs, pair_word(a, units.tile[j]))
                if pairs.word[place] != EMPTY:
                    pairs.number[place] += 1
    number, value = len(units.start) - 1, np.zeros(len(cover.first) - 1)
    frequent = max(1, np.sort(pairs.number)[-min(MOST_FREQUENT, len(pairs.number))])
    for tile in range(len(cover.first) - 1):
        for i in range(cover.first[tile], cover.first[tile + 1]):
            for j in range(i + 1, cover.first[tile + 1]):
                a, b = cover.label[i], cover.label[j]
                met = number_of(pairs, pair_word(a, b))
                lift = max(1.0, met * number / (count[a] * count[b]))
                more = FREQUENT_WORTH * frequent / met * (1.0 - 1.0 / lift) if met >= frequent else 0.0
                value[tile] += (1.0 + np.log(lift) + more) * (weights[a] * weights[b])
    return np.rint(value * MILLION) / MILLION


@kernel
def _propose(
    low: int,
    high: int,
    cover: Cover,
    units: Cover,
    value: Floats,
    last_start: Ints64,
    by_last: Ints32,
    labels: int,
) -> tuple[Ints64, Ints64, Ints64, Ints32]:
    """Return the units that tiles in hand fit better than those that they hold."""
    better, gain = np.empty(high - low, np.int64), np.empty(high - low, np.int64)
    first = np.zeros(high - low + 1, np.int64)
    tile, found = empty_pile(1024), 0
    place = np.full(labels, -1, np.int32)  # of each label of the unit
    for unit in range(low, high):
        own = units.tile[units.start[unit] : units.start[unit + 1]]
        now = 0.0
        for i in range(cover.start[unit], cover.start[unit + 1]):
            now += value[cover.tile[i]]
        for i in range(len(own)):
            place[own[i]] = i
        fitting = _fitting(own, cover, last_start, by_last, place)
        fitting = fitting[np.argsort(-value[fitting], kind="mergesort")][:MOST_FITTING]
        starts, places = _places(fitting, cover, place)
        place[own] = -1
        if len(fitting) == 0:
            continue
        best, best_value = filled(starts, places, len(own), value[fitting])
        if best_value > now + 1e-6:
            tile = added(tile, fitting[best])
            better[found], gain[found] = unit, int(np.rint(MILLION * (best_value - now)))
            found += 1
            first[found] = tile.used
    return (
        better[:found].copy(),
        gain[:found].copy(),
        first[: found + 1].copy(),
        tile.value[: tile.used].copy(),
    )


@helper
def _fitting(own: Ints32, cover: Cover, last_start: Ints64, by_last: Ints32, place: Ints32) -> Ints32:
    """Return the tiles of more than one label whose labels a unit all has, in the order of their numbers."""
    fitting = empty_pile(64)
    for a in own:
        for at in range(last_start[a], last_start[a + 1]):
            tile = by_last[at]
            fits = True
            for i in range(cover.first[tile], cover.first[tile + 1]):
                if place[cover.label[i]] < 0:
                    fits = False
                    break
            if fits:
                fitting = with_room(fitting, 1)
                fitting.value[fitting.used - 1] = tile
    found = fitting.value[: fitting.used]
    found.sort()
    return found


@helper
def _places(fitting: Ints32, cover: Cover, place: Ints32) -> tuple[Ints64, Ints32]:
    """Return the labels of each tile, as places among the unit's own."""
    first = np.zeros(len(fitting) + 1, np.int64)
    for i in range(len(fitting)):
        first[i + 1] = first[i] + cover.first[fitting[i] + 1] - cover.first[fitting[i]]
    label = np.empty(first[-1], np.int32)
    for i in range(len(fitting)):
        for at in range(first[i + 1] - first[i]):
            label[first[i] + at] = place[cover.label[cover.first[fitting[i]] + at]]
    return first, label


@kernel
def _settle(
    cover: Cover,
    units: Cover,
    proposals: Proposals,
    single: Ints32,
    labels: Labels,
    people: People,
    confidence: float,
) -> tuple[Ints64, Ints32]:
    """Take the proposals that together leave no tile with fewer owners who count than it needs."""
    accepted = np.ones(len(proposals.unit), np.bool_)
    proposal_of = np.full(len(cover.start) - 1, -1, np.int64)
    proposal_of[proposals.unit] = np.arange(len(proposals.unit))
    before = _owners(cover.start, cover.tile, len(cover.first) - 1, people)
    least_first = np.argsort(proposals.gain, kind="mergesort")
    need = np.empty(len(cover.first) - 1, np.int64)
    for one in range(len(need)):
        need[one] = need_of(cover.label[cover.first[one] : cover.first[one + 1]], labels)
    while True:
        start, tile = _applied(cover, units, proposals, proposal_of, accepted, single)
        after = _owners(start, tile, len(cover.first) - 1, people)
        too_sure = _too_sure(cover, start, tile, after, labels, people, confidence)
        lack = np.where((after >= 0) & (after < need) & (before >= need), need - after, 0)
        refused = 0
        for i in least_first:
            if accepted[i] and _is_wrong(
                i, cover, start, tile, proposals, before, after, lack, too_sure, need
            ):
                accepted[i] = False
                refused += 1
        if refused == 0:
            return start, tile


@helper
def _is_wrong(
    i: int,
    cover: Cover,
    start: Ints64,
    tile: Ints32,
    proposals: Proposals,
    before: Ints64,
    after: Ints64,
    lack: Ints64,
    too_sure: Bools,
    need: Ints64,
) -> bool:
    """Tell whether a proposal takes part in leaving a tile to few owners, in making one for few, or in a rule that is too sure.

    Of those who leave a tile that lacks owners then, only as many are refused as it lacks.
    """
    unit, is_wrong = proposals.unit[i], False
    for at in range(start[unit], start[unit + 1]):
        one = tile[at]
        if (before[one] < need[one] and after[one] < need[one]) or too_sure[one]:
            is_wrong = True
    for at in range(cover.start[unit], cover.start[unit + 1]):
        is_wrong |= lack[cover.tile[at]] > 0
    if is_wrong:
        for at in range(cover.start[unit], cover.start[unit + 1]):
            lack[cover.tile[at]] -= 1
    return is_wrong


@helper
def _applied(
    cover: Cover, units: Cover, proposals: Proposals, proposal_of: Ints64, accepted: Bools, single: Ints32
) -> tuple[Ints64, Ints32]:
    """Return what units hold if the accepted proposals are taken."""
    start = np.zeros(len(cover.start), np.int64)
    tile = np.empty(len(units.tile), np.int32)
    covered = np.zeros(len(units.first) - 1, np.bool_)
    at = 0
    for unit in range(len(cover.start) - 1):
        i = proposal_of[unit]
        if i < 0 or not accepted[i]:
            for j in range(cover.start[unit], cover.start[unit + 1]):
                tile[at] = cover.tile[j]
                at += 1
        else:
            for j in range(proposals.first[i], proposals.first[i + 1]):
                t = proposals.tile[j]
                tile[at] = t
                at += 1
                for n in range(cover.first[t], cover.first[t + 1]):
                    covered[cover.label[n]] = True
            for j in range(units.start[unit], units.start[unit + 1]):
                if covered[units.tile[j]]:
                    covered[units.tile[j]] = False
                else:
                    tile[at] = single[units.tile[j]]
                    at += 1
        start[unit + 1] = at
    return start, tile[:at].copy()


@helper
def _owners(start: Ints64, tile: Ints32, tiles: int, people: People) -> Ints64:
    """Count the owners of each tile who count; -1 for a tile that nobody holds."""
    number, last = np.full(tiles, -1, np.int64), np.full(tiles, -1, np.int32)
    for unit in range(len(start) - 1):
        owner = people.owner[unit]
        for at in range(start[unit], start[unit + 1]):
            if last[tile[at]] != owner:
                number[tile[at]] = max(number[tile[at]], 0) + people.counts[owner]
                last[tile[at]] = owner
    return number


@helper
def _too_sure(
    cover: Cover,
    start: Ints64,
    tile: Ints32,
    after: Ints64,
    labels: Labels,
    people: People,
    confidence: float,
) -> Bools:
    """Return the tiles that have won an owner and hold two labels that too large a share of a label's owners would hold together.

    An owner counts in each tile with both labels. So it is not enough to look at tiles with more owners than before: one that
    loses an owner who has the labels elsewhere too, and wins another, adds to those who hold both.
    """
    too_sure = np.zeros(len(after), np.bool_)
    if confidence == 1.0:
        return too_sure
    has_won = _have_won(cover, start, tile, people)
    together = pairs_in(cover.first, cover.label, np.maximum(after, 0))
    for one in range(len(after)):
        for i in range(cover.first[one], cover.first[one + 1] if has_won[one] else 0):
            for j in range(i + 1, cover.first[one + 1]):
                a, b = cover.label[i], cover.label[j]
                limit = confidence * min(labels.holders[a], labels.holders[b]) + 1e-9
                if number_of(together, pair_word(a, b)) > limit:
                    too_sure[one] = True
    return too_sure


@helper
def _have_won(cover: Cover, start: Ints64, tile: Ints32, people: People) -> Bools:
    """Return the tiles that someone holds who did not hold them by the cover."""
    tiles = len(cover.first) - 1
    have_won, last = np.zeros(tiles, np.bool_), np.full(tiles, -1, np.int32)
    unit = 0
    while unit < len(start) - 1:
        end, owner = unit, people.owner[unit]
        while end < len(start) - 1 and people.owner[end] == owner:
            end += 1
        for at in range(cover.start[unit], cover.start[end]):
            last[cover.tile[at]] = owner
        for at in range(start[unit], start[end]):
            if last[tile[at]] != owner:
                have_won[tile[at]] = True
        unit = end
    return have_won
