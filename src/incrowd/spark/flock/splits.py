"""Parts of units that fit a shard: :func:`incrowd.methods.flock.blocks.split_blocks` on Spark, level by level.

A part that is too large is cut in two where the local method would cut it, by the same functions of sums and counts, which are
computed where the units are. A part that fits is left to the local method. So the blocks are the same whatever the limit of a
shard. What comes to the driver for each part is a node, how many units have each count of that node, and, where equal counts
are separated, one place.

A place grows with each cut: the unit's count comes in front of what was there, as a stable sort by count keeps the order of
equal counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.core.types import Ints64
from incrowd.methods.flock.blocks import NodeSums, cut_point, most_varied, node_counts, node_sums
from incrowd.spark.bags import of_table
from incrowd.spark.flock.measure import Measure
from incrowd.spark.flock.units import COLUMNS, SCHEMA, read_units
from incrowd.spark.work import Work

__all__ = ["in_one_part", "split_units"]

Batches = Iterable[pa.RecordBatch]

COUNT_BYTES = 4  # what a cut puts in front of a place
SUMS = "part string, node bigint, total bigint, squares bigint"


class Cut(NamedTuple):
    """Where a part is cut: `left` units go left, those with a smaller count than `at` and the first `some` of the `equal` with `at`."""

    left: int
    at: int
    some: int
    equal: int


def split_units(
    units: DataFrame, measure: Measure, work: Work, name: str, *, most: int, fitting: int
) -> DataFrame:
    """Return the units in parts of at most `fitting` units, each of which is some blocks of `split_blocks`, side by side.

    Parameters
    ----------
    units
        All of them in one part (:mod:`incrowd.spark.flock.units`).
    measure
        How they are compared.
    work, name
        Where what lies between two levels is written; each level replaces the last but one.
    most
        The size of a block, in units.
    fitting
        How many units a part may have: at least `most`.
    """
    large, level = _too_large({"": units.count()}, fitting), 0
    while large:
        nodes = _nodes(units, measure, large)
        counted = units.mapInArrow(partial(_counted, measure, nodes), f"{SCHEMA}, count int")
        counted = work.settle(counted, f"{name}-{level % 2}")
        cuts = {part: _cut(counts, most) for part, counts in _histograms(counted).items()}
        units = _cut_apart(counted, cuts, _borders(counted, cuts, work, f"{name}-borders"))
        sizes = {f"{part}0": cut.left for part, cut in cuts.items()}
        sizes |= {f"{part}1": large[part] - cut.left for part, cut in cuts.items()}
        large, level = _too_large(sizes, fitting), level + 1
    return units


def in_one_part(units: DataFrame) -> DataFrame:
    """Undo the splits: each has put a side behind the part's name and a count in front of the place."""
    first = COUNT_BYTES * f.length("part") + 1
    place = f.substring("place", first, f.length("place"))
    return units.withColumns({"part": f.lit(""), "place": place})


def _too_large(sizes: Mapping[str, int], fitting: int) -> dict[str, int]:
    return {part: units for part, units in sizes.items() if units > fitting}


def _nodes(units: DataFrame, measure: Measure, large: Mapping[str, int]) -> dict[str, int]:
    """Return the node at which each large part is cut."""
    chosen = (
        units.where(f.col("part").isin(list(large)))
        .mapInArrow(partial(_summed, measure), SUMS)
        .groupBy("part", "node")
        .agg(f.sum("total").alias("total"), f.sum("squares").alias("squares"))
        .groupBy("part")
        .applyInArrow(of_table(_chosen, measure, large), "part string, node bigint")
    )
    return dict.fromkeys(large, 0) | {line["part"]: line["node"] for line in chosen.collect()}


