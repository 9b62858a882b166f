"""Rows first: sets of labels that long units share with their nearest ones become tiles before pairs are joined."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from incrowd.core.ragged import starts_of
from incrowd.core.types import Ints32, Ints64, Words64
from incrowd.kernels.bits import ones
from incrowd.kernels.jit import helper, kernel
from incrowd.methods.mosaic.cover import Cover, Labels, People, need_of
from incrowd.methods.mosaic.held import Held, count_owners, holds, packed, put_instead
from incrowd.methods.mosaic.piles import empty_pile, with_room
from incrowd.methods.mosaic.table import Table, add_to, number_of, pair_word, table_for

__all__ = ["take_rows"]

LONG = 5  # a unit with at least so many single labels looks for others
LEAST_LABELS = 3
FEW = 2  # a unit is near only if it shares so many labels that are not frequent
MOST_UNITS = 3_000  # labels that more units have lead to none
PASSES = 3
PARTS = 8  # for each thread
MILLION = 1_000_000
WORD = 64


class Sets(NamedTuple):
    """Sets of labels, one after the other, and what each is worth: see :func:`_worth`."""

    worth: Ints64
    first: Ints64
    label: Ints32


class Holders(NamedTuple):
    """The units that hold each label as a tile of its own: ``unit[start[a]:start[a + 1]]``, ascending."""

    start: Ints64
    unit: Ints32


def take_rows(
    cover: Cover, labels: Labels, people: People, k: int, confidence: float, *, threads: int
) -> Cover:
    """Make tiles of the sets of at least three labels that long units share with their nearest ones.

    Parameters
    ----------
    cover
        Every label as a tile of its own, with the label's number.
    labels, people, k, confidence
        As in :func:`incrowd.methods.mosaic.join.join`.
    threads
        How many threads look for sets.
    """
    held = Held(cover.start, np.diff(cover.start), cover.tile.copy())
    first, label = [cover.first], [cover.label]
    number, together = len(labels.word), Table(*_no_pairs())
    for _ in range(PASSES):
        holders = Holders(*_holders(held, len(labels.word)))
        found = _found(held, holders, people, k, threads)
        order = _in_order(found)
        taken, its_labels, together = _take(
            order, found, held, holders, labels, together, people, confidence, number
        )
        together = Table(*together)
        number += len(taken) - 1
        first.append(taken[1:] + sum(map(len, label)))
        label.append(its_labels)
    start, tile = _packed(held)
    return Cover(start, tile, np.concatenate(first), np.concatenate(label))


def _found(held: Held, holders: Holders, people: People, k: int, threads: int) -> Sets:
    """Return the best set of each long unit."""
    bounds = np.linspace(0, len(held.number), PARTS * threads + 1).astype(np.int64)

    def part(i: int) -> Sets:
        return Sets(*_best_sets(bounds[i], bounds[i + 1], held, holders, people, k))

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(part, range(PARTS * threads)))
    sizes = np.concatenate([np.diff(one.first) for one in parts])
    worth, label = (np.concatenate([getattr(one, name) for one in parts]) for name in ("worth", "label"))
    return Sets(worth, starts_of(sizes), label)


def _in_order(found: Sets) -> Ints64:
    """Return the distinct sets, the one of most worth first, ties by content."""
    bounds = (4 * found.first).tolist()
    text = found.label.astype(">i4").tobytes()
    best: dict[bytes, int] = {}
    for i, (first, stop) in enumerate(pairwise(bounds)):
        best.setdefault(text[first:stop], i)
    ordered = sorted(best.items(), key=lambda one: (-found.worth[one[1]], one[0]))
    return np.array([place for _, place in ordered], dtype=np.int64)


@kernel
def _no_pairs() -> Table:
    return table_for(1)


@kernel
def _packed(held: Held) -> tuple[Ints64, Ints32]:
    return packed(held)


@kernel
def _holders(held: Held, labels: int) -> tuple[Ints64, Ints32]:
    start = np.zeros(labels + 1, np.int64)
    for unit in range(len(held.number)):
        for at in range(held.start[unit], held.start[unit] + held.number[unit]):
            if held.tile[at] < labels:
                start[held.tile[at] + 1] += 1
    start = np.cumsum(start)
    to, found = start[:-1].copy(), np.empty(start[-1], np.int32)
    for unit in range(len(held.number)):
        for at in range(held.start[unit], held.start[unit] + held.number[unit]):
            label = held.tile[at]
            if label < labels:
                found[to[label]] = unit
                to[label] += 1
    return start, found


class Room(NamedTuple):
    """Room for the search of one unit after the other: all zero between two uses, ``bit`` -1.

    ``shared`` has a line for each unit: how many labels of the unit that looks for others it has, and then, as bits, which.
    """

    bit: Ints32
    near: Ints32
    shared: Words64
    own: Ints32


@kernel
def _best_sets(
    low: int, high: int, held: Held, holders: Holders, people: People, k: int
) -> tuple[Ints64, Ints64, Ints32]:
    """Return for each long unit the set of most worth that it shares with its nearest units."""
    room = _room(low, high, held, holders)
    worth, first = np.empty(high - low, np.int64), np.zeros(high - low + 1, np.int64)
    label, found = empty_pile(1024), 0
    for unit in range(low, high):
        width = _singles(unit, held, holders, room)
        if width < LONG:
            continue
        words = (width + WORD - 1) // WORD
        near = _near(unit, width, words, held, holders, room)
        mask = _cut_out(near, words, room.shared)
        common, its_worth = _best_common(near, mask, width, people.owner[unit], people, k)
        if its_worth == 0:
            continue
        for i in range(width):
            if (common[i // WORD] >> np.uint64(i % WORD)) & np.uint64(1):
                label = with_room(label, 1)
                label.value[label.used - 1] = room.own[i]
        worth[found] = its_worth
        found += 1
        first[found] = label.used
    return worth[:found].copy(), first[: found + 1].copy(), label.value[: label.used].copy()


@helper
def _room(low: int, high: int, held: Held, holders: Holders) -> Room:
    widest = 0
    for unit in range(low, high):
        widest = max(widest, held.number[unit])
    labels, units = len(holders.start) - 1, len(held.number)
    shared = np.zeros((units, 1 + (widest + WORD - 1) // WORD), np.uint64)
    return Room(np.full(labels, -1, np.int32), np.empty(units, np.int32), shared, np.empty(widest, np.int32))


@helper
def _singles(unit: int, held: Held, holders: Holders, room: Room) -> int:
    """Write the single labels of a unit into the room, ascending; return how many there are."""
    width = 0
    for at in range(held.start[unit], held.start[unit] + held.number[unit]):
        if held.tile[at] < len(holders.start) - 1:
            room.own[width] = held.tile[at]
            width += 1
    room.own[:width].sort()
    return width


@helper
def _near(unit: int, width: int, words: int, held: Held, holders: Holders, room: Room) -> Ints32:
    """Return the units that share at least three labels with a unit; what they share is in the room."""
    number = frequent = 0
    shared = room.shared
    for i in range(width):
        label = room.own[i]
        room.bit[label] = i
        if holders.start[label + 1] - holders.start[label] > MOST_UNITS:
            frequent = i + 1  # labels are numbered from the most frequent one
            continue
        word, bit = 1 + i // WORD, np.uint64(1) << np.uint64(i % WORD)
        for at in range(holders.start[label], holders.start[label + 1]):
            other = holders.unit[at]
            room.near[number] = other
            number += shared[other, 0] == 0
            shared[other, 0] += np.uint64(1)
            shared[other, word] |= bit
    kept = 0
    for i in range(number):
        other = room.near[i]
        if frequent and shared[other, 0] >= FEW:
            end = held.start[other] + held.number[other]
            _add_frequent(shared, other, frequent, held.tile, held.start[other], end, room.bit)
        if other != unit and shared[other, 0] >= LEAST_LABELS:
            room.near[kept] = other
            kept += 1
        else:
            for word in range(1 + words):
                shared[other, word] = np.uint64(0)
    for i in range(width):
        room.bit[room.own[i]] = -1
    return room.near[:kept]


@helper
def _add_frequent(
    shared: Words64, other: int, frequent: int, tile: Ints32, begin: int, end: int, bit: Ints32
) -> None:
    """Note the frequent labels that another unit has too, among the tiles from `begin` to `end`.

    It is given few arrays, for each takes time to count.
    """
    for at in range(begin, end):
        if tile[at] < len(bit) and 0 <= bit[tile[at]] < frequent:
            place = bit[tile[at]]
            shared[other, 1 + place // WORD] |= np.uint64(1) << np.uint64(place % WORD)
            shared[other, 0] += np.uint64(1)


@helper
def _cut_out(near: Ints32, words: int, shared: Words64) -> Words64:
    """Return which labels some units share, as bits, and leave zeros in the room."""
    mask = np.empty((len(near), words), np.uint64)
    for i in range(len(near)):
        for word in range(words):
            mask[i, word] = shared[near[i], 1 + word]
            shared[near[i], 1 + word] = np.uint64(0)
        shared[near[i], 0] = np.uint64(0)
    return mask


@helper
def _best_common(
    near: Ints32, mask: Words64, width: int, owner: int, people: People, k: int
) -> tuple[Words64, int]:
    """Meet a unit with its nearest ones, one after the other; return the set of most worth that k owners share.

    Units that share too little of what is common are forgotten: `near` and `mask` are changed.
    """
    words, left = mask.shape[1], len(near)
    common = np.zeros(words, np.uint64)
    for i in range(width):
        common[i // WORD] |= np.uint64(1) << np.uint64(i % WORD)
    size, best, best_worth = width, common.copy(), 0
    while True:
        # The nearest is the one that leaves most of what is common; those that leave all of it are met already.
        nearest, most, count, kept = -1, -1, 1, 0
        for i in range(left):
            bits = 0
            for word in range(words):
                mask[kept, word] = mask[i, word] & common[word]
                bits += ones(mask[kept, word])
            near[kept] = near[i]
            if bits == size:
                count += 1
            elif bits > most:
                most, nearest = bits, kept
            kept += bits >= LEAST_LABELS
        left, worth = kept, _worth(count, size)
        if count >= k and worth > best_worth and _owners(near[:left], mask, common, owner, people) >= k:
            best[:], best_worth = common, worth
        if most < LEAST_LABELS:
            return best, best_worth
        common[:] = mask[nearest]
        size = most


@helper
def _worth(units: int, labels: int) -> int:
    """Return what a set of labels that so many units share is worth, in millionths: sqrt(units) times its pairs.

    With the number of units itself, short sets of many units would come first. Those the joining of pairs finds as well,
    and long sets of few units it does not.
    """
    return int(np.rint(MILLION * np.sqrt(units) * (labels * (labels - 1) // 2)))


@helper
def _owners(near: Ints32, mask: Words64, common: Words64, owner: int, people: People) -> int:
    """Count the owners who count, the unit's own among them, of the units that have all that is common."""
    owners = np.empty(len(near) + 1, np.int32)
    owners[0], number = owner, 1
    for i in range(len(near)):
        has_all = True
        for word in range(len(common)):
            has_all &= mask[i, word] == common[word]
        if has_all:
            owners[number] = people.owner[near[i]]
            number += 1
    owners = owners[:number]
    owners.sort()
    sharing = 0
    for i in range(number):
        if i == 0 or owners[i] != owners[i - 1]:
            sharing += people.counts[owners[i]]
    return sharing


