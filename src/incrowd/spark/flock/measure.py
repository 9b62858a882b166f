"""How flock's units are compared, and what every executor needs for it: the tree, the weights and the compiled kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pyspark import Broadcast

from incrowd.core.types import Floats, Ints64
from incrowd.kernels.arrays import Tree, compact
from incrowd.kernels.lcg import AncestorRows, ancestor_rows, common_counts, common_generalization
from incrowd.methods.flock.blocks import digests, node_counts, node_sums
from incrowd.methods.flock.method import Problem, Sizes, grow, improve, measure, one_by_one
from incrowd.spark.flock.units import Units
from incrowd.spark.warm import next_to_nothing, warmed

__all__ = ["Measure", "WeightedTree", "compile_kernels"]


class WeightedTree(NamedTuple):
    """A tree, and w(v) of each node in whole numbers."""

    tree: Tree
    weight: Ints64


class Measure(NamedTuple):
    """How units are compared in a round of the search (:func:`incrowd.methods.flock.method.measure`); rows as in round 0."""

    sent: Broadcast[WeightedTree]
    number: int = 0

    def weighted_tree(self) -> WeightedTree:
        """Return the tree and the weights; the kernels are compiled then."""
        warmed("flock", compile_kernels)
        return self.sent.value

    @property
    def weight(self) -> Floats:
        """The weight of each node by this measure."""
        return measure(self.sent.value.weight, self.number)

    def least_counts(self, units: Units) -> AncestorRows:
        """Return, for each unit, the least count that its rows have of each node."""
        bags = ancestor_rows(units.rows, self.weighted_tree().tree)
        return common_counts(bags, units.start, np.arange(len(units.row)))


def compile_kernels() -> None:
    """Run all kernels once on next to nothing, with arrays of the very types that a job has."""
    rows, tree = next_to_nothing()
    order, pairs = np.arange(4), np.array([0, 2, 4])
    bags, weight = ancestor_rows(compact(rows, order), tree), np.array([0, 2, 2])
    digests(bags, order)
    common_generalization(bags, tree, pairs, order)
    node_sums(common_counts(bags, pairs, order), weight / 2, order[:2].copy(), np.zeros((2, 3), np.int64))
    node_counts(bags, 1, order)
    problem, for_each = Problem(bags, weight, Sizes(2, 3, 1)), one_by_one(3)
    improve(problem, grow(problem, order, for_each), 0, for_each)
