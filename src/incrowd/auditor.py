"""An independent recount of a written release, in plain Python.

This module knows no method and no kernel. It opens the files that were written, believes nothing that the
manifest says, and counts again. With the originals it also checks that each published record generalizes
its owner's: that every published label stands for items that the owner really has, copy for copy.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from incrowd.claims import LEAST_K
from incrowd.itemsets import rare_among_people, rare_itemsets
from incrowd.manifest import Manifest, read_manifest
from incrowd.originals import Originals, Record, check_originals
from incrowd.textforms import TEXT_FORMS, text_of
from incrowd.verdict import Audit

__all__ = ["RELEASE_FILES", "Audit", "Originals", "audit"]

RELEASE_FILES = frozenset(
    [
        "records.parquet",
        "taxonomy.parquet",
        "manifest.json",
        "report.html",
        *(f"records.{form}" for form in TEXT_FORMS),
    ]
)
ROWS_A_BATCH = 16_384
_PART = re.compile(r"part-\d+\.parquet")


def audit(
    directory: str | Path,
    *,
    originals: Originals | None = None,
    people: Sequence[object] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Recount a release from its files.

    Parameters
    ----------
    directory
        The release.
    originals
        What it was made from: each published record is then held against its owner's.
    people
        The person behind each published row: different people are then counted too.
    progress
        Told, while records are held against the originals, how many of how many are done.
    """
    directory = Path(directory)
    manifest = read_manifest(directory)
    result = Audit(manifest.claim.claim)
    try:
        parents = _check_taxonomy(directory, result)
        contents, content_of_row = _read_records(directory, parents.keys(), result)
        _recount(contents, content_of_row, result)
        _recount_people(contents, content_of_row, people, result)
        _check_manifest(manifest, result)
        _check_text_forms(directory, contents, content_of_row, result)
        if originals is None:
            _note_unchecked(result)
        else:
            check_originals(
                contents, content_of_row, originals, parents, result, progress=progress or _nobody
            )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        # What cannot even be read does not hold; the error's own words could quote a record.
        result.blame(f"a file of the release is missing or damaged ({type(error).__name__})")
    return result


def _nobody(*_: int) -> None:
    """Want to know nothing."""


def _note_unchecked(result: Audit) -> None:
    """Say what the claim says of the originals, which are not at hand."""
    if result.claim.within is not None:
        result.unchecked.append("how near published items are to their owners' own: only the originals tell")
    if (result.claim.typed_by or 0) >= LEAST_K:
        result.unchecked.append("how many people typed each published query: only the originals tell")


def _check_taxonomy(directory: Path, result: Audit) -> dict[str, str | None]:
    """Check that the published taxonomy is one tree; return the parent of each label."""
    table = pq.read_table(directory / "taxonomy.parquet").to_pydict()
    parent = dict(zip(table["label"], table["parent"], strict=True))
    with result.checking(f"the published taxonomy is one tree of {len(parent):,} labels"):
        if len(parent) != len(table["label"]):
            result.blame("taxonomy.parquet names a label twice")
        roots = [label for label, above in parent.items() if above is None]
        if len(roots) != 1:
            result.blame(f"taxonomy.parquet has {len(roots)} roots")
        if any(above is not None and above not in parent for above in parent.values()):
            result.blame("taxonomy.parquet has a label whose parent is not listed")
        if any(_is_above_itself(label, parent) for label in parent):
            result.blame("taxonomy.parquet has a cycle")
    return parent


def _is_above_itself(label: str, parent: dict[str, str | None]) -> bool:
    """Tell whether the way up from a label never ends."""
    node: str | None = label
    for _ in range(len(parent) + 1):
        if node is None:
            return False
        node = parent.get(node)
    return True


def _read_records(directory: Path, labels: AbstractSet[str], result: Audit) -> tuple[list[Record], list[int]]:
    """Read the records; return the distinct ones and which of them each row is."""
    number: dict[Record, int] = {}
    content_of_row: list[int] = []
    last: Record | None = None
    with result.checking("the records are well-formed and sorted by content"):
        for row, record in enumerate(_rows(directory / "records.parquet", result)):
            if record not in number:
                number[record] = len(number)
                _check_record(row, record, labels, result)
            content_of_row.append(number[record])
            if last is not None and record < last:
                result.blame(f"row {row} is out of order: its place could tell where it came from")
            last = record
    return list(number), content_of_row


def _rows(path: Path, result: Audit) -> Iterator[Record]:
    """Yield the rows as they were written: to one file, or by a cluster to several, in the order of their names."""
    for part in sorted(path.iterdir()) if path.is_dir() else [path]:
        if path.is_dir() and not _PART.fullmatch(part.name):
            result.blame("records.parquet holds a file that is no part of the records")
        yield from _rows_of_file(part, result)


def _rows_of_file(path: Path, result: Audit) -> Iterator[Record]:
    """Yield the rows of a file, a batch at a time."""
    with pq.ParquetFile(path) as file:
        if file.schema_arrow.names != ["items", "counts"]:
            result.blame("records.parquet has other columns than items and counts")
        if file.schema_arrow.metadata:
            result.blame("records.parquet carries notes in its schema")
        for batch in file.iter_batches(ROWS_A_BATCH, columns=["items", "counts"]):
            yield from zip(_tuples(batch.column("items")), _tuples(batch.column("counts")), strict=True)


