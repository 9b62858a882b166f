"""Who holds which tile, recounted from the originals by sorting: people, units, containment, order of words.

Nothing here is shared with the method, and no kernel runs. Arrays are sorted and compared, in parts of so many units that a search
engine's log fits into memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from incrowd.core.ragged import count_distinct, distinct, list_ids, list_sums, pairs_within, take_lists
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Bytes, Ints32, Ints64
from incrowd.taxonomy.tree import Taxonomy

__all__ = [
    "Held",
    "Holdings",
    "TileOriginals",
    "count_false",
    "count_misordered",
    "count_sure",
    "held_by_people",
]

AT_ONCE = 400_000  # units
HOLDINGS_AT_ONCE = 10_000_000
NEARLY = 1e-9
UNSEEN, AGREED, DIFFERENT = 0, 1, 2


class TileOriginals(NamedTuple):
    """What a release of tiles was made from: row r holds the written tiles ``held[start[r]:start[r + 1]]``.

    The secret seed, where it is known, says how numbers were rounded.
    """

    transactions: Transactions
    taxonomy: Taxonomy
    start: Ints64
    held: Ints32 | Ints64
    seed: int | None = None


class Held(NamedTuple):
    """Something of each written tile: the nodes of its labels, or its order. Tile t has ``node[start[t]:start[t + 1]]``."""

    start: Ints64
    node: Ints64


class Holdings(NamedTuple):
    """Each tile and person who holds it and counts, once, and in how many units."""

    tile: Ints32
    person: Ints32
    times: Ints32


def held_by_people(originals: TileOriginals, counts: Bools) -> Holdings:
    """Return who holds which tile; `counts` says of each row whether its person counts."""
    person = originals.transactions.person
    width = int(person.max(initial=0)) + 1
    held = originals.held.astype(np.int64)
    held *= width  # one word for tile and person, so that one sort brings them together
    held += np.repeat(person, np.diff(originals.start))
    if not counts.all():
        held = held[np.repeat(counts, np.diff(originals.start))]
    held.sort()
    is_first = np.ones(len(held), dtype=np.bool_)
    np.not_equal(held[1:], held[:-1], out=is_first[1:])
    times = np.diff(np.flatnonzero(is_first), append=len(held)).astype(np.int32)
    held = held[is_first]
    return Holdings((held // width).astype(np.int32), (held % width).astype(np.int32), times)


def count_sure(tiles: Held, holdings: Holdings, confidence: float) -> int:
    """Count the pairs of labels that more than a share of a label's people hold in one tile."""
    labels = int(tiles.node.max(initial=0)) + 1
    holders = _count_holders(tiles, holdings, labels)
    people = np.bincount(holdings.tile, minlength=len(tiles.start) - 1)
    tile, one, other = pairs_within(tiles.start)
    one, other = tiles.node[one], tiles.node[other]
    pair = np.minimum(one, other) * labels + np.maximum(one, other)
    order = np.argsort(pair, kind="stable")
    pair, tile = pair[order], tile[order]
    start = np.append(np.flatnonzero(np.diff(pair, prepend=-1)), len(pair))
    first, second = np.divmod(pair[start[:-1]], labels)
    limit = confidence * np.minimum(holders[first], holders[second]) + NEARLY
    # Whoever holds several tiles of a pair was counted as often: only where that is too many, people are told apart.
    many = np.flatnonzero(list_sums(start, people[tile]) > limit)
    of_tile = np.searchsorted(holdings.tile, np.arange(len(tiles.start)))
    sure = 0
    for at in many.tolist():
        some = tile[start[at] : start[at + 1]].tolist()
        different = np.unique(np.concatenate([holdings.person[of_tile[t] : of_tile[t + 1]] for t in some]))
        sure += len(different) > limit[at]
    return sure


def _count_holders(tiles: Held, holdings: Holdings, labels: int) -> Ints64:
    """Count the different people who hold each label, some people at a time."""
    holders = np.zeros(labels, dtype=np.int64)
    people = int(holdings.person.max(initial=0)) + 1
    parts = 1 + len(holdings.person) // HOLDINGS_AT_ONCE
    for low, high in pairwise(np.linspace(0, people, parts + 1, dtype=np.int64).tolist()):
        some = np.flatnonzero((holdings.person >= low) & (holdings.person < high))
        start, at = take_lists(tiles.start, holdings.tile[some].astype(np.int64))
        person = np.repeat(holdings.person[some] - low, np.diff(start))
        holders += count_distinct(tiles.node[at], person, labels)
    return holders


def _parts(originals: TileOriginals) -> Iterator[tuple[int, int]]:
    rows = len(originals.start) - 1
    return ((low, min(low + AT_ONCE, rows)) for low in range(0, rows, AT_ONCE))


class Part(NamedTuple):
    """Some rows: the labels that each says of itself, and its items, as words of row and node; items are where the data have them."""

    row: Ints64
    tile: Ints64
    said_start: Ints64
    said: Ints64
    items: Ints64
    first_item: int


