"""Shards: parts that fit are finished by the local kernel; large parts that no node can split are published as they are."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.kernels.arrays import Rows, Tree, compact
from incrowd.kernels.lcg import (
    AncestorRows,
    Generalizations,
    ancestor_rows,
    common_counts,
)
from incrowd.kernels.partition import CLOSED, Groups, split_rows
from incrowd.lists import gathered, list_of
from incrowd.methods.partition import published_by
from incrowd.spark.bags import lists, rows_of
from incrowd.spark.balance import Part
from incrowd.spark.warm import next_to_nothing, warmed

__all__ = ["finish_shard", "pack", "part_gains", "publish_closed"]

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]
PUBLISHED = pa.schema(
    [("row", pa.int64()), ("nodes", pa.list_(pa.int32())), ("counts", pa.list_(pa.int32()))]
)
LEAST = pa.schema([("part", pa.int64()), ("node", pa.int32()), ("least", pa.int32()), ("rows", pa.int64())])


def pack(sizes: Mapping[int, int], limit: int) -> dict[int, int]:
    """Put parts into shards of at most `limit` rows; a part that is larger by itself gets none."""
    shard_of, shard, filled = {}, 0, 0
    for part, size in sizes.items():
        if size > limit:
            continue
        if filled + size > limit:
            shard, filled = shard + 1, 0
        shard_of[part] = shard
        filled += size
    return shard_of


def part_gains(rows: Rows, tree: Tree, nodes: Ints32) -> Ints64:
    """Sum, over the rows, what expanding each of some disjoint nodes in pre-order would gain."""
    at = np.searchsorted(tree.first_leaf[nodes], rows.leaf, side="right") - 1
    node = nodes[np.maximum(at, 0)]
    below = (at >= 0) & (rows.leaf < tree.last_leaf[node])
    at, node, leaf, times = at[below], node[below], rows.leaf[below], rows.times[below]
    child = tree.way[tree.depth[node] + 1, leaf]
    gains = np.zeros(len(nodes), np.int64)
    np.add.at(gains, at, (tree.weight[node] - tree.weight[child]) * times)
    return gains


def finish_shard(
    table: pa.Table,
    *,
    tree: Broadcast[Tree],
    cuts: Broadcast[dict[int, Part]],
    k: int,
    publish: str,
    shard: int,
) -> pa.Table:
    """Split each part of a shard to the end; return what each row publishes."""
    assert len(table) <= shard  # noqa: S101 - parts were packed so; more could need more memory than there is
    warmed(f"partition-{publish}", partial(_compile, publish))
    table = table.select(["row", "leaf", "times", "part"]).sort_by(
        [("part", "ascending"), ("row", "ascending")]
    )
    table = table.combine_chunks()
    number, part = (np.array(table.column(name)) for name in ("row", "part"))
    rows = rows_of(table.column("leaf").chunk(0), table.column("times").chunk(0))
    bounds = np.flatnonzero(np.diff(part, prepend=-1, append=-1)).tolist()
    published = []
    for first, stop in pairwise(bounds):
        own = compact(rows, np.arange(first, stop))
        groups = _finish(own, tree.value, cuts.value[int(part[first])], k)
        published.append(
            _published(number[first:stop], groups, published_by(groups, own, tree.value, publish))
        )
    return pa.concat_tables(published)


def _finish(rows: Rows, tree: Tree, part: Part, k: int) -> Groups:
    """Split one part to the end, as the local method does."""
    members, nodes = np.arange(len(rows.start) - 1), part.nodes
    gains = np.full(len(nodes), CLOSED, dtype=np.int64)
    alone = Groups(np.array([0, len(members)]), members, np.array([0, len(nodes)]), nodes, gains)
    if not part.is_open.any():
        return alone
    gains[part.is_open] = part_gains(rows, tree, nodes[part.is_open])
    return split_rows(rows, tree, alone, k, 0)


def _published(number: Ints64, groups: Groups, said: Generalizations) -> pa.Table:
    """Spell out what each row publishes."""
    start, take = gathered(said.start, list_of(groups.row_start))
    columns = [pa.array(number[groups.rows]), lists(start, said.nodes[take]), lists(start, said.counts[take])]
    return pa.Table.from_arrays(columns, schema=PUBLISHED)


def _compile(publish: str) -> None:
    """Run all kernels once on next to nothing, with arrays of the very kinds that a job has."""
    rows, tree = next_to_nothing()
    tree = pickle.loads(pickle.dumps(tree))  # noqa: S301 - our own bytes, as a broadcast makes them
    part = Part(np.zeros(1, np.int32), np.ones(1, np.bool_), 4)
    own = compact(rows, np.arange(4))
    published_by(_finish(own, tree, part, 2), own, tree, publish)
    common_counts(ancestor_rows(own, tree), np.array([0, 4]), np.arange(4))


def publish_closed(
    ready: DataFrame, large: Mapping[int, Part], ground: Broadcast[Tree], publish: str
) -> DataFrame:
    """Publish parts that have more rows than a shard and no node left to expand."""
    rows = ready.where(f.col("part").isin(list(large)))
    said = {number: (part.nodes.tolist(), [1] * len(part.nodes)) for number, part in large.items()}
    if publish != "set":
        found = rows.mapInArrow(
            partial(_least_counts, tree=ground), "part bigint, node int, least int, rows bigint"
        )
        summed = found.groupBy("part", "node").agg(f.min("least").alias("least"), f.sum("rows").alias("rows"))
        least: dict[int, dict[int, int]] = {number: {} for number in large}
        for row in summed.collect():
            if row["rows"] == large[row["part"]].size:  # all rows have something below the node
                least[row["part"]][row["node"]] = row["least"]
        for number, part in large.items():
            said[number] = _copies(least[number], part, ground.value, publish)
    cells = [(number, nodes, counts) for number, (nodes, counts) in said.items()]
    table = ready.sparkSession.createDataFrame(cells, "part bigint, nodes array<int>, counts array<int>")
    return rows.join(f.broadcast(table), "part").select("row", "nodes", "counts")


def _copies(least: Mapping[int, int], part: Part, tree: Tree, publish: str) -> tuple[list[int], list[int]]:
    """Return the nodes and counts that a part publishes, from the least counts of its rows below every node."""
    if publish == "bag":
        nodes = part.nodes.tolist()
        return nodes, [least[node] for node in nodes]
    copies = dict(least)
    for node, times in least.items():
        above = int(tree.parent[node])
        if above >= 0:
            copies[above] -= times
    kept = sorted(node for node, times in copies.items() if times > 0)
    return kept, [copies[node] for node in kept]


def _least_counts(batches: Iterable[pa.RecordBatch], *, tree: Broadcast[Tree]) -> Iterator[pa.RecordBatch]:
    """Yield, for the rows of a batch and each part, the nodes that all have items below, and how many at least."""
    warmed("partition-lcg", partial(_compile, "lcg"))
    for batch in batches:
        rows, part = rows_of(batch.column("leaf"), batch.column("times")), np.array(batch.column("part"))
        above: AncestorRows = ancestor_rows(rows, tree.value)
        numbers, group = np.unique(part, return_inverse=True)
        order = np.argsort(group, kind="stable")
        sizes = np.bincount(group)
        common = common_counts(above, np.concatenate(([0], np.cumsum(sizes))), order)
        whose = list_of(common.start)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(numbers[whose]),
                pa.array(common.node),
                pa.array(common.times),
                pa.array(sizes[whose], pa.int64()),
            ],
            schema=LEAST,
        )
