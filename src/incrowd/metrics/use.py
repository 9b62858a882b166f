"""What a release is of use for: how far off an analyst's counts of items and pairs are, made from the published sets alone.

A release is a multiset of sets of labels over N units. An analyst who counts an item x takes the units that are published with x,
and for each published node v above it the units of v, shared equally among the leaves below v. Two items a and b are together in
as many units as are published with both, and for the rest as often as by chance: n'(a,b) = j + (n'(a) - j)(n'(b) - j) / N.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from incrowd.core.ragged import list_ids, starts_of
from incrowd.core.transactions import Transactions
from incrowd.core.types import Floats, Ints32, Ints64
from incrowd.kernels.jit import kernel
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["PublishedSets", "Use", "measure_use"]

MOST_FREQUENT = 1_000
FIRST_ITEMS = 256
DIGITS = 6  # counts that differ in later ones are equal: they were rounded on the way
MOST_ITEMS = 8_192  # a matrix of pairs has so many rows at most


class PublishedSets(NamedTuple):
    """Distinct published sets: set s is the nodes ``nodes[start[s]:start[s + 1]]``.

    It is said to be of ``times[s]`` units, and is of ``held[s]``: numbers may be rounded, and people counted a few times only.
    """

    start: Ints64
    nodes: Ints32
    times: Ints64
    held: Ints64


class Use(msgspec.Struct, frozen=True):
    """Measures of use.

    Parameters
    ----------
    kept_exactly
        The share of all items of units that are published as themselves.
    items_error
        How far off counts are, on average over the 1,000 most frequent items: abs(n - n') / max(n, n').
    pairs_recall, pairs_error
        How many of the 1,000 most frequent pairs are among the 1,000 that an analyst takes for such, and how far off their counts
        are, as for items.
    links_kept
        Pairs of items in published sets, of all pairs of items in units.
    """

    kept_exactly: float
    items_error: float
    pairs_recall: float
    pairs_error: float
    links_kept: float


class Pairs(NamedTuple):
    """Pairs of leaves, and in how many units each is."""

    first: Ints64
    second: Ints64
    units: Floats


def measure_use(data: Transactions, tree: Taxonomy, published: PublishedSets) -> Use:
    """Measure what published sets are of use for.

    Parameters
    ----------
    data, tree
        The units, and the taxonomy that their items are attached to.
    published
        What is published of them.
    """
    leaf = _leaf_ranks(data, tree)
    counted = np.bincount(leaf, minlength=tree.leaf_count).astype(np.float64)
    exact = _exact_sets(published, tree)
    estimated = _estimated(published, tree)
    top = _first(counted, MOST_FREQUENT)
    frequent = _top_pairs(
        data.indptr, leaf, np.ones(len(data), np.int64), counted, len(data), independent=False
    )
    guessed = _top_pairs(exact.start, exact.nodes, exact.times, estimated, len(data), independent=True)
    found = set(zip(guessed.first.tolist(), guessed.second.tolist(), strict=True))
    pairs = list(zip(frequent.first.tolist(), frequent.second.tolist(), strict=True))
    again = _estimates_of(frequent, exact, estimated, len(data))
    lengths, sizes = np.diff(data.indptr), np.diff(exact.start)
    return Use(
        kept_exactly=_share((sizes * exact.held).sum(), len(leaf)),
        items_error=_error(counted[top], estimated[top]),
        pairs_recall=_share(sum(pair in found for pair in pairs), len(pairs)),
        pairs_error=_error(frequent.units, again),
        links_kept=_share(
            (sizes * (sizes - 1) // 2 * exact.held).sum(), (lengths * (lengths - 1) // 2).sum()
        ),
    )


def _share(part: float, of: float) -> float:
    """Return a share, at most 1: published numbers that were rounded up can exceed what there is."""
    return min(float(part / of), 1.0) if of else 1.0


def _error(counted: Floats, estimated: Floats) -> float:
    """Return the mean of abs(n - n') / max(n, n')."""
    return (
        float(np.mean(np.abs(counted - estimated) / np.maximum(counted, estimated))) if len(counted) else 0.0
    )


def _leaf_ranks(data: Transactions, tree: Taxonomy) -> Ints32:
    assert tree.item_leaf is not None  # noqa: S101 - the items are attached
    return tree.item_leaf[data.items]


def _exact_sets(published: PublishedSets, tree: Taxonomy) -> PublishedSets:
    """Return the published sets with the very items alone, as ranks of leaves."""
    exact = tree.is_leaf[published.nodes]
    sizes = np.bincount(list_ids(published.start)[exact], minlength=len(published.times))
    return PublishedSets(
        starts_of(sizes), tree.first_leaf[published.nodes[exact]], published.times, published.held
    )


def _estimated(published: PublishedSets, tree: Taxonomy) -> Floats:
    """Return n'(x) for each leaf."""
    units = np.bincount(
        published.nodes, weights=np.repeat(published.times, np.diff(published.start)), minlength=len(tree)
    )
    each = units / (tree.last_leaf - tree.first_leaf)
    # Summed from the root downwards: sums along the leaves would leave traces of nodes that are not above a leaf.
    levels = np.argsort(tree.level, kind="stable")
    for nodes in np.split(levels, np.cumsum(np.bincount(tree.level))[:-1])[2:]:
        each[nodes] += each[tree.parent[nodes]]
    estimated: Floats = each[tree.leaf_nodes]
    return estimated


