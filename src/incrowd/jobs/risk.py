"""The risk lab's job: data and a release of it are read, attacks are run, and what they found is written as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from incrowd.attacks.attacked import Setting
from incrowd.attacks.page import risk_page
from incrowd.attacks.result import LIMITS, Limits, Risk
from incrowd.core.atomic import atomic_write, check_free, private_file
from incrowd.core.claims import check_k
from incrowd.core.promises import read_settings
from incrowd.errors import BadInputError, option
from incrowd.jobs.attack_kernels import attacks_are_compiled, load_attacks
from incrowd.jobs.attack_plan import Made, Plan, Published, made_of, published_by
from incrowd.jobs.attacks import attack_published, attack_raw
from incrowd.jobs.clock import Clock, ProgressListener
from incrowd.jobs.data import open_log, rejects_named
from incrowd.jobs.run import load_all
from incrowd.jobs.spec import IN_MEMORY, Job, Options, Taken, read_choices, settled
from incrowd.jobs.subject import Subject, sensitive_leaves, subject_of, subject_without_times
from incrowd.jobs.written import owned_by_map, published_in
from incrowd.logs import Inputs, Log
from incrowd.release.files.manifest import LIST_FORMAT, TILES_FORMAT, Manifest, format_of, read_manifest
from incrowd.release.files.tiles import TileManifest
from incrowd.release.model import Release
from incrowd.release.private_map import read_map
from incrowd.release.tiles import TileRelease
from incrowd.taxonomy import Attached

__all__ = ["MOST", "RiskOptions", "attack_release", "check_page", "parse_limits", "run_risk", "write_page"]

MOST = 1_000
DEFAULT_K = 5
MARK = b"incrowd risk page"
WRITTEN = ("columns", "encoding", "delimiter", "time_format", "day", "segment")
Opened = Callable[[Job], AbstractContextManager[Log]]


@dataclass(frozen=True)
class RiskOptions:
    """The options of ``incrowd risk`` as they are given; see its help.

    Parameters
    ----------
    input, release, private_map, second_release, second_map
        The data, a release of it and the map that was written with it; and another one.
    k, most, seed, population
        See :class:`incrowd.attacks.attacked.Setting`, and of how many people those of the data are a sample.
    sensitive
        A file of words, or names of classes.
    planted
        Whether the method is run again with planted accounts.
    limits
        The thresholds of the lights.
    reading
        How the data are read, by the names of :class:`incrowd.jobs.spec.Options`.
    """

    input: Inputs
    release: Path | None = None
    private_map: Path | None = None
    second_release: Path | None = None
    second_map: Path | None = None
    k: int | str | None = None
    most: int = MOST
    seed: int = 0
    population: int | None = None
    sensitive: str | None = None
    planted: bool = False
    limits: Limits = LIMITS
    reading: Mapping[str, Any] = field(default_factory=dict)


def run_risk(options: RiskOptions, listener: ProgressListener, opened: Opened | None = None) -> Risk:
    """Read the data as the release says, or as is chosen, and run all attacks; `opened` gives data that Python holds."""
    job = _job(options)
    source = open_log(job, listener) if opened is None else opened(job)
    with Clock(listener) as clock, source as log, rejects_named(job, log):
        job = settled(job, log)
        subject = subject_of(job, log, clock)
        published = _published(options.release, options.private_map, subject)
        _load(job if published is not None else None, clock)
        clock.step("attack")
        return _attacked(
            subject, published, _made(options, job), options, k=job.k, name=log.name, listener=listener
        )


def _load(job: Job | None, clock: Clock) -> None:
    """Load the kernels of the attacks, and of the method that is run again."""
    clock.step("load" if attacks_are_compiled() else "compile")
    load_attacks()
    if job is not None:
        load_all([job], clock)


def attack_release(release: Release | TileRelease, options: RiskOptions, listener: ProgressListener) -> Risk:
    """Run all attacks on a release that was made in this process, and on what it was made from."""
    subject = subject_without_times(Attached(release.transactions, release.taxonomy, 0, 0))
    listener.step("attack")
    k = check_k(options.k or release.claim.k or DEFAULT_K)
    return _attacked(
        subject, published_by(release), made_of(release), options, k=k, name="the data", listener=listener
    )


def _attacked(
    subject: Subject,
    published: Published | None,
    made: Made | None,
    options: RiskOptions,
    *,
    k: int | None,
    name: str,
    listener: ProgressListener,
) -> Risk:
    """Run all attacks on raw data, and on what is published of it where that is given."""
    sensitive = None if options.sensitive is None else sensitive_leaves(options.sensitive, subject.attached)
    setting = Setting(
        k or DEFAULT_K, options.most, options.seed, lambda share: listener.reading(round(100 * share), 100)
    )
    second = _published(options.second_release, options.second_map, subject)
    plan = Plan(setting, sensitive, options.population, second, options.planted)
    return Risk(
        attack_raw(subject, plan),
        None if published is None else attack_published(subject, published, made, plan),
        setting.k,
        setting.seed,
        setting.most,
        name,
        int(np.count_nonzero(subject.people.sizes)),
        "" if made is None or published is None else made.method.name,
        options.limits,
    )


def _published(release: Path | None, private_map: Path | None, subject: Subject) -> Published | None:
    """Return what a release publishes, where there is one."""
    if release is None:
        return None
    if private_map is None:
        return published_in(release, subject.attached, None)
    owned = read_map(private_map)
    if not owned.is_of(release):
        raise BadInputError(
            f"the private map is another release's: give the one that was written with {release}"
        )
    return published_in(release, subject.attached, owned_by_map(owned))


def _check_pairs(options: RiskOptions) -> None:
    """Refuse half of what belongs together."""
    needs = {
        ("private_map", "release"): (options.private_map, options.release),
        ("second_release", "second_map"): (options.second_release, options.second_map),
        ("second_map", "second_release"): (options.second_map, options.second_release),
        ("second_release", "release"): (options.second_release, options.release),
    }
    for (name, other), (given, needed) in needs.items():
        if given is not None and needed is None:
            raise BadInputError(f"{option(name)} needs {option(other)}, which it belongs to")
    if options.planted and options.release is None:
        raise BadInputError(
            f"{option('planted', value=True)} needs {option('release')}: its method is run again"
        )


def _job(options: RiskOptions) -> Job:
    """Return how the data are read: as the release's manifest and map say, or as is chosen for a release of the default method."""
    _check_pairs(options)
    if options.release is None:
        return read_choices(Options(options.input, IN_MEMORY, options.k, **options.reading))
    form = format_of(options.release)
    if form == LIST_FORMAT:
        given = {"items": "queries", "unit": "user", **_given(options.reading)}
        return read_choices(Options(options.input, IN_MEMORY, options.k, method="mosaic", **given))
    if options.private_map is None:
        raise BadInputError(
            f"{option('release')} needs {option('private_map')}: it says what is whose, and how the data were read"
        )
    kind = TileManifest if form == TILES_FORMAT else Manifest
    return _job_of(read_manifest(options.release, kind), options)


