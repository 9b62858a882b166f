"""Joining: two tiles become one in the units that hold both, the best pair first, while the leftover rule allows it."""

from __future__ import annotations

import os

import numpy as np

from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.jit import helper, kernel
from incrowd.methods.mosaic.beside import (
    IN_PEOPLE,
    IN_UNITS,
    Beside,
    beside_for,
    count_beside,
    forget,
    list_beside,
)
from incrowd.methods.mosaic.cover import Cover, Labels, People
from incrowd.methods.mosaic.first_pairs import first_pairs
from incrowd.methods.mosaic.heap import (
    OLDER,
    PAIR,
    SEEN,
    UNITS,
    YOUNGER,
    Heap,
    begin_of,
    pop,
    push,
    score_of_first,
    sink,
)
from incrowd.methods.mosaic.held import count_owners
from incrowd.methods.mosaic.leftover import UNKNOWN, Least, hold_back, marks_for
from incrowd.methods.mosaic.piles import Pile, added
from incrowd.methods.mosaic.slots import (
    Meetings,
    Slots,
    holds_at,
    put_at,
    slot_of,
    with_meetings,
    without_gaps,
)
from incrowd.methods.mosaic.state import State, Tiles, room_for, score_of, state_of
from incrowd.methods.mosaic.table import Table, add_to, number_of, pair_word, pairs_in, table_for

__all__ = ["AFTER_ROWS", "ALONE", "join"]

# The power of the number of units in a score. After rows have taken the long sets, pairs of fewer units may come first.
ALONE = 0.5
AFTER_ROWS = 0.3

NO_LIMIT = 2**62


def join(
    cover: Cover, labels: Labels, people: People, k: int, confidence: float, *, power: float = ALONE
) -> tuple[Cover, int]:
    """Join tiles while a pair pays.

    A pair of tiles f and g that n of N units hold, f in n_f, g in n_g of them, scores
    n^power (|f| |g|)^2 ln(n N / (n_f n_g)), where |f| is the sum of its labels' weights. With a tile that only says when, where or
    with what, ln(1 + ...) takes the place of the logarithm: it is worth keeping even where chance alone would explain it. The highest score comes first; scores are renewed when their turn comes.

    Parameters
    ----------
    cover
        Where to begin; every tile is held by as many owners who count as its kinds need.
    labels, people
        What tiles are made of, and whose the units are.
    k
        How many owners must hold every tile, at least.
    confidence
        At most this share of the owners of a label may have any other label in the same tile; 1: no limit.
    power
        How much the number of units weighs: `ALONE`, or `AFTER_ROWS`.

    Returns
    -------
    tuple
        The new cover, and the greatest number of owners whom one join has held back.
    """
    units, number = len(cover.start) - 1, len(cover.first) - 1
    state = state_of(cover, labels, people, k)
    heap, pairs = first_pairs(
        state, labels, people, power, number=number, units=units, threads=os.cpu_count() or 1
    )
    start, tile, first, label, most = _join(cover, labels, people, k, confidence, power, state, heap, pairs)
    return Cover(start, tile, first, label), most


@kernel
def _join(
    cover: Cover,
    labels: Labels,
    people: People,
    k: int,
    confidence: float,
    power: float,
    state: State,
    heap: Heap,
    pairs: Meetings,
) -> tuple[Ints64, Ints32, Ints64, Ints32, int]:
    """Join pairs, beginning with those in the heap."""
    units, number = len(cover.start) - 1, len(cover.first) - 1
    tiles, lists, held = state.tiles, state.lists, state.held
    beside, content = beside_for(room_for(cover, k)), Pile(cover.label.copy(), len(cover.label))
    known, together = _known(tiles, number), _together(cover, tiles, confidence)
    marks, step, most_held_back = marks_for(people), 0, 0
    while heap.size:
        heap, younger, older, both = _best(heap, pairs, step, held, tiles, labels, people, units, power)
        if len(both) == 0:
            continue
        some, others = _labels_of(younger, content, tiles), _labels_of(older, content, tiles)
        most = _allowed(some, others, labels, together, confidence)
        needs = _needs(younger, older, tiles, labels)
        if most < needs.new or _related(some, others, labels):
            continue
        step += 1
        sharing = count_owners(both, people)
        rest, rests = _rests(younger, older, both, sharing, tiles, needs)
        if min(rest, rests) == UNKNOWN or sharing > most:
            own = _units_to_see(younger, rest, lists, held, tiles)
            its = _units_to_see(older, rests, lists, held, tiles)
            both, out, keep, keeps = hold_back(both, own, its, rest, rests, people, marks, step, needs, most)
            if len(both) == 0:
                continue
            most_held_back = max(most_held_back, out)
            sharing = count_owners(both, people)
            _note_rest(younger, rest, keep, sharing, tiles)
            _note_rest(older, rests, keeps, sharing, tiles)
        if confidence < 1.0:
            together = _noted(some, others, sharing, together)
        word = tiles.word[younger] + tiles.word[older]
        equal = number_of(known, word) - 1  # a tile of the same content, or -1
        holding = both if equal < 0 else _merged(both, _units_of(equal, lists, held, tiles))
        _move(held, both, younger, older, number)
        if equal >= 0:
            _move(held, _units_of(equal, lists, held, tiles), equal, equal, number)
            tiles.units[equal] = 0
        known = add_to(known, word, number - equal)
        content, lists = added(content, _merged(some, others)), added(lists, holding)
        _enter(tiles, number, content, lists, len(holding), count_owners(holding, people), word)
        for one in (younger, older):
            _become(one, number, len(both), sharing, step, tiles)
        heap, pairs = _meet(
            heap, pairs, number, step, lists, held, tiles, labels, people, beside, units, power
        )
        number += 1
    start, slots = without_gaps(held)
    first, label = tiles.first[: number + 1].copy(), content.value[: content.used].copy()
    return start, slots, first, label, most_held_back


