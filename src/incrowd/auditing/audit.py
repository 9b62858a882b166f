"""An independent recount of a written release, in plain Python.

This module knows no method and no kernel. A release is a closed world: its files are exactly the listed ones, each is
in its only form, and all that it says of itself follows from its records or is refused. With the originals, each
published record is held against its owner's, and what was measured on them is measured again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import msgspec
import pyarrow as pa

from incrowd.auditing.files import check_files, check_text
from incrowd.auditing.history import Chain, check_chain
from incrowd.auditing.itemsets import rare_itemsets
from incrowd.auditing.labels import Written, unknown_moves
from incrowd.auditing.manifest import check_manifest
from incrowd.auditing.noisy_list import audit_list
from incrowd.auditing.owners import Owners, check_originals, count_people
from incrowd.auditing.result import Audit
from incrowd.auditing.taxonomy import PublishedTree, check_taxonomy
from incrowd.auditing.tile_holders import TileOriginals
from incrowd.auditing.tiles import audit_tiles
from incrowd.core.claims import LEAST_K
from incrowd.core.promises import Settings
from incrowd.core.rounding import at_least, four_digits
from incrowd.core.types import Progress
from incrowd.errors import BadInputError, ClaimError
from incrowd.release.files.digest import Digest
from incrowd.release.files.exports import text_of
from incrowd.release.files.manifest import (
    LIST_FORMAT,
    TILES_FORMAT,
    Manifest,
    format_of,
    read_manifest,
)
from incrowd.release.files.names import text_forms_of
from incrowd.release.files.page import render_report
from incrowd.release.files.parts import PART_NAME, Part, part_files, read_part, runs_in
from incrowd.release.files.records import Label, Record

__all__ = [
    "Figured",
    "MapParts",
    "audit",
]

MapParts = Callable[[Callable[[Path], Part], Sequence[Path]], Iterable[Part]]
Runs = Callable[[], Iterable[tuple[Record, int]]]
DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException)


class Figured(NamedTuple):
    """What was measured on the originals, and how many records are withheld, as a manifest spells it."""

    figures: Mapping[str, Any]
    withheld: int | str


Measure = Callable[
    ..., Any
]  # of records (written, node of each label) -> Figured; of tiles see `audit_tiles`


class Reading(NamedTuple):
    """A release, read: its manifest and settings, its records in sums, and one by one: `runs` yields each with its size.

    ``in_parts``: a cluster wrote it.
    """

    manifest: Manifest
    settings: Settings
    digest: Digest
    tree: PublishedTree
    written: Written
    runs: Runs
    in_parts: bool


def audit(
    directory: str | Path,
    *,
    originals: Owners | TileOriginals | None = None,
    people: Sequence[object] | None = None,
    measure: Measure | None = None,
    chain: Chain | None = None,
    map_parts: MapParts | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Recount a release from its files.

    Parameters
    ----------
    directory
        The release.
    originals
        What it was made from, as ``release.originals``: each published record (or tile) is then held against its owner's, and people
        are counted.
    people
        The person behind each published row, by a private map, which is believed and not confirmed.
    measure
        Measures what the manifest says of the originals again, as ``release.figured``.
    chain
        Who was alike in the releases that it follows, and whose each row is now.
    map_parts
        Reads the parts of the records elsewhere (on a cluster); without it they are read here and kept.
    progress
        Called with (done, total) while records are compared with the originals.
    """
    directory = Path(directory)
    form = format_of(directory)
    if form == LIST_FORMAT:
        return audit_list(directory) if originals is None else _refuse(directory)
    if form == TILES_FORMAT:
        if originals is not None and not isinstance(originals, TileOriginals):
            _refuse(directory)
        return audit_tiles(directory, originals=originals, measure=measure)
    if isinstance(originals, TileOriginals):
        _refuse(directory)
    reading, result = _read_release(directory, map_parts)
    if reading is None:
        return result
    if originals is not None:
        node_of = check_originals(reading.written, originals, result, progress=progress or _ignore)
        if node_of is not None:
            _check_figures(reading, measure and measure(reading.written, node_of), result)
        while result.unproven:  # what was asked for and could not be done has not been done
            result.add_problem(f"could not be checked: {result.unproven.pop()}")
    else:
        _check_people(reading, people, result)
        _note_unchecked(reading.settings, result)
    check_chain(reading.written.record_of_row, chain, result)
    _check_counts(reading, result)
    return result


def _refuse(directory: Path) -> NoReturn:
    """Refuse originals of another kind of release: they would be looked at for nothing."""
    raise BadInputError(
        f"originals are of another kind of release than {directory}: give those of the release that was written there, or none"
    )


def _ignore(*_: int) -> None:
    """Drop what progress tells."""


