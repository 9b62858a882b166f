"""Flock on Spark: the same groups as the local method's, whatever the shards (docs/papers/flock.md)."""

from __future__ import annotations

from functools import partial
from inspect import signature
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.claims import check_k
from incrowd.errors import BadInputError
from incrowd.kernels.arrays import Tree
from incrowd.methods.flock import (
    BLOCK,
    LEAST_GROUPS,
    NEIGHBOURHOOD,
    ROUNDS,
    SCALE,
    check_flock,
    flock,
    weights,
)
from incrowd.spark.flock_alike import equal_and_other_rows
from incrowd.spark.flock_measure import Ground, Measure
from incrowd.spark.flock_splits import in_one_part, split_units
from incrowd.spark.flock_steps import Limits, grow_shard, improve_shard, on_shards, publish
from incrowd.spark.flock_units import SCHEMA
from incrowd.spark.work import SHARD, Work
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["check_shard", "flock_on_spark"]

SPECIFICITY: float = signature(flock).parameters["specificity"].default  # the local method's
PUBLISHED = "row bigint, nodes array<int>, counts array<int>"


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
    """Return what each row publishes, just as :func:`incrowd.methods.flock.flock` has it.

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
        A directory that all executors reach, for what lies between two steps. The result is read from it: it can go when
        the result is used.

    Returns
    -------
    DataFrame
        `row`; `nodes`, ascending; `counts`, how often each is published. A line for each row.
    """
    check_flock(specificity=specificity)
    check_shard(check_k(k), shard)
    limits = _limits(k, shard)
    ground = rows.sparkSession.sparkContext.broadcast(Ground(tree, weights(taxonomy, specificity)))
    measure = Measure(ground, SCALE)
    steps = Work(rows.sparkSession, Path(work))
    groups = _grouped(rows, measure, limits, steps)
    for number in range(ROUNDS):
        by = measure._replace(is_root=number % 2 == 1)
        groups, has_gained = _improved(groups, by, limits, steps, f"groups-{(number + 1) % 2}")
        if not has_gained:
            break
    return groups.mapInArrow(partial(publish, measure), PUBLISHED)


def check_shard(k: int, shard: int) -> None:
    """Refuse shards that cannot hold a block or a neighbourhood."""
    limits = _limits(k, shard)
    least = max(limits.block, limits.neighbours * (2 * k - 1))
    if shard < least:
        raise BadInputError(
            f"spark.incrowd.shard must be at least {least:,} for flock with k = {k} (got {shard})"
        )


def _limits(k: int, shard: int) -> Limits:
    """Return the sizes of everything."""
    return Limits(k, max(BLOCK, LEAST_GROUPS * k), max(NEIGHBOURHOOD // k, LEAST_GROUPS), shard)


def _grouped(rows: DataFrame, measure: Measure, limits: Limits, work: Work) -> DataFrame:
    """Group rows that are the same, and then the others."""
    equal, others = equal_and_other_rows(rows, measure, limits.k, work)
    parts = split_units(others, measure, work, "blocks", most=limits.block, fitting=limits.shard)
    grown = parts.groupBy("part").applyInArrow(on_shards(grow_shard, measure, limits), SCHEMA)
    return work.settle(equal.unionByName(grown), "groups-0")


def _improved(
    groups: DataFrame, measure: Measure, limits: Limits, work: Work, name: str
) -> tuple[DataFrame, bool]:
    """Let rows change groups within neighbourhoods once; tell whether that gained anything."""
    fitting = limits.shard // (2 * limits.k - 1)  # however large the groups are
    parts = split_units(groups, measure, work, "neighbours", most=limits.neighbours, fitting=fitting)
    better = parts.groupBy("part").applyInArrow(
        on_shards(improve_shard, measure, limits), f"{SCHEMA}, gain bigint"
    )
    improved = work.settle(better, name)
    gain = improved.agg(f.max("gain").alias("gain")).collect()[0]["gain"]
    return in_one_part(improved.drop("gain")), bool(gain)
