"""A series audited: its index, every release that it names, and the ledger where that is at hand."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from incrowd.auditing.series import SAME_SEED, SeriesAudit, audit_index
from incrowd.core.neighbours import holds_release
from incrowd.errors import BadInputError
from incrowd.release.files.series_index import INDEX_NAME, Index, files_of, read_index
from incrowd.release.series import Series
from incrowd.release.series_place import LEDGER_NAME

__all__ = ["FoundSeries", "audit_series", "find_series"]


@dataclass(frozen=True)
class FoundSeries:
    """A series: its index, the ledger where that is at hand, and where releases are, by name."""

    index: Index
    ledger: Series | None
    places: Mapping[str, Path]


def audit_series(series: str | Path, releases: Sequence[str | Path] = ()) -> SeriesAudit:
    """Audit all releases of a series, their windows, and what neighbours tell together.

    Parameters
    ----------
    series
        The directory of a series, or a copy of its ``index.json`` or of a directory that holds one.
    releases
        Where releases are: their directories, under any name, or directories that hold them. Without it they are looked for beside the index, and in and
        beside the directory of the series; with the ledger, also where they were written.
    """
    found = find_series(series, releases)
    index = found.index
    result = audit_index(index, found.places)
    if found.ledger is None:
        result.unchecked.append("that the index is what the ledger says: the ledger is the publisher's")
    else:
        _check_ledger(index, found.ledger.index, result)
    return result


def find_series(series: str | Path, releases: Sequence[str | Path] = ()) -> FoundSeries:
    """Read the index of a series and look for its releases; see :func:`audit_series`."""
    place = Path(series)
    index = read_index(place)
    home = place if place.is_dir() else place.absolute().parent
    ledger = Series(home, read_only=True, check_index=False) if os.path.lexists(home / LEDGER_NAME) else None
    written = {one.entry.name: Path(one.place) for one in ledger.releases if one.place} if ledger else {}
    return FoundSeries(index, ledger, _places(index, home, [Path(path) for path in releases], written))


def _check_ledger(index: Index, derived: Index, result: SeriesAudit) -> None:
    """Hold the index against what is derived from the ledger."""
    if index == derived:
        result.checks.append(f"{INDEX_NAME} is what the ledger says, and all releases have its seed")
        result.unchecked.remove(SAME_SEED)
        return
    if {one.name for one in index.releases} - {one.name for one in derived.releases}:
        result.problems.append(
            f"{INDEX_NAME} names releases that the ledger does not: put the latest ledger back"
        )
    else:
        result.problems.append(
            f"{INDEX_NAME} is not what the ledger says: it was changed, or a run was killed; the next release writes it anew"
        )


def _places(index: Index, home: Path, given: Sequence[Path], written: Mapping[str, Path]) -> dict[str, Path]:
    """Return where each release of an index is: among what was given, else beside the index, else where it was written."""
    for path in given:
        if not path.is_dir():
            raise BadInputError(f"{path} is no directory: give releases, or directories that hold them")
    found = {}
    for one in index.releases:
        named = [path for path in given if path.absolute().name == one.name]
        named += [path / one.name for path in given]
        named += [path for path in given if holds_release(path) and files_of(path) == one.files]
        beside = [home / one.name, home.absolute().parent / one.name]
        last = [written[one.name]] if one.name in written else []
        place = _first([*named, *beside, *last])
        if place is not None:
            found[one.name] = place
    return found


def _first(paths: Iterable[Path]) -> Path | None:
    return next((path for path in paths if holds_release(path)), None)