@helper
def _known(tiles: Tiles, number: int) -> Table:
    """Return the tiles by content: the number of a tile and 1."""
    known = table_for(number)
    for tile in range(number):
        known = add_to(known, tiles.word[tile], tile + 1)
    return known


@helper
def _together(cover: Cover, tiles: Tiles, confidence: float) -> Table:
    """Return how many owners hold each pair of labels in one tile; those who do so in several tiles count in each."""
    return pairs_in(cover.first, cover.label, tiles.people) if confidence < 1.0 else table_for(1)


@helper
def _meet(
    heap: Heap,
    pairs: Meetings,
    tile: int,
    step: int,
    lists: Pile,
    held: Slots,
    tiles: Tiles,
    labels: Labels,
    people: People,
    beside: Beside,
    units: int,
    power: float,
) -> tuple[Heap, Meetings]:
    """Push the pairs of a tile and every older one beside it that pay and have owners enough, and list their units."""
    own = lists.value[tiles.begin[tile] : tiles.end[tile]]
    owners, need = tiles.people[tile], labels.needs.people[tiles.kinds[tile]]
    touched, count = count_beside(tile, own, held, people, beside, owners, need), beside.counted
    before = heap.size
    for i in range(touched):
        other = beside.touched[i]
        if count[other, IN_PEOPLE] >= labels.needs.people[tiles.kinds[tile] | tiles.kinds[other]]:
            score = score_of(count[other, IN_UNITS], tile, other, tiles, labels, units, power)
            if score > 0:
                beside.to[other] = pairs.used + 1
                heap = push(heap, score, tile, other, pairs.used, count[other, IN_UNITS], step)
                pairs = with_meetings(pairs, count[other, IN_UNITS])
    if heap.size > before:
        list_beside(tile, own, held, beside, pairs)
    forget(beside, touched)
    return heap, pairs


@helper
def _best(
    heap: Heap,
    pairs: Meetings,
    step: int,
    held: Slots,
    tiles: Tiles,
    labels: Labels,
    people: People,
    units: int,
    power: float,
) -> tuple[Heap, int, int, Ints32]:
    """Take pairs from the heap, renewing their scores, until one is still first; return it with the units of both tiles, or none."""
    while heap.size:
        line = heap.line[heap.entry[0, PAIR]]
        younger, older = line[YOUNGER], line[OLDER]
        if tiles.units[younger] == 0 or tiles.units[older] == 0:
            heap = pop(heap)
            continue
        if max(tiles.changed[younger], tiles.changed[older]) <= line[SEEN]:
            return pop(heap), younger, older, _units_in(line, pairs)
        most = min(line[UNITS], tiles.units[younger], tiles.units[older])
        if most < line[UNITS]:
            # Without looking at a unit: no more than these can hold both by now.
            score = score_of(most, younger, older, tiles, labels, units, power)
            if 0 < score < score_of_first(heap) and sink(heap, score):
                continue
        need = labels.needs.people[tiles.kinds[younger] | tiles.kinds[older]]
        # Most pairs have lost too many units by now, which is seen before all of them are looked at.
        if _keep_both(line, pairs, held, need) < need:
            heap = pop(heap)
            continue
        line[SEEN] = step
        both = _units_in(line, pairs)
        score = score_of(len(both), younger, older, tiles, labels, units, power)
        if score <= 0 or count_owners(both, people) < need:
            heap = pop(heap)
        elif not sink(heap, score):
            return pop(heap), younger, older, both
    return heap, -1, -1, pairs.unit[:0]


@helper
def _needs(younger: int, older: int, tiles: Tiles, labels: Labels) -> Least:
    """Return how many owners two tiles need, and the one that they would become."""
    people = labels.needs.people
    one, other = tiles.kinds[younger], tiles.kinds[older]
    return Least(people[one], people[other], people[one | other])


@helper
def _units_of(tile: int, lists: Pile, held: Slots, tiles: Tiles) -> Ints32:
    """Return a tile's units, having dropped from its list those that hold it no more."""
    if tiles.end[tile] - tiles.begin[tile] != tiles.units[tile]:
        to = tiles.begin[tile]
        for at in range(tiles.begin[tile], tiles.end[tile]):
            if slot_of(held, lists.value[at], tile) >= 0:
                lists.value[to] = lists.value[at]
                to += 1
        tiles.end[tile] = to
    return lists.value[tiles.begin[tile] : tiles.end[tile]]


