"""Classes that hold enough different people, where one person may have several rows (sessions)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.ragged import starts_of
from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.arrays import lm_drops, tree_arrays
from incrowd.kernels.lcg import AncestorRows, common_generalization
from incrowd.kernels.merging import merge_small_classes
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["with_people"]


NEIGHBOURS = 32  # classes on either side, in the order of what they publish, with which a merge is tried


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
    people = classes.people(person)
    poor = int(np.count_nonzero(people < k))
    if not poor:
        return classes
    order = _by_content(classes)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    of_row = np.where(classes.of_row == WITHHELD, WITHHELD, rank[classes.of_row]).astype(np.int32)
    least = _ancestors(classes, taxonomy, rank)
    target = merge_small_classes(
        AncestorRows(least.start, least.node.copy(), least.times.copy()),
        lm_drops(taxonomy),
        classes.sizes[order],
        of_row,
        person,
        k,
        NEIGHBOURS,
    )
    kept, merged = np.unique(target, return_inverse=True)
    parts = np.argsort(merged, kind="stable")
    start = starts_of(np.bincount(merged))
    common = common_generalization(least, tree_arrays(taxonomy), start, parts)
    counts = np.ones_like(common.counts) if classes.counts.max(initial=1) == 1 else common.counts
    note = f"Merged {poor:,} classes of fewer than {k:,} different people with others: {len(kept):,} classes are left."
    return replace(
        classes,
        of_row=np.where(of_row == WITHHELD, WITHHELD, merged[of_row]).astype(np.int32),
        start=common.start,
        nodes=common.nodes,
        counts=counts,
        notes=(*classes.notes, note),
    )


def _by_content(classes: Classes) -> Ints64:
    """Return the classes ordered by what they publish, nodes in pre-order, so that similar ones are near."""
    names = classes.nodes.astype(">u4").tobytes()
    bounds = (4 * classes.start).tolist()
    keys = [names[first:stop] for first, stop in pairwise(bounds)]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def _ancestors(classes: Classes, taxonomy: Taxonomy, rank: Ints32) -> AncestorRows:
    """Count, for each class, by its rank, the published copies below every node above them."""
    owner = np.repeat(rank.astype(np.int64), np.diff(classes.start))
    node, times = classes.nodes.astype(np.int64), classes.counts.astype(np.int64)
    keys, counts = [], []
    while len(node):
        keys.append(owner * len(taxonomy) + node)
        counts.append(times)
        above = taxonomy.parent[node]
        owner, node, times = owner[above >= 0], above[above >= 0].astype(np.int64), times[above >= 0]
    distinct, entry = np.unique(np.concatenate(keys), return_inverse=True)
    total = np.bincount(entry, weights=np.concatenate(counts)).astype(np.int32)
    owners, nodes = np.divmod(distinct, len(taxonomy))
    start = np.searchsorted(owners, np.arange(len(classes) + 1)).astype(np.int64)
    return AncestorRows(start, nodes.astype(np.int32), total)