def _part(originals: TileOriginals, tiles: Held, low: int, high: int, keep: Bools | None = None) -> Part:
    """Return the rows of one part; of their tiles only those to be kept."""
    data, tree = originals.transactions, originals.taxonomy
    begin = slice(int(originals.start[low]), int(originals.start[high]))
    tile, row = (
        originals.held[begin].astype(np.int64),
        list_ids(originals.start[low : high + 1] - originals.start[low]),
    )
    if keep is not None:
        tile, row = tile[keep[tile]], row[keep[tile]]
    start, at = take_lists(tiles.start, tile)
    said = np.repeat(row, np.diff(start)) * len(tree) + tiles.node[at]
    own = slice(int(data.indptr[low]), int(data.indptr[high]))
    owner = list_ids(data.indptr[low : high + 1] - data.indptr[low])
    return Part(row, tile, start, said, owner * len(tree) + tree.leaves_of(data.items[own]), own.start)


def _found(words: Ints64, among: Ints64) -> tuple[Bools, Ints64]:
    """Tell which words are among others, which ascend, and where."""
    if not len(among):
        return np.zeros(len(words), dtype=np.bool_), np.zeros(len(words), dtype=np.int64)
    at = np.minimum(np.searchsorted(among, words), len(among) - 1)
    return among[at] == words, at


def count_false(originals: TileOriginals, tiles: Held) -> int:
    """Count the rows whose tiles are not true of them: each label is an item of the row or above one, and no item serves twice.

    The stretches of nodes below labels are nested or apart. So labels can each be given an item of their own if below each of
    them the row has as many items as it has labels (Hall's condition, which holds for all sets of labels if it holds there).
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(pool.map(lambda rows: _count_false_in(originals, tiles, *rows), _parts(originals)))


def _count_false_in(originals: TileOriginals, tiles: Held, low: int, high: int) -> int:
    tree, part = originals.taxonomy, _part(originals, tiles, low, high)
    said, own = np.sort(part.said), np.sort(part.items)
    row, node = np.divmod(said, len(tree))
    end = row * len(tree) + tree.end[node]
    labels, items = (np.searchsorted(words, end) - np.searchsorted(words, said) for words in (said, own))
    return len(distinct(row[labels > items]))


class Seen(NamedTuple):
    """Whether the holders of each tile agree on an order so far, and on which."""

    state: Bytes
    order: Ints64


def count_misordered(originals: TileOriginals, words: Held, orders: Held) -> int:
    """Count the tiles whose words are in another order than the one in which all rows that hold them have the words.

    Parameters
    ----------
    originals
        What the tiles were made from.
    words, orders
        The nodes of the words of each tile in code point order, and its order; none: that of code points.
    """
    sizes = np.diff(words.start)
    place = np.arange(len(words.node)) - np.repeat(words.start[:-1], sizes)
    said = place.copy()
    is_said = np.diff(orders.start) > 0
    said[np.repeat(is_said, sizes)] = orders.node  # an order has all words of its tile
    seen = _agreed_orders(originals, words)
    agreed = np.where(np.repeat(seen.state == AGREED, sizes), seen.order, place)
    return int(np.count_nonzero(list_sums(words.start, said != agreed)))


def _agreed_orders(originals: TileOriginals, tiles: Held) -> Seen:
    """Return whether all rows that hold a tile have its words in one order, and in which."""
    sizes = np.diff(tiles.start)
    seen = Seen(np.full(len(sizes), UNSEEN, dtype=np.uint8), np.zeros(len(tiles.node), dtype=np.int64))
    if originals.transactions.places is None:
        return seen
    for low, high in _parts(originals):
        part = _part(originals, tiles, low, high, sizes > 1)
        order = np.argsort(part.items, kind="stable")
        is_item, at = _found(part.said, part.items[order])
        place = originals.transactions.places[part.first_item + order[at]].astype(np.int64)
        place[~is_item] = -1
        for size in np.unique(sizes[part.tile]).tolist():
            _compare(size, part, place, tiles, seen)
    return seen


def _compare(size: int, part: Part, place: Ints64, tiles: Held, seen: Seen) -> None:
    """Compare the order of words of all tiles of one size with those that were seen."""
    which = np.flatnonzero(np.diff(part.said_start) == size)
    tile, column = part.tile[which], np.arange(size)
    state, order = seen
    places = place[part.said_start[which][:, None] + column]
    here = np.argsort(places, axis=1, kind="stable")
    ascending = np.take_along_axis(places, here, axis=1)
    has_one = (ascending[:, 0] >= 0) & (np.diff(ascending, axis=1) > 0).all(axis=1)
    new, first = np.unique(tile, return_index=True)
    fresh = state[new] == UNSEEN
    state[new[fresh]] = AGREED
    order[tiles.start[new[fresh]][:, None] + column] = here[first[fresh]]
    same = (order[tiles.start[tile][:, None] + column] == here).all(axis=1)
    state[tile[~(has_one & same)]] = DIFFERENT
