"""Partition on a cluster: large parts are split there, level by level, until each fits a shard (partition.txt, section 4).

All sums are of integers and ties are broken by row numbers, so neither the cutting into tasks nor a repeated task
changes the result. Parts that fit are finished by the local kernel, many small ones in one shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial, reduce
from itertools import count
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from incrowd.kernels.arrays import Tree
from incrowd.spark.bags import hit_children, rows_of, taken
from incrowd.spark.balance import Bucket, Division, Part, divide, opened
from incrowd.spark.shards import finish_shard, pack, part_gains, publish_closed
from incrowd.spark.work import SHARD, Work
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["partition_on_spark"]

PUBLISHED = "row bigint, nodes array<int>, counts array<int>"
PARTED = "row bigint, leaf array<int>, times array<int>, part bigint, ready boolean"
HITS = "part bigint, row bigint, children binary, gain bigint"

Parts = dict[int, Part]


class Move(NamedTuple):
    """Where a part's rows go: by the children that they hit, by number if they must leave, else to the leftovers."""

    node: int
    to: Mapping[bytes, int]
    leaving: frozenset[int]
    leftovers: int


def partition_on_spark(
    rows: DataFrame,
    tree: Tree,
    taxonomy: Taxonomy,  # noqa: ARG001 - all methods are called alike
    *,
    k: int,
    publish: Literal["set", "bag", "lcg"] = "set",
    shard: int = SHARD,
    work: str,
) -> DataFrame:
    """Return what each row publishes, just as :func:`incrowd.methods.partition.partition` has it.

    Parameters
    ----------
    rows
        `row`, a number; `leaf`, its leaves in ascending order; `times`, how often it has each. No row is empty.
    tree, taxonomy
        The tree that the leaves are of.
    k, publish
        The local method's parameters.
    shard
        The most rows that a local kernel gets at once; at least 2k are allowed in any case.
    work
        A directory that all executors reach, for what lies between two steps.
    """
    shard, steps = max(shard, 2 * k), Work(rows.sparkSession, Path(work))
    steps.directory.mkdir(parents=True, exist_ok=True)
    ground = steps.spark.sparkContext.broadcast(tree)
    ready, parts = _split_large(rows, ground, k, shard, steps)
    shards = pack({number: part.size for number, part in parts.items()}, shard)
    cuts = steps.spark.sparkContext.broadcast(parts)
    whose = pa.table({"part": list(shards), "shard": list(shards.values())}, _schema("part", "shard"))
    small = ready.join(f.broadcast(steps.table(whose, "shards.parquet")), "part")
    finish = partial(finish_shard, tree=ground, cuts=cuts, k=k, publish=publish, shard=shard)
    # Spark looks for annotations and stumbles over those of a partial function: a lambda has none.
    published = small.groupBy("shard").applyInArrow(lambda table: finish(table), PUBLISHED)  # noqa: PLW0108
    large = {number: part for number, part in parts.items() if number not in shards}
    if large:
        published = published.unionByName(publish_closed(ready, large, ground, publish))
    return published


def _schema(*names: str) -> pa.Schema:
    return pa.schema([(name, pa.int64()) for name in names])


def _split_large(
    rows: DataFrame, ground: Broadcast[Tree], k: int, shard: int, work: Work
) -> tuple[DataFrame, Parts]:
    """Split all rows until no part that can be split has more than `shard`; return them with their `part`."""
    can_split = bool(ground.value.weight[0] > 0)
    parts: Parts = {0: Part(np.zeros(1, np.int32), np.array([can_split]), rows.count())}
    waiting, done = rows.withColumn("part", f.lit(0).cast("bigint")), []
    large = _large(parts, shard)
    if not large:
        return waiting, parts
    numbers = count(1)
    for level in count():
        moves, made = _split(waiting, large, ground, k, numbers)
        parts = {number: part for number, part in parts.items() if number not in large} | made
        large = _large(made, shard)
        sent = work.spark.sparkContext.broadcast((moves, frozenset(large)))
        moved = waiting.mapInArrow(partial(_moved, tree=ground, sent=sent), PARTED)
        settled = work.settle(moved, f"level-{level}", by="ready")
        work.forget(f"level-{level - 1}/ready=false")
        done.append(settled.where("ready").drop("ready"))
        waiting = settled.where(~f.col("ready")).drop("ready")
        if not large:
            return reduce(DataFrame.unionByName, done), parts
    raise AssertionError  # a split closes a node or goes down a level: it ends


def _large(parts: Parts, shard: int) -> Parts:
    """Return the parts that must and can be split on."""
    return {number: part for number, part in parts.items() if part.size > shard and part.is_open.any()}


def _split(
    rows: DataFrame, large: Parts, ground: Broadcast[Tree], k: int, numbers: Iterator[int]
) -> tuple[dict[int, Move], Parts]:
    """Split each large part once; return where its rows go and what the new parts are."""
    tree = ground.value
    node = _best_nodes(rows, large, ground)
    hits = rows.mapInArrow(partial(_hits, tree=ground, node=node), HITS)
    buckets = _buckets(hits, k)
    divisions = {number: divide(buckets.get(number, []), part.size, k) for number, part in large.items()}
    leaving = _leaving(hits, divisions, k)
    moves, made = {}, {}
    for number, division in divisions.items():
        gone = leaving.get(number, [])
        to = {}
        for bucket in division.buckets:
            to[bucket.children] = new = next(numbers)
            size = bucket.size - sum(children == bucket.children for children, _ in gone)
            children = np.frombuffer(bucket.children, "<i4").astype(np.int32)
            made[new] = opened(tree, large[number], node[number], children, size)
        leftovers = next(numbers)
        if division.left:
            made[leftovers] = opened(tree, large[number], node[number], np.empty(0, np.int32), division.left)
        moves[number] = Move(node[number], to, frozenset(row for _, row in gone), leftovers)
    return moves, made