def _read_release(directory: Path, map_parts: MapParts | None) -> tuple[Reading | None, Audit]:
    """Read a release and check all that can be checked without its originals."""
    manifest: Manifest = read_manifest(directory)
    result = Audit(manifest.claim.claim)
    try:
        settings = check_manifest(directory, manifest, result)
        check_files(directory, manifest.files, result)
        if result.problems:
            return None, result
        parts = _read_parts(directory, map_parts, result)
        digest = Digest()
        for part in parts:
            digest.merge(part.digest)
        tree = check_taxonomy(
            directory / "taxonomy.parquet",
            digest.rows_with.keys(),
            name=settings.common.taxonomy,
            unlisted=settings.common.unlisted,
            moved=settings.common.moved,
            texts=settings.texts,
            result=result,
        )
        _recount(digest, result)
        if tree is None or result.problems:
            return None, result
        written = _written(parts, digest.rows_with.keys(), tree, settings)
        runs, in_parts = _runs(directory, parts, map_parts), (directory / "records.parquet").is_dir()
        reading = Reading(manifest, settings, digest, tree, written, runs, in_parts)
        _recount_itemsets(reading, result)
        _check_report(directory, reading, result)
        _check_text_forms(directory, reading, result)
    except ClaimError as error:
        result.add_problem(str(error))
        return None, result
    except DAMAGED as error:
        # What cannot even be read does not hold; the error's own words could quote a record.
        result.add_problem(f"a file of the release is missing or damaged ({type(error).__name__})")
        return None, result
    return (None if result.problems else reading), result


def _read_parts(directory: Path, map_parts: MapParts | None, result: Audit) -> list[Part]:
    """Read all parts of the records, and check that each begins behind the end of the one before."""
    files = part_files(directory / "records.parquet")
    read = map_parts or map
    with result.checking("the records are well-formed, sorted by content, and nothing else is in their file"):
        _check_part_names(directory / "records.parquet", len(files), result)
        parts = list(read(partial(read_part, keep=map_parts is None), files))
        for part in parts:
            for problem in part.problems:
                result.add_problem(problem)
        last: Record | None = None
        for part in parts:
            wrong = part.first is None or (last is not None and part.first <= last)
            if not part.problems:
                result.require(
                    wrong=wrong, problem="a part of the records is empty, or begins before the last one ends"
                )
            last = part.last
    return parts


def _check_part_names(path: Path, parts: int, result: Audit) -> None:
    """Check that a directory of records holds its parts, numbered one by one, and nothing else."""
    names = {PART_NAME.format(number) for number in range(parts)}
    if path.is_dir():
        wrong = not names or {file.name for file in path.iterdir()} != names
        result.require(wrong=wrong, problem="records.parquet holds other files than its parts")


def _written(
    parts: Sequence[Part], labels: AbstractSet[Label], tree: PublishedTree, settings: Settings
) -> Written:
    records = [record for part in parts for record in part.records]
    sizes = [size for part in parts for size in part.sizes]
    rows = [number for number, size in enumerate(sizes) for _ in range(size)]
    return Written(records, rows, labels, tree, settings.texts, settings.common.moved)


def _runs(directory: Path, parts: Sequence[Part], map_parts: MapParts | None) -> Runs:
    """Return a way to go through the distinct records, as they were kept or as they are read again."""
    if map_parts is not None:
        return lambda: runs_in(part_files(directory / "records.parquet"))
    return lambda: ((r, size) for part in parts for r, size in zip(part.records, part.sizes, strict=True))


def _recount(digest: Digest, result: Audit) -> None:
    """Count equal records and hold the claim against the smallest number."""
    claim = result.claim
    result.records, result.classes, result.k_min = digest.rows, digest.classes, digest.k_min
    found = (
        f"{result.records:,} records, {result.classes:,} distinct, each shared by at least {result.k_min:,}"
    )
    with result.checking(found):
        result.require(wrong=not result.records, problem="nothing is published: there are no records")
        result.require(
            wrong=claim.kind != "none" and claim.least < LEAST_K,
            problem=f"the claim's k is below {LEAST_K}: it promises nothing",
        )
        rare = digest.fewer_than(claim.least) if claim.kind == "k-anonymity" else 0
        result.require(
            wrong=bool(rare),
            problem=f"{rare:,} distinct records are shared by fewer than {claim.k} (the least by {result.k_min})",
        )


def _recount_itemsets(reading: Reading, result: Audit) -> None:
    """Count all sets of at most m labels and hold the claim against the rarest."""
    claim = result.claim
    if claim.kind != "k^m-anonymity" or claim.m is None:
        return
    with result.checking(
        f"every set of at most {claim.m} labels that occurs does so in at least {claim.k:,} records"
    ):
        copies = any(count > 1 for (_, counts), _ in reading.runs() for count in counts)
        result.require(
            wrong=copies, problem="a record says how often it has an item: that can tell records apart"
        )
        records = ((labels, size) for (labels, _), size in reading.runs())
        rare = rare_itemsets(records, claim.least, claim.m)
        result.require(
            wrong=bool(rare),
            problem=f"{rare:,} sets of at most {claim.m} labels occur in fewer than {claim.k} records",
        )


