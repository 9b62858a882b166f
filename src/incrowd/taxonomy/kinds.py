"""One tree for items of several kinds: the taxonomy of words, and beside it a ladder for each other kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.kinds import are_typed, kind_of, text_of, typed
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
    typed_items = vocabulary.filter(pa.array(are_typed(vocabulary))).to_pylist()
    ladders = [
        _Ladder(kind, [text_of(item) for item in typed_items if kind_of(item) == kind]) for kind in kinds
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
        item_leaf=_leaves(words, vocabulary, ladders),
        edge=_extended(words.edge, 1, sizes),
        made=_extended(words.made, 0, sizes),
        given_leaves=_given_leaves(words, ladders),
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
        ways = sorted((way_up(kind, text)[::-1], text) for text in texts)
        labels, parents, self.leaf = [ROOT], [-1], dict[str, int]()
        open_: list[tuple[str, int]] = []  # the names and nodes on the way to the last item
        for way, text in ways:
            shared = next(
                (i for i, (name, _) in enumerate(open_) if i >= len(way) or way[i] != name), len(open_)
            )
            del open_[shared:]
            for name in way[shared:]:
                parents.append(open_[-1][1] if open_ else 0)
                open_.append((name, len(labels)))
                labels.append(name)
            parents.append(open_[-1][1] if open_ else 0)
            self.leaf[text] = len(labels)
            labels.append(text)
        self.parent = np.array(parents, dtype=np.int32)
        self.end = _ends(self.parent)
        self.labels = pa.array([typed(kind, label) for label in labels], pa.string())
        self.is_leaf: Bools = self.end == np.arange(1, len(labels) + 1)


def _ends(parent: Ints32) -> Ints32:
    """Return the end of each node's subtree, of nodes in pre-order."""
    end = np.arange(1, len(parent) + 1, dtype=np.int32)
    for node in range(len(parent) - 1, 0, -1):
        end[parent[node]] = max(end[parent[node]], end[node])
    return end


def _leaves(words: Taxonomy, vocabulary: pa.Array, ladders: Sequence[_Ladder]) -> Ints32:
    """Return the leaf rank of each item of the vocabulary; leaves of words come first, then those of each kind."""
    others = are_typed(vocabulary)
    rank = np.empty(len(vocabulary), dtype=np.int32)
    assert words.item_leaf is not None  # noqa: S101 - the words are attached
    rank[~others] = words.item_leaf
    before, place = words.leaf_count, dict[str, int]()
    for ladder in ladders:
        leaves = before + np.cumsum(ladder.is_leaf) - 1
        kind = ladder.labels[0].as_py().removesuffix(ROOT)
        place |= {kind + text: int(leaves[node]) for text, node in ladder.leaf.items()}
        before += max(int(ladder.is_leaf.sum()), 1)  # the root of a kind without items is a leaf
    rank[others] = [place[item] for item in vocabulary.filter(pa.array(others)).to_pylist()]
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
