"""What each person has, for method `dp`: sets of numbers, each in an order of chance, so that the first d of a set are d evenly chosen ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from incrowd.core.noise import Words, secure_words
from incrowd.core.ragged import distinct, filtered_starts, list_ids, starts_of
from incrowd.core.spending import Round
from incrowd.core.types import Bools, Ints64

__all__ = ["AT_ONCE", "LARGEST", "Sets", "Sums", "added_up", "among", "joined", "sets_of", "shuffled"]

AT_ONCE = 1 << 21  # entries; what is needed beside the sets themselves stays small
LARGEST = 2**62  # products of a person's and an item's number stay below this
_CHANCE_BITS = 40
_SMALL = 1 << 26  # numbers below it are looked up in a table


class Sums(NamedTuple):
    """Sums by item: each item that has one, ascending, and its sum."""

    item: Ints64
    sum: Ints64


class Sets(NamedTuple):
    """What people have: person p the numbers ``item[start[p]:start[p + 1]]``, distinct, in an order of chance.

    The order is drawn once, and in each step a person begins at a place of chance: who gives d of what is left chooses by the own set, what was
    published, and chance alone.
    """

    start: Ints64
    item: Ints64

    def weights(self, found: Ints64, one: Round, d: int, words: Words = secure_words) -> Sums:
        """Return what people add to items in a round, each to at most d of those that were not found."""
        by_length = np.array([0, *map(one.weight, range(1, d + 1))], dtype=np.int64)
        parts = []
        for part in self.parts():
            kept = part.some(d, ~among(found, part.item), words)
            lengths = np.diff(kept.start)
            parts.append(added_up(kept.item, np.repeat(by_length[lengths], lengths)))
        return _total(parts)

    def people(self, found: Ints64, d: int, words: Words = secure_words) -> Sums:
        """Return how many people have each of the items that were found, of each person at most d of them."""
        parts = []
        for part in self.parts():
            kept = part.some(d, among(found, part.item), words).item
            parts.append(added_up(kept, np.ones(len(kept), dtype=np.int64)))
        return _total(parts)

    def some(self, d: int, wanted: Bools, words: Words = secure_words) -> Sets:
        """Return d of each person's items that are wanted, or all if they are fewer: those from a place of chance on, and then from the first."""
        start, item = filtered_starts(self.start, wanted), self.item[wanted]
        length = np.diff(start)
        begin = words(len(length)) % np.maximum(length, 1).astype(np.uint64)
        place = np.arange(len(item)) - np.repeat(start[:-1] + begin.astype(np.int64), length)
        keep = place + np.where(place < 0, np.repeat(length, length), 0) < d
        return Sets(filtered_starts(start, keep), item[keep])

    def parts(self) -> Iterator[Sets]:
        """Yield the sets of some people at a time."""
        ends = np.searchsorted(self.start, np.arange(AT_ONCE, len(self.item) + AT_ONCE, AT_ONCE))
        low = 0
        for high in np.minimum(ends, len(self.start) - 1).tolist():
            start = self.start[low : high + 1]
            yield Sets(start - start[0], self.item[start[0] : start[-1]])
            low = high


def sets_of(
    person: Ints64,
    item: Ints64,
    items: int,
    *,
    d: int = 0,
    people: int | None = None,
    words: Words = secure_words,
) -> Sets:
    """Return what people have, given entries of a person and an item (a number below `items`); repeats count once.

    Sets of up to `d` items stay in their order, for nobody ever takes fewer of them. `people` says how many there are, if not all have entries.
    """
    number = int(person.max(initial=-1)) + 1 if people is None else people
    most = max(1, LARGEST // max(items, 1))
    if len(person) <= 2 * AT_ONCE and number <= most:
        return _sets_of(person, item, items, d, number, words)
    if np.any(np.diff(person) < 0):
        order = np.argsort(person, kind="stable")
        person, item = person[order], item[order]
    parts, low, done = [], 0, 0
    while done < number:
        # Some people at a time: as many as have AT_ONCE entries, at least one, and no more than fit a product.
        beyond = int(person[low + AT_ONCE]) if low + AT_ONCE < len(person) else number
        end = min(max(beyond, done + 1), done + most)
        high = int(np.searchsorted(person, end))
        parts.append(_sets_of(person[low:high] - done, item[low:high], items, d, end - done, words))
        low, done = high, end
    return joined(parts)


def _sets_of(person: Ints64, item: Ints64, items: int, d: int, people: int, words: Words) -> Sets:
    keys = distinct(person * max(items, 1) + item)
    owner, own = np.divmod(keys, max(items, 1))
    return shuffled(Sets(starts_of(np.bincount(owner, minlength=people)), own), d, words)


def shuffled(sets: Sets, d: int, words: Words = secure_words) -> Sets:
    """Bring each set of more than d items into an order of chance, drawn for it alone."""
    made, done = np.empty(len(sets.item), dtype=np.int64), 0
    for start, item in sets.parts():
        person, length = list_ids(start), np.diff(start)
        crowded = np.flatnonzero((length > d)[person])
        turn = np.cumsum(np.diff(person[crowded], prepend=-1) != 0).astype(np.uint64)
        # Equal chances, one in 2^40, stay in the order of the set itself.
        chance = words(len(crowded)) >> np.uint64(64 - _CHANCE_BITS)
        order = np.argsort((turn << np.uint64(_CHANCE_BITS)) | chance, kind="stable")
        mixed = made[done : done + len(item)]
        mixed[:] = item
        mixed[crowded] = item[crowded[order]]
        done += len(item)
    return Sets(sets.start, made)


def joined(parts: Sequence[Sets]) -> Sets:
    """Return the sets of people, given those of some and of others."""
    lengths = [np.diff(part.start) for part in parts]
    return Sets(
        starts_of(np.concatenate([np.empty(0, np.int64), *lengths])),
        np.concatenate([np.empty(0, np.int64), *(part.item for part in parts)]),
    )


def among(found: Ints64, item: Ints64) -> Bools:
    """Tell which items are among those that were found, which ascend."""
    if not len(found):
        return np.zeros(len(item), dtype=np.bool_)
    if found[-1] < _SMALL:
        table = np.zeros(int(found[-1]) + 2, dtype=np.bool_)
        table[found] = True
        return table[np.minimum(item, len(table) - 1)]
    place = np.minimum(np.searchsorted(found, item), len(found) - 1)
    is_there: Bools = found[place] == item
    return is_there


def added_up(item: Ints64, number: Ints64) -> Sums:
    """Add up numbers by item, in whole numbers."""
    order = np.argsort(item, kind="stable")
    ordered = item[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    return Sums(ordered[first], np.add.reduceat(number[order], first) if len(first) else ordered)


def _total(parts: Sequence[Sums]) -> Sums:
    nothing = np.empty(0, np.int64)
    return added_up(
        np.concatenate([nothing, *(part.item for part in parts)]),
        np.concatenate([nothing, *(part.sum for part in parts)]),
    )
