"""Parts of rows in Partition on Spark: what the driver knows of a part, and the rows of parts as the kernels see them."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.arrays import Rows, Tree
from incrowd.kernels.lcg import ancestor_rows, common_counts
from incrowd.methods.partition.buckets import hit_children
from incrowd.methods.partition.kernel import CLOSED, add_gains, finish, write_cut
from incrowd.methods.partition.method import published_by
from incrowd.spark.bags import rows_of
from incrowd.spark.warm import next_to_nothing, warmed

__all__ = ["Part", "Parts", "by_part", "compile_kernels", "gains_of"]

NUMBER_BYTES = 4


class Part(NamedTuple):
    """Rows that hit the same nodes of a cut: its nodes in pre-order, `CLOSED` for those that cannot be expanded, its size.

    The order of places is the order in which the local method comes to the parts.
    """

    nodes: Ints32
    gains: Ints64
    size: int
    place: bytes = b""

    @property
    def is_open(self) -> bool:
        """Whether any node can be expanded."""
        return bool((self.gains != CLOSED).any())

    def cut(self, tree: Tree, best: int, children: Ints32, size: int, number: int) -> Part:
        """Return a part of the part, with the node at `best` replaced by the children that are hit; closed without any."""
        length, place = len(self.nodes) + max(len(children) - 1, 0), self.place_of(number)
        new = Part(np.empty(length, np.int32), np.empty(length, np.int64), size, place)
        write_cut(tree, self.nodes, self.gains, best, children, new.nodes, new.gains)
        return new

    def place_of(self, number: int) -> bytes:
        """Return the place of one of the parts, or groups, that this one is split into."""
        return self.place + number.to_bytes(NUMBER_BYTES, "big")


Parts = dict[int, Part]


def gains_of(rows: Rows, tree: Tree, some: Ints64, part: Part) -> Ints64:
    """Return what expanding each node of a part's cut gains for some of its rows."""
    gains = part.gains.copy()
    add_gains(rows, tree, some, part.nodes, gains)
    return gains


def by_part(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Rows, dict[int, Ints64]]:
    """Return a batch sorted by part (equal ones as they were), its rows, and which of them each part has."""
    part = batch.column("part").to_numpy()
    order = np.argsort(part, kind="stable")
    batch, part = batch.take(pa.array(order)), part[order]
    bounds = np.flatnonzero(np.diff(part, prepend=-1, append=-1)).tolist()
    members = {int(part[first]): np.arange(first, stop) for first, stop in pairwise(bounds)}
    return batch, rows_of(batch.column("leaf"), batch.column("times")), members


def compile_kernels(publish: str = "set") -> None:
    """Compile the kernels for a way to publish, once for each machine; splits need those for ``"set"``."""
    warmed(f"partition-{publish}", partial(_run_kernels, publish))


def _run_kernels(publish: str) -> None:
    """Run all kernels once on next to nothing, with arrays of the very types that a job has."""
    rows, tree = next_to_nothing()
    tree = pickle.loads(pickle.dumps(tree))  # noqa: S301 - our own bytes, as a broadcast makes them
    order, nodes, gains = np.arange(4), np.zeros(1, np.int32), np.zeros(1, np.int64)
    hit_children(rows, tree, order, 0)
    add_gains(rows, tree, order, nodes, gains)
    published_by(finish(rows, tree, order, nodes, gains, 2), rows, tree, publish)
    common_counts(ancestor_rows(rows, tree), np.array([0, 4]), order)
