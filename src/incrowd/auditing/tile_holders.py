"""Who holds which tile, recounted from the originals by sorting: people, units, containment, order of words.

Nothing here is shared with the method, and no kernel runs. Arrays are sorted and compared, in parts of so many units that a search
engine's log fits into memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from incrowd.core.ragged import count_distinct, list_ids, starts_of, take_lists
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Bytes, Ints64
from incrowd.taxonomy.tree import Taxonomy

__all__ = [
    "Held",
    "Holdings",
    "TileOriginals",
    "agreed_orders",
    "count_false",
    "count_sure",
    "held_by_people",
]

AT_ONCE = 1_000_000  # units
NEARLY = 1e-9
UNSEEN, AGREED, DIFFERENT = 0, 1, 2


class TileOriginals(NamedTuple):
    """What a release of tiles was made from: row r holds the written tiles ``held[start[r]:start[r + 1]]``.

    The secret seed, where it is known, says how numbers were rounded.
    """

    transactions: Transactions
    taxonomy: Taxonomy
    start: Ints64
    held: Ints64
    seed: int | None = None


class Held(NamedTuple):
    """The written tiles, as nodes: tile t has the labels ``node[start[t]:start[t + 1]]``."""

    start: Ints64
    node: Ints64

    @classmethod
    def of(cls, nodes: Sequence[Sequence[int]]) -> Held:
        """Return lists of nodes as arrays."""
        flat = np.array([node for some in nodes for node in some], dtype=np.int64)
        return cls(starts_of([len(some) for some in nodes]), flat)


class Holdings(NamedTuple):
    """Each tile and person who holds it and counts, once, and in how many units."""

    tile: Ints64
    person: Ints64
    times: Ints64


def held_by_people(originals: TileOriginals, counts: Bools) -> Holdings:
    """Return who holds which tile; `counts` says of each row whether its person counts."""
    person = originals.transactions.person
    width = int(person.max(initial=0)) + 1
    held = originals.held * width  # one word for tile and person, so that one sort brings them together
    held += np.repeat(person, np.diff(originals.start))
    if not counts.all():
        held = held[np.repeat(counts, np.diff(originals.start))]
    held.sort()
    first = np.flatnonzero(np.diff(held, prepend=-1))
    return Holdings(held[first] // width, held[first] % width, np.diff(first, append=len(held)))


def count_sure(tiles: Held, holdings: Holdings, confidence: float) -> int:
    """Count the pairs of labels that more than a share of a label's people hold in one tile."""
    labels = int(tiles.node.max(initial=0)) + 1
    start, at = take_lists(tiles.start, holdings.tile)
    holders = count_distinct(tiles.node[at], np.repeat(holdings.person, np.diff(start)), labels)
    people = np.bincount(holdings.tile, minlength=len(tiles.start) - 1)
    with_both: dict[tuple[int, int], list[int]] = defaultdict(list)
    for tile in np.flatnonzero(np.diff(tiles.start) > 1).tolist():
        own = tiles.node[tiles.start[tile] : tiles.start[tile + 1]].tolist()
        for pair in combinations(sorted(own), 2):
            with_both[pair].append(tile)
    first = np.searchsorted(holdings.tile, np.arange(len(tiles.start)))
    sure = 0
    for (one, other), some in with_both.items():
        limit = confidence * min(holders[one], holders[other]) + NEARLY
        if people[some].sum() > limit:  # whoever holds several of them was counted as often
            different = np.unique(np.concatenate([holdings.person[first[t] : first[t + 1]] for t in some]))
            sure += len(different) > limit
    return sure


def _parts(originals: TileOriginals) -> Iterator[tuple[int, int]]:
    rows = len(originals.start) - 1
    return ((low, min(low + AT_ONCE, rows)) for low in range(0, rows, AT_ONCE))


class Part(NamedTuple):
    """Some rows: the labels that each says of itself, and its items, as words of row and node; items ascend, with their positions."""

    row: Ints64
    tile: Ints64
    said_start: Ints64
    said: Ints64
    items: Ints64
    position: Ints64