def _summed(measure: Measure, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the sums of the nodes of each part in each batch."""
    room = np.zeros((2, len(measure.sent.value.weight)), np.int64)
    weight = measure.weight
    for batch in batches:
        least = measure.least_counts(read_units(batch))
        for part, units in _parts(batch):
            sums = node_sums(least, weight, units, room)
            columns = [pa.repeat(part, len(sums.node)), *map(pa.array, sums)]
            yield pa.RecordBatch.from_arrays(columns, ["part", *NodeSums._fields])


def _chosen(measure: Measure, sizes: Mapping[str, int], table: pa.Table) -> pa.Table:
    """Return the node at which a part is cut, given the sums of all of its nodes."""
    part = table.column("part")[0].as_py()
    sums = NodeSums(*(table.column(name).to_numpy() for name in NodeSums._fields))
    return pa.table({"part": [part], "node": [most_varied(sums, measure.weight, sizes[part])]})


def _counted(measure: Measure, nodes: Mapping[str, int], batches: Batches) -> Iterator[pa.RecordBatch]:
    """Add each unit's count of the node at which its part is cut; null for a part that is not."""
    for batch in batches:
        least, count = measure.least_counts(read_units(batch)), np.full(len(batch), -1)
        for part, units in _parts(batch):
            if part in nodes:
                count[units] = node_counts(least, nodes[part], units)
        column = pa.array(count.astype(np.int32), mask=count < 0)
        yield pa.RecordBatch.from_arrays([*map(batch.column, COLUMNS), column], [*COLUMNS, "count"])


def _parts(batch: pa.RecordBatch) -> Iterator[tuple[str, Ints64]]:
    """Yield each part that a batch has units of, and which units these are."""
    parts = batch.column("part").dictionary_encode()
    number = parts.indices.to_numpy()
    for index, part in enumerate(parts.dictionary.to_pylist()):
        yield part, np.flatnonzero(number == index)


def _histograms(counted: DataFrame) -> dict[str, list[tuple[int, int]]]:
    """Return how many units have each count in each part that is cut, by count."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for line in (
        counted.where("count is not null").groupBy("part", "count").agg(f.count("*").alias("units")).collect()
    ):
        found[line["part"]].append((line["count"], line["units"]))
    return {name: sorted(counts) for name, counts in found.items()}


def _cut(counts: list[tuple[int, int]], most: int) -> Cut:
    """Return where a part is cut, given how many units have each count."""
    ends = np.cumsum([0, *(units for _, units in counts)])
    left = cut_point(ends, most)
    at = int(np.searchsorted(ends, left, side="right")) - 1
    return Cut(left, counts[at][0], left - int(ends[at]), counts[at][1])


def _borders(counted: DataFrame, cuts: Mapping[str, Cut], work: Work, name: str) -> dict[str, bytes]:
    """Return the first place that goes right, for each part where units of equal counts are separated."""
    parts = sorted(part for part, cut in cuts.items() if cut.some)
    if not parts:
        return {}
    before = np.cumsum([0, *(cuts[part].equal for part in parts)]).tolist()
    wanted = [start + cuts[part].some for start, part in zip(before, parts, strict=False)]
    lines = [(part, cuts[part].at) for part in parts]
    equal = counted.sparkSession.createDataFrame(lines, "part string, count int")
    places = counted.join(f.broadcast(equal), ["part", "count"]).select(
        f.struct("part", "place").alias("unit")
    )
    found = work.numbered(places, "unit", name, "number").where(f.col("number").isin(wanted))
    first = found.select("unit.part", f.col("unit.place").alias("border")).collect()
    return {line["part"]: bytes(line["border"]) for line in first}


def _cut_apart(counted: DataFrame, cuts: Mapping[str, Cut], borders: Mapping[str, bytes]) -> DataFrame:
    """Give each unit its new part, and its count in front of its place."""
    lines = [(name, cut.at, borders.get(name, b"")) for name, cut in cuts.items()]
    where = counted.sparkSession.createDataFrame(lines, "part string, at int, border binary")
    is_left = (f.col("count") < f.col("at")) | (
        (f.col("count") == f.col("at")) & (f.col("place") < f.col("border"))
    )
    side = f.when(f.col("count").isNull(), "").when(is_left, "0").otherwise("1")
    count = f.unhex(f.lpad(f.hex("count"), 2 * COUNT_BYTES, "0"))  # as bytes in the same order
    place = f.when(f.col("count").isNull(), f.col("place")).otherwise(f.concat(count, "place"))
    return counted.join(f.broadcast(where), "part", "left").select(
        f.concat("part", side).alias("part"), place.alias("place"), *COLUMNS[2:]
    )
