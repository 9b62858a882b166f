"""The options of the risk lab, what does not fit together, and how data are read again as a release says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from incrowd.attacks.result import LIMITS, Limits
from incrowd.core.promises import Settings, read_settings
from incrowd.core.window import Window
from incrowd.errors import BadInputError, check_least, option
from incrowd.jobs.spec import IN_MEMORY, Job, Options, Taken, read_choices
from incrowd.logs import Inputs
from incrowd.release.files.manifest import LIST_FORMAT, TILES_FORMAT, Manifest, format_of, read_manifest
from incrowd.release.files.tiles import TileManifest
from incrowd.release.private_map import check_same_moves, read_map

__all__ = [
    "MOST",
    "RiskOptions",
    "check_numbers",
    "check_options",
    "job_of",
    "job_of_release",
    "parse_limits",
    "settings_in",
]

MOST = 1_000
WRITTEN = ("columns", "encoding", "delimiter", "time_format", "day", "segment")


@dataclass(frozen=True)
class RiskOptions:
    """The options of ``incrowd risk`` as they are given; see its help.

    Parameters
    ----------
    input, release, second_release, second_map
        The data, a release of it; and another one with its map.
    private_maps
        The map that was written with the release; of a series, one for each release.
    series
        The directory of a series of releases.
    k, most, seed, population
        See :class:`incrowd.attacks.attacked.Setting`, and of how many people those of the data are a sample.
    sensitive
        A file of words, or names of classes.
    planted
        Whether the method is run again with planted accounts.
    exposing
        How many of the items that expose most people are named.
    limits
        The thresholds of the lights.
    reading
        How the data are read, by the names of :class:`incrowd.jobs.spec.Options`.
    """

    input: Inputs
    release: Path | None = None
    private_maps: tuple[Path, ...] = ()
    series: Path | None = None
    second_release: Path | None = None
    second_map: Path | None = None
    k: int | str | None = None
    most: int = MOST
    seed: int = 0
    population: int | None = None
    sensitive: str | None = None
    planted: bool = False
    exposing: int | None = None
    limits: Limits = LIMITS
    reading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def private_map(self) -> Path | None:
        """The map of the release, where there is one."""
        return self.private_maps[0] if self.private_maps else None


def check_options(options: RiskOptions) -> None:
    """Refuse numbers that mean nothing, and half of what belongs together."""
    check_numbers(options)
    _check_series(options)
    needs = {
        ("private_map", "release"): (options.private_map, options.release or options.series),
        ("second_release", "second_map"): (options.second_release, options.second_map),
        ("second_map", "second_release"): (options.second_map, options.second_release),
        ("second_release", "release"): (options.second_release, options.release),
        ("planted", "release"): (options.planted or None, options.release),
    }
    for (name, other), (given, needed) in needs.items():
        if given is not None and needed is None:
            raise BadInputError(f"{option(name)} needs {option(other)}, which it belongs to")


def check_numbers(options: RiskOptions) -> None:
    """Refuse numbers that mean nothing."""
    check_least("draws", options.most, 1)
    check_least("seed", options.seed, 0)
    if options.population is not None:
        check_least("population", options.population, 1)


def _check_series(options: RiskOptions) -> None:
    """Refuse what a series has no use for, and several maps without one."""
    if options.series is None:
        if len(options.private_maps) > 1:
            raise BadInputError(f"several {option('private_map')} are for {option('series')}: give one")
        return
    others = {
        "release": options.release,
        "second_release": options.second_release,
        "planted": options.planted or None,
        "sensitive": options.sensitive,
        "exposing": options.exposing,
    }
    for name, given in others.items():
        if given is not None:
            raise BadInputError(
                f"{option(name)} is for one release: drop it, or attack that release without {option('series')}"
            )
    if not options.private_maps:
        raise BadInputError(
            f"{option('series')} needs {option('private_map')}, once for each of its releases"
        )


def job_of(options: RiskOptions) -> Job:
    """Return how the data are read: as the release's manifest and map say, or as is chosen for a release of the default method."""
    if options.release is None:
        return read_choices(Options(options.input, IN_MEMORY, options.k, **options.reading))
    if format_of(options.release) == LIST_FORMAT:
        given = {"items": "queries", "unit": "user", **_given(options.reading)}
        return read_choices(Options(options.input, IN_MEMORY, options.k, method="mosaic", **given))
    if options.private_map is None:
        raise BadInputError(
            f"{option('release')} needs {option('private_map')}: it says what is whose, and how the data were read"
        )
    return job_of_release(options.release, options.private_map, options)


def _given(reading: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in reading.items() if value not in (None, False, "auto")}


def _manifest_in(release: Path) -> Manifest | TileManifest:
    kind = TileManifest if format_of(release) == TILES_FORMAT else Manifest
    found: Manifest | TileManifest = read_manifest(release, kind)
    return found


def settings_in(release: Path) -> Settings:
    """Return how a release says that it was made; of a secret seed it says nothing."""
    manifest = _manifest_in(release)
    return read_settings(manifest.method, {"seed": 0, **manifest.parameters})


def job_of_release(
    release: Path, private_map: Path, options: RiskOptions, window: Window | None = None
) -> Job:
    """Return a job that reads the data as a release says that they were read, and of them what is of its window.

    Parameters
    ----------
    release, private_map, options
        The release, its map, and what else was said of reading.
    window
        What the release is of, where that is known from elsewhere.
    """
    manifest, settings = _manifest_in(release), settings_in(release)
    notes = read_map(private_map).notes
    common = settings.common
    if common.items is None:
        raise BadInputError("the release was not made from a file: use incrowd.risk(release) in Python")
    said = {
        "method": manifest.method,
        "format": notes.get("format", "auto"),
        "taxonomy": notes.get("taxonomy") if common.taxonomy == "file" else common.taxonomy,
        "items": common.items,
        "kinds": common.kinds,
        "unit": None if common.unit == "record" else common.unit,
        "sets": bool(common.sets),
        "unlisted": common.unlisted,
        "never": Path(notes["never"]) if "never" in notes else None,
        "moves": Path(notes["moves"]) if "moves" in notes else None,
        "parameters": msgspec.structs.asdict(settings.own),
        "seed": int(notes.get("seed", common.seed)),
        "distinct": "records" if manifest.claim.distinct == "records" else None,
        **{name: notes.get(name) or None for name in WRITTEN},
    }
    given = {**said, **_given(options.reading)}
    job = read_choices(Options(options.input, IN_MEMORY, common.k, **given))
    check_same_moves(None if job.moves is None else job.moves.digest, notes)
    if window is None and isinstance(manifest, TileManifest):
        window = manifest.of_window
    return job if window is None else replace(job, taken=Taken(window, 0, 0, 0))


def parse_limits(text: str | None) -> Limits:
    """Read two shares, as ``0.05,0.2``."""
    if text is None:
        return LIMITS
    try:
        green, amber = (float(part) for part in text.split(","))
    except ValueError:
        green, amber = 1.0, 0.0
    if not 0 <= green <= amber <= 1:
        raise BadInputError(
            f"{option('limits')} must be two shares of people from 0 to 1, the smaller first, as 0.05,0.2 (got '{text:.40}')"
        )
    return Limits(green, amber)