def _part(originals: TileOriginals, tiles: Held, low: int, high: int, keep: Bools | None = None) -> Part:
    """Return the rows of one part; of their tiles only those to be kept."""
    data, tree = originals.transactions, originals.taxonomy
    begin = slice(int(originals.start[low]), int(originals.start[high]))
    tile, row = originals.held[begin], list_ids(originals.start[low : high + 1] - originals.start[low])
    if keep is not None:
        tile, row = tile[keep[tile]], row[keep[tile]]
    start, at = take_lists(tiles.start, tile)
    said = np.repeat(row, np.diff(start)) * len(tree) + tiles.node[at]
    own = slice(int(data.indptr[low]), int(data.indptr[high]))
    owner = list_ids(data.indptr[low : high + 1] - data.indptr[low])
    items = owner * len(tree) + tree.leaves_of(data.items[own])
    order = np.argsort(items, kind="stable")
    return Part(row, tile, start, said, items[order], own.start + order)


def _found(words: Ints64, among: Ints64) -> tuple[Bools, Ints64]:
    """Tell which words are among others, which ascend, and where."""
    if not len(among):
        return np.zeros(len(words), dtype=np.bool_), np.zeros(len(words), dtype=np.int64)
    at = np.minimum(np.searchsorted(among, words), len(among) - 1)
    return among[at] == words, at


def count_false(originals: TileOriginals, tiles: Held) -> int:
    """Count the rows whose tiles are not true of them: each label is an item of the row or above one, and no item serves twice."""
    tree, false = originals.taxonomy, 0
    for low, high in _parts(originals):
        part = _part(originals, tiles, low, high)
        row, node = np.divmod(part.said, len(tree))
        is_class = ~tree.is_leaf[node]
        with_class = np.zeros(high - low, dtype=np.bool_)
        with_class[row[is_class]] = True
        wrong = np.zeros(high - low, dtype=np.bool_)
        wrong[row[~is_class & ~_found(part.said, part.items)[0]]] = True
        again = np.sort(part.said[~is_class])
        wrong[again[1:][again[1:] == again[:-1]] // len(tree)] = True
        for one in np.flatnonzero(with_class & ~wrong).tolist():
            first, stop = np.searchsorted(part.items, [one * len(tree), (one + 1) * len(tree)])
            begin, end = np.searchsorted(row, [one, one + 1])  # rows ascend
            leaves = (part.items[first:stop] % len(tree)).tolist()
            wrong[one] = not _is_true(node[begin:end].tolist(), leaves, tree)
        false += int(np.count_nonzero(wrong))
    return false


def _is_true(labels: Sequence[int], leaves: Sequence[int], tree: Taxonomy) -> bool:
    """Tell whether labels can each be given an item below them, no item twice.

    The stretches of leaves below labels are nested or apart, so it is enough to serve the deepest labels first.
    """
    left = set(leaves)
    for label in sorted(labels, key=lambda node: (int(tree.end[node]) - node, node)):
        below = next((leaf for leaf in left if label <= leaf < tree.end[label]), None)
        if below is None:
            return False
        left.remove(below)
    return True


class Seen(NamedTuple):
    """Whether the holders of each tile agree on an order so far, and on which."""

    state: Bytes
    order: Ints64

    def order_of(self, tile: int, tiles: Held) -> tuple[int, ...]:
        """Return a tile's order."""
        return tuple(self.order[tiles.start[tile] : tiles.start[tile + 1]].tolist())


def agreed_orders(originals: TileOriginals, tiles: Held) -> Mapping[int, tuple[int, ...]]:
    """Return the order of each tile's labels in which all rows that hold it have the words, where it is not that of code points."""
    if originals.transactions.places is None:
        return {}
    sizes = np.diff(tiles.start)
    seen = Seen(np.full(len(sizes), UNSEEN, dtype=np.uint8), np.zeros(len(tiles.node), dtype=np.int64))
    for low, high in _parts(originals):
        part = _part(originals, tiles, low, high, sizes > 1)
        is_item, at = _found(part.said, part.items)
        place = originals.transactions.places[part.position[at]].astype(np.int64)
        place[~is_item] = -1
        for size in np.unique(sizes[part.tile]).tolist():
            _compare(size, part, place, tiles, seen)
    found = {tile: seen.order_of(tile, tiles) for tile in np.flatnonzero(seen.state == AGREED).tolist()}
    return {tile: order for tile, order in found.items() if list(order) != sorted(order)}


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
