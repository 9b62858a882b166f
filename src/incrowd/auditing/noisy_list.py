"""The audit of a list of queries with noisy counts: its form can be checked, its noise cannot."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from incrowd.auditing.files import check_contents, check_exactly
from incrowd.auditing.manifest import check_heading
from incrowd.auditing.result import Audit
from incrowd.auditing.taxonomy import hidden_in
from incrowd.errors import ClaimError
from incrowd.release.files.manifest import Versions, read_manifest
from incrowd.release.files.names import LIST_FILES
from incrowd.release.files.noisy_list import LIST_SCHEMA, ListManifest, NoisyList, list_manifest, list_page
from incrowd.release.files.parts import same_schema
from incrowd.release.files.records import is_canonical

__all__ = ["audit_list"]

NOISE = "the noise: it cannot be recounted from a file, so the promise rests on who made the list"


def audit_list(directory: Path) -> Audit:
    """Check that a list has its form and nothing beside it; its noise stays unproven."""
    manifest: ListManifest = read_manifest(directory, ListManifest)
    result = Audit(manifest.parameters.claim)
    result.unproven.append(NOISE)
    try:
        _check_manifest(directory, manifest, result)
        check_exactly(directory, LIST_FILES, result)
        if not result.problems:
            _check_list(directory / "queries.parquet", manifest, result)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        result.add_problem(f"a file of the release is missing or damaged ({type(error).__name__})")
    return result


def _check_manifest(directory: Path, manifest: ListManifest, result: Audit) -> None:
    """Check that manifest and page are the ones of these parameters, byte for byte."""
    if manifest.versions != Versions.here():
        raise ClaimError(
            "the list was written by other versions than these: install those that its manifest names"
        )
    with result.checking("manifest and report follow from the parameters alone"):
        check_heading(manifest, result)
        expected = list_manifest(manifest.parameters, manifest.heading)
        files = {"manifest.json": expected.text(), "report.html": list_page(expected)}
        check_contents(directory, files, "a list with these parameters", result)


def _check_list(path: Path, manifest: ListManifest, result: Audit) -> None:
    """Check the list itself: sorted, each query once, each count above the threshold, nothing else in the file."""
    least = manifest.parameters.threshold
    with pq.ParquetFile(path) as file:
        if not same_schema(file.schema_arrow, LIST_SCHEMA):
            result.add_problem(
                "queries.parquet has other columns than query and count, or notes in its schema"
            )
            return
        table = file.read().combine_chunks()
    queries, counts = table["query"].to_pylist(), table["count"].to_pylist()
    result.records = result.classes = len(queries)
    with result.checking(f"{len(queries):,} queries, each once, in order, with a count above {least:,}"):
        result.require(
            wrong=None in queries or None in counts, problem="queries.parquet has a row with nothing in it"
        )
        if result.problems:
            return
        unsorted = any(first >= second for first, second in pairwise(queries))
        result.require(wrong=unsorted, problem="queries.parquet has queries out of order or twice")
        result.require(
            wrong=any(count <= least for count in counts),
            problem=f"queries.parquet has a count of {least:,} or less",
        )
        hidden = hidden_in(queries)
        result.require(wrong=bool(hidden), problem=f"{hidden:,} queries hold characters that cannot be seen")
        result.require(
            wrong=not is_canonical(path, NoisyList(table["query"], table["count"]).write),
            problem="queries.parquet is not written as its rows are: it holds bytes that are no part of them",
        )
