"""Minimality: what an attacker concludes from the method's generalizing no more than it must.

**Downcoding** (A. Cohen, "Attacks on Deidentification's Defenses", USENIX Security 2022). A *proven item* of a class is an item that the class's
record does not print and that at least one of its people must have, by what is published and by the method's definition alone. Methods
that publish the least common generalization print, below every node v, m(v) labels, where m(v) is the *least* number of items below v that a
person of the class has. So for each child x of v some person has exactly m(x) items below x, and at least m(v) - m(x) items below v outside of x.
If a single leaf is there, that person has it; if records are sets and no more than m(v) - m(x) leaves are there, that person has them all. A node
that is itself an item and is printed could be either, so nothing is concluded from it.

**Few leaves.** Where whatever k people have is published as itself, a published class stands for the leaves below it that are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from incrowd.attacks.rates import Figure, Rate
from incrowd.attacks.seen import Seen
from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.ragged import distinct, list_ids
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.kernels.jit import helper, kernel
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Proven", "few_leaves", "hiding_leaves", "prove", "proven_by_record", "proven_items"]

NONE = -1


class Proven(NamedTuple):
    """Somebody in class ``number[i]`` has the leaf ``node[i]`` at least ``times[i]`` times, though the record does not print it."""

    number: Ints64
    node: Ints64
    times: Ints64


class Reader(NamedTuple):
    """The taxonomy as a reader uses it.

    ``own_leaf`` is the leaf below each node that means the node itself (it has the node's label and looks the same in a record), -1 where there is
    none; the children of v are ``child[start[v]:start[v + 1]]``, those with most leaves first.
    """

    parent: Ints32
    first_leaf: Ints32
    last_leaf: Ints32
    leaf_node: Ints32
    own_leaf: Ints32
    start: Ints32
    child: Ints32


class Desk(NamedTuple):
    """What is known of the class at hand: m(v) of each node, which are printed as labels tell it, and how often each leaf is proven.

    All are 0 between classes; ``leaves`` has room for the proven ones.
    """

    least: Ints64
    shown: Bools
    proven: Ints64
    leaves: Ints32


def prove(classes: Classes, tree: Taxonomy, *, sets: bool) -> Proven:
    """Return the proven items of classes that publish the least common generalization.

    Parameters
    ----------
    classes, tree
        What is published, and the taxonomy, which the attacker knows.
    sets
        Whether nobody has an item twice.
    """
    return Proven(*_prove(_reader(tree), classes.start, classes.nodes, classes.counts, sets).T)


def proven_by_record(tree: Taxonomy, printed: Mapping[int, int], *, sets: bool) -> dict[int, int]:
    """Return what one record proves, given how often it prints each node: leaves, and how often somebody has each at least."""
    nodes = np.array(sorted(printed), np.int32)
    counts = np.array([printed[node] for node in nodes.tolist()], np.int32)
    found = Proven(*_prove(_reader(tree), np.array([0, len(nodes)], np.int64), nodes, counts, sets).T)
    return dict(zip(found.node.tolist(), found.times.tolist(), strict=True))


def proven_items(classes: Classes, tree: Taxonomy, person: Ints32, *, sets: bool) -> Figure:
    """Return the share of people who are in a class with a proven item, given the person behind each row."""
    hit = np.zeros(len(classes), np.bool_)
    hit[prove(classes, tree, sets=sets).number] = True
    rows = np.flatnonzero(classes.of_row != WITHHELD)
    exposed = distinct(person[rows[hit[classes.of_row[rows]]]])
    return Figure(Rate(float(len(exposed)), len(distinct(person[rows]))))


def _reader(tree: Taxonomy) -> Reader:
    """Return the taxonomy as a reader uses it."""
    node = np.arange(1, len(tree), dtype=np.int32)
    above = tree.parent[1:]
    same = pc.equal(tree.labels_of(node), tree.labels_of(above)).to_numpy(zero_copy_only=False)
    own_leaf = np.full(len(tree), NONE, np.int32)
    own_leaf[above[same]] = node[same]
    leaves = tree.last_leaf - tree.first_leaf
    order = np.lexsort((node, -leaves[1:], above))
    return Reader(
        tree.parent,
        tree.first_leaf,
        tree.last_leaf,
        tree.leaf_nodes,
        own_leaf,
        tree.child_start,
        node[order],
    )


@kernel
def _prove(
    tree: Reader,
    start: Ints64,
    nodes: Ints32,
    counts: Ints32,
    sets: bool,  # noqa: FBT001
) -> Ints64:
    """Return the proven items of all records: class, leaf and times of each, a line each."""
    size, found = len(tree.parent), 0
    room = np.empty(size, np.int32)
    desk = Desk(np.zeros(size, np.int64), np.zeros(size, np.bool_), np.zeros(size, np.int64), room)
    result = np.empty((1024, 3), np.int64)
    for number in range(len(start) - 1):
        part = nodes[start[number] : start[number + 1]]
        _lay_out(tree, part, counts[start[number] : start[number + 1]], desk)
        proven = 0
        for i in range(len(part)):
            node = _label(tree, part[i])
            if tree.own_leaf[node] == NONE:
                proven = _prove_below(tree, node, sets, desk, proven)
        if found + proven > len(result):
            result = np.concatenate((result, np.empty((len(result) + proven, 3), np.int64)))
        for i in range(proven):
            result[found + i, 0], result[found + i, 1] = number, desk.leaves[i]
            result[found + i, 2] = desk.proven[desk.leaves[i]]
        found += proven
        _clear(tree, part, proven, desk)
    return result[:found]


@helper
def _label(tree: Reader, node: int) -> int:
    """Return the node that a reader takes a printed one for: an own leaf looks as its parent."""
    above = tree.parent[node]
    return above if above >= 0 and tree.own_leaf[above] == node else node


@helper
def _lay_out(tree: Reader, part: Ints32, counts: Ints32, desk: Desk) -> None:
    """Write m(v) of every node that has any."""
    for i in range(len(part)):
        node = _label(tree, part[i])
        desk.shown[node] = True
        while node >= 0:
            desk.least[node] += counts[i]
            node = tree.parent[node]


@helper
def _clear(tree: Reader, part: Ints32, proven: int, desk: Desk) -> None:
    for i in range(proven):
        desk.proven[desk.leaves[i]] = 0
    for i in range(len(part)):
        node = _label(tree, part[i])
        desk.shown[node] = False
        while node >= 0:
            desk.least[node] = 0
            node = tree.parent[node]


@helper
def _prove_below(tree: Reader, node: int, sets: bool, desk: Desk, number: int) -> int:  # noqa: FBT001
    """Prove leaves below a node, for each of its children by the person who has fewest items there; return how many are proven now."""
    first, last = tree.first_leaf[node], tree.last_leaf[node]
    for at in range(tree.start[node], tree.start[node + 1]):
        child = tree.child[at]
        outside = last - first - tree.last_leaf[child] + tree.first_leaf[child]
        if outside > desk.least[node]:
            break
        surplus = desk.least[node] - desk.least[child]
        if outside == 0 or not (outside == 1 or (sets and surplus >= outside)):
            continue
        for rank in range(first, last):
            if tree.first_leaf[child] <= rank < tree.last_leaf[child]:
                continue
            leaf = tree.leaf_node[rank]
            above = tree.parent[leaf]
            if desk.least[leaf] or (desk.shown[above] and tree.own_leaf[above] == leaf):
                continue
            if not desk.proven[leaf]:
                desk.leaves[number] = leaf
                number += 1
            desk.proven[leaf] = max(desk.proven[leaf], surplus if outside == 1 else 1)
    return number


def hiding_leaves(nodes: Ints32, tree: Taxonomy) -> Ints64:
    """Return how many leaves each of some published labels (distinct, ascending) can stand for: those that no finer label stands for."""
    left = (tree.last_leaf - tree.first_leaf).astype(np.int64)[nodes]
    waiting: list[int] = []
    for place, node in enumerate(nodes.tolist()):
        while waiting and tree.end[nodes[waiting[-1]]] <= node:
            waiting.pop()
        if waiting:
            left[waiting[-1]] -= tree.last_leaf[node] - tree.first_leaf[node]
        waiting.append(place)
    return left


def few_leaves(seen: Seen, tree: Taxonomy, k: int) -> Figure:
    """Return the share of people who hold a class among whose leaves fewer than k could be the item behind it."""
    nodes = distinct(seen.sets.value)
    narrow = np.zeros(len(tree), np.bool_)
    narrow[nodes] = (hiding_leaves(nodes, tree) < k) & ~tree.is_leaf[nodes]
    weak = np.zeros(len(seen), np.bool_)
    weak[list_ids(seen.sets.start)[narrow[seen.sets.value]]] = True
    holder = list_ids(seen.held.start)
    exposed = distinct(holder[weak[seen.held.value]])
    return Figure(Rate(float(len(exposed)), len(distinct(holder))))
