"""The driver's part of Partition on a cluster: what becomes of a part whose rows fall into buckets.

The rules are those of :mod:`incrowd.kernels.buckets`; here they are applied to sums over buckets, without a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.arrays import Tree

__all__ = ["Bucket", "Division", "Part", "divide", "opened"]

Ints32 = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


class Part(NamedTuple):
    """Rows that hit the same nodes of a cut: its nodes in pre-order, which of them may be expanded, and its size."""

    nodes: Ints32
    is_open: Bools
    size: int


class Bucket(NamedTuple):
    """At least k rows that hit the same children of a node: these children, how many, the first row, their gain."""

    children: bytes
    size: int
    first: int
    gain: int


@dataclass(frozen=True)
class Division:
    """What becomes of a part.

    Parameters
    ----------
    buckets
        The buckets that become parts, in the order of their first rows.
    left
        How many rows are left over, those included that `missing` says.
    missing
        How many rows of least gain must leave their buckets, so that the leftovers are k.
    """

    buckets: tuple[Bucket, ...]
    left: int
    missing: int


def divide(buckets: list[Bucket], size: int, k: int) -> Division:
    """Decide which buckets of a part of `size` rows stay, as ``kernels.buckets._balance`` does."""
    kept = sorted(buckets, key=lambda bucket: bucket.first)
    left = size - sum(bucket.size for bucket in kept)
    if left == 0 or left >= k:
        return Division(tuple(kept), left, 0)
    missing = k - left
    if sum(bucket.size - k for bucket in kept) >= missing:
        return Division(tuple(kept), k, missing)
    least = min(kept, key=lambda bucket: (bucket.gain, bucket.first))
    kept.remove(least)
    return Division(tuple(kept), left + least.size, 0)


def opened(tree: Tree, part: Part, node: int, children: Ints32, size: int) -> Part:
    """Return a part's part: `node` is replaced by the children hit; without any it stays, closed."""
    at = int(np.searchsorted(part.nodes, node))
    if not len(children):
        is_open = part.is_open.copy()
        is_open[at] = False
        return Part(part.nodes, is_open, size)
    nodes = np.concatenate((part.nodes[:at], children, part.nodes[at + 1 :])).astype(np.int32)
    fresh = tree.weight[children] > 0
    return Part(nodes, np.concatenate((part.is_open[:at], fresh, part.is_open[at + 1 :])), size)
