"""Attaches every item of the data to a leaf of its own in the taxonomy."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.errors import BadInputError, check_choice, option
from incrowd.taxonomy.matching import in_own_place, locate, own_names
from incrowd.taxonomy.moves import Moves
from incrowd.taxonomy.sources.balanced import balanced_tree, unused_label
from incrowd.taxonomy.tree import Taxonomy, positions
from incrowd.taxonomy.words import named_tree, published_as

__all__ = ["UNLISTED_FAN_OUT", "Attached", "Unlisted", "attach"]

Unlisted = Literal["keep", "name", "drop", "refuse"]
UNLISTED_FAN_OUT = 5
SAME_CONCEPT, ONE_STEP, UNRELATED = 0, 1, 10_000  # lengths of edges, in the sense of term distances


class Attached(NamedTuple):
    """Transactions and a taxonomy that fit each other.

    ``listed`` and ``unlisted`` are how many distinct items the tree has and lacks; ``other_case`` of the listed ones were
    found in another case only (``milk`` as ``Milk``).
    """

    transactions: Transactions
    taxonomy: Taxonomy
    listed: int
    unlisted: int
    other_case: int = 0

    @property
    def found(self) -> dict[str, int]:
        """How many distinct items were found in the tree and how, and how many hang elsewhere, as results print it."""
        found = {"listed": self.listed, "unlisted": self.unlisted, "other_case": self.other_case}
        return found if self.taxonomy.moved is None else {**found, "moved": int(self.taxonomy.moved.sum())}


def attach(
    transactions: Transactions,
    tree: Taxonomy,
    *,
    unlisted: Unlisted = "refuse",
    moves: Moves | None = None,
) -> Attached:
    """Attach the items that occur to a taxonomy, so that each has a leaf of its own.

    An item that is an inner node of the tree gets a leaf below it that means "exactly this concept, nothing more
    specific" and has the node's own label. An item that is found by anything but its label (an id, a name, a synonym, its
    letters in another case) gets a leaf below its node, with the item's own text: what is published is always the item as it
    is in the data. Items that the tree lacks are put under an ``unlisted`` branch, in alphabetical groups (``keep``),
    removed (``drop``), or refused with an error (``refuse``). With WordNet they can be given the parents that
    :mod:`incrowd.taxonomy.words` knows (``name``): those that mean the same become one item, those that may be published as their kind only
    become their kind, and what is left is kept as with ``keep``. Items of `moves` get a leaf below the class that these name, in place
    of where the tree has them or would put them.
    """
    check_choice("unlisted", unlisted, get_args(Unlisted))
    items = transactions.vocabulary
    if moves is None and tree.items is not None and tree.items.equals(items):
        return Attached(transactions, tree, len(items), 0)
    if unlisted == "name":
        transactions, tree = _named(transactions, tree)
        items = transactions.vocabulary
    home, in_other_case = locate(tree, items)
    node = home if moves is None else _moved(tree, items, home, moves, named=unlisted == "name")
    lacking = node < 0
    missing, other_case = int(lacking.sum()), int(in_other_case.sum())
    if missing and unlisted == "refuse":
        raise BadInputError(_what_is_lacking(tree, items.filter(pa.array(lacking)), len(items)))
    if other_case:
        note = f"Found {other_case:,} distinct items in the taxonomy in another case of letters only."
        transactions = replace(transactions, account=(*transactions.account, note))
    if missing and unlisted == "drop":
        note = f"Removed {missing:,} distinct items that the taxonomy does not list ({option('unlisted', 'drop')})."
        transactions = transactions.without_items(lacking, note=note)
        home, node = home[~lacking], node[~lacking]
    attached = _place(tree, transactions.vocabulary, node, node != home)
    if moves is None:
        attached = replace(attached, moved=None)
    return Attached(transactions, attached, len(items) - missing, missing, other_case)


def _named(transactions: Transactions, tree: Taxonomy) -> tuple[Transactions, Taxonomy]:
    """Return data in which words that WordNet lacks are what is published in their place, and WordNet's tree with their parents."""
    if tree.name != "wordnet" or tree.items is not None:
        raise BadInputError(
            f"{option('unlisted', 'name')} knows words by WordNet's nouns: use {option('taxonomy', 'wordnet')}, or {option('unlisted', 'keep')}"
        )
    items = transactions.vocabulary
    texts = published_as(items)
    changed = int(pc.sum(pc.not_equal(texts, items)).as_py() or 0)
    if changed:
        note = f"Merged {changed:,} distinct items with what is published in their place ({option('unlisted', 'name')})."
        transactions = transactions.renamed(texts, note=note)
    return transactions, named_tree()


def _what_is_lacking(tree: Taxonomy, lacking: pa.Array, items: int) -> str:
    """Say how many items a taxonomy lacks, and what to do; never which."""
    names = positions(pc.utf8_lower(lacking), pc.utf8_lower(own_names(tree))) >= 0
    of_several = f" ({int(names.sum()):,} of them name several nodes: give ids or whole paths)"
    return (
        f"taxonomy {tree.name} lacks {len(lacking):,} of the {items:,} items{of_several if names.any() else ''}; "
        f"use {option('unlisted', 'keep')} (they get a branch of their own) or {option('unlisted', 'drop')} (they are removed), or give another file; "
        "'incrowd taxonomy show' looks for one"
    )


