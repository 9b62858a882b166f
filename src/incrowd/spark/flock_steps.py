"""What an executor does with a shard of flock's units: the local method's steps, block by block (docs/papers/flock.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incrowd.kernels.blocks import Blocks, split_blocks
from incrowd.kernels.flock import NONE
from incrowd.kernels.lcg import ancestor_rows, common_generalization
from incrowd.methods.flock import grown_block, improve_some
from incrowd.spark.flock_measure import Measure
from incrowd.spark.flock_units import Units, as_list, in_order, least_counts, read_units, written

__all__ = ["GROWN", "Limits", "grow_shard", "improve_shard", "on_shards", "publish"]

Ints64 = npt.NDArray[np.int64]

# How the places of groups begin that have grown in a block; those of equal rows come before them.
GROWN = b"\x01"
NUMBER_BYTES = 4


class Limits(NamedTuple):
    """Sizes: of a group at least, of a block in rows, of a neighbourhood in groups, and of a shard in rows."""

    k: int
    block: int
    neighbours: int
    shard: int


def on_shards(
    step: Callable[[Measure, Limits, pa.Table], pa.Table], measure: Measure, limits: Limits
) -> Callable[[pa.Table], pa.Table]:
    """Return a step as a function of a part's table alone, with its types, which is what Spark takes."""

    def taken(table: pa.Table) -> pa.Table:
        return step(measure, limits, table)

    return taken


def grow_shard(measure: Measure, limits: Limits, table: pa.Table) -> pa.Table:
    """Group the rows of a part, block by block, in the order of the blocks."""
    table, ground = in_order(table), measure.ground()
    units = _fitting(table, limits.shard)
    bags, weight = ancestor_rows(units.rows, ground.tree), measure.weight
    room = np.full(len(weight), NONE, np.int32)
    blocks = split_blocks(bags, weight, np.arange(len(units)), limits.block)
    members = np.concatenate(
        [grown_block(bags, ground.weight, block, k=limits.k, room=room) for block in _each(blocks)]
    )
    places = _numbered(table.column("part")[0].as_py(), len(members))
    return pa.table({"part": pa.repeat("", len(members)), "place": places, **_as_units(units, members)})


def improve_shard(measure: Measure, limits: Limits, table: pa.Table) -> pa.Table:
    """Let the rows of a part's groups change places once, in each neighbourhood; tell beside each group what all gained."""
    table, ground = in_order(table), measure.ground()
    units = _fitting(table, limits.shard)
    (bags, least), weight = least_counts(units, ground.tree), measure.weight
    room = np.full(len(weight), NONE, np.int32)
    members, size = np.full((len(units), 2 * limits.k - 1), NONE, np.int64), np.diff(units.start)
    members[np.arange(members.shape[1]) < size[:, None]] = np.arange(len(units.row))
    neighbours = split_blocks(least, weight, np.arange(len(units)), limits.neighbours)
    gain = sum(
        improve_some(bags, ground.weight, members, some, k=limits.k, room=room) for some in _each(neighbours)
    )
    columns = {"part": table.column("part"), "place": table.column("place"), **_as_units(units, members)}
    return pa.table({**columns, "gain": pa.repeat(pa.scalar(gain, pa.int64()), len(units))})


def publish(measure: Measure, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give every row what its group has in common."""
    tree = measure.ground().tree
    for batch in batches:
        units = read_units(batch)
        bags = ancestor_rows(units.rows, tree)
        shown = common_generalization(bags, tree, units.start, np.arange(len(units.row)))
        of_row = pa.array(np.repeat(np.arange(len(units)), np.diff(units.start)))
        yield pa.RecordBatch.from_pydict(
            {
                "row": pa.array(units.row),
                "nodes": as_list(shown.start, shown.nodes).take(of_row),
                "counts": as_list(shown.start, shown.counts).take(of_row),
            }
        )


def _fitting(table: pa.Table, shard: int) -> Units:
    """Read the units of a part, which has no more rows than a shard may have."""
    units = read_units(table)
    if len(units.row) > shard:
        raise RuntimeError(f"a shard has {len(units.row):,} rows, more than {shard:,}")
    return units


def _as_units(units: Units, members: Ints64) -> dict[str, pa.Array]:
    """Return groups, a group a line, as units of the rows that are in them."""
    is_member = members != NONE
    start = np.concatenate(([0], np.cumsum(is_member.sum(axis=1))))
    return written(units, start, members[is_member])


def _numbered(part: str, groups: int) -> pa.Array:
    """Return places for the groups of a part, which are in the order of the parts' names and of the groups."""
    beginning = GROWN + part.encode()
    return pa.array(
        [beginning + number.to_bytes(NUMBER_BYTES, "big") for number in range(groups)], pa.binary()
    )


def _each(blocks: Blocks) -> Iterator[Ints64]:
    for number in range(len(blocks.start) - 1):
        yield blocks.rows[blocks.start[number] : blocks.start[number + 1]]
