"""The audit of a series: every release that its index names, their windows, and what neighbours tell together.

It reads the index and the releases alone. With windows that have no event in common, no number of one release is part of a number of
another, so none can be subtracted. What is left is counted: labels that are in one of two neighbours only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from incrowd.auditing.audit import audit
from incrowd.auditing.period import PERIOD
from incrowd.core.shown import html_table
from incrowd.core.window import Window, spelled_time
from incrowd.errors import ClaimError, IncrowdError
from incrowd.release.files.manifest import TILES_FORMAT, format_of, read_manifest
from incrowd.release.files.records import Label
from incrowd.release.files.series_index import Index, IndexedRelease, counts_of, files_of
from incrowd.release.files.tiles import TileManifest

__all__ = ["AuditedRelease", "Neighbours", "SeriesAudit", "audit_index"]

DAMAGED = (OSError, ValueError, KeyError, TypeError, pa.ArrowException)
OF_THE_DATA = {*PERIOD, "moved"}
SAME_SEED = "that all releases have the same secret seed: only the ledger shows it"


class Neighbours(NamedTuple):
    """What two releases that follow each other have, and do not have, in common.

    Parameters
    ----------
    first, second
        Their names.
    tiles_both, tiles_first, tiles_second
        Tiles that are in both, and in one of them only.
    labels_both, labels_first, labels_second
        The same of labels.
    items_of_few
        Items (labels that are no classes) that are in one only and tell something about fewer than k people: p people hold the item there,
        fewer than k have it in the other, or it would be published, so at least p - k + 1 people have it in the one and not in the
        other; here these are 1 to k - 1. Who they are is not told. A class says nothing of the kind: what is below it may be published.
    """

    first: str
    second: str
    tiles_both: int
    tiles_first: int
    tiles_second: int
    labels_both: int
    labels_first: int
    labels_second: int
    items_of_few: int


class AuditedRelease(NamedTuple):
    """A release that an index names, and whether it is as it says; None where that cannot be shown."""

    name: str
    state: str
    window: str | None
    holds: bool | None


@dataclass
class SeriesAudit:
    """What the audit of a series found.

    Parameters
    ----------
    releases, neighbours
        Every release that the index names, and every two tile releases that follow each other.
    checks, notes
        What is in order, and what an owner should know: gaps, parameters that differ, repetitions.
    unchecked
        What could not be looked at.
    problems
        What is wrong; none if the series holds.
    """

    releases: list[AuditedRelease] = field(default_factory=list)
    neighbours: list[Neighbours] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return {
            "holds": self.holds,
            "releases": [one._asdict() for one in self.releases],
            "neighbours": [two._asdict() for two in self.neighbours],
            "checks": self.checks,
            "notes": self.notes,
            "unchecked": self.unchecked,
            "problems": self.problems,
        }

    def _repr_html_(self) -> str:
        rows = [("holds", "yes" if self.holds else "NO")]
        for kind in ("problems", "checks", "notes", "unchecked"):
            rows += [(kind, text) for text in getattr(self, kind)]
        return html_table(f"Series of {len(self.releases):,} releases", rows)

    def __repr__(self) -> str:
        words = "holds" if self.holds else f"does NOT hold: {self.problems[0]}"
        return f"SeriesAudit({len(self.releases):,} releases; it {words})"


class _Found(NamedTuple):
    """A release of the index that is there, with its window and, of tiles, its manifest."""

    said: IndexedRelease
    place: Path
    window: Window | None
    manifest: TileManifest | None


def audit_index(index: Index, places: Mapping[str, Path]) -> SeriesAudit:
    """Audit a series.

    Parameters
    ----------
    index
        What the series says of itself.
    places
        Where each release is, by its name, as far as it was found.
    """
    result = SeriesAudit()
    published = [one for one in index.releases if one.state == "published"]
    if not published:
        result.problems.append("the index names no release that is published")
    found = [_audited(one, places.get(one.name), result) for one in published]
    there = [one for one in found if one is not None]
    for one in index.releases:
        if one.state == "begun":
            _note_begun(one, result)
    if not result.problems:
        hashed, number = sum(one.files is not None for one in published), len(published)
        which = f"all {number:,}" if hashed == number else f"{hashed:,} of {number:,}"
        result.checks.append(f"{which} releases have the files of the index, and no audit of one failed")
    _check_windows(published, result)
    _compare_parameters(there, result)
    result.neighbours += _neighbours(there)
    result.unchecked.append(SAME_SEED)
    return result


def _audited(said: IndexedRelease, place: Path | None, result: SeriesAudit) -> _Found | None:
    """Audit one release of the index; None if it is not there, or is another one."""
    problems: list[str] = []
    holds, found = None, None
    if place is None:
        problems.append("is not there: give its path")
    elif said.files is None:
        result.unchecked.append(f"the files of '{said.name}': the index has no hashes of them")
    elif files_of(place) != said.files:
        problems.append("has other files than the index says")
    if place is not None and not problems:
        holds, found = _audited_alone(said, place, problems)
    result.problems += [f"'{said.name}' {problem}" for problem in problems]
    result.releases.append(_listed(said, holds=False if problems else holds))
    return found


def _audited_alone(
    said: IndexedRelease, place: Path, problems: list[str]
) -> tuple[bool | None, _Found | None]:
    """Audit a release by itself, and hold what the index says of it against its manifest."""
    try:
        own = audit(place)
        is_tiles = format_of(place) == TILES_FORMAT
        manifest: TileManifest | None = read_manifest(place, TileManifest) if is_tiles else None
        window = None if manifest is None else manifest.of_window
    except ClaimError as error:
        problems.append(f"cannot be audited: {error}")
        return False, None
    except (IncrowdError, *DAMAGED) as error:
        problems.append(f"cannot be audited ({type(error).__name__})")
        return False, None
    problems += [f"does not hold: {problem}" for problem in own.problems[:1]]
    if (None if manifest is None else manifest.window) != said.window:
        problems.append("is of another window than the index says")
    if said.files is not None and counts_of(place) != said.counts:
        problems.append("has other counts than the index says")
    return own.holds, None if problems else _Found(said, place, window, manifest)


def _note_begun(one: IndexedRelease, result: SeriesAudit) -> None:
    window = "" if one.window is None else f" ({one.window})"
    result.notes.append(f"'{one.name}'{window} was begun and may be out: its run did not end")
    result.releases.append(_listed(one, holds=None))


def _listed(one: IndexedRelease, *, holds: bool | None) -> AuditedRelease:
    window = None if one.window is None else str(one.window)
    return AuditedRelease(one.name, one.state, window, holds)


def _check_windows(published: Sequence[IndexedRelease], result: SeriesAudit) -> None:
    """Check that no event can be in two releases, and say where there are gaps."""
    windows: list[tuple[Window, IndexedRelease]] = []
    for one in published:
        if one.window is None:
            result.unchecked.append(f"when the events of '{one.name}' were: it has no window")
            continue
        try:
            windows.append((one.window.window, one))
        except ValueError:
            result.problems.append(f"'{one.name}' has a window in the index that is none")
    before, repeated = len(result.problems), False
    windows.sort(key=lambda pair: (pair[0].first, pair[0].stop))
    latest: tuple[Window, IndexedRelease] | None = None
    for window, one in windows:
        if latest is not None and latest[0].meets(window):
            repeated |= _note_overlap(latest[1], one, result)
        elif latest is not None and latest[0].stop < window.first:
            result.notes.append(
                f"gap: no release has events from {spelled_time(latest[0].stop)} to {spelled_time(window.first)}"
            )
        if latest is None or window.stop > latest[0].stop:
            latest = window, one
    if windows and len(result.problems) == before:
        result.checks.append(
            "no two windows overlap but those of repetitions: no event is in two different releases"
            if repeated
            else "no two windows overlap: no event is in two releases"
        )


def _note_overlap(first: IndexedRelease, second: IndexedRelease, result: SeriesAudit) -> bool:
    """Tell a repetition, which has the same bytes, from an overlap; return whether it is one."""
    is_repeated = first.files is not None and first.files == second.files
    if is_repeated:
        result.notes.append(f"'{second.name}' is '{first.name}' again, byte for byte")
    else:
        result.problems.append(f"the windows of '{first.name}' and '{second.name}' overlap")
    return is_repeated


def _compare_parameters(found: Iterable[_Found], result: SeriesAudit) -> None:
    """Say which parameters are not the same in all releases; what follows from the data of each is none of them."""
    said = [one.manifest.parameters for one in found if one.manifest is not None]
    names = {name for parameters in said for name in parameters}.difference(OF_THE_DATA)
    differing = {name: Counter(_spelled(one.get(name, "not set")) for one in said) for name in sorted(names)}
    differing = {name: values for name, values in differing.items() if len(values) > 1}
    for name, values in differing.items():
        spelled = ", ".join(f"{value} ({times:,})" for value, times in values.items())
        result.notes.append(f"releases differ in {name}: {spelled}")
    if said and not differing:
        result.checks.append("all releases of tiles have the same parameters")


def _spelled(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _neighbours(found: Iterable[_Found]) -> list[Neighbours]:
    """Compare every two releases of tiles whose windows follow each other."""
    tiled = [one for one in found if one.manifest is not None and one.window is not None]
    tiled.sort(key=lambda one: one.window.first if one.window is not None else 0)
    read = [(one, _tiles_of(one.place)) for one in tiled]
    return [
        _compared(first, second)
        for first, second in pairwise(read)
        if first[0].window is not None and second[0].window is not None
        if not first[0].window.meets(second[0].window)
    ]


def _tiles_of(place: Path) -> dict[tuple[Label, ...], int]:
    """Return the tiles of a release, whose audit held, and how many people hold each."""
    rows = pq.read_table(place / "tiles.parquet").to_pylist()
    kinds = [name for name in (rows[0] if rows else {}) if f"{name}_exact" in rows[0]]
    return {_labels_of(row, kinds): row["people"] for row in rows}


def _labels_of(row: Mapping[str, Any], kinds: Sequence[str]) -> tuple[Label, ...]:
    """Return the labels of a tile; those of another kind of items than the main one are marked with it."""
    labels = list(zip(row["items"], row["exact"], strict=True))
    for kind in kinds:
        labels += [
            (f"{kind}\x1f{text}", exact) for text, exact in zip(row[kind], row[f"{kind}_exact"], strict=True)
        ]
    return tuple(labels)


def _compared(
    first: tuple[_Found, Mapping[tuple[Label, ...], int]],
    second: tuple[_Found, Mapping[tuple[Label, ...], int]],
) -> Neighbours:
    """Count what is in one of two releases and not in the other."""
    tiles = [set(first[1]), set(second[1])]
    people = [_people_of(first[1]), _people_of(second[1])]
    items_of_few = sum(
        many - _k_of(other) + 1 < _k_of(other)
        for own, others, other in ((0, 1, second[0]), (1, 0, first[0]))
        for label, many in people[own].items()
        if label not in people[others] and label[1]
    )
    both, labels = tiles[0] & tiles[1], people[0].keys() & people[1].keys()
    return Neighbours(
        first[0].said.name,
        second[0].said.name,
        len(both),
        len(tiles[0] - both),
        len(tiles[1] - both),
        len(labels),
        len(people[0].keys() - labels),
        len(people[1].keys() - labels),
        items_of_few,
    )


def _people_of(tiles: Mapping[tuple[Label, ...], int]) -> dict[Label, int]:
    """Return how many people hold each label, at least: those of the tile with it that most people hold."""
    most: dict[Label, int] = {}
    for labels, people in tiles.items():
        for label in labels:
            most[label] = max(people, most.get(label, 0))
    return most


def _k_of(one: _Found) -> int:
    assert one.manifest is not None  # noqa: S101 - tiles have one
    return int(msgspec.to_builtins(one.manifest.parameters)["k"])