def _moved(tree: Taxonomy, items: pa.Array, home: Ints32, moves: Moves, *, named: bool) -> Ints32:
    """Return the nodes that items mean, or below which they were moved."""
    above = moves.on(tree, named=named).below(items)
    return np.where((above < 0) | in_own_place(tree, items, home, above), home, above).astype(np.int32)


def _place(tree: Taxonomy, items: pa.Array, node: Ints32, moved: Bools) -> Taxonomy:
    """Return the tree with a leaf for each item: its own node where that is a leaf, else a new one.

    The node of a moved item, where nothing else is left at it, goes with the item: no label is there twice.
    """
    lacking = node < 0
    alone = np.bincount(node[~lacking], minlength=len(tree))[np.maximum(node, 0)] == 1
    is_node = pc.equal(tree.labels_of(np.maximum(node, 0)), items).to_numpy(zero_copy_only=False)
    stays = ~lacking & is_node & alone & tree.is_leaf[np.maximum(node, 0)]
    left = _left_behind(tree, items, node, moved)
    added = np.flatnonzero(~stays & ~lacking & (left < 0))
    own, follows = tree.parent.copy(), left >= 0
    own[left[follows]] = node[follows]
    given = tree.last_leaf - tree.first_leaf
    given[left[follows]] = 1
    parts = [own, node[added]]
    labels = [tree.labels, items.take(pa.array(added))]
    leaves = [given, np.ones(len(added), dtype=np.int32)]
    home = np.where(stays, node, left).astype(np.int64)
    home[added] = len(tree) + np.arange(len(added))
    if lacking.any():
        home[lacking] = len(tree) + len(added) + np.arange(lacking.sum())
        _add_unlisted_branch(tree, parts, labels, leaves, items.filter(pa.array(lacking)))
    parents = np.concatenate(parts).astype(np.int32)
    edge = np.full(len(parents), ONE_STEP, dtype=np.int32)
    edge[left[follows]] = SAME_CONCEPT
    edge[len(tree) : len(tree) + len(added)] = SAME_CONCEPT
    edge[len(tree) + len(added) :] = UNRELATED
    return _renumbered(
        tree,
        parents,
        pa.concat_arrays(labels),
        edge=edge,
        home=home,
        items=items,
        moved=moved,
        leaves=np.concatenate(leaves).astype(np.int32),
    )


def _left_behind(tree: Taxonomy, items: pa.Array, node: Ints32, moved: Bools) -> Ints32:
    """Return the node of each moved item's name that has no item and nothing below it any more; -1 where there is none.

    It is the item's leaf, or a class all of whose items were moved away.
    """
    own = np.where(moved, positions(items, tree.labels), -1)
    taken = np.zeros(len(tree), dtype=np.bool_)
    taken[node[node >= 0]] = True
    is_gone = np.zeros(len(tree), dtype=np.bool_)
    while True:
        children = np.bincount(tree.parent[1:][~is_gone[1:]], minlength=len(tree))
        left = own[(own >= 0) & (children[own] == 0) & ~taken[own]]
        if is_gone[left].all():
            return np.where((own >= 0) & is_gone[own], own, -1).astype(np.int32)
        is_gone[left] = True


def _add_unlisted_branch(
    tree: Taxonomy, parts: list[Ints32], labels: list[pa.Array], leaves: list[Ints32], words: pa.Array
) -> None:
    """Append the branch of unlisted words, and a root above it and the listed ones."""
    branch = unused_label("unlisted", tree.labels)
    made = balanced_tree(words, UNLISTED_FAN_OUT, branch, root=branch)
    start = sum(len(part) for part in parts)
    new_root = start + len(made.parent)
    parts[0] = np.where(parts[0] < 0, new_root, parts[0]).astype(np.int32)
    parts.append(np.where(made.parent < 0, new_root, made.parent + start).astype(np.int32))
    parts.append(np.array([-1], dtype=np.int32))
    labels += [made.labels, pa.array([unused_label("anything", tree.labels)], pa.string())]
    leaves += [made.room, np.zeros(1, dtype=np.int32)]


def _renumbered(
    tree: Taxonomy,
    parents: Ints32,
    labels: pa.Array,
    *,
    edge: Ints32,
    home: Ints64,
    items: pa.Array,
    moved: Bools,
    leaves: Ints32,
) -> Taxonomy:
    """Renumber the extended tree in pre-order and return the leaf of each item."""
    tag = pa.array(np.arange(len(parents), dtype=np.int32))
    numbered = Taxonomy.from_parents(parents, tag, name=tree.name, find=tree.find)
    origin = numbered.labels.to_numpy()
    place = np.empty(len(parents), dtype=np.int32)
    place[origin] = np.arange(len(parents), dtype=np.int32)
    leaf = numbered.first_leaf[place[home]]
    is_moved = np.zeros(len(parents), dtype=np.bool_)
    is_moved[place[home[moved]]] = True
    return replace(
        numbered,
        labels=labels.take(numbered.labels),
        items=items,
        item_leaf=leaf,
        edge=edge[origin],
        made=~numbered.is_leaf & (edge[origin] == UNRELATED),
        given_leaves=leaves[origin],
        moved=is_moved,
    )
