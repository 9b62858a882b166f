"""The pairs of labels that most units have. Repacking may make tiles of them, whatever joining did with their labels."""

from __future__ import annotations

import numpy as np

from incrowd.core.ragged import starts_of
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.kernels.jit import kernel
from incrowd.methods.mosaic.cover import Cover, Labels

__all__ = ["MOST_FREQUENT", "with_frequent_pairs"]

MOST_FREQUENT = 1_000
PAIR = 2
AMONG = 2_048  # labels, those that most units have: each two of them take memory


def with_frequent_pairs(cover: Cover, units: Cover, labels: Labels) -> Cover:
    """Return a cover with tiles of the most frequent pairs, held by nobody where there were none.

    Joining takes pairs for good: a label goes to a large tile in one unit, and to a pair in another. So frequent pairs
    can be missing, and their counts are what analysts look for.

    Parameters
    ----------
    cover
        The cover, with tiles in order (single labels first).
    units
        The cover by single labels: which labels every unit has.
    labels
        What tiles are made of.
    """
    pairs = _frequent_pairs(units, labels)
    two = cover.first[np.flatnonzero(cover.sizes == PAIR)]
    known = _as_one(cover.label[two], cover.label[two + 1])
    pairs = pairs[~np.isin(_as_one(*pairs.T), known)]
    more = starts_of(np.full(len(pairs), PAIR)) + cover.first[-1]
    return cover._replace(
        first=np.concatenate((cover.first, more[1:])), label=np.concatenate((cover.label, pairs.ravel()))
    )


def _as_one(first: Ints32, second: Ints32) -> Ints64:
    return (first.astype(np.int64) << 32) | second


def _frequent_pairs(units: Cover, labels: Labels) -> Ints32:
    """Return those of the most frequent pairs that are together more often than by chance, neither label above the other."""
    among = min(AMONG, len(units.first) - 1)
    count = _count_pairs(units.start, units.tile, among).ravel()
    found = np.flatnonzero(count)
    found = found[np.argsort(-count[found], kind="stable")[:MOST_FREQUENT]]
    pairs = np.stack(np.divmod(found, among), axis=1).astype(np.int32)
    alone = np.bincount(units.tile, minlength=among)[pairs].astype(np.float64)
    is_likely = count[found] * (len(units.start) - 1.0) > alone[:, 0] * alone[:, 1]
    return pairs[is_likely & ~_related(pairs, labels)]


def _related(pairs: Ints32, labels: Labels) -> Bools:
    """Tell of which pairs one label is above the other."""
    begins, ends = np.diff(labels.first_leaf[pairs]), np.diff(labels.last_leaf[pairs])
    related: Bools = (np.sign(begins) * np.sign(ends) <= 0).ravel()  # one begins no later and ends no earlier
    return related


@kernel
def _count_pairs(start: Ints64, label: Ints32, among: int) -> Ints32:
    """Count in how many units each two of the first labels are, the lesser one first."""
    count = np.zeros((among, among), np.int32)
    some = np.empty(among, np.int32)
    for unit in range(len(start) - 1):
        number = 0
        for i in range(start[unit], start[unit + 1]):
            if label[i] < among:
                some[number] = label[i]
                number += 1
        for i in range(number):
            for j in range(i + 1, number):
                count[min(some[i], some[j]), max(some[i], some[j])] += 1
    return count
