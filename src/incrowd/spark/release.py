"""A release made by a cluster: Parquet parts in the order of their content, and who has which row.

Records are compared as the local engine compares them: by the ranks of their labels, then by their counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import Broadcast, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.auditing.audit import MapParts
from incrowd.core.claims import Claim, Distinct
from incrowd.core.promises import promised
from incrowd.core.ragged import list_ids
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints32
from incrowd.kernels.arrays import tree_arrays
from incrowd.metrics import Bound, Losses, Utility, bound_of, measure_utility
from incrowd.metrics.losses import losses_from
from incrowd.metrics.use import Use, use_of_classes
from incrowd.release.describe import Counts
from incrowd.release.files.digest import Digest
from incrowd.release.files.manifest import Bin
from incrowd.release.files.nodes import PublishedNodes, published_nodes, taxonomy_table
from incrowd.release.files.parts import PART_NAME, part_files, read_part, runs_in
from incrowd.release.files.records import RECORDS_SCHEMA, Record, write_parquet
from incrowd.release.lengths import bins_of_people
from incrowd.release.publication import RecordsPublication
from incrowd.spark.audit import SparkOriginals, on_executors
from incrowd.spark.bags import rows_of
from incrowd.spark.collected import Collected, collect, weeks_here
from incrowd.spark.losses import count_lengths, sum_losses
from incrowd.spark.transactions import Gathered
from incrowd.spark.work import Work
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Labels", "SparkRelease", "count_records", "published_labels", "spell", "write_records"]

KEYS = "row bigint, ranks binary, counts binary"
WRITTEN = "row bigint, file int, position bigint"
ROWS_A_PART = 200_000
ROWS_AT_ONCE = 50_000


@dataclass(eq=False)
class SparkRelease(RecordsPublication):
    """The result of a method on a cluster, ready to be written.

    Parameters
    ----------
    method, parameters, transactions, taxonomy, claim
        See :class:`incrowd.release.publication.Publication`.
    work, gathered
        The cluster, and who has which items.
    rows, filled
        The rows in leaves of the taxonomy, and how many hold anything.
    published
        The nodes that are published of each row, with their counts.
    distinct, notes
        What k counts, and what there is to tell of the method's work.
    path, places, starts
        Where the records are written, the `file` and `position` of each row there, and how many come before each file, once they are.
    """

    method: str
    parameters: Mapping[str, Any]
    transactions: Transactions
    taxonomy: Taxonomy
    work: Work
    gathered: Gathered
    rows: DataFrame
    filled: int
    published: DataFrame
    distinct: Distinct = "records"
    notes: tuple[str, ...] = ()
    claim: Claim = field(init=False)
    path: Path = field(init=False)
    places: DataFrame = field(init=False)
    starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.claim = promised(self.settings, distinct=self.distinct)

    @cached_property
    def labels(self) -> Broadcast[Labels]:
        """What is published, node by node, where all executors have it."""
        return self.work.spark.sparkContext.broadcast(published_labels(self.published, self.taxonomy))

    @cached_property
    def spelled(self) -> DataFrame:
        """Each row's record as bytes that sort as it does."""
        return self.work.settle(spell(self.published, self.labels), "spelled")

    @property
    def named(self) -> PublishedNodes:
        """What the published nodes are called."""
        return self.labels.value.named

    @cached_property
    def published_taxonomy(self) -> pa.Table:
        """The published labels and all above them."""
        return taxonomy_table(self.named)

    @cached_property
    def counts(self) -> Counts:
        """Counts of what came in and went out. Private."""
        owned = self.spelled
        if self.gathered.has_parts:
            owned = owned.join(self.rows.select("row", "person"), "row")
        return count_records(owned, self.labels.value, self.gathered.summary["units"])

    @cached_property
    def losses(self) -> Losses:
        """What the release loses of the originals."""
        tree = self.work.spark.sparkContext.broadcast(tree_arrays(self.taxonomy))
        sums = sum_losses(self.rows, self.published, tree, self.taxonomy, self.filled)
        return losses_from(sums, self.taxonomy.leaf_count)

    @cached_property
    def _collected(self) -> Collected | None:
        return collect(self.work, self.gathered, self.taxonomy, self.transactions)

    @cached_property
    def bound(self) -> Bound | None:
        """What no method can lose less than; None also where the rows are too many for the driver."""
        here = self._collected
        return here and bound_of(here.transactions, self.taxonomy, here.classes, self.claim)

    @cached_property
    def utility(self) -> Utility | None:
        """What the release is worth to its readers; None where the rows are too many for the driver."""
        here = self._collected
        return here and measure_utility(here.transactions, self.taxonomy, here.classes)

    @cached_property
    def use(self) -> Use | None:
        """How far off counts from the release are; None where the rows are too many for the driver."""
        here = self._collected
        if here is None:
            return None
        data = replace(here.transactions, weeks=weeks_here(self.work, self.gathered))
        return use_of_classes(data, self.taxonomy, here.classes)

    @cached_property
    def lengths(self) -> list[Bin]:
        """The lengths of the originals of the published records, in bins of at least k."""
        sums = count_lengths(self.rows, has_parts=self.gathered.has_parts)
        return bins_of_people(*sums, self.claim.least)

    @cached_property
    def silent_people(self) -> int:
        """How many different people the withheld records belong to."""
        if not self.gathered.has_parts:
            return self.counts.withheld  # each is a person's, or a basket
        silent = self.gathered.units.join(self.published.select("row"), "row", "left_anti")
        return int(silent.select("person").distinct().count())

    @property
    def map_parts(self) -> MapParts:
        """Executors read the written records for the audit."""
        return on_executors(self.work)

    @property
    def originals(self) -> SparkOriginals:
        """What the audit holds the written records against."""
        return SparkOriginals(
            self.work,
            self.path,
            self.rows,
            self.taxonomy,
            self.places,
            self.named.renamed,
            self.gathered.has_parts,
        )

    def write_records(self, path: Path) -> Digest:
        """Write the records as parts of a directory and return them in sums."""
        self.path, self.places = path, write_records(self.work, self.spelled, self.labels, path)
        sizes = (pq.read_metadata(part).num_rows for part in part_files(path))
        self.starts = list(accumulate(sizes, initial=0))[:-1]
        digest = Digest()
        for part in self.map_parts(read_part, part_files(path)):
            digest.merge(part.digest)
        return digest

    def runs(self, path: Path) -> Iterator[tuple[Record, int]]:
        """Yield the distinct records that were written, in order, each with how many rows share it."""
        return runs_in(part_files(path))

    def owners(self) -> Iterator[tuple[pa.Array, pa.Array]]:
        """Yield owners and their rows, in the order of owners; the driver holds some of them at a time."""
        starts = self.work.spark.createDataFrame(list(enumerate(self.starts)), "file int, before bigint")
        rows = self.places.join(f.broadcast(starts), "file").join(self.gathered.units, "row").orderBy("row")
        owned = rows.select("owner", (f.col("before") + f.col("position")).alias("place")).toLocalIterator()
        while some := list(islice(owned, ROWS_AT_ONCE)):
            yield pa.array([row["owner"] for row in some]), pa.array([row["place"] for row in some])


