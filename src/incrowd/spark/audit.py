"""The audit of a release that a cluster wrote: a job of its own code, on the written files.

Each file is read in plain Python by one task; equal records are counted across files by Spark. It knows no method and
no kernel, and what comes to the driver is counts, and the first and last record of each file, which are published.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.claims import LEAST_K
from incrowd.errors import ClaimError
from incrowd.manifest import Manifest, read_manifest
from incrowd.relations import Bag, Generalizing
from incrowd.spark.work import Work, address
from incrowd.taxonomy.tree import Taxonomy
from incrowd.verdict import Audit

__all__ = ["Owned", "audit_on_spark"]

Record = tuple[tuple[str, ...], tuple[int, ...]]
ROWS_A_BATCH = 16_384
RUNS = "file string, items array<string>, counts array<int>, size bigint, problem string"
_RUNS = pa.schema(
    [
        ("file", pa.string()),
        ("items", pa.list_(pa.string())),
        ("counts", pa.list_(pa.int32())),
        ("size", pa.int64()),
        ("problem", pa.string()),
    ]
)


@dataclass(frozen=True, eq=False)
class Owned:
    """What the release was made from: `rows` in leaves of a `taxonomy`, and the `file` and `position` of each `row`."""

    rows: DataFrame
    taxonomy: Taxonomy
    written: DataFrame


def audit_on_spark(work: Work, directory: Path, owned: Owned) -> Audit:
    """Recount the release in a directory and hold every record against its owner's original.

    Raises
    ------
    ClaimError
        It does not hold, or cannot be read.
    """
    manifest = read_manifest(directory)
    result = Audit(manifest.claim.claim)
    labels = _check_taxonomy(directory, result)
    files = sorted((directory / "records.parquet").iterdir())
    known = work.spark.sparkContext.broadcast(frozenset(labels))
    runs = work.settle(_runs(work, files, known), "audit")
    _check_records(runs, result)
    _check_order(files, result)
    _recount(runs, result)
    _check_manifest(manifest, result)
    _check_owners(work, directory, owned, labels, result)
    if not result.holds:
        raise ClaimError(
            f"the audit does not confirm the release, so nothing was published: {result.problems[0]}"
        )
    return result


def _check_taxonomy(directory: Path, result: Audit) -> Mapping[str, str | None]:
    """Check that the published taxonomy is one tree: each label has one parent that is listed, on a lower level."""
    table = pq.read_table(directory / "taxonomy.parquet").to_pydict()
    parent = dict(zip(table["label"], table["parent"], strict=True))
    level = dict(zip(table["label"], table["level"], strict=True))
    with result.checking(f"the published taxonomy is one tree of {len(parent):,} labels"):
        if len(parent) != len(table["label"]):
            result.blame("taxonomy.parquet names a label twice")
        if list(parent.values()).count(None) != 1:
            result.blame("taxonomy.parquet has not exactly one root")
        if any(
            above is not None and level.get(above, level[one]) >= level[one] for one, above in parent.items()
        ):
            result.blame("taxonomy.parquet has a label whose parent is not listed above it")
    return parent


def _runs(work: Work, files: Sequence[Path], known: Broadcast[frozenset[str]]) -> DataFrame:
    """Return, for each file, its records with how many equal ones stand together, and what is wrong with them."""
    names = work.spark.createDataFrame([(str(file),) for file in files], "file string")
    apart = names.repartition(len(files), "file")
    return apart.mapInArrow(partial(_read_files, known=known), RUNS)


def _read_files(
    batches: Iterable[pa.RecordBatch], *, known: Broadcast[frozenset[str]]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for file in batch.column("file").to_pylist():
            found: list[dict[str, Any]] = []
            last: Record | None = None
            for record, equal in groupby(_records(Path(file))):
                problem = _problem(record, known.value)
                if last is not None and record < last:
                    problem = "records are out of order: their place could tell where they came from"
                last = record
                size = sum(1 for _ in equal)
                found.append(
                    {"file": file, "items": record[0], "counts": record[1], "size": size, "problem": problem}
                )
                if len(found) == ROWS_A_BATCH:
                    yield pa.RecordBatch.from_pylist(found, _RUNS)
                    found = []
            yield pa.RecordBatch.from_pylist(found, _RUNS)


def _records(file: Path) -> Iterator[Record]:
    """Yield the rows of a written file."""
    with pq.ParquetFile(file) as parquet:
        for batch in parquet.iter_batches(ROWS_A_BATCH, columns=["items", "counts"]):
            columns = batch.to_pydict()
            yield from (
                (tuple(items), tuple(counts))
                for items, counts in zip(columns["items"], columns["counts"], strict=True)
            )


def _problem(record: Record, known: frozenset[str]) -> str | None:
    """Say what is wrong with a record, without its content."""
    items, counts = record
    if len(items) != len(counts) or any(count is None or count < 1 for count in counts):
        return "a record has an item without a count of at least 1"
    if not known >= set(items):
        return "a record has an item that taxonomy.parquet does not list"
    if any(first >= second for first, second in pairwise(items)):
        return "a record has items out of order or twice"
    return None


def _check_records(runs: DataFrame, result: Audit) -> None:
    """Take over what the tasks found wrong."""
    with result.checking("the records are well-formed and sorted by content in each file"):
        wrong = runs.where(f.col("problem").isNotNull()).groupBy("problem").count()
        for row in wrong.orderBy("problem").collect():
            result.blame(f"{row['problem']} ({row['count']:,} times)")


def _check_order(files: Sequence[Path], result: Audit) -> None:
    """Check what the files are, and that each begins where the one before ends or behind it."""
    with result.checking(f"the {len(files):,} files of records follow one another"):
        last: Record | None = None
        for file in files:
            with pq.ParquetFile(file) as parquet:
                if parquet.schema_arrow.names != ["items", "counts"] or parquet.schema_arrow.metadata:
                    result.blame(
                        f"{file.name} has other columns than items and counts, or notes in its schema"
                    )
                groups = parquet.num_row_groups
                first = next(parquet.iter_batches(1, row_groups=[0]))
                end = parquet.read_row_group(groups - 1).slice(
                    parquet.metadata.row_group(groups - 1).num_rows - 1
                )
            if last is not None and _only(first) < last:
                result.blame(f"{file.name} begins before the file before it ends")
            last = _only(end)


def _only(rows: pa.RecordBatch | pa.Table) -> Record:
    """Return a record that stands alone."""
    one = rows.to_pylist()[0]
    return tuple(one["items"]), tuple(one["counts"])


def _recount(runs: DataFrame, result: Audit) -> None:
    """Count equal records across all files and hold the claim against the smallest number."""
    k = result.claim.k
    shared = runs.groupBy("items", "counts").agg(f.sum("size").alias("size"))
    rare = f.count(f.when(f.col("size") < k, 1))
    found = shared.agg(f.sum("size"), f.count("*"), f.min("size"), rare).collect()[0]
    result.records, result.classes, result.k_min, few = (int(value or 0) for value in found)
    result.people_min = result.k_min  # a record is one user's, or its own
    counted = (
        f"{result.records:,} records, {result.classes:,} distinct, each shared by at least {result.k_min:,}"
    )
    with result.checking(counted):
        if k < LEAST_K:
            result.blame(f"the claim's k is below {LEAST_K}: it promises nothing")
        if few:
            result.blame(
                f"{few:,} distinct records are shared by fewer than {k} (the least by {result.k_min})"
            )


def _check_manifest(manifest: Manifest, result: Audit) -> None:
    """Compare what the manifest says with what was counted."""
    said = manifest.counts
    counted = {"records_out": result.records, "groups": result.classes, "k_min": result.k_min}
    with result.checking("the manifest's counts and words agree with the recount"):
        for name, number in counted.items():
            if getattr(said, name) != number:
                result.blame(f"the manifest's {name} is not what was counted ({number:,})")
        if said.records_in != result.records + said.withheld:
            result.blame("the manifest's records_in is not records_out + withheld")
        if manifest.claim.in_words != result.claim.in_words:
            result.blame("the manifest's words are not those of its claim")


def _check_owners(
    work: Work, directory: Path, owned: Owned, labels: Mapping[str, str | None], result: Audit
) -> None:
    """Check that every row belongs to exactly one owner and generalizes what the owner has."""
    tree = owned.taxonomy
    names = pa.array(labels, pa.string())
    nodes = pc.index_in(names, value_set=tree.labels)  # of two that share a label, the one above
    if nodes.null_count:
        result.blame("a published label is not in the originals' taxonomy")
        return
    known = dict(zip(names.to_pylist(), nodes.to_pylist(), strict=True))
    shape = (_without_labels(tree), tree.leaf_nodes, known)
    records = work.spark.read.parquet(address(directory / "records.parquet")).select(
        f.regexp_extract("_metadata.file_name", r"part-(\d+)", 1).cast("int").alias("file"),
        f.col("_metadata.row_index").alias("position"),
        "items",
        "counts",
    )
    pairs = records.join(owned.written, ["file", "position"]).join(owned.rows, "row")
    check = partial(_held_against, shape=work.spark.sparkContext.broadcast(shape))
    found = pairs.mapInArrow(check, "row bigint, wrong boolean")
    sums = found.agg(f.count("*"), f.countDistinct("row"), f.count(f.when(f.col("wrong"), 1))).collect()[0]
    pairs_found, owners, wrong = (int(value) for value in sums)
    with result.checking(f"{owners:,} published records generalize their owners' originals"):
        if not pairs_found == owners == result.records:
            result.blame("not every published row has exactly one owner")
        if wrong:
            result.blame(f"{wrong:,} rows do not generalize their owners' records")


def _without_labels(tree: Taxonomy) -> Taxonomy:
    """Return the bare shape of a tree: names need not travel."""
    return Taxonomy(tree.parent, tree.end, pa.array([], pa.string()), tree.name)


def _held_against(
    batches: Iterable[pa.RecordBatch],
    *,
    shape: Broadcast[tuple[Taxonomy, npt.NDArray[np.int32], dict[str, int]]],
) -> Iterator[pa.RecordBatch]:
    """Yield for each row whether it says something that its owner does not have."""
    tree, leaf_nodes, node_of = shape.value
    relation = Generalizing(tree, node_of.values())
    for batch in batches:
        columns = batch.to_pydict()
        wrong = []
        for items, counts, leaves, times in zip(
            columns["items"], columns["counts"], columns["leaf"], columns["times"], strict=True
        ):
            bag = _bag_of(items, counts, node_of)
            owner = list(zip(leaf_nodes[leaves].tolist(), times, strict=True))
            wrong.append(bag is None or not relation.holds(relation.wanted(bag), owner))
        yield pa.record_batch([batch.column("row"), pa.array(wrong, pa.bool_())], ["row", "wrong"])


def _bag_of(items: list[str], counts: list[int], node_of: Mapping[str, int]) -> Bag | None:
    """Return a record as a bag of nodes; None if it is no bag of known labels."""
    if len(items) != len(counts) or not node_of.keys() >= set(items):
        return None
    bag = Bag()
    for label, count in zip(items, counts, strict=True):
        bag[node_of[label]] += count
    return bag