def _first(numbers: Floats, most: int) -> Ints64:
    """Return the places of the largest numbers, ties by place; zeros are left out."""
    order = np.argsort(-numbers, kind="stable")[:most]
    return order[numbers[order] > 0]


def _top_pairs(
    start: Ints64, leaf: Ints32, times: Ints64, units: Floats, total: int, *, independent: bool
) -> Pairs:
    """Return the 1,000 pairs that most units have, by count, then by place.

    No pair has more units than either of its leaves. So it is enough to look at the most frequent leaves, as many as it takes.
    """
    number = FIRST_ITEMS
    while True:
        items = np.sort(_first(units, number))
        matrix = _met(start, leaf, times, items, len(units))
        if independent:
            alone = units[items]
            matrix = (
                matrix
                + np.maximum(alone[:, None] - matrix, 0) * np.maximum(alone[None, :] - matrix, 0) / total
            )
        first, second = np.triu_indices(len(items), 1)
        found = np.round(matrix[first, second], DIGITS)
        order = np.argsort(-found, kind="stable")[:MOST_FREQUENT]
        order = order[found[order] > 0]
        last = found[order[-1]] if len(order) == MOST_FREQUENT else 0.0
        next_items = _first(units, number + 1)
        if len(next_items) <= number or units[next_items[-1]] < last or number >= MOST_ITEMS:
            return Pairs(items[first[order]], items[second[order]], found[order])
        number *= 2


def _met(start: Ints64, leaf: Ints32, times: Ints64, items: Ints64, leaves: int) -> Floats:
    place = np.full(leaves, -1, dtype=np.int32)
    place[items] = np.arange(len(items), dtype=np.int32)
    return _count_pairs(start, place[leaf], times, len(items))


@kernel
def _count_pairs(start: Ints64, place: Ints32, times: Ints64, items: int) -> Floats:
    """Count in how many units two items are together; -1 stands for an item that does not matter."""
    matrix = np.zeros((items, items))
    for row in range(len(start) - 1):
        for i in range(start[row], start[row + 1]):
            if place[i] < 0:
                continue
            for j in range(i + 1, start[row + 1]):
                if place[j] >= 0:
                    matrix[place[i], place[j]] += times[row]
                    matrix[place[j], place[i]] += times[row]
    return matrix


def _estimates_of(pairs: Pairs, exact: PublishedSets, estimated: Floats, total: int) -> Floats:
    """Return n'(a,b) of some pairs."""
    items = np.unique(np.concatenate((pairs.first, pairs.second)))
    matrix = _met(exact.start, exact.nodes, exact.times, items, len(estimated))
    first, second = np.searchsorted(items, pairs.first), np.searchsorted(items, pairs.second)
    joint = matrix[first, second]
    rest = np.maximum(estimated[pairs.first] - joint, 0) * np.maximum(estimated[pairs.second] - joint, 0)
    again: Floats = joint + rest / total
    return again