@kernel
def _take(
    order: Ints64,
    found: Sets,
    held: Held,
    holders: Holders,
    labels: Labels,
    together: Table,
    people: People,
    confidence: float,
    number: int,
) -> tuple[Ints64, Ints32, Table]:
    """Make tiles of sets, in their order, where the leftover rule allows it, numbered from `number`; return their labels."""
    first, label, taken = np.zeros(len(order) + 1, np.int64), np.empty(len(found.label), np.int32), 0
    for one in order:
        some = found.label[found.first[one] : found.first[one + 1]]
        some, units = _allowed(some, held, holders, labels, together, people, confidence)
        if len(some) == 0:
            continue
        for unit in units:
            put_instead(held, unit, some, number + taken)
        if confidence < 1.0:
            together = _noted(some, count_owners(units, people), together)
        first[taken + 1] = first[taken] + len(some)
        label[first[taken] : first[taken + 1]] = some
        taken += 1
    return first[: taken + 1].copy(), label[: first[taken]].copy(), together


@helper
def _noted(some: Ints32, sharing: int, together: Table) -> Table:
    """Note how many owners hold each pair of some labels in one more tile."""
    for i in range(len(some)):
        for j in range(i + 1, len(some)):
            together = add_to(together, pair_word(some[i], some[j]), sharing)
    return together