@helper
def _units_to_see(tile: int, rest: int, lists: Pile, held: Slots, tiles: Tiles) -> Ints32:
    """Return a tile's units if it takes a look at them to know who keeps it, else none."""
    return _units_of(tile, lists, held, tiles) if rest == UNKNOWN else lists.value[:0]


@helper
def _note_rest(tile: int, rest: int, keep: int, sharing: int, tiles: Tiles) -> None:
    """Note how many owners keep a tile, where a look at its units has shown it: the next join needs no look again."""
    if rest == UNKNOWN:
        tiles.people[tile] = keep + sharing


@helper
def _units_in(line: Ints32, pairs: Meetings) -> Ints32:
    """Return the units that held both tiles of a pair when they were last looked at."""
    begin = begin_of(line)
    return pairs.unit[begin : begin + line[UNITS]]


@helper
def _keep_both(line: Ints32, pairs: Meetings, held: Slots, need: int) -> int:
    """Drop from a pair's list the units that hold both tiles no more; return how many do, or fewer than `need`."""
    younger, older, begin = line[YOUNGER], line[OLDER], begin_of(line)
    to, spare = begin, line[UNITS] - need
    for at in range(begin, begin + line[UNITS]):
        unit, slot, other_slot = pairs.unit[at], pairs.slot[at], pairs.other_slot[at]
        if holds_at(held, unit, slot, younger) and holds_at(held, unit, other_slot, older):
            pairs.unit[to], pairs.slot[to], pairs.other_slot[to] = unit, slot, other_slot
            to += 1
        elif at - to >= spare:
            return 0
    line[UNITS] = to - begin
    return int(line[UNITS])


@helper
def _labels_of(tile: int, content: Pile, tiles: Tiles) -> Ints32:
    return content.value[tiles.first[tile] : tiles.first[tile + 1]]


@helper
def _related(some: Ints32, others: Ints32, labels: Labels) -> bool:
    """Tell whether a label of one tile is above a label of the other."""
    first, last = labels.first_leaf, labels.last_leaf
    for a in some:
        for b in others:
            if (first[a] <= first[b] and last[b] <= last[a]) or (first[b] <= first[a] and last[a] <= last[b]):
                return True
    return False


@helper
def _allowed(some: Ints32, others: Ints32, labels: Labels, together: Table, confidence: float) -> int:
    """Return how many more owners may hold the labels of two tiles together."""
    most = NO_LIMIT
    if confidence < 1.0:
        for a in some:
            for b in others:
                limit = np.int64(np.floor(confidence * min(labels.holders[a], labels.holders[b]) + 1e-9))
                most = min(most, int(limit - number_of(together, pair_word(a, b))))
    return most


@helper
def _noted(some: Ints32, others: Ints32, sharing: int, together: Table) -> Table:
    for a in some:
        for b in others:
            together = add_to(together, pair_word(a, b), sharing)
    return together


@helper
def _rest(tile: int, both: Ints32, sharing: int, tiles: Tiles, need: int) -> int:
    """Return how many owners keep units of a tile, as far as that can be said without looking: 0, enough, or UNKNOWN."""
    if tiles.units[tile] == len(both):
        return 0
    return tiles.people[tile] - sharing if tiles.people[tile] - sharing >= need else UNKNOWN


@helper
def _rests(
    younger: int, older: int, both: Ints32, sharing: int, tiles: Tiles, needs: Least
) -> tuple[int, int]:
    return _rest(younger, both, sharing, tiles, needs.first), _rest(older, both, sharing, tiles, needs.second)


@helper
def _merged(some: Ints32, others: Ints32) -> Ints32:
    """Merge two ascending lists that have nothing in common."""
    merged = np.empty(len(some) + len(others), np.int32)
    i = j = 0
    for at in range(len(merged)):
        if j == len(others) or (i < len(some) and some[i] < others[j]):
            merged[at] = some[i]
            i += 1
        else:
            merged[at] = others[j]
            j += 1
    return merged


@helper
def _move(held: Slots, units: Ints32, f: int, g: int, new: int) -> None:
    """Let units hold a new tile in place of two, or of one that is given twice."""
    for unit in units:
        put_at(held, unit, f, g, new)


@helper
def _become(old: int, new: int, units: int, sharing: int, step: int, tiles: Tiles) -> None:
    """Take from a tile the units in which it has become part of a new one, which has its kinds and its weight."""
    tiles.kinds[new] |= tiles.kinds[old]
    tiles.weight[new] += tiles.weight[old]
    tiles.units[old] -= units
    tiles.people[old] -= sharing
    tiles.changed[old] = step


@helper
def _enter(
    tiles: Tiles, new: int, content: Pile, lists: Pile, units: int, sharing: int, word: np.uint64
) -> None:
    """Enter a new tile whose labels and units lie on top of their piles."""
    tiles.first[new + 1] = content.used
    tiles.begin[new], tiles.end[new] = lists.used - units, lists.used
    tiles.units[new], tiles.people[new], tiles.word[new] = units, sharing, word
