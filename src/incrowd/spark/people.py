"""Classes that hold enough different people, on Spark: :func:`incrowd.methods.people.with_people` where the classes lie.

Of a class, no more than k different people need be known. Classes are ordered by what they publish, and as many as fit a shard
are merged by the local function at once: where all fit one shard, the classes are the local engine's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from incrowd.core.classes import Generalizations
from incrowd.core.ragged import count_distinct, list_ids
from incrowd.core.types import Ints64
from incrowd.errors import BadInputError
from incrowd.kernels.arrays import Tree, lm_drops, tree_arrays
from incrowd.methods.people import merge_poor, note_of
from incrowd.spark.bags import lists, of_table, rows_of, starts
from incrowd.spark.warm import next_to_nothing, warmed
from incrowd.spark.work import Work
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["WithPeople", "compile_kernels", "with_people_on_spark"]

MERGED = "place binary, nodes array<int>, counts array<int>, is_first boolean, people bigint"


class WithPeople(NamedTuple):
    """What each row publishes once every class has enough people, and a note on how many classes were merged, if any."""

    published: DataFrame
    notes: tuple[str, ...] = ()


class Measure(NamedTuple):
    """What a merge takes besides classes: the tree, the weights of its nodes, k, and whether any class publishes copies."""

    tree: Tree
    weight: Ints64
    k: int
    copies: bool


def with_people_on_spark(
    published: DataFrame, rows: DataFrame, taxonomy: Taxonomy, *, k: int, shard: int, work: Work
) -> WithPeople:
    """Merge classes of fewer than k different people with others that publish something similar.

    Parameters
    ----------
    published
        What a method returned: `row`, `place`, `nodes`, `counts`.
    rows, taxonomy
        The `row` and the `person` behind each, and the tree.
    k, shard
        The least number of different people in a class, and the most people of classes that a task holds at once.
    work
        Where what lies between two steps is written.
    """
    owned = published.join(rows.select("row", "person"), "row")
    classes = work.settle(_classes(owned, k), "classes")
    is_poor, most = f.size("people") < k, f.max(f.array_max("counts"))
    poor, number, copies = classes.agg(f.count(f.when(is_poor, 1)), f.count("*"), most).collect()[0]
    if not poor:
        return WithPeople(published)
    measure = Measure(tree_arrays(taxonomy), lm_drops(taxonomy), k, copies > 1)
    sent = work.spark.sparkContext.broadcast(measure)
    parts = _in_parts(classes, number, max(shard // k, 1), work)
    merged = work.settle(parts.groupBy("part").applyInArrow(of_table(_merge_part, sent), MERGED), "merged")
    left, least = merged.agg(f.count(f.when(f.col("is_first"), 1)), f.min("people")).collect()[0]
    if least < k:
        raise BadInputError(
            f"a shard of {shard:,} records has fewer than {k:,} different people: give a larger spark.incrowd.shard"
        )
    said = published.select("row", "place").join(merged, "place").select("row", "nodes", "counts")
    return WithPeople(said, (note_of(poor, k, left),))


def _classes(owned: DataFrame, k: int) -> DataFrame:
    """Return each class once: `place`, `nodes`, `counts`, its `size` in rows, and k of its `people`, or all if they are fewer."""
    shown = [f.first(name).alias(name) for name in ("nodes", "counts")]
    people = owned.groupBy("place", "person").agg(f.count("*").alias("rows"), *shown)
    nth = f.row_number().over(Window.partitionBy("place").orderBy("person"))
    some = f.collect_list(f.when(f.col("nth") <= k, f.col("person"))).alias("people")
    return people.withColumn("nth", nth).groupBy("place").agg(*shown, f.sum("rows").alias("size"), some)


def _in_parts(classes: DataFrame, number: int, fitting: int, work: Work) -> DataFrame:
    """Give each class its `part`: as many as the others', at most `fitting`, neighbours in the order of what they publish."""
    parts = -(-number // fitting)
    if parts == 1:
        return classes.withColumn("part", f.lit(0).cast("bigint"))
    ordered = classes.select(f.struct("nodes", "place", "counts", "size", "people").alias("class"))
    numbered = work.numbered(ordered, "class", "ordered", "number")
    return numbered.select("class.*", f.expr(f"number * {parts} div {number}").alias("part"))


def _merge_part(sent: Broadcast[Measure], table: pa.Table) -> pa.Table:
    """Merge the classes of a part; return what each publishes then, whether it is the first of its merged class, and of
    how many people, at least, that is.
    """  # noqa: D205 - what a line says
    warmed("people", compile_kernels)
    (batch,) = table.sort_by("place").combine_chunks().to_batches()
    tree, weight, k, copies = sent.value
    shown = Generalizations(*rows_of(batch.column("nodes"), batch.column("counts")))
    people = batch.column("people")
    of_row = list_ids(starts(people)).astype(np.int32)
    person = np.unique(people.flatten().to_numpy(), return_inverse=True)[1].astype(np.int32)
    sizes = batch.column("size").to_numpy().copy()
    of_class, merged = merge_poor(shown, sizes, of_row, person, tree, weight, k, copies=copies)
    classes, is_first = len(merged.start) - 1, np.zeros(len(batch), bool)
    is_first[np.unique(of_class, return_index=True)[1]] = True
    found = count_distinct(of_class[of_row], person, classes)[of_class]
    said = [lists(merged.start, values).take(pa.array(of_class)) for values in (merged.nodes, merged.counts)]
    columns = [batch.column("place"), *said, pa.array(is_first), pa.array(found)]
    return pa.Table.from_arrays(columns, ["place", "nodes", "counts", "is_first", "people"])


def compile_kernels() -> None:
    """Run the kernels on next to nothing."""
    rows, tree = next_to_nothing()
    shown = Generalizations(rows.start, np.array([1, 1, 2, 2], np.int32), rows.times)
    row, ones = np.arange(4, dtype=np.int32), np.ones(4, np.int64)
    merge_poor(shown, ones, row, row, tree, np.zeros(3, np.int64), 2, copies=True)
