"""The order in which the words of a tile are shown: as they stand in queries, where all who hold the tile agree."""

from __future__ import annotations

import numpy as np

from incrowd.core.ragged import filtered_starts, list_ids, take_lists
from incrowd.core.tiles import Tiles
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["agreed_ranks"]

AT_ONCE = 500_000  # rows: a search engine's log has ten millions


def agreed_ranks(tiles: Tiles, data: Transactions, tree: Taxonomy) -> Ints32:
    """Return the rank of each of ``tiles.nodes`` in the order of its tile; -1 where there is none.

    A row that holds a tile orders its words by where they stand in a query of the row, at the earliest. A tile has an order if
    all rows that hold it have the same one, no two words stand at the same place, and none of its words is a class. Labels of
    other kinds have no order.
    """
    ranks = np.full(len(tiles.nodes), -1, dtype=np.int32)
    if data.places is None or not len(data.items):
        return ranks
    is_word = np.ones(len(tiles.nodes), np.bool_) if tree.kind is None else tree.kind[tiles.nodes] == 0
    first, only = filtered_starts(tiles.start, is_word), np.flatnonzero(is_word)
    number = np.add.reduceat(is_word.astype(np.int64), tiles.start[:-1])
    words = np.minimum.reduceat(tree.is_leaf[tiles.nodes] | ~is_word, tiles.start[:-1]) & (number > 1)
    agreed, item_of = words.copy(), _items_on_leaves(tree)
    for low in range(0, len(data), AT_ONCE):
        rows = slice(low, min(low + AT_ONCE, len(data)))
        row, tile = _held_by(rows, tiles, words)
        start, at = take_lists(first, tile)
        entry, holding = only[at], list_ids(start)
        item = item_of[tree.first_leaf[tiles.nodes[entry]]]
        place, found = _places(data, rows, row[holding], item)
        order = np.lexsort((place, holding))
        rank = np.empty(len(entry), dtype=np.int32)
        rank[order] = np.arange(len(entry)) - start[holding[order]]
        tied = np.zeros(len(entry), dtype=np.bool_)
        tied[order[1:]] = (place[order[1:]] == place[order[:-1]]) & (
            holding[order[1:]] == holding[order[:-1]]
        )
        is_new = ranks[entry] < 0
        ranks[entry[is_new]] = rank[is_new]  # of any holder; whoever has another disagrees
        disagree = tied | ~found | (ranks[entry] != rank)
        agreed[tile[holding[disagree]]] = False
    ranks[~agreed[list_ids(tiles.start)] | ~is_word] = -1
    return ranks


def _held_by(rows: slice, tiles: Tiles, wanted: Bools) -> tuple[Ints64, Ints64]:
    """Return the wanted tiles that some rows hold, and the row of each, counted from the first of them."""
    start = tiles.held_start[rows.start : rows.stop + 1]
    held = tiles.held[start[0] : start[-1]]
    keep = wanted[held]
    return list_ids(start - start[0])[keep], held[keep].astype(np.int64)


def _items_on_leaves(tree: Taxonomy) -> Ints64:
    """Return the item on each leaf, -1 where there is none."""
    assert tree.item_leaf is not None  # noqa: S101 - the items are attached
    item_of = np.full(tree.leaf_count, -1, dtype=np.int64)
    item_of[tree.item_leaf] = np.arange(len(tree.item_leaf))
    return item_of


def _places(data: Transactions, rows: slice, row: Ints64, item: Ints64) -> tuple[Ints64, Bools]:
    """Return where items stand in the queries of some of these rows, and whether they are there at all."""
    assert data.places is not None  # noqa: S101 - the caller has looked
    vocabulary, start = len(data.vocabulary), data.indptr[rows.start : rows.stop + 1]
    own = slice(int(start[0]), int(start[-1]))
    keys = list_ids(start - start[0]) * vocabulary + data.items[own]  # ascending, as items are within a row
    if not len(keys):
        return np.zeros(len(row), dtype=np.int64), np.zeros(len(row), dtype=np.bool_)
    wanted = row * vocabulary + item
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return data.places[own][at].astype(np.int64), keys[at] == wanted