def _best_nodes(rows: DataFrame, large: Parts, ground: Broadcast[Tree]) -> dict[int, int]:
    """Return the node of each part that gains most when it is expanded, the first in pre-order among equals."""
    choices = {number: part.nodes[part.is_open] for number, part in large.items()}
    best = {number: int(nodes[0]) for number, nodes in choices.items()}
    if all(len(nodes) == 1 for nodes in choices.values()):
        return best
    found = rows.mapInArrow(partial(_gains, tree=ground, parts=large), "part bigint, node int, gain bigint")
    gains = {number: dict.fromkeys(nodes.tolist(), 0) for number, nodes in choices.items()}
    for row in found.groupBy("part", "node").agg(f.sum("gain").alias("gain")).collect():
        gains[row["part"]][row["node"]] = row["gain"]
    return {
        number: min(of_part, key=lambda node: (-of_part[node], node)) for number, of_part in gains.items()
    }


def _gains(
    batches: Iterable[pa.RecordBatch], *, tree: Broadcast[Tree], parts: Parts
) -> Iterator[pa.RecordBatch]:
    """Yield what expanding each open node of each part would gain for the rows of a batch."""
    for batch in batches:
        rows, part = rows_of(batch.column("leaf"), batch.column("times")), np.array(batch.column("part"))
        for number in np.unique(part).tolist():
            chosen = np.flatnonzero(part == number)
            nodes = parts[number].nodes[parts[number].is_open]
            gains = part_gains(taken(rows, chosen), tree.value, nodes)
            yield pa.record_batch(
                [np.full(len(nodes), number, np.int64), nodes, gains], ["part", "node", "gain"]
            )


def _hits(
    batches: Iterable[pa.RecordBatch], *, tree: Broadcast[Tree], node: Mapping[int, int]
) -> Iterator[pa.RecordBatch]:
    """Yield the children of its part's node that each row hits, and what it gains."""
    for batch in batches:
        part = batch.column("part")
        nodes = np.array([node[number] for number in part.to_pylist()], dtype=np.int32)
        hits = hit_children(rows_of(batch.column("leaf"), batch.column("times")), tree.value, nodes)
        children = pa.array(hits.children, pa.binary())
        yield pa.record_batch(
            [part, batch.column("row"), children, hits.gain], ["part", "row", "children", "gain"]
        )


def _buckets(hits: DataFrame, k: int) -> dict[int, list[Bucket]]:
    """Return the buckets of at least k rows of each part; smaller ones need not be known one by one."""
    summed = hits.groupBy("part", "children").agg(
        f.count("*").alias("size"), f.min("row").alias("first"), f.sum("gain").alias("gain")
    )
    buckets: dict[int, list[Bucket]] = {}
    for row in summed.where(f.col("size") >= k).collect():
        found = Bucket(bytes(row["children"]), row["size"], row["first"], row["gain"])
        buckets.setdefault(row["part"], []).append(found)
    return buckets


def _leaving(
    hits: DataFrame, divisions: Mapping[int, Division], k: int
) -> dict[int, list[tuple[bytes, int]]]:
    """Return the children and the numbers of the rows of least gain, fewer than k a part, that fill up leftovers.

    A bucket of n rows can spare the n - k of least gain; of those of all buckets the least are taken, ties in the
    order of rows.
    """
    spare = [
        (number, bucket.children, min(bucket.size - k, division.missing))
        for number, division in divisions.items()
        for bucket in division.buckets
        if division.missing and bucket.size > k
    ]
    if not spare:
        return {}
    limits = hits.sparkSession.createDataFrame(spare, "part bigint, children binary, spare int")
    in_bucket = Window.partitionBy("part", "children").orderBy("gain", "row")
    least = (
        hits.join(f.broadcast(limits), ["part", "children"])
        .withColumn("place", f.row_number().over(in_bucket))
        .where((f.col("place") <= f.col("spare")) & (f.col("place") < k))
    )
    in_part = Window.partitionBy("part").orderBy("gain", "row")
    chosen: dict[int, list[tuple[bytes, int]]] = {}
    candidates = least.withColumn("place", f.row_number().over(in_part)).where(f.col("place") < k)
    for row in candidates.orderBy("part", "place").collect():
        rows = chosen.setdefault(row["part"], [])
        if len(rows) < divisions[row["part"]].missing:
            rows.append((bytes(row["children"]), row["row"]))
    return chosen


def _moved(
    batches: Iterable[pa.RecordBatch],
    *,
    tree: Broadcast[Tree],
    sent: Broadcast[tuple[dict[int, Move], frozenset[int]]],
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in their new parts, and whether those are ready to be finished."""
    moves, large = sent.value
    for batch in batches:
        old, number = batch.column("part").to_pylist(), batch.column("row").to_pylist()
        nodes = np.array([moves[part].node for part in old], dtype=np.int32)
        hits = hit_children(rows_of(batch.column("leaf"), batch.column("times")), tree.value, nodes)
        part = [
            move.leftovers if row in move.leaving else move.to.get(children, move.leftovers)
            for move, row, children in zip((moves[part] for part in old), number, hits.children, strict=True)
        ]
        is_ready = [new not in large for new in part]
        columns = [batch.column(name) for name in ("row", "leaf", "times")]
        yield pa.record_batch(
            [*columns, pa.array(part, pa.int64()), pa.array(is_ready, pa.bool_())],
            ["row", "leaf", "times", "part", "ready"],
        )
