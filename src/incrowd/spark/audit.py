"""What the audit of a release needs of a cluster that wrote it: parts that are read, and rows that are held against originals.

The checks are those of :mod:`incrowd.auditing`. Each file of records is read in plain Python by one task, and each record
is held against its owner's where both lie. What comes to the driver is sums, and some records, which are published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.auditing.audit import MapParts
from incrowd.auditing.labels import Finder, Written
from incrowd.auditing.owners import bag_of, require_people
from incrowd.auditing.relations import Relation
from incrowd.auditing.result import Audit
from incrowd.core.types import Ints32
from incrowd.release.files.parts import Part
from incrowd.release.files.records import Label
from incrowd.spark.work import Work, address
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["SparkOriginals", "on_executors"]


def on_executors(work: Work) -> MapParts:
    """Return a map over files that reads each on an executor."""

    def read(one: Callable[[Path], Part], files: Sequence[Path]) -> list[Part]:
        names = [str(file) for file in files]
        apart = work.spark.sparkContext.parallelize(names, max(len(names), 1))
        return apart.map(lambda name: one(Path(name))).collect()

    return read


@dataclass(frozen=True, eq=False)
class SparkOriginals:
    """What a release was made from, on a cluster.

    Parameters
    ----------
    work, path
        The cluster, and the written records.
    rows, taxonomy
        The originals in leaves of a taxonomy, with the number of each `row`, and of the `person` behind it.
    places
        The `file` and `position` of each `row`.
    renamed
        What made nodes are called in the taxonomy.
    has_parts
        Whether one person may have several rows.
    """

    work: Work
    path: Path
    rows: DataFrame
    taxonomy: Taxonomy
    places: DataFrame
    renamed: Mapping[str, str] = field(default_factory=dict)
    has_parts: bool = False

    @cached_property
    def records(self) -> DataFrame:
        """The written records, with the number of the `row` that each is of."""
        written = self.work.spark.read.parquet(address(self.path)).select(
            f.regexp_extract("_metadata.file_name", r"part-(\d+)", 1).cast("int").alias("file"),
            f.col("_metadata.row_index").alias("position"),
            "items",
            "exact",
            "counts",
        )
        return written.join(self.places, ["file", "position"])

    def check_people(self, written: Written, result: Audit) -> bool:  # noqa: ARG002
        """Count the people behind equal records. Owners are looked for with their originals."""
        if not self.has_parts:
            result.people_min = result.k_min  # a row is a person's own
            return True
        owned = self.records.join(self.rows.select("row", "person"), "row")
        shared = owned.groupBy("items", "exact", "counts").agg(f.countDistinct("person").alias("people"))
        is_rare = f.col("people") < result.claim.least
        found = shared.agg(f.min("people"), f.count(f.when(is_rare, 1)), f.count("*")).collect()[0]
        least, rare, classes = (int(value or 0) for value in found)
        result.require(
            wrong=classes != result.classes, problem="not every published row has exactly one owner"
        )
        require_people(least, rare, result)
        return True

    def check_texts(
        self,
        written: Written,
        find: Finder,  # noqa: ARG002
        node_of: Mapping[Label, int],  # noqa: ARG002
        result: Audit,
    ) -> None:
        """Return nothing to count: no method that runs on a cluster publishes queries or bags."""
        if result.claim.typed_by is not None or written.texts != "none":
            result.unproven.append("how many people have the published texts: a cluster does not count them")

    def check_rows(
        self,
        written: Written,  # noqa: ARG002
        node_of: Mapping[Label, int],
        relation: Relation,
        result: Audit,
        progress: Callable[[int, int], None],  # noqa: ARG002
    ) -> None:
        """Check that every row has exactly one owner and is true of what the owner has."""
        pairs = self.records.join(self.rows, "row")
        sent = self.work.spark.sparkContext.broadcast((relation, self.taxonomy.leaf_nodes, dict(node_of)))
        found = pairs.mapInArrow(partial(_held_against, sent=sent), "row bigint, wrong boolean")
        sums = found.agg(f.count("*"), f.countDistinct("row"), f.count(f.when(f.col("wrong"), 1)))
        pairs_found, owners, wrong = (int(value) for value in sums.collect()[0])
        result.require(
            wrong=not pairs_found == owners == result.records,
            problem="not every published row has exactly one owner",
        )
        result.require(
            wrong=bool(wrong), problem=f"{wrong:,} rows do not {relation.verb} their owners' records"
        )


def _held_against(
    batches: Iterable[pa.RecordBatch], *, sent: Broadcast[tuple[Relation, Ints32, dict[Label, int]]]
) -> Iterator[pa.RecordBatch]:
    """Yield for each row whether it says something that its owner does not have."""
    relation, leaf_nodes, node_of = sent.value
    for batch in batches:
        columns = batch.to_pydict()
        wrong = []
        names = ("items", "exact", "counts", "leaf", "times")
        for items, exact, counts, leaves, times in zip(*(columns[name] for name in names), strict=True):
            bag = bag_of((tuple(zip(items, exact, strict=True)), tuple(counts)), node_of)
            owner = list(zip(leaf_nodes[leaves].tolist(), times, strict=True))
            wrong.append(not relation.holds(relation.wanted(bag), owner))
        yield pa.record_batch([batch.column("row"), pa.array(wrong, pa.bool_())], ["row", "wrong"])
