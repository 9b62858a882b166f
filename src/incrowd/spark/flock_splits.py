"""Parts of units that fit a shard: `incrowd.kernels.blocks.split_blocks` on Spark, level by level (docs/papers/flock.md).

A part that is too large is cut in two at the node whose weighted count varies most, just where the kernel would cut it, and a
part that fits is left to the kernel. So the blocks are the same whatever the shard's limit. What comes to the driver is, for
each part, a node, how many units have each count of that node, and, where equal counts are cut apart, how many places begin
with the same bytes.

A place grows with each cut: the unit's count comes in front of what was there, as the kernel's sort by count keeps the order
of equal counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from incrowd.kernels.blocks import LEAST_SHARE
from incrowd.spark.flock_measure import Measure
from incrowd.spark.flock_units import COLUMNS, SCHEMA, least_counts, read_units
from incrowd.spark.work import Work

__all__ = ["in_one_part", "split_units"]

Ints64 = npt.NDArray[np.int64]
Batches = Iterable[pa.RecordBatch]
Places = dict[str, bytes]

COUNT_BYTES = 4  # what a cut puts in front of a place
STEP = 2  # bytes of a place that are looked at together: at most 65,536 numbers for a part come to the driver


class _Sums(NamedTuple):
    """Sums of counts and of their squares, by part and node."""

    key: Ints64
    times: Ints64
    squares: Ints64


class Cut(NamedTuple):
    """Where a part is cut: `left` units go left, those with a smaller count than `at` and the `first` of those with `at`."""

    left: int
    at: int
    first: int


def split_units(
    units: DataFrame, measure: Measure, work: Work, name: str, *, most: int, fitting: int
) -> DataFrame:
    """Return the units in parts of at most `fitting` units, each of which is some blocks of `split_blocks`, side by side.

    Parameters
    ----------
    units
        All of them in one part (:mod:`incrowd.spark.flock_units`).
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
        nodes = _most_varied(units, measure, large)
        counted = units.mapInArrow(partial(_counted, measure, nodes), f"{SCHEMA}, count int")
        counted = work.settle(counted, f"{name}-{level % 2}")
        cuts = {part: _cut(counts, most) for part, counts in _histograms(counted).items()}
        units = _cut_apart(counted, cuts, _borders(counted, cuts, level * COUNT_BYTES))
        sizes = {f"{part}0": cut.left for part, cut in cuts.items()}
        sizes |= {f"{part}1": large[part] - cut.left for part, cut in cuts.items()}
        large, level = _too_large(sizes, fitting), level + 1
    return units


def in_one_part(units: DataFrame) -> DataFrame:
    """Undo the splits: each has put a turn behind the part's name and a count in front of the place."""
    first = COUNT_BYTES * f.length("part") + 1
    place = f.substring("place", first, f.length("place"))
    return units.withColumns({"part": f.lit(""), "place": place})


def _too_large(sizes: Mapping[str, int], fitting: int) -> dict[str, int]:
    return {part: units for part, units in sizes.items() if units > fitting}


def _most_varied(units: DataFrame, measure: Measure, large: Mapping[str, int]) -> dict[str, int]:
    """Return the node of each large part whose weighted count varies most, the first among equals; 0 if none varies."""
    best = (
        units.where(f.col("part").isin(list(large)))
        .mapInArrow(
            partial(_summed, measure, list(large)), "part string, node int, sum bigint, squares bigint"
        )
        .groupBy("part", "node")
        .agg(f.sum("sum").alias("sum"), f.sum("squares").alias("squares"))
        .mapInArrow(partial(_variances, measure, large), "part string, node int, varies double")
    )
    most = dict.fromkeys(large, (0.0, 0))
    for line in best.collect():
        most[line["part"]] = max(most[line["part"]], (line["varies"], -line["node"]))
    return {part: -minus for part, (_, minus) in most.items()}


