"""Partition on Spark: the same groups as the local method's, whatever the shards.

Large parts are split where the rows are, until each fits a shard (:mod:`incrowd.spark.partition.splits`). Those are finished by
the local method, many small ones in one shard. The method is that of Y. He and J. F. Naughton, "Anonymization of Set-Valued
Data via Top-Down, Local Generalization", PVLDB 2(1), 2009, section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.core.ragged import list_ids, take_lists
from incrowd.kernels.arrays import Tree
from incrowd.kernels.lcg import AncestorRows, ancestor_rows, common_counts, common_generalization
from incrowd.methods.partition.kernel import finish, joined
from incrowd.methods.partition.method import published_by
from incrowd.spark.bags import PUBLISHED, lists, of_table, starts
from incrowd.spark.partition.parts import Part, Parts, by_part, compile_kernels, gains_of
from incrowd.spark.partition.splits import split_large
from incrowd.spark.work import SHARD, Work
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["partition_on_spark"]

AGREED = "part bigint, place binary, nodes array<int>, counts array<int>"


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
    """Return what each row publishes, just as :func:`incrowd.methods.partition.method.partition` has it.

    Parameters
    ----------
    rows
        `row`, a number; `leaf`, its leaves in ascending order; `times`, how often it has each. No row is empty.
    tree, taxonomy
        The tree that the leaves are of.
    k, publish
        The local method's parameters.
    shard
        The most rows that the local method gets at once; at least 2k are allowed in any case.
    work
        A directory that all executors reach, for what lies between two steps.
    """
    shard, steps = max(shard, 2 * k), Work(rows.sparkSession, Path(work))
    steps.directory.mkdir(parents=True, exist_ok=True)
    sent = steps.spark.sparkContext.broadcast(tree)
    ready, parts = split_large(rows, sent, k, shard, steps)
    shards = _pack({number: part.size for number, part in parts.items()}, shard)
    cuts = steps.spark.sparkContext.broadcast(parts)
    columns = (pa.array(list(numbers), pa.int64()) for numbers in (shards, shards.values()))
    whose = pa.table([*columns], ["part", "shard"])
    small = ready.join(f.broadcast(steps.table(whose, "shards.parquet")), "part")
    finished = of_table(partial(_finish_shard, k=k, publish=publish, shard=shard), sent, cuts)
    published = small.groupBy("shard").applyInArrow(finished, PUBLISHED)
    large = {number: part for number, part in parts.items() if number not in shards}
    if large:
        published = published.unionByName(_publish_closed(ready, large, sent, publish))
    return published


def _pack(sizes: Mapping[int, int], limit: int) -> dict[int, int]:
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


def _finish_shard(
    sent: Broadcast[Tree], cuts: Broadcast[Parts], table: pa.Table, *, k: int, publish: str, shard: int
) -> pa.Table:
    """Split each part of a shard to the end; return what each row publishes."""
    assert len(table) <= shard  # noqa: S101 - parts were packed so; more could need more memory than there is
    compile_kernels(publish)
    (batch,) = table.sort_by("row").combine_chunks().to_batches()
    batch, rows, members = by_part(batch)
    parts, places = [], list[bytes]()
    for number, some in members.items():
        part = cuts.value[number]
        parts.append(finish(rows, sent.value, some, part.nodes, gains_of(rows, sent.value, some, part), k))
        places += map(part.place_of, range(len(parts[-1].row_start) - 1))
    groups = joined(parts)
    shown = published_by(groups, rows, sent.value, publish)
    of_row = list_ids(groups.row_start)
    start, take = take_lists(shown.start, of_row)
    columns = [lists(start, shown.nodes[take]), lists(start, shown.counts[take])]
    row, place = batch.column("row").take(pa.array(groups.rows)), pa.array(places).take(pa.array(of_row))
    return pa.Table.from_arrays([row, place, *columns], ["row", "place", "nodes", "counts"])


def _publish_closed(
    ready: DataFrame, large: Mapping[int, Part], sent: Broadcast[Tree], publish: str
) -> DataFrame:
    """Publish parts that have more rows than a shard and no node left to expand."""
    rows = ready.where(f.col("part").isin(list(large)))
    if publish == "set":
        cells = [
            (number, part.place, part.nodes.tolist(), [1] * len(part.nodes)) for number, part in large.items()
        ]
        table = ready.sparkSession.createDataFrame(cells, AGREED)
    else:
        least = rows.mapInArrow(
            partial(_least_counts, sent), "part bigint, node array<int>, times array<int>"
        )
        table = least.groupBy("part").applyInArrow(of_table(_agreed, sent, large, publish), AGREED)
    return rows.join(f.broadcast(table), "part").select("row", "place", "nodes", "counts")


def _least_counts(sent: Broadcast[Tree], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield, for the rows of each part in a batch, the nodes that all have items below, and how many at least."""
    compile_kernels("lcg")
    for batch in batches:
        _, rows, members = by_part(batch)
        start = np.cumsum([0, *map(len, members.values())])
        least = common_counts(ancestor_rows(rows, sent.value), start, np.arange(start[-1]))
        columns = [pa.array(list(members), pa.int64()), *(lists(least.start, of) for of in least[1:])]
        yield pa.RecordBatch.from_arrays(columns, ["part", "node", "times"])


def _agreed(sent: Broadcast[Tree], parts: Parts, publish: str, table: pa.Table) -> pa.Table:
    """Return what a part publishes, from the least counts of some lists that all of its rows are in."""
    compile_kernels("lcg")
    (batch,) = table.combine_chunks().to_batches()
    number, node, times = (batch.column(name) for name in ("part", "node", "times"))
    least = AncestorRows(starts(node), *(np.array(of.flatten(), np.int32) for of in (node, times)))
    everything, part = (np.array([0, len(batch)]), np.arange(len(batch))), parts[number[0].as_py()]
    nodes = part.nodes
    if publish == "bag":
        common = common_counts(least, *everything)
        counts = common.times[np.searchsorted(common.node, nodes)]
    else:
        _, nodes, counts = common_generalization(least, sent.value, *everything)
    columns = [number[:1], pa.array([part.place])]
    columns += [lists(np.array([0, len(nodes)]), values) for values in (nodes, counts)]
    return pa.Table.from_arrays(columns, ["part", "place", "nodes", "counts"])