@helper
def _allowed(
    some: Ints32,
    held: Held,
    holders: Holders,
    labels: Labels,
    together: Table,
    people: People,
    confidence: float,
) -> tuple[Ints32, Ints32]:
    """Drop labels of which too little would be left; return the others and the units that have them all, or nothing."""
    units = holders.unit[:0]
    while len(some) >= LEAST_LABELS:
        units = _with_all(some, held, holders)
        sharing = count_owners(units, people)
        if sharing < need_of(some, labels):
            break
        kept = np.empty(len(some), np.int32)
        number = 0
        for label in some:
            fits = _fits(label, kept[:number], sharing, labels, together, confidence)
            need = labels.needs.people[labels.kinds[label]]
            if fits and _leaves_enough(label, units, held, holders, people, need):
                kept[number] = label
                number += 1
        if number == len(some):
            return some, units
        some = kept[:number]
    return some[:0], units[:0]


@helper
def _fits(label: int, kept: Ints32, sharing: int, labels: Labels, together: Table, confidence: float) -> bool:
    """Tell whether a label is above or below none of some others, and may be held with each by so many owners more."""
    first, last = labels.first_leaf, labels.last_leaf
    for other in kept:
        if first[label] <= first[other] and last[other] <= last[label]:
            return False
        if first[other] <= first[label] and last[label] <= last[other]:
            return False
        if confidence < 1.0:
            limit = confidence * min(labels.holders[label], labels.holders[other]) + 1e-9
            if number_of(together, pair_word(label, other)) + sharing > limit:
                return False
    return True


@helper
def _with_all(some: Ints32, held: Held, holders: Holders) -> Ints32:
    """Return the units that hold all of some labels as tiles of their own."""
    rarest = some[-1]  # labels are numbered from the most frequent one
    units = np.empty(holders.start[rarest + 1] - holders.start[rarest], np.int32)
    number = 0
    for at in range(holders.start[rarest], holders.start[rarest + 1]):
        unit = holders.unit[at]
        has_all = True
        for label in some:
            if not holds(held, unit, label):
                has_all = False
                break
        if has_all:
            units[number] = unit
            number += 1
    return units[:number]


@helper
def _leaves_enough(
    label: int, units: Ints32, held: Held, holders: Holders, people: People, need: int
) -> bool:
    """Tell whether what some units leave of a label has no owner or as many as it needs."""
    at, last, rest, is_some = 0, -1, 0, False
    for i in range(holders.start[label], holders.start[label + 1]):
        unit = holders.unit[i]
        while at < len(units) and units[at] < unit:
            at += 1
        is_other = at == len(units) or units[at] != unit
        if is_other and people.owner[unit] != last and holds(held, unit, label):
            last, is_some = people.owner[unit], True
            rest += people.counts[last]
            if rest >= need:
                return True
    return not is_some