def _given(reading: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in reading.items() if value not in (None, False, "auto")}


def _job_of(manifest: Manifest | TileManifest, options: RiskOptions) -> Job:
    """Return a job that reads the data as a release says that they were read."""
    assert options.private_map is not None  # noqa: S101 - the caller has looked
    notes = read_map(options.private_map).notes
    settings = read_settings(manifest.method, {"seed": 0, **manifest.parameters})
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
        "parameters": msgspec.structs.asdict(settings.own),
        "seed": int(notes.get("seed", common.seed)),
        **{name: notes.get(name) or None for name in WRITTEN},
    }
    given = {**said, **_given(options.reading)}
    job = read_choices(Options(options.input, IN_MEMORY, options.k or common.k, **given))
    window = manifest.of_window if isinstance(manifest, TileManifest) else None
    return job if window is None else replace(job, taken=Taken(window, 0, 0, 0))


def _made(options: RiskOptions, job: Job) -> Made | None:
    """Return how a release was made; None for a list, whose counts are noise, and for none."""
    if options.release is None or format_of(options.release) == LIST_FORMAT:
        return None
    return Made(job.method, job.setting.parameters, job.k, job.seed, job.options.distinct)


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


def check_page(path: Path, release: Path | None, *, force: bool) -> None:
    """Refuse a page that would be published, or that would replace another file."""
    if release is not None and path.resolve().is_relative_to(release.resolve()):
        raise BadInputError(
            f"{option('out')} {path} must not lie inside the release: the page is for its owner"
        )
    check_free(path, force=force, ours=is_risk_page, what="page of risks")


def is_risk_page(path: Path) -> bool:
    """Tell whether a file is a page of risks."""
    try:
        with path.open("rb") as file:
            return MARK in file.read(1_000)
    except OSError:
        return False


def write_page(path: Path, found: Risk) -> None:
    """Write the page of risks, which only its owner can read."""
    with atomic_write(path, replaces=is_risk_page) as draft:
        private_file(draft).write_text(risk_page(found), encoding="utf-8")
