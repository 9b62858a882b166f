"""Classes that hold enough different people, where one person may have several rows (sessions)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from incrowd.core.classes import WITHHELD, Classes, Generalizations
from incrowd.core.ragged import starts_of
from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.arrays import Tree, lm_drops, tree_arrays
from incrowd.kernels.lcg import AncestorRows, common_generalization
from incrowd.kernels.merging import merge_small_classes
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Merged", "merge_poor", "note_of", "with_people"]


NEIGHBOURS = 32  # classes on either side, in the order of what they publish, with which a merge is tried


class Merged(NamedTuple):
    """Classes after a merge: the new class of each old one, and what the new ones publish."""

    of_class: Ints64
    shown: Generalizations


def with_people(classes: Classes, taxonomy: Taxonomy, person: Ints32, k: int) -> Classes:
    """Merge classes of fewer than k different people with others that publish something similar.

    It works for any method that generalizes: a merged class publishes the least common generalization of what its parts
    would have published, without copies if no class publishes copies.

    Parameters
    ----------
    classes, taxonomy
        The result of a method, and its taxonomy.
    person
        A number for the person behind each row.
    k
        The least number of different people in a class.
    """
    poor = int(np.count_nonzero(classes.people(person) < k))
    if not poor:
        return classes
    published = classes.of_row != WITHHELD
    of_class, shown = merge_poor(
        Generalizations(classes.start, classes.nodes, classes.counts),
        classes.sizes,
        classes.of_row[published],
        person[published],
        tree_arrays(taxonomy),
        lm_drops(taxonomy),
        k,
        copies=classes.counts.max(initial=1) > 1,
    )
    return replace(
        classes,
        of_row=np.where(published, of_class[classes.of_row], WITHHELD).astype(np.int32),
        start=shown.start,
        nodes=shown.nodes,
        counts=shown.counts,
        notes=(*classes.notes, note_of(poor, k, len(shown.start) - 1)),
    )


def note_of(poor: int, k: int, left: int) -> str:
    """Return a sentence on how many classes were merged."""
    return f"Merged {poor:,} classes of fewer than {k:,} different people with others: {left:,} classes are left."


def merge_poor(
    shown: Generalizations,
    sizes: Ints64,
    of_row: Ints32,
    person: Ints32,
    tree: Tree,
    weight: Ints64,
    k: int,
    *,
    copies: bool,
) -> Merged:
    """Merge classes of fewer than k different people.

    Parameters
    ----------
    shown, sizes
        What each class publishes, and how many rows it has.
    of_row, person
        The class of each row and the person behind it. Of a class, any rows of k people, or of all it has, are enough.
    tree, weight
        The tree, and (M - 1) * (LM(parent v) - LM(v)) for each node.
    k
        The least number of different people in a class.
    copies
        Whether any class, here or elsewhere, publishes copies.
    """
    order = _by_content(shown)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    least = _ancestors(shown, tree, rank)
    target = merge_small_classes(
        AncestorRows(least.start, least.node.copy(), least.times.copy()),
        weight,
        sizes[order],
        rank[of_row],
        person,
        k,
        NEIGHBOURS,
    )
    merged = np.unique(target, return_inverse=True)[1]
    parts = np.argsort(merged, kind="stable")
    start = starts_of(np.bincount(merged))
    common = common_generalization(least, tree, start, parts)
    counts = common.counts if copies else np.ones_like(common.counts)
    return Merged(merged[rank], Generalizations(common.start, common.nodes, counts))


def _by_content(shown: Generalizations) -> Ints64:
    """Return the classes ordered by what they publish, nodes in pre-order, so that similar ones are near."""
    names = shown.nodes.astype(">u4").tobytes()
    bounds = (4 * shown.start).tolist()
    keys = [names[first:stop] for first, stop in pairwise(bounds)]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def _ancestors(shown: Generalizations, tree: Tree, rank: Ints32) -> AncestorRows:
    """Count, for each class, by its rank, the published copies below every node above them."""
    owner = np.repeat(rank.astype(np.int64), np.diff(shown.start))
    node, times = shown.nodes.astype(np.int64), shown.counts.astype(np.int64)
    keys, counts = [], []
    while len(node):
        keys.append(owner * len(tree.parent) + node)
        counts.append(times)
        above = tree.parent[node]
        owner, node, times = owner[above >= 0], above[above >= 0].astype(np.int64), times[above >= 0]
    distinct, entry = np.unique(np.concatenate(keys), return_inverse=True)
    total = np.bincount(entry, weights=np.concatenate(counts)).astype(np.int32)
    owners, nodes = np.divmod(distinct, len(tree.parent))
    start = np.searchsorted(owners, np.arange(len(rank) + 1)).astype(np.int64)
    return AncestorRows(start, nodes.astype(np.int32), total)
