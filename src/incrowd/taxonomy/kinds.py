"""One tree for items of several kinds: the taxonomy of words, and beside it a ladder for each other kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.kinds import SEPARATOR, are_typed, plain_texts, typed, typed_texts
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints32
from incrowd.taxonomy.attach import Attached
from incrowd.taxonomy.ladders import ROOT, way_up
from incrowd.taxonomy.sources.balanced import unused_label
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["ALL_KINDS", "attach_kinds"]

ALL_KINDS = "all kinds"
Values = TypeVar("Values", Ints32 | None, Bools | None)


def attach_kinds(
    data: Transactions, kinds: Sequence[str], attach_words: Callable[[Transactions], Attached]
) -> Attached:
    """Attach items of several kinds: words as `attach_words` does it, the others to the ladders of their kinds.

    Parameters
    ----------
    data
        The units; items of other kinds than words are written as :mod:`incrowd.core.kinds` says.
    kinds
        The kinds that were asked for.
    attach_words
        Attaches the words alone to their taxonomy; it may leave some out.
    """
    if not kinds:
        return attach_words(data)
    others = are_typed(data.vocabulary)
    words = attach_words(data.without_items(others, note=""))
    kept = words.transactions.vocabulary
    if len(kept) + int(others.sum()) < len(data.vocabulary):
        left_out = ~others & ~np.array(pc.is_in(data.vocabulary, value_set=kept), dtype=np.bool_)
        data = data.without_items(left_out, note="")
    account = tuple(filter(None, words.transactions.account))  # what became of words
    data = replace(data, account=account)
    return words._replace(transactions=data, taxonomy=_joined(words.taxonomy, data.vocabulary, kinds))


def _joined(words: Taxonomy, vocabulary: pa.Array, kinds: Sequence[str]) -> Taxonomy:
    """Return a tree with a root above the words' own and that of each kind, in pre-order."""
    kind_of_item = _kinds_in(vocabulary, kinds)
    ladders = [
        _Ladder(kind, plain_texts(vocabulary.filter(pa.array(kind_of_item == number))).to_pylist())
        for number, kind in enumerate(kinds, 1)
    ]
    trees: list[Taxonomy | _Ladder] = [words, *ladders]
    sizes = [1, *(len(tree.parent) for tree in trees)]
    firsts = np.cumsum(sizes)[:-1].tolist()
    parents = [
        np.where(tree.parent < 0, 0, tree.parent + first) for tree, first in zip(trees, firsts, strict=True)
    ]
    ends = [tree.end + first for tree, first in zip(trees, firsts, strict=True)]
    root = pa.array([unused_label(ALL_KINDS, words.labels)], pa.string())
    return replace(
        words,
        parent=np.concatenate([[-1], *parents]).astype(np.int32),
        end=np.concatenate([[sum(sizes)], *ends]).astype(np.int32),
        labels=pa.concat_arrays([root, *(tree.labels for tree in trees)]),
        items=vocabulary,
        item_leaf=_leaves(words, kind_of_item, ladders),
        edge=_extended(words.edge, 1, sizes),
        made=_extended(words.made, 0, sizes),
        given_leaves=_given_leaves(words, ladders),
        moved=_extended(words.moved, 0, sizes),
        kind=np.repeat(np.arange(-1, len(kinds) + 1), sizes).astype(np.int32),
        kinds=tuple(kinds),
    )


class _Ladder:
    """The tree of one kind, in pre-order: its root, what lies above its items, and the items, which are its leaves.

    Parameters
    ----------
    kind
        Its name.
    texts
        The items that occur, in the order of code points.
    """

    def __init__(self, kind: str, texts: Sequence[str]) -> None:
        # The whole way down in one text: what shares a way is together when these are sorted.
        ways = [SEPARATOR.join((*way_up(kind, text)[::-1], text)) for text in texts]
        order = sorted(range(len(texts)), key=ways.__getitem__)
        labels, parents, ends = [ROOT], [-1], [0]
        open_: list[tuple[str, int]] = []  # the names and nodes on the way to the last item
        for place in order:
            *way, text = ways[place].split(SEPARATOR)
            shared = next(
                (i for i, (name, _) in enumerate(open_) if i >= len(way) or way[i] != name), len(open_)
            )
            for _, node in open_[shared:]:
                ends[node] = len(labels)
            del open_[shared:]
            for name in way[shared:]:
                parents.append(open_[-1][1] if open_ else 0)
                open_.append((name, len(labels)))
                labels.append(name)
                ends.append(0)  # known when it closes
            parents.append(open_[-1][1] if open_ else 0)
            labels.append(text)
            ends.append(len(labels))
        for node in (0, *(node for _, node in open_)):
            ends[node] = len(labels)
        self.parent = np.array(parents, dtype=np.int32)
        self.end = np.array(ends, dtype=np.int32)
        self.labels = typed_texts(kind, pa.array(labels, pa.string()))
        self.is_leaf: Bools = self.end == np.arange(1, len(labels) + 1)
        self.leaf_of_item = np.empty(len(texts), dtype=np.int32)  # leaves are in the order of the ways
        self.leaf_of_item[order] = np.arange(len(texts), dtype=np.int32)


def _kinds_in(vocabulary: pa.Array, kinds: Sequence[str]) -> Ints32:
    """Return the kind of each item, by its number; 0 for words."""
    found = np.zeros(len(vocabulary), dtype=np.int32)
    for number, kind in enumerate(kinds, 1):
        found[np.array(pc.starts_with(vocabulary, typed(kind, "")), dtype=np.bool_)] = number
    return found


def _leaves(words: Taxonomy, kind_of_item: Ints32, ladders: Sequence[_Ladder]) -> Ints32:
    """Return the leaf rank of each item of the vocabulary; leaves of words come first, then those of each kind."""
    rank = np.empty(len(kind_of_item), dtype=np.int32)
    assert words.item_leaf is not None  # noqa: S101 - the words are attached
    rank[kind_of_item == 0] = words.item_leaf
    before = words.leaf_count
    for number, ladder in enumerate(ladders, 1):
        rank[kind_of_item == number] = before + ladder.leaf_of_item
        before += int(ladder.is_leaf.sum())  # the root of a kind without items is a leaf
    return rank


def _extended(values: Values, fill: int, sizes: Sequence[int]) -> Values:
    """Return values of the words' nodes with others around them."""
    if values is None:
        return values
    parts = [np.full(1, fill, values.dtype), values, np.full(sum(sizes[2:]), fill, values.dtype)]
    return np.concatenate(parts)


def _given_leaves(words: Taxonomy, ladders: Sequence[_Ladder]) -> Ints32:
    """Return how many leaves each node has as far as it may be known: of ladders, which follow the data, only that an item is one."""
    own = words.last_leaf - words.first_leaf if words.given_leaves is None else words.given_leaves
    return np.concatenate(
        [np.zeros(1, np.int32), own, *(ladder.is_leaf.astype(np.int32) for ladder in ladders)]
    )
