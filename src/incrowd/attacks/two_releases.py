"""Two releases of the same people: what each says is put together.

Records: who has the same record as a person in both releases is left as a candidate, and classes that cross leave few (S. R. Ganta, S. P.
Kasiviswanathan, A. Smith, "Composition attacks and auxiliary information in data privacy", KDD 2008). Tiles: nothing says which are of
one person, but numbers can be subtracted.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from incrowd.attacks.rates import Figure, Rate
from incrowd.attacks.seen import Seen
from incrowd.core.ragged import distinct, list_ids
from incrowd.core.types import Ints, Ints32, Ints64
from incrowd.taxonomy.tree import Taxonomy

__all__ = [
    "Labels",
    "candidates_in_both",
    "labels_of",
    "record_of_person",
    "small_differences",
    "two_releases_of_records",
    "two_releases_of_tiles",
]

NONE = -1


def record_of_person(seen: Seen) -> Ints64:
    """Return a number for what each person holds, -1 where that is nothing. Who has several records is told by all of them."""
    held = seen.held
    numbers: dict[bytes, int] = {b"": NONE}
    found = np.empty(len(held.start) - 1, np.int64)
    for person, (first, last) in enumerate(pairwise(held.start.tolist())):
        found[person] = numbers.setdefault(held.value[first:last].tobytes(), len(numbers))
    return found


def candidates_in_both(first: Ints, second: Ints) -> Ints64:
    """Count for each person who is in both releases those who have the same two records, the person included.

    Parameters
    ----------
    first, second
        The number of each person's record in either release, -1 for none; the same people in the same order.
    """
    both = (first >= 0) & (second >= 0)
    width = int(second.max(initial=0)) + 1
    keys = first[both].astype(np.int64) * width + second[both]
    ordered = np.sort(keys)
    return np.searchsorted(ordered, keys, "right") - np.searchsorted(ordered, keys, "left")


def two_releases_of_records(first: Ints, second: Ints, k: int) -> Figure:
    """Return the share of the people in both releases who have fewer than k candidates; see :func:`candidates_in_both`."""
    candidates = candidates_in_both(first, second)
    return Figure(Rate(float(np.count_nonzero(candidates < k)), len(candidates)))


class Labels(NamedTuple):
    """Published labels: of how many people each is, as a reader adds it up over tiles; and who holds it. The latter is private."""

    number: Mapping[Hashable, int]
    people: Mapping[Hashable, Ints32]


def labels_of(seen: Seen, number: Ints64, tree: Taxonomy) -> Labels:
    """Return the labels of tiles.

    Parameters
    ----------
    seen
        The tiles, and who holds which.
    number
        Of how many people each tile is, as it is published.
    tree
        What the labels are called. A label is its text and whether it is an item: the trees of two releases may differ.
    """
    node, tile = seen.sets.value, list_ids(seen.sets.start)
    sums = np.bincount(node, weights=number[tile], minlength=len(tree)).astype(np.int64)
    nodes = distinct(node)
    names = list(zip(tree.labels_of(nodes).to_pylist(), tree.is_leaf[nodes].tolist(), strict=True))
    order = np.argsort(seen.held.value, kind="stable")
    person, start = list_ids(seen.held.start)[order], np.concatenate(([0], np.cumsum(seen.people)))
    people: dict[Hashable, list[Ints64]] = {name: [] for name in names}
    of_node = dict(zip(nodes.tolist(), names, strict=True))
    for one, label in zip(tile.tolist(), node.tolist(), strict=True):
        people[of_node[label]].append(person[start[one] : start[one + 1]])
    return Labels(
        dict(zip(names, sums[nodes].tolist(), strict=True)),
        {name: distinct(np.concatenate(some)).astype(np.int32) for name, some in people.items()},
    )


def small_differences(
    first: Mapping[Hashable, int], second: Mapping[Hashable, int], k: int
) -> dict[Hashable, int]:
    """Return the labels of both releases whose numbers differ by 1 to k - 1, with the difference: so many people are isolated."""
    changes = {label: second[label] - number for label, number in first.items() if label in second}
    return {label: change for label, change in changes.items() if 1 <= abs(change) < k}


def two_releases_of_tiles(first: Labels, second: Labels, k: int) -> Figure:
    """Return the share of the people of the first release who hold a label with a small difference."""
    isolated = small_differences(first.number, second.number, k)
    return Figure(Rate(float(_number_of(first, isolated)), _number_of(first, first.people)))


def _number_of(labels: Labels, some: Mapping[Hashable, object]) -> int:
    """Count the people who hold any of some labels."""
    held = [labels.people[label] for label in some]
    return len(distinct(np.concatenate(held))) if held else 0