def _check_people(reading: Reading, people: Sequence[object] | None, result: Audit) -> None:
    """Count people by the map, which is believed: only the originals confirm it."""
    if people is not None and len(people) != result.records:
        result.add_problem("the map does not give every published row exactly one owner")
    elif people is not None:
        count_people(reading.written, people, result)
    elif result.claim.unit == "user" or reading.settings.common.items == "raw":
        result.people_min = result.k_min  # a record is one user's, or a basket's own
    if result.claim.distinct == "people":
        events = (
            "only the originals show it"
            if people is None
            else "the private map is believed; only the originals show it"
        )
        result.unproven.append(f"how many different people share a record: {events}")


def _note_unchecked(settings: Settings, result: Audit) -> None:
    """Say what only the originals show, which are not at hand."""
    if result.claim.within is not None:
        result.unproven.append(
            "how near published items are to their owners' own: only the originals show it"
        )
    if (result.claim.typed_by or 0) >= LEAST_K:
        result.unproven.append("how many people typed each published query: only the originals show it")
    result.unchecked.append("that records are true of their owners: only the originals show it")
    result.unchecked.append("the figures of loss, lengths and withheld records: only the originals show it")
    result.unchecked.extend(unknown_moves(settings))


def _check_counts(reading: Reading, result: Audit) -> None:
    """Compare the manifest's counts with what was counted."""
    said, least = reading.manifest.counts, result.claim.least
    counted = {
        "records_out": result.records,
        "groups": result.classes,
        "k_min": result.k_min,
        "labels": len(reading.digest.rows_with),
    }
    with result.checking("the manifest's counts are those of the recount"):
        for name, number in counted.items():
            result.require(
                wrong=getattr(said, name) != number,
                problem=f"the manifest's {name} is not what was counted ({number:,})",
            )
        means = reading.digest.means(reading.tree.level)
        result.require(
            wrong=(said.avg_length, said.avg_level) != tuple(map(four_digits, means)),
            problem="the manifest's average length or level is not that of the records",
        )
        if result.people_min is not None:
            expected = at_least(least, result.people_min)
            result.require(
                wrong=said.people_min != expected,
                problem=f"the manifest's people_min is not what was counted ({expected})",
            )


def _check_figures(reading: Reading, figured: Figured | None, result: Audit) -> None:
    """Compare the manifest's figures with those measured again on the originals."""
    if figured is None:
        result.unproven.append(
            "the figures of loss, lengths and withheld records: nothing measures them here"
        )
        return
    with result.checking("the manifest's figures are those measured again on the originals"):
        result.require(
            wrong=reading.manifest.counts.withheld != figured.withheld,
            problem=f"the manifest's withheld is not what was counted ({figured.withheld})",
        )
        for name, value in figured.figures.items():
            said = msgspec.to_builtins(getattr(reading.manifest, name))
            if said is None and reading.in_parts and name in {"utility", "bound", "use"}:
                continue  # what a cluster may leave out, it does not claim
            result.require(
                wrong=not _alike(said, value), problem=f"the manifest's {name} are not what was measured"
            )


def _alike(said: Any, measured: Any) -> bool:
    """Tell whether two figures are the same but for the last of four digits, which may be rounded either way."""
    if isinstance(said, dict) and isinstance(measured, dict):
        return said.keys() == measured.keys() and all(_alike(said[name], measured[name]) for name in said)
    if isinstance(said, list) and isinstance(measured, list):
        return len(said) == len(measured) and all(map(_alike, said, measured))
    if isinstance(said, float) and isinstance(measured, float):
        # A digit may be rounded either way where sums are made in another order.
        unit = 10.0 ** (math.floor(math.log10(max(abs(said), abs(measured), 1e-12))) - 3)
        return abs(said - measured) <= 1.01 * max(unit, 0.0 if said == measured else 1e-9)
    return bool(said == measured)


def _check_report(directory: Path, reading: Reading, result: Audit) -> None:
    """Make the report again and compare it byte for byte."""
    with result.checking("report.html is the page of these records and this manifest"):
        page = render_report(reading.manifest, reading.digest, reading.tree.level)
        result.require(
            wrong=(directory / "report.html").read_bytes() != page.encode(),
            problem="report.html is not the page of this release",
        )


def _check_text_forms(directory: Path, reading: Reading, result: Audit) -> None:
    """Check that each text form says what the records say, byte for byte."""
    for form in text_forms_of(reading.manifest.files):
        lines = text_of(form, (record for record, size in reading.runs() for _ in range(size)))
        with result.checking(f"records.{form} says the same"):
            check_text(directory / f"records.{form}", lines, result)
