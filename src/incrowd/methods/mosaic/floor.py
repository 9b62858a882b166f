"""The floor: every item is published as itself if k people have it, else as the nearest node above it that they have."""

from __future__ import annotations

import numpy as np

from incrowd.core.ragged import distinct
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.kernels.jit import kernel
from incrowd.methods.mosaic.cover import People
from incrowd.methods.mosaic.needs import Needs
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["WITHHELD", "floor", "kinds_of"]

WITHHELD = -1


def floor(
    unit: Ints64,
    leaf: Ints32,
    tree: Taxonomy,
    people: People,
    k: int,
    *,
    needs: Needs,
    coarsest: float,
    generalize: bool,
) -> Ints32:
    """Return the node at which each occurrence is published; -1 where it is withheld.

    At a leaf the pool is the item's occurrences, at a node above it what its children could not place. A pool with k owners
    who count is published there; otherwise it moves up. The root, nodes that cover too many leaves and nodes made from the
    data say nothing to a reader: what reaches them is withheld.

    Parameters
    ----------
    unit, leaf
        The unit of each occurrence, ascending, and the node of its item.
    tree, people
        The taxonomy, and whose the units are.
    k
        Among how many leaves a class must hide an item.
    needs
        How many owners a label of each kind needs.
    coarsest
        The greatest share of all leaves that a published class of words may cover.
    generalize
        Whether items may be published as nodes above them at all.
    """
    owner = people.owner[unit]
    need = needs.people[kinds_of(tree)]  # of each node
    enough = _owners(leaf, owner, people.counts, len(tree)) >= need[leaf]
    placed = np.where(enough, leaf, WITHHELD).astype(np.int32)
    if generalize:
        _place_above(placed, leaf, owner, tree, people, need, _may_be_published(tree, coarsest))
        placed[~_hides_enough(placed, tree, k)] = WITHHELD
    return placed


def kinds_of(tree: Taxonomy) -> Ints64:
    """Return the kind of each node as a bit; see :class:`incrowd.methods.mosaic.needs.Needs`."""
    if tree.kind is None:
        return np.ones(len(tree), dtype=np.int64)
    return np.left_shift(np.int64(1), np.maximum(tree.kind, 0).astype(np.int64))


def _place_above(
    placed: Ints32, leaf: Ints32, owner: Ints32, tree: Taxonomy, people: People, need: Ints64, may_be: Bools
) -> None:
    """Place what no leaf can, level by level, the deepest nodes first."""
    waiting = np.flatnonzero(placed == WITHHELD)
    node = tree.parent[leaf[waiting]]
    for level in range(tree.height - 1, 0, -1):
        may_stay = may_be[np.maximum(node, 0)] & (node >= 0)
        waiting, node = waiting[may_stay], node[may_stay]
        here = tree.level[node] == level
        pool = node[here]
        enough = _owners(pool, owner[waiting[here]], people.counts, len(tree)) >= need[pool]
        placed[waiting[here][enough]] = pool[enough]
        left = ~here
        left[np.flatnonzero(here)[~enough]] = True
        node = np.where(here, tree.parent[node], node)[left]
        waiting = waiting[left]


def _may_be_published(tree: Taxonomy, coarsest: float) -> Bools:
    """Return the nodes that say something to a reader: of words those that cover few leaves, of other kinds all but the root."""
    leaves = tree.last_leaf - tree.first_leaf
    words = 0 if tree.kind is None else int(np.argmax(tree.kind == 0))  # the root of words
    may_be: Bools = leaves <= coarsest * leaves[words]
    if tree.kind is not None:
        may_be[tree.kind > 0] = True
        may_be[tree.parent == 0] = False
    may_be[0] = False
    return may_be if tree.made is None else may_be & ~tree.made


def _hides_enough(placed: Ints32, tree: Taxonomy, k: int) -> Bools:
    """Tell of each occurrence whether its label covers at least k leaves that have no label below of their own."""
    labels = distinct(placed[placed != WITHHELD])
    hidden = (tree.last_leaf - tree.first_leaf)[labels].astype(np.int64)
    above: list[int] = []
    for i, label in enumerate(labels.tolist()):  # in pre-order
        while above and tree.end[labels[above[-1]]] <= label:
            above.pop()
        if above:
            hidden[above[-1]] -= tree.last_leaf[label] - tree.first_leaf[label]
        above.append(i)
    fine = np.zeros(len(tree) + 1, dtype=np.bool_)
    fine[labels[tree.is_leaf[labels] | (hidden >= k)]] = True
    return fine[placed]


@kernel
def _owners(node: Ints32, owner: Ints32, counts: Bools, nodes: int) -> Ints64:
    """Return for each occurrence how many owners who count have its node; occurrences are ordered by owner."""
    number = np.zeros(nodes, np.int64)
    last = np.full(nodes, -1, np.int32)
    for i in range(len(node)):
        if last[node[i]] != owner[i]:
            last[node[i]] = owner[i]
            number[node[i]] += counts[owner[i]]
    found = np.empty(len(node), np.int64)
    for i in range(len(node)):
        found[i] = number[node[i]]
    return found