class Labels(NamedTuple):
    """The published labels, sorted, which of them are words, and the published nodes, ascending, with the ranks of their labels.

    ``named`` is what the nodes and all above them are called.
    """

    names: pa.Array
    exact: Bools
    nodes: Ints32
    ranks: Ints32
    named: PublishedNodes


def published_labels(published: DataFrame, taxonomy: Taxonomy) -> Labels:
    """Return what is published, node by node."""
    found = published.select(f.explode("nodes").alias("node")).distinct().toArrow().column("node")
    nodes = np.sort(np.array(found, dtype=np.int32))
    named = published_nodes(taxonomy, nodes)
    place = named.places(nodes)
    texts, exact = named.labels.take(pa.array(place)), named.exact[place]
    order = pc.sort_indices(
        pa.table([texts, pa.array(exact)], names=["text", "exact"]),
        [("text", "ascending"), ("exact", "ascending")],
    )
    rank = np.empty(len(nodes), dtype=np.int32)
    rank[np.array(order)] = np.arange(len(nodes), dtype=np.int32)
    return Labels(texts.take(order), exact[np.array(order)], nodes, rank, named)


def spell(published: DataFrame, labels: Broadcast[Labels]) -> DataFrame:
    """Return each row's record as bytes that sort as it does: `ranks` of labels, and `counts`."""
    return published.mapInArrow(partial(_spelled, labels=labels), KEYS)


def _spelled(batches: Iterable[pa.RecordBatch], *, labels: Broadcast[Labels]) -> Iterator[pa.RecordBatch]:
    known = labels.value
    for batch in batches:
        said = rows_of(batch.column("nodes"), batch.column("counts"))
        row, rank = list_ids(said.start), known.ranks[np.searchsorted(known.nodes, said.leaf)]
        order = np.lexsort((rank, row))
        row, rank, times = row[order], rank[order], said.times[order]
        bounds = (4 * np.searchsorted(row, np.arange(len(batch) + 1))).tolist()
        columns = [_cut(values, bounds) for values in (rank, times)]
        yield pa.record_batch([batch.column("row"), *columns], ["row", "ranks", "counts"])


