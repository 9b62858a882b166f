"""The audit of a release that a cluster wrote: the checks of :mod:`incrowd.auditor`, with the work spread over executors.

Each file of records is read in plain Python by one task, and each record is held against its owner's where both lie. What
comes to the driver is sums, and some records, which are published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.auditor import Figured, Reading, check_counts, check_figures, read_release
from incrowd.errors import ClaimError
from incrowd.originals import Finder, is_their_tree, nodes_of_labels
from incrowd.parts import Part
from incrowd.record_table import Label
from incrowd.relations import Bag, Generalizing
from incrowd.spark.work import Work, address
from incrowd.taxonomy.tree import Taxonomy
from incrowd.verdict import Audit

__all__ = ["Owned", "audit_on_spark", "on_executors"]


@dataclass(frozen=True, eq=False)
class Owned:
    """What the release was made from: `rows` in leaves of a `taxonomy`, and the `file` and `position` of each `row`.

    `renamed` is what made nodes are called in the taxonomy.
    """

    rows: DataFrame
    taxonomy: Taxonomy
    written: DataFrame
    renamed: Mapping[str, str] = field(default_factory=dict)


def on_executors(work: Work) -> Callable[[Callable[[Path], Part], Sequence[Path]], list[Part]]:
    """Return a map over files that reads each on an executor."""

    def read(one: Callable[[Path], Part], files: Sequence[Path]) -> list[Part]:
        names = [str(file) for file in files]
        apart = work.spark.sparkContext.parallelize(names, max(len(names), 1))
        return apart.map(lambda name: one(Path(name))).collect()

    return read


def audit_on_spark(work: Work, directory: Path, owned: Owned, figured: Figured) -> Audit:
    """Recount the release in a directory and hold every record against its owner's original.

    Raises
    ------
    ClaimError
        It does not hold, or cannot be read.
    """
    reading, result = read_release(directory, map_parts=on_executors(work))
    if reading is not None:
        result.people_min = result.k_min  # a record is one user's, or its own
        _check_owners(work, directory, owned, reading, result)
        check_figures(reading, figured, result)
        check_counts(reading, result)
    if result.problems:
        raise ClaimError(
            f"the audit does not confirm the release, so nothing was published: {result.problems[0]}"
        )
    return result


def _check_owners(work: Work, directory: Path, owned: Owned, reading: Reading, result: Audit) -> None:
    """Check that every row belongs to exactly one owner and generalizes what the owner has."""
    tree = owned.taxonomy
    find = Finder(tree, owned.renamed, reading.written.texts)
    known = nodes_of_labels(find, reading.written)
    if known is None or not is_their_tree(reading.written, find, known):
        result.add_problem(
            "the published labels are not the part of the originals' taxonomy that the records need"
        )
        return
    shape = (_without_labels(tree), tree.leaf_nodes, known)
    records = work.spark.read.parquet(address(directory / "records.parquet")).select(
        f.regexp_extract("_metadata.file_name", r"part-(\d+)", 1).cast("int").alias("file"),
        f.col("_metadata.row_index").alias("position"),
        "items",
        "exact",
        "counts",
    )
    pairs = records.join(owned.written, ["file", "position"]).join(owned.rows, "row")
    check = partial(_held_against, shape=work.spark.sparkContext.broadcast(shape))
    found = pairs.mapInArrow(check, "row bigint, wrong boolean")
    sums = found.agg(f.count("*"), f.countDistinct("row"), f.count(f.when(f.col("wrong"), 1))).collect()[0]
    pairs_found, owners, wrong = (int(value) for value in sums)
    with result.checking(f"{owners:,} published records generalize their owners' originals"):
        result.require(
            wrong=not pairs_found == owners == result.records,
            problem="not every published row has exactly one owner",
        )
        result.require(wrong=bool(wrong), problem=f"{wrong:,} rows do not generalize their owners' records")


def _without_labels(tree: Taxonomy) -> Taxonomy:
    """Return the bare shape of a tree: names need not travel."""
    return Taxonomy(tree.parent, tree.end, pa.array([], pa.string()), tree.name)


def _held_against(
    batches: Iterable[pa.RecordBatch],
    *,
    shape: Broadcast[tuple[Taxonomy, npt.NDArray[np.int32], dict[Label, int]]],
) -> Iterator[pa.RecordBatch]:
    """Yield for each row whether it says something that its owner does not have."""
    tree, leaf_nodes, node_of = shape.value
    relation = Generalizing(tree, node_of.values())
    for batch in batches:
        columns = batch.to_pydict()
        wrong = []
        names = ("items", "exact", "counts", "leaf", "times")
        for items, exact, counts, leaves, times in zip(*(columns[name] for name in names), strict=True):
            bag = Bag()
            for label, count in zip(zip(items, exact, strict=True), counts, strict=True):
                bag[node_of[label]] += count
            owner = list(zip(leaf_nodes[leaves].tolist(), times, strict=True))
            wrong.append(not relation.holds(relation.wanted(bag), owner))
        yield pa.record_batch([batch.column("row"), pa.array(wrong, pa.bool_())], ["row", "wrong"])
