"""The tables of releases that are no tiles: items and pairs of published records, and items of a noisy list."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from incrowd.errors import BadInputError
from incrowd.metrics.published import ExactSets
from incrowd.metrics.together import OfOriginals
from incrowd.metrics.top_pairs import top_pairs
from incrowd.release.files.noisy_list import ListForm, read_list
from incrowd.release.files.parts import part_files, read_part
from incrowd.release.files.records import RecordTable
from incrowd.release.tables.sets import MAIN

__all__ = ["tables_of_list", "tables_of_records"]


def tables_of_records(directory: Path, top: int) -> dict[str, pa.Table]:
    """Return the labels of published records with the records that say them, and the pairs that most records say."""
    records = _read_records(directory)
    size = len(records.labels)
    rank = records.rank.astype(np.int64)
    rows = np.repeat(records.sizes, np.diff(records.start)).astype(np.float64)  # exact up to 2^53
    units = np.bincount(rank, rows, size).astype(np.int64)
    occurrences = np.bincount(rank, rows * records.counts, size).astype(np.int64)
    order = np.lexsort((np.arange(size), -units))
    items = {
        "kind": pa.array([MAIN] * size, pa.string()),
        "item": records.labels.take(pa.array(order)),
        "exact": records.exact[order],
        "units": units[order],
        "occurrences": occurrences[order],
    }
    counts = OfOriginals(ExactSets(records.start, records.rank, records.sizes), size)
    found = top_pairs(counts, top)
    pairs = {
        "item_a": records.labels.take(pa.array(found.first)),
        "exact_a": records.exact[found.first],
        "item_b": records.labels.take(pa.array(found.second)),
        "exact_b": records.exact[found.second],
        "joint": found.units.astype(np.int64),
    }
    return {"items": pa.table(items), "pairs": pa.table(pairs)}


def _read_records(directory: Path) -> RecordTable:
    """Read the distinct records of a release, or say that they are damaged."""
    parts = [read_part(path, keep=True) for path in part_files(directory / "records.parquet")]
    if not parts or any(part.problems for part in parts):
        raise BadInputError(f"{directory}: records.parquet is missing or damaged; see 'incrowd audit'")
    records = [record for part in parts for record in part.records]
    return RecordTable.of(records, [size for part in parts for size in part.sizes])


def tables_of_list(directory: Path, form: ListForm) -> dict[str, pa.Table]:
    """Return what a noisy list holds, the largest count first."""
    table = read_list(directory, form)
    if len(form.columns) == 1:
        return {"items": table.rename_columns(["item", "noisy_count"])}
    return {"pairs": table.rename_columns([*form.columns, "noisy_count"])}