def _tuples(lists: pa.ListArray) -> Iterator[tuple[Any, ...]]:
    """Yield each list of a column as a tuple; a list that is missing is no list."""
    if lists.null_count or lists.flatten().null_count:
        raise ValueError("a record or an item is missing")
    values = lists.flatten().to_pylist()
    ends = lists.offsets.to_pylist()
    yield from (tuple(values[first - ends[0] : last - ends[0]]) for first, last in pairwise(ends))


def _check_record(row: int, record: Record, labels: AbstractSet[str], result: Audit) -> None:
    """Check one distinct record: known labels, in order, none twice, each with a count."""
    items, counts = record
    if len(items) != len(counts) or any(count < 1 for count in counts):
        result.blame(f"row {row} has an item without a count of at least 1")
    if any(first >= second for first, second in pairwise(items)):
        result.blame(f"row {row} has items out of order or twice")
    if not labels >= set(items):
        result.blame(f"row {row} has an item that taxonomy.parquet does not list")


def _recount(contents: list[Record], content_of_row: list[int], result: Audit) -> None:
    """Count equal records and hold the claim against the smallest number."""
    shared = Counter(content_of_row)
    result.records, result.classes = len(content_of_row), len(contents)
    result.k_min = min(shared.values(), default=0)
    found = (
        f"{result.records:,} records, {result.classes:,} distinct, each shared by at least {result.k_min:,}"
    )
    with result.checking(found):
        if result.claim.kind != "none" and result.claim.k < LEAST_K:
            result.blame(f"the claim's k is below {LEAST_K}: it promises nothing")
        if result.claim.kind == "k-anonymity":
            rare = sum(1 for times in shared.values() if times < result.claim.k)
            if rare:
                least = f"the least by {result.k_min}"
                result.blame(f"{rare:,} distinct records are shared by fewer than {result.claim.k} ({least})")
    if result.claim.kind == "k^m-anonymity":
        _recount_itemsets([(contents[content][0], times) for content, times in shared.items()], result)


def _recount_itemsets(records: list[tuple[tuple[str, ...], int]], result: Audit) -> None:
    """Count all sets of at most m labels and hold the claim against the rarest."""
    k, m = result.claim.k, result.claim.m
    if m is None or m < 1:
        result.blame("the claim does not say how many items an attacker may know")
        return
    with result.checking(f"every set of at most {m} labels that occurs does so in at least {k:,} records"):
        rare = rare_itemsets(records, k, m)
        if rare:
            result.blame(f"{rare:,} sets of at most {m} labels occur in fewer than {k} records")


def _recount_people(
    contents: list[Record], content_of_row: list[int], people: Sequence[object] | None, result: Audit
) -> None:
    """Count the different people behind equal records, and hold the claim against them where it speaks of people."""
    claim = result.claim
    if claim.kind == "differential privacy":
        result.unchecked.append("the noise: it cannot be seen in the file")
        return
    if people is None:
        if claim.distinct == "people":
            result.unchecked.append("how many different people share a record: only the private map tells")
        return
    if len(people) != len(content_of_row):
        result.blame("the map does not give every published row exactly one owner")
        return
    sharing = Counter(content for content, _ in set(zip(content_of_row, people, strict=True)))
    result.people_min = min(sharing.values(), default=0)
    if claim.distinct == "people" and claim.kind == "k-anonymity":
        with result.checking(
            f"each distinct record is shared by at least {result.people_min:,} different people"
        ):
            rare = sum(number < claim.k for number in sharing.values())
            if rare:
                result.blame(f"{rare:,} distinct records are shared by fewer than {claim.k} different people")
    if claim.distinct == "people" and claim.kind == "k^m-anonymity" and claim.m is not None:
        with result.checking(
            f"every set of at most {claim.m} labels belongs to at least {claim.k:,} different people"
        ):
            owned = ((contents[row][0], person) for row, person in zip(content_of_row, people, strict=True))
            rare = rare_among_people(owned, claim.k, claim.m)
            if rare:
                result.blame(
                    f"{rare:,} sets of at most {claim.m} labels belong to fewer than {claim.k} people"
                )


def _check_manifest(manifest: Manifest, result: Audit) -> None:
    """Compare what the manifest says with what was counted."""
    said = manifest.counts
    with result.checking("the manifest's counts and words agree with the recount"):
        for name, counted in (
            ("records_out", result.records),
            ("groups", result.classes),
            ("k_min", result.k_min),
            ("people_min", result.people_min),
        ):
            if counted is not None and getattr(said, name) != counted:
                result.blame(f"the manifest's {name} is not what was counted ({counted:,})")
        whose = result.claim.kind != "differential privacy"  # there, records are nobody's own
        if whose and said.records_in != result.records + said.withheld:
            result.blame("the manifest's records_in is not records_out + withheld")
        if manifest.claim.in_words != result.claim.in_words:
            result.blame("the manifest's words are not those of its claim")


def _check_text_forms(
    directory: Path, contents: list[Record], content_of_row: list[int], result: Audit
) -> None:
    """Check that each text form says what the records say, byte for byte."""
    for form in TEXT_FORMS:
        path = directory / f"records.{form}"
        if not path.exists():
            continue
        expected = hashlib.sha256()
        for line in text_of(form, (contents[content] for content in content_of_row)):
            expected.update(line.encode())
        with result.checking(f"records.{form} says the same"), path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").digest() != expected.digest():
                result.blame(f"records.{form} does not say what records.parquet says")
