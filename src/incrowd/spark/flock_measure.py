"""How flock's units are compared, and what every executor needs for it: the tree, the weights and the compiled kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pyspark import Broadcast

from incrowd.kernels.arrays import Tree, compact
from incrowd.kernels.blocks import digests, split_blocks
from incrowd.kernels.flock import NONE, grow_groups, join_leftovers
from incrowd.kernels.flock_search import improve_groups
from incrowd.kernels.lcg import ancestor_rows, common_counts, common_generalization, taken_rows
from incrowd.spark.warm import next_to_nothing, warmed

__all__ = ["Ground", "Measure", "compile_kernels"]

Floats = npt.NDArray[np.float64]
Ints64 = npt.NDArray[np.int64]


class Ground(NamedTuple):
    """A tree, and w(v) of each node in whole numbers."""

    tree: Tree
    weight: Ints64


class Measure(NamedTuple):
    """How units are compared: by w(v), of which the ground has `scale` times as much, or by the square root of w(v)."""

    sent: Broadcast[Ground]
    scale: int
    is_root: bool = False

    def ground(self) -> Ground:
        """Return the tree and the weights where kernels can work on them."""
        warmed("flock", compile_kernels)
        return self.sent.value

    @property
    def weight(self) -> Floats:
        """The weight of each node."""
        weight: Floats = self.sent.value.weight / self.scale
        return np.sqrt(weight) if self.is_root else weight


def compile_kernels() -> None:
    """Run all kernels once on next to nothing, with arrays of the very kinds that a job has."""
    rows, tree = next_to_nothing()
    order, pairs = np.arange(4), np.array([0, 2, 4])
    weight, room = np.array([0, 2, 2]), np.full(3, NONE, np.int32)
    bags = taken_rows(ancestor_rows(compact(rows, order), tree), order)
    digests(bags, order)
    split_blocks(common_counts(bags, pairs, order), weight / 2, np.arange(2), 1)
    common_generalization(bags, tree, pairs, order)
    members = np.full((2, 3), NONE)
    members[:, :2] = np.argsort(grow_groups(bags, weight, 2, order, 2, room), kind="stable").reshape(2, 2)
    join_leftovers(bags, weight, members, np.flatnonzero(order < 0), 2)
    improve_groups(bags, weight, members, np.diff(pairs), np.arange(2), 2, 1, room)
