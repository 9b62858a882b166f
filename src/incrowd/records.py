"""The records as they are published: sorted by content, without owners or input order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.lists import gathered, list_of
from incrowd.methods.classes import WITHHELD, Classes
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["RECORDS_SCHEMA", "Records", "published_labels", "records_of"]

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]
RECORDS_SCHEMA = pa.schema([("items", pa.list_(pa.string())), ("counts", pa.list_(pa.int32()))])
ROWS_A_BATCH = 65_536


@dataclass(frozen=True, eq=False)
class Records:
    """Distinct published records, in order, each with the number of rows that share it.

    Parameters
    ----------
    labels
        The published labels, sorted by code point.
    start, rank, counts
        Record r says ``labels[rank[start[r]:start[r + 1]]]``, ascending, with their `counts`.
    sizes
        How many rows share each record.
    row_of
        Where each transaction went: its row in the table; WITHHELD if it is not published. Private.
    """

    labels: pa.Array
    start: Ints64
    rank: Ints32
    counts: Ints32
    sizes: Ints64
    row_of: Ints64

    def __len__(self) -> int:
        """Return the number of distinct records."""
        return len(self.sizes)

    @property
    def rows(self) -> int:
        """Rows in the table."""
        return int(self.sizes.sum())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the table, every record as often as it is shared, a bounded number of rows at a time."""
        record = np.repeat(np.arange(len(self)), self.sizes)
        for first in range(0, len(record), ROWS_A_BATCH):
            yield self.expand(record[first : first + ROWS_A_BATCH])

    def expand(self, record: Ints64) -> pa.RecordBatch:
        """Return some distinct records as a batch of rows."""
        offsets, take = gathered(self.start, record)
        bounds = pa.array(offsets, pa.int32())
        items = pa.ListArray.from_arrays(bounds, self.labels.take(pa.array(self.rank[take])))
        counts = pa.ListArray.from_arrays(bounds, pa.array(self.counts[take], pa.int32()))
        return pa.record_batch([items, counts], schema=RECORDS_SCHEMA)


def records_of(classes: Classes, taxonomy: Taxonomy) -> Records:
    """Spell out the classes' nodes as labels, merge classes that say the same, and sort."""
    labels, rank_of_node = _ranked_labels(classes, taxonomy)
    start, rank, counts = _by_label(classes, rank_of_node)
    keys = _keys(start, rank, counts)
    distinct = sorted(set(keys))
    number = {key: i for i, key in enumerate(distinct)}
    record_of_class = np.array([number[key] for key in keys], dtype=np.int64)
    first_class = np.empty(len(distinct), dtype=np.int64)
    first_class[record_of_class[::-1]] = np.arange(len(keys))[::-1]
    sizes = np.bincount(record_of_class, weights=classes.sizes, minlength=len(distinct)).astype(np.int64)
    offsets, take = gathered(start, first_class)
    return Records(labels, offsets, rank[take], counts[take], sizes, _rows(classes, record_of_class))


def published_labels(classes: Classes, taxonomy: Taxonomy) -> pa.Array:
    """Return what each entry of ``classes.nodes`` is published as.

    A bag of alternatives is written as in ssc.txt, ``{Wine:2, Vino:1}``: the most frequent first.
    """
    bags = classes.alternatives
    if classes.texts is not None:
        return pc.coalesce(classes.texts, taxonomy.labels_of(classes.nodes))
    if bags is None:
        return taxonomy.labels_of(classes.nodes)
    names = taxonomy.labels_of(bags.nodes).to_pylist()
    times = bags.counts.tolist()
    spelled = []
    for first, stop in pairwise(bags.start.tolist()):
        ranked = sorted(
            zip(times[first:stop], names[first:stop], strict=True), key=lambda one: (-one[0], one[1])
        )
        inside = ", ".join(f"{name}:{count}" for count, name in ranked)
        spelled.append(f"{{{inside}}}" if len(ranked) > 1 else ranked[0][1])
    return pa.array(spelled, pa.string())


def _ranked_labels(classes: Classes, taxonomy: Taxonomy) -> tuple[pa.Array, Ints32]:
    """Return the published labels, sorted, and the rank of the label of each entry of ``classes.nodes``."""
    entries = published_labels(classes, taxonomy).dictionary_encode()
    names = entries.dictionary
    order = pc.sort_indices(names)
    rank = np.empty(len(names), dtype=np.int32)
    rank[order.to_numpy(zero_copy_only=False)] = np.arange(len(names), dtype=np.int32)
    return names.take(order), rank[entries.indices.to_numpy(zero_copy_only=False)]


def _by_label(classes: Classes, rank: Ints32) -> tuple[Ints64, Ints32, Ints32]:
    """Sort each class by label; a concept and its "this very concept" leaf share one and are added up."""
    owner = list_of(classes.start)
    order = np.lexsort((rank, owner))
    owner, rank, counts = owner[order], rank[order], classes.counts[order]
    fresh = np.ones(len(rank), dtype=np.bool_)
    fresh[1:] = (owner[1:] != owner[:-1]) | (rank[1:] != rank[:-1])
    at = np.flatnonzero(fresh)
    counts = np.add.reduceat(counts, at).astype(np.int32) if len(at) else counts
    start = np.searchsorted(owner[at], np.arange(len(classes) + 1)).astype(np.int64)
    return start, rank[at], counts


def _keys(start: Ints64, rank: Ints32, counts: Ints32) -> list[tuple[bytes, bytes]]:
    """Return a key per class that sorts as its labels do, then as its counts do."""
    items, times = rank.astype(">u4"), counts.astype(">u4")
    bounds = start.tolist()
    return [(items[a:b].tobytes(), times[a:b].tobytes()) for a, b in pairwise(bounds)]


def _rows(classes: Classes, record_of_class: Ints64) -> Ints64:
    """Give each published transaction a row of its record."""
    published = np.flatnonzero(classes.of_row != WITHHELD)
    record = record_of_class[classes.of_row[published]]
    row_of = np.full(len(classes.of_row), WITHHELD, dtype=np.int64)
    row_of[published[np.argsort(record, kind="stable")]] = np.arange(len(published))
    return row_of
