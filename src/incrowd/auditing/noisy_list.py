"""The audit of a list with noisy counts: its form can be checked, its noise cannot."""

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
from incrowd.release.files.noisy_list import FORMS, ListManifest, NoisyList, list_manifest, list_page
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
        check_exactly(directory, manifest.parameters.form.files, result)
        if not result.problems:
            _check_list(directory / manifest.parameters.form.file, manifest, result)
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
    """Check the list itself: sorted, each entry once, each count as large as it must be, nothing else in the file."""
    form, least = manifest.parameters.form, manifest.parameters.least
    with pq.ParquetFile(path) as file:
        if not same_schema(file.schema_arrow, form.schema):
            named = ", ".join(form.columns)
            result.add_problem(
                f"{path.name} has other columns than {named} and count, or notes in its schema"
            )
            return
        table = file.read().combine_chunks()
    texts, counts = [table[name].to_pylist() for name in form.columns], table["count"].to_pylist()
    rows = list(zip(*texts, strict=True))
    result.records = result.classes = len(rows)
    with result.checking(
        f"{len(rows):,} {form.several}, each once, in order, with a count of at least {least:,}"
    ):
        result.require(
            wrong=any(None in column for column in (*texts, counts)),
            problem=f"{path.name} has a row with nothing in it",
        )
        if result.problems:
            return
        unsorted = any(first >= second for first, second in pairwise(rows))
        result.require(wrong=unsorted, problem=f"{path.name} has {form.several} out of order or twice")
        backwards = manifest.parameters.form is FORMS["pairs"] and any(one >= other for one, other in rows)
        result.require(
            wrong=backwards, problem=f"{path.name} has a pair whose items are out of order or the same"
        )
        result.require(
            wrong=any(count < least for count in counts),
            problem=f"{path.name} has a count of {least - 1:,} or less",
        )
        weeks = manifest.parameters.weeks
        result.require(
            wrong=weeks is not None and [row[1] for row in rows] != weeks * len({row[0] for row in rows}),
            problem=f"{path.name} has an item without some of the weeks, or with others",
        )
        hidden = sum(map(hidden_in, texts))
        result.require(wrong=bool(hidden), problem=f"{hidden:,} texts hold characters that cannot be seen")
        columns = tuple(table[name] for name in form.columns)
        result.require(
            wrong=not is_canonical(path, NoisyList(form, columns, table["count"]).write),
            problem=f"{path.name} is not written as its rows are: it holds bytes that are no part of them",
        )
