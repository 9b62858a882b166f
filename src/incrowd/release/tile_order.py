"""The order in which the words of a tile are shown: as they stand in queries, where all who hold the tile agree."""

from __future__ import annotations

import numpy as np

from incrowd.core.ragged import filtered_starts, list_ids, take_lists
from incrowd.core.tiles import Tiles
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["agreed_ranks"]


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
    held = np.flatnonzero(words[tiles.held])
    start, at = take_lists(first, tiles.held[held].astype(np.int64))
    entry = only[at]
    holding = list_ids(start)
    place, found = _places(data, tree, list_ids(tiles.held_start)[held][holding], tiles.nodes[entry])
    order = np.lexsort((place, holding))
    rank = np.empty(len(entry), dtype=np.int32)
    rank[order] = np.arange(len(entry)) - start[holding[order]]
    tied = np.zeros(len(entry), dtype=np.bool_)
    tied[order[1:]] = (place[order[1:]] == place[order[:-1]]) & (holding[order[1:]] == holding[order[:-1]])
    ranks[entry] = rank  # of any holder; whoever has another disagrees
    disagree = tied | ~found | (ranks[entry] != rank)
    agreed = words.copy()
    agreed[tiles.held[held][holding[disagree]]] = False
    ranks[~agreed[list_ids(tiles.start)] | ~is_word] = -1
    return ranks


def _places(data: Transactions, tree: Taxonomy, row: Ints64, leaf: Ints32) -> tuple[Ints64, Bools]:
    """Return where the items on some leaves stand in the queries of some rows, and whether they are there at all."""
    assert data.places is not None  # noqa: S101 - the caller has looked
    assert tree.item_leaf is not None  # noqa: S101 - the items are attached
    item_of = np.full(tree.leaf_count, -1, dtype=np.int64)
    item_of[tree.item_leaf] = np.arange(len(tree.item_leaf))
    vocabulary = len(data.vocabulary)
    keys = list_ids(data.indptr) * vocabulary + data.items  # ascending, as items are within a row
    wanted = row * vocabulary + item_of[tree.first_leaf[leaf]]
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return data.places[at].astype(np.int64), keys[at] == wanted