def _summed(measure: Measure, parts: Sequence[str], batches: Batches) -> Iterator[pa.RecordBatch]:
    """Sum up the counts of each part's nodes and their squares."""
    tree, weight, names = measure.ground().tree, measure.weight, pa.array(parts)
    none = np.empty(0, np.int64)
    sums = _Sums(none, none, none)
    for batch in batches:
        _, least = least_counts(read_units(batch), tree)
        part: Ints64 = pc.index_in(batch.column("part"), names).to_numpy().astype(np.int64)
        key = np.repeat(part, np.diff(least.start)) * len(weight) + least.node
        weighs = weight[least.node] > 0
        times = least.times[weighs].astype(np.int64)
        sums = _added(sums, _Sums(key[weighs], times, times * times))
    yield pa.RecordBatch.from_pydict(
        {
            "part": names.take(pa.array(sums.key // len(weight))),
            "node": pa.array((sums.key % len(weight)).astype(np.int32)),
            "sum": pa.array(sums.times),
            "squares": pa.array(sums.squares),
        }
    )


def _added(one: _Sums, other: _Sums) -> _Sums:
    """Add up what has the same key. Sums of whole numbers below 2^53 are exact, here as in the kernel."""
    key, which = np.unique(np.concatenate((one.key, other.key)), return_inverse=True)
    both = ((one.times, other.times), (one.squares, other.squares))
    totals = (np.bincount(which, np.concatenate(pair), len(key)).astype(np.int64) for pair in both)
    return _Sums(key, *totals)


def _variances(measure: Measure, sizes: Mapping[str, int], batches: Batches) -> Iterator[pa.RecordBatch]:
    """Work out which node's weighted count varies most in each part, with the kernel's very operations on the same numbers."""
    weight = measure.weight
    for batch in batches:
        part, names = _of_parts(batch)
        size = np.array([sizes[name] for name in names], np.int64)[part]
        node, total, squares = (batch.column(name).to_numpy() for name in ("node", "sum", "squares"))
        total, squares = total.astype(np.float64), squares.astype(np.float64)
        varies = (squares - total * total / size) * (weight[node] * weight[node])
        order = np.lexsort((node, -varies, part))
        best = order[np.flatnonzero(np.diff(part[order], prepend=-1))]
        yield pa.RecordBatch.from_pydict(
            {"part": batch.column("part").take(pa.array(best)), "node": node[best], "varies": varies[best]}
        )


def _counted(measure: Measure, nodes: Mapping[str, int], batches: Batches) -> Iterator[pa.RecordBatch]:
    """Look up each unit's count of the node at which its part is cut; none for a part that is not."""
    tree = measure.ground().tree
    for batch in batches:
        units = read_units(batch)
        part, names = _of_parts(batch)
        node = np.array([nodes.get(name, -1) for name in names], np.int64)[part]
        of_entry = np.repeat(np.repeat(node, np.diff(units.start)), np.diff(units.rows.start))
        below = (tree.first_leaf[of_entry] <= units.rows.leaf) & (units.rows.leaf < tree.last_leaf[of_entry])
        so_far = np.concatenate(([0], np.cumsum(units.rows.times * below, dtype=np.int64)))
        least = (
            np.minimum.reduceat(np.diff(so_far[units.rows.start]), units.start[:-1]) if len(units) else node
        )
        count = pa.array(least.astype(np.int32), mask=node < 0)
        yield pa.RecordBatch.from_arrays([*map(batch.column, COLUMNS), count], [*COLUMNS, "count"])


def _of_parts(batch: pa.RecordBatch) -> tuple[Ints64, list[str]]:
    """Return a number for the part of each unit of a batch, and the parts' names by that number."""
    parts = batch.column("part").dictionary_encode()
    return parts.indices.to_numpy().astype(np.int64), parts.dictionary.to_pylist()


def _histograms(counted: DataFrame) -> dict[str, list[tuple[int, int]]]:
    """Return how many units have each count in each part that is cut, by count."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for line in (
        counted.where("count is not null").groupBy("part", "count").agg(f.count("*").alias("units")).collect()
    ):
        found[line["part"]].append((line["count"], line["units"]))
    return {name: sorted(counts) for name, counts in found.items()}


def _aim(size: int, most: int) -> int:
    """Return where the kernel means to cut a part."""
    parts = -(-size // most)
    return size * (parts // 2) // parts


def _cut(counts: list[tuple[int, int]], most: int) -> Cut:
    """Return where the kernel cuts a part, near the aim and between different counts if it can."""
    ends = [0, *accumulate(units for _, units in counts)]
    aim = _aim(ends[-1], most)
    above = min(end for end in ends if end >= aim)
    below = max(end for end in ends if end <= aim)
    is_above = below == 0 or (above < ends[-1] and above - aim <= aim - below)
    near = above if is_above else below
    left = near if min(near, ends[-1] - near) * LEAST_SHARE >= ends[-1] else aim
    at = bisect_right(ends, left) - 1
    return Cut(left, counts[at][0], left - ends[at])


def _borders(counted: DataFrame, cuts: Mapping[str, Cut], known: int) -> Places:
    """Return the place at which equal counts are cut apart, for each part where they are.

    All places of a part are different. Their first bytes are looked at, then the next bytes of those that begin as the
    border does, until it lies between two beginnings. The first `known` bytes are counts, of which there are few.
    """
    wanted = {part: (b"", cut.first) for part, cut in cuts.items() if cut.first}
    borders, length = {}, 0
    while wanted:
        width = COUNT_BYTES if length < known else STEP
        asked = [(part, cuts[part].at, beginning) for part, (beginning, _) in wanted.items()]
        for part, following in _beginnings(counted, asked, length, width).items():
            beginning, first = wanted.pop(part)
            ends = [0, *accumulate(units for _, units in following)]
            at = bisect_right(ends, first) - 1
            beginning += following[at][0]
            if first == ends[at]:
                borders[part] = beginning
            else:
                wanted[part] = (beginning, first - ends[at])
        length += width
    return borders


def _beginnings(
    counted: DataFrame, wanted: list[tuple[str, int, bytes]], length: int, width: int
) -> dict[str, list[tuple[bytes, int]]]:
    """Return how many of the wanted places have each of their next bytes, in order."""
    asked = counted.sparkSession.createDataFrame(wanted, "part string, count int, beginning binary")
    lines = (
        counted.join(f.broadcast(asked), ["part", "count"])
        .where(f.substring("place", 1, length) == f.col("beginning"))
        .groupBy("part", f.substring("place", length + 1, width).alias("following"))
        .agg(f.count("*").alias("units"))
        .collect()
    )
    found: dict[str, list[tuple[bytes, int]]] = defaultdict(list)
    for line in lines:
        found[line["part"]].append((bytes(line["following"]), line["units"]))
    return {name: sorted(following) for name, following in found.items()}


def _cut_apart(counted: DataFrame, cuts: Mapping[str, Cut], borders: Places) -> DataFrame:
    """Give each unit its new part, and its count in front of its place."""
    lines = [(name, cut.at, borders.get(name, b"")) for name, cut in cuts.items()]
    asked = counted.sparkSession.createDataFrame(lines, "part string, at int, border binary")
    is_left = (f.col("count") < f.col("at")) | (
        (f.col("count") == f.col("at")) & (f.col("place") < f.col("border"))
    )
    turn = f.when(f.col("count").isNull(), "").when(is_left, "0").otherwise("1")
    return counted.join(f.broadcast(asked), "part", "left").select(
        f.concat("part", turn).alias("part"),
        f.when(f.col("count").isNull(), f.col("place"))
        .otherwise(f.concat(_as_bytes("count"), "place"))
        .alias("place"),
        *COLUMNS[2:],
    )


def _as_bytes(number: str) -> Column:
    """Return a column of numbers as bytes in the same order."""
    return f.unhex(f.lpad(f.hex(number), 2 * COUNT_BYTES, "0"))