def _cut(values: Ints32, bounds: list[int]) -> pa.Array:
    """Return lists of numbers as bytes, the most significant first."""
    data = values.astype(">u4").tobytes()
    return pa.array([data[a:b] for a, b in pairwise(bounds)], pa.binary())


def write_records(work: Work, spelled: DataFrame, labels: Broadcast[Labels], directory: Path) -> DataFrame:
    """Write the records, the step ``spelled``, sorted as Parquet parts of a directory; return the `file` and `position` of each `row`.

    Equal records are in one part, whatever their number.
    """
    directory.mkdir()
    keys = ["ranks", "counts"]
    parts = -(-work.count("spelled") // ROWS_A_PART)
    ordered = spelled.repartitionByRange(parts, *keys).sortWithinPartitions(*keys, "row")
    written = ordered.mapInArrow(partial(_write_part, labels=labels, directory=str(directory)), WRITTEN)
    settled = work.settle(written, "written")
    for stray in directory.glob(".*"):  # of a task that was lost
        stray.unlink(missing_ok=True)
    return _numbered(work, settled, directory)


def _numbered(work: Work, written: DataFrame, directory: Path) -> DataFrame:
    """Give the parts numbers without gaps, where some got no records."""
    names = sorted(part.name for part in directory.iterdir())
    numbers = [
        (int(name.removeprefix("part-").removesuffix(".parquet")), new) for new, name in enumerate(names)
    ]
    if all(old == new for old, new in numbers):
        return written
    for name, (_, new) in zip(names, numbers, strict=True):
        (directory / name).rename(directory / PART_NAME.format(new))
    places = work.spark.createDataFrame(numbers, "file int, number int")
    joined = written.join(f.broadcast(places), "file")
    return joined.select("row", f.col("number").alias("file"), "position")


def _write_part(
    batches: Iterable[pa.RecordBatch], *, labels: Broadcast[Labels], directory: str
) -> Iterator[pa.RecordBatch]:
    """Write one part under a name of its own; it gets its place when it is whole, whichever attempt is first."""
    context = TaskContext.get()
    assert context is not None  # noqa: S101 - this runs in a task
    number = context.partitionId()
    draft = Path(directory) / f".{number}-{context.taskAttemptId()}"
    spelled = list(batches)
    write_parquet(draft, (_records(batch, labels.value) for batch in spelled), RECORDS_SCHEMA)
    with draft.open("rb") as whole:
        os.fsync(whole.fileno())
    written = sum(map(len, spelled))
    if written:
        draft.replace(Path(directory) / PART_NAME.format(number))
    else:
        draft.unlink()
    before = 0
    for batch in spelled:
        file, positions = np.full(len(batch), number, np.int32), np.arange(before, before + len(batch))
        before += len(batch)
        yield pa.record_batch([batch.column("row"), file, positions], ["row", "file", "position"])


def _records(batch: pa.RecordBatch, labels: Labels) -> pa.RecordBatch:
    """Return the records that the bytes stand for."""
    ranks, counts = (
        np.frombuffer(b"".join(batch.column(name).to_pylist()), ">u4").astype(np.int64)
        for name in ("ranks", "counts")
    )
    lengths = np.array(pc.binary_length(batch.column("ranks")), dtype=np.int64) // 4
    bounds = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    columns = (
        labels.names.take(pa.array(ranks)),
        pa.array(labels.exact[ranks], pa.bool_()),
        pa.array(counts.astype(np.int32), pa.int32()),
    )
    return pa.record_batch([pa.ListArray.from_arrays(bounds, one) for one in columns], schema=RECORDS_SCHEMA)


def count_records(spelled: DataFrame, labels: Labels, records_in: int) -> Counts:
    """Count the distinct records, and how many rows and people share each, on the cluster; without a `person` a row is one's own."""
    people = f.countDistinct("person") if "person" in spelled.columns else f.count("*")
    shared = spelled.groupBy("ranks", "counts").agg(f.count("*").alias("size"), people.alias("people"))
    found = shared.agg(f.count("*"), f.sum("size"), f.min("size"), f.min("people")).collect()[0]
    groups, records, least, fewest = (int(value or 0) for value in found)
    return Counts(
        records_in=records_in,
        records_out=records,
        withheld=records_in - records,
        groups=groups,
        k_min=least,
        people_min=fewest,
        labels=len(labels.names),
    )
