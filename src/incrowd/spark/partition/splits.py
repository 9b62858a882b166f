"""Partition's splits on Spark: large parts are split where the rows are, level by level, until each fits a shard.

The rules of a split are those of :mod:`incrowd.methods.partition`, applied to sums over rows. All sums are of integers and
ties are broken by row numbers, so neither the cutting into tasks nor a repeated task changes the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial, reduce
from itertools import count, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from incrowd.kernels.arrays import Tree
from incrowd.methods.partition.buckets import NONE, Balance, Hits, balance, hit_children
from incrowd.methods.partition.kernel import CLOSED, best_node, whole
from incrowd.spark.partition.parts import Part, Parts, by_part, compile_kernels, gains_of
from incrowd.spark.work import Work

__all__ = ["split_large"]

PARTED = "row bigint, leaf array<int>, times array<int>, part bigint, ready boolean"
HITS = "part bigint, row bigint, children binary, gain bigint"

Batches = Iterable[pa.RecordBatch]


class Bucket(NamedTuple):
    """At least k rows that hit the same children of a node: these children, how many, the first row, their gain."""

    children: bytes
    size: int
    first: int
    gain: int


class Division(NamedTuple):
    """What becomes of a part: its buckets of at least k rows, in the order of their first rows, and how they are balanced."""

    buckets: list[Bucket]
    balance: Balance


class Move(NamedTuple):
    """Where a part's rows go: by the children that they hit, but those in `leaving` and all others to the leftover part."""

    node: int
    to: Mapping[bytes, int]
    leaving: frozenset[int]
    leftover: int


def split_large(
    rows: DataFrame, sent: Broadcast[Tree], k: int, shard: int, work: Work
) -> tuple[DataFrame, Parts]:
    """Split all rows until no part that can be split has more than `shard`; return them with their `part`."""
    start = whole(sent.value, np.arange(0))
    parts = {0: Part(start.nodes, start.gains, rows.count())}
    waiting, done = rows.withColumn("part", f.lit(0).cast("bigint")), []
    large = _large(parts, shard)
    if not large:
        return waiting, parts
    numbers = count(1)
    for level in count():
        moves, made = _split(waiting, large, sent, k, numbers)
        parts = {number: part for number, part in parts.items() if number not in large} | made
        large = _large(made, shard)
        where = work.spark.sparkContext.broadcast((moves, frozenset(large)))
        moved = waiting.mapInArrow(partial(_moved, sent, where), PARTED)
        settled = work.settle(moved, f"level-{level}", by="ready")
        work.forget(f"level-{level - 1}/ready=false")
        done.append(settled.where("ready").drop("ready"))
        waiting = settled.where(~f.col("ready")).drop("ready")
        if not large:
            return reduce(DataFrame.unionByName, done), parts
    raise AssertionError  # a split closes a node or goes down a level: it ends


def _large(parts: Parts, shard: int) -> Parts:
    """Return the parts that must and can be split further."""
    return {number: part for number, part in parts.items() if part.size > shard and part.is_open}


def _split(
    rows: DataFrame, large: Parts, sent: Broadcast[Tree], k: int, numbers: Iterator[int]
) -> tuple[dict[int, Move], Parts]:
    """Split each large part once; return where its rows go and what the new parts are."""
    best = _best_nodes(rows, large, sent)
    nodes = {number: int(part.nodes[best[number]]) for number, part in large.items()}
    hits = rows.mapInArrow(partial(_hits, sent, nodes), HITS)
    buckets = _buckets(hits, k)
    divisions = {number: _divide(buckets.get(number, []), part.size, k) for number, part in large.items()}
    leaving = _leaving(hits, divisions, k)
    moves, made = {}, {}
    for number, (kept, balanced) in divisions.items():
        cut, gone = partial(large[number].cut, sent.value, best[number]), leaving.get(number, [])
        to = {bucket.children: next(numbers) for bucket in kept}
        for place, bucket in enumerate(kept):
            size = bucket.size - sum(children == bucket.children for children, _ in gone)
            made[to[bucket.children]] = cut(np.frombuffer(bucket.children, np.int32), size, place)
        leftover = next(numbers)
        if balanced.left:
            made[leftover] = cut(np.empty(0, np.int32), balanced.left, len(kept))
        moves[number] = Move(nodes[number], to, frozenset(row for _, row in gone), leftover)
    return moves, made


