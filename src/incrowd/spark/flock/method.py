"""Flock on Spark: the same groups as the local method's, whatever the shards (docs/papers/flock.md).

The steps are those of :mod:`incrowd.methods.flock.method`. Spark brings together the rows that a step needs, in parts that fit
a shard, and each part is handled by the local method's function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from inspect import signature
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.core.claims import check_k
from incrowd.core.types import Ints64
from incrowd.errors import BadInputError
from incrowd.kernels.arrays import Tree
from incrowd.kernels.lcg import ancestor_rows, common_generalization
from incrowd.methods.flock import method as local
from incrowd.methods.flock.growing import NONE
from incrowd.spark.bags import PUBLISHED, lists, of_table
from incrowd.spark.flock.equal import equal_and_other_rows
from incrowd.spark.flock.measure import Measure, WeightedTree
from incrowd.spark.flock.splits import in_one_part, split_units
from incrowd.spark.flock.units import SCHEMA, Units, columns_of, read_units
from incrowd.spark.work import SHARD, Work
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["check_shard", "flock_on_spark"]

SPECIFICITY: float = signature(local.flock).parameters["specificity"].default
GROWN = (
    b"\x01"  # how the places of groups that have grown in a block begin; those of equal rows come before them
)
NUMBER_BYTES = 4


class Limits(NamedTuple):
    """The sizes of groups, blocks and neighbourhoods, and the most rows of a shard."""

    sizes: local.Sizes
    shard: int


def flock_on_spark(
    rows: DataFrame,
    tree: Tree,
    taxonomy: Taxonomy,
    *,
    k: int,
    specificity: float = SPECIFICITY,
    shard: int = SHARD,
    work: str,
) -> DataFrame:
    """Return what each row publishes, just as :func:`incrowd.methods.flock.method.flock` has it.

    Parameters
    ----------
    rows
        `row`, a number; `leaf`, its leaves in ascending order; `times`, how often it has each. No row is empty.
    tree, taxonomy
        The tree that the leaves are of, as arrays and as it is.
    k, specificity
        The local method's parameters.
    shard
        The most rows that an executor holds at once.
    work
        A directory that all executors reach, for what lies between two steps. The result is read from it: it can be removed
        when the result has been used.

    Returns
    -------
    DataFrame
        `row`; `place`, of its class; `nodes`, ascending; `counts`, how often each is published. A line for each row.
    """
    local.check_flock(specificity=specificity)
    check_shard(check_k(k), shard)
    limits, steps = Limits(local.sizes_for(k), shard), Work(rows.sparkSession, Path(work))
    weighted_tree = WeightedTree(tree, local.weights(taxonomy, specificity))
    measure = Measure(rows.sparkSession.sparkContext.broadcast(weighted_tree))
    groups = _grouped(rows, measure, limits, steps)
    for number in range(local.ROUNDS):
        by, name = measure._replace(number=number), f"groups-{(number + 1) % 2}"
        groups, has_gained = _improved(groups, by, limits, steps, name)
        if not has_gained:
            break
    return groups.mapInArrow(partial(_published, measure), PUBLISHED)


def check_shard(k: int, shard: int) -> None:
    """Refuse shards that cannot hold a block or a neighbourhood."""
    sizes = local.sizes_for(k)
    least = max(sizes.block, sizes.neighbours * (2 * k - 1))
    if shard < least:
        raise BadInputError(
            f"spark.incrowd.shard must be at least {least:,} for flock with k = {k} (got {shard})"
        )


def _grouped(rows: DataFrame, measure: Measure, limits: Limits, work: Work) -> DataFrame:
    """Group equal rows, and then the others."""
    equal, others = equal_and_other_rows(rows, measure, limits.sizes.k, work)
    parts = split_units(others, measure, work, "blocks", most=limits.sizes.block, fitting=limits.shard)
    grown = parts.groupBy("part").applyInArrow(of_table(_grow_shard, measure, limits), SCHEMA)
    return work.settle(equal.unionByName(grown), "groups-0")


def _improved(
    groups: DataFrame, measure: Measure, limits: Limits, work: Work, name: str
) -> tuple[DataFrame, bool]:
    """Exchange rows within neighbourhoods once; return the groups, and whether that gained anything."""
    fitting = limits.shard // (2 * limits.sizes.k - 1)  # however large the groups are
    most = limits.sizes.neighbours
    parts = split_units(groups, measure, work, "neighbours", most=most, fitting=fitting)
    better = parts.groupBy("part").applyInArrow(
        of_table(_improve_shard, measure, limits), f"{SCHEMA}, gain bigint"
    )
    improved = work.settle(better, name)
    gain = improved.agg(f.max("gain").alias("gain")).collect()[0]["gain"]
    return in_one_part(improved.drop("gain")), bool(gain)


def _grow_shard(measure: Measure, limits: Limits, table: pa.Table) -> pa.Table:
    """Group the rows of a part, block by block, in the order of the blocks."""
    table = table.sort_by("place")
    units, problem = _problem(measure, limits, table)
    members = local.grow(problem, np.arange(len(units)), local.one_by_one(len(problem.weight)))
    first = GROWN + table.column("part")[0].as_py().encode()
    places = [first + number.to_bytes(NUMBER_BYTES, "big") for number in range(len(members))]
    columns = columns_of(units, *local.listed(members))
    return pa.table({"part": pa.repeat("", len(members)), "place": pa.array(places, pa.binary()), **columns})


def _improve_shard(measure: Measure, limits: Limits, table: pa.Table) -> pa.Table:
    """Exchange rows between a part's groups once, in each neighbourhood; write beside each group what all gained."""
    table = table.sort_by("place")
    units, problem = _problem(measure, limits, table)
    members = _lines(units, limits.sizes.k)
    gain = local.improve(problem, members, measure.number, local.one_by_one(len(problem.weight)))
    columns = {"part": table.column("part"), "place": table.column("place")}
    columns |= columns_of(units, *local.listed(members))
    return pa.table({**columns, "gain": pa.repeat(pa.scalar(gain, pa.int64()), len(units))})


def _problem(measure: Measure, limits: Limits, table: pa.Table) -> tuple[Units, local.Problem]:
    """Read the units of a part as what the local method works on; a part has no more rows than a shard may have."""
    units, (tree, weight) = read_units(table), measure.weighted_tree()
    if len(units.row) > limits.shard:
        raise RuntimeError(f"a shard has {len(units.row):,} rows, more than {limits.shard:,}")
    return units, local.Problem(ancestor_rows(units.rows, tree), weight, limits.sizes)


def _lines(units: Units, k: int) -> Ints64:
    """Return the rows of each unit in a line, as the local method has its groups."""
    members = np.full((len(units), 2 * k - 1), NONE, np.int64)
    members[np.arange(members.shape[1]) < np.diff(units.start)[:, None]] = np.arange(len(units.row))
    return members


def _published(measure: Measure, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give every row the least common generalization of its group."""
    tree = measure.weighted_tree().tree
    for batch in batches:
        units = read_units(batch)
        bags = ancestor_rows(units.rows, tree)
        shown = common_generalization(bags, tree, units.start, np.arange(len(units.row)))
        of_row = pa.array(np.repeat(np.arange(len(units)), np.diff(units.start)))
        said = (batch.column("place"), lists(shown.start, shown.nodes), lists(shown.start, shown.counts))
        columns = [pa.array(units.row), *(of_unit.take(of_row) for of_unit in said)]
        yield pa.RecordBatch.from_arrays(columns, ["row", "place", "nodes", "counts"])