def _best_nodes(rows: DataFrame, large: Parts, sent: Broadcast[Tree]) -> dict[int, int]:
    """Return the position in its cut of the node of each part that is expanded."""
    gains = {number: part.gains.copy() for number, part in large.items()}
    if any(np.count_nonzero(of_part != CLOSED) > 1 for of_part in gains.values()):
        found = rows.mapInArrow(partial(_gains, sent, large), "part bigint, at bigint, gain bigint")
        for line in found.groupBy("part", "at").agg(f.sum("gain").alias("gain")).collect():
            gains[line["part"]][line["at"]] = line["gain"]
    return {number: best_node(of_part) for number, of_part in gains.items()}


def _gains(sent: Broadcast[Tree], parts: Parts, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield what expanding each open node of each part would gain for the rows of a batch."""
    compile_kernels()
    for batch in batches:
        _, rows, members = by_part(batch)
        for number, some in members.items():
            gains = gains_of(rows, sent.value, some, parts[number])
            at = np.flatnonzero(gains != CLOSED)
            columns = [np.full(len(at), number), at, gains[at]]
            yield pa.RecordBatch.from_arrays([*map(pa.array, columns)], ["part", "at", "gain"])


def _hits(sent: Broadcast[Tree], nodes: Mapping[int, int], batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the children of its part's node that each row hits, and what it gains."""
    compile_kernels()
    for batch in batches:
        ordered, rows, members = by_part(batch)
        found = [hit_children(rows, sent.value, some, nodes[number]) for number, some in members.items()]
        children = pa.array([name for hits in found for name in _names(hits)], pa.binary())
        gain = pa.array(np.concatenate([np.empty(0, np.int64), *(hits.gain for hits in found)]))
        columns = [ordered.column("part"), ordered.column("row"), children, gain]
        yield pa.RecordBatch.from_arrays(columns, ["part", "row", "children", "gain"])


def _names(hits: Hits) -> list[bytes]:
    """Return the set of children that each row hits as bytes."""
    names, bounds = hits.children.tobytes(), (hits.children.itemsize * hits.start).tolist()
    return [names[first:stop] for first, stop in pairwise(bounds)]


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


def _divide(buckets: list[Bucket], size: int, k: int) -> Division:
    """Decide which buckets of a part of `size` rows become parts."""
    kept = sorted(buckets, key=lambda bucket: bucket.first)
    sizes, gains = (np.array([getattr(one, name) for one in kept], np.int64) for name in ("size", "gain"))
    decided = Balance(*map(int, balance(sizes, gains, size, k)))
    if decided.dissolved != NONE:
        del kept[decided.dissolved]
    return Division(kept, decided)


def _leaving(
    hits: DataFrame, divisions: Mapping[int, Division], k: int
) -> dict[int, list[tuple[bytes, int]]]:
    """Return the children and the numbers of the rows of least gain that must leave their buckets.

    A bucket of n rows can spare the n - k of least gain; of those of all buckets the least are taken, ties in the
    order of rows.
    """
    spare = [
        (number, bucket.children, bucket.size - k, balanced.missing)
        for number, (kept, balanced) in divisions.items()
        for bucket in kept
        if balanced.missing and bucket.size > k
    ]
    if not spare:
        return {}
    limits = hits.sparkSession.createDataFrame(spare, "part bigint, children binary, spare int, missing int")
    in_bucket, in_part = (
        Window.partitionBy(*names).orderBy("gain", "row") for names in (("part", "children"), ("part",))
    )
    least = (
        hits.join(f.broadcast(limits), ["part", "children"])
        .withColumn("place", f.row_number().over(in_bucket))
        .where((f.col("place") <= f.col("spare")) & (f.col("place") <= f.col("missing")))
        .withColumn("place", f.row_number().over(in_part))
        .where(f.col("place") <= f.col("missing"))
    )
    chosen: dict[int, list[tuple[bytes, int]]] = {}
    for line in least.collect():
        chosen.setdefault(line["part"], []).append((bytes(line["children"]), line["row"]))
    return chosen


def _moved(
    sent: Broadcast[Tree], where: Broadcast[tuple[dict[int, Move], frozenset[int]]], batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in their new parts, and whether those are ready to be finished."""
    compile_kernels()
    moves, large = where.value
    for batch in batches:
        ordered, rows, members = by_part(batch)
        numbers, new = ordered.column("row").to_pylist(), []
        for number, some in members.items():
            move = moves[number]
            hits = hit_children(rows, sent.value, some, move.node)
            for row, children in zip(some.tolist(), _names(hits), strict=True):
                stays = numbers[row] not in move.leaving
                new.append(move.to.get(children, move.leftover) if stays else move.leftover)
        ready = pa.array([part not in large for part in new], pa.bool_())
        columns = [*map(ordered.column, ("row", "leaf", "times")), pa.array(new, pa.int64()), ready]
        yield pa.RecordBatch.from_arrays(columns, ["row", "leaf", "times", "part", "ready"])
