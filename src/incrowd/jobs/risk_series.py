"""A series of releases attacked: every release is read with its map and the originals of its time, and attackers put them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.attacks.attacked import Attacked, Setting, attacked_raw
from incrowd.attacks.people import Lists, People
from incrowd.attacks.result import Found, Risk, Side
from incrowd.attacks.seen import Seen
from incrowd.attacks.series import SeriesOutsiders, followed, intersected, shared
from incrowd.attacks.series_inference import guessed
from incrowd.core.claims import check_k
from incrowd.core.ragged import starts_of, take_lists
from incrowd.core.tiles import Tiles
from incrowd.core.types import Ints64
from incrowd.core.window import Window
from incrowd.errors import BadInputError, IncrowdError, option
from incrowd.jobs.attack_plan import Plan, Published, made_by, seen_by
from incrowd.jobs.attacks import NO_CONTROL, attack_raw, parted, seen_without_others
from incrowd.jobs.clock import Clock
from incrowd.jobs.data import build_rows, place_rows
from incrowd.jobs.risk_options import RiskOptions, job_of_release
from incrowd.jobs.series_audit import FoundSeries, find_series
from incrowd.jobs.spec import Job, settled
from incrowd.jobs.subject import Subject, names_of, subject_of, subject_without_times
from incrowd.jobs.written import published_by_map
from incrowd.logs import Log
from incrowd.release.files.manifest import LIST_FORMAT, format_of
from incrowd.release.files.series_index import IndexedRelease, files_of
from incrowd.release.private_map import RECORDS, read_map, records_digest

__all__ = ["Member", "attack_series", "members_of"]

OTHERS = "they are about one release: attack each alone"
OF_TILES = "nothing that is published says which tiles of two releases are one person's"


class Member(NamedTuple):
    """A release of the series: its name, where it and its map are, and how its data are read."""

    name: str
    place: Path
    private_map: Path
    job: Job


# --- the releases ---


def members_of(options: RiskOptions) -> list[Member]:
    """Return the releases of the series that was given, in the order of their time; none without a series."""
    if options.series is None:
        return []
    found = find_series(options.series)
    published = {str(one.files or one.name): one for one in found.index.releases if one.state == "published"}
    if len(published) < 2:  # noqa: PLR2004 - a series
        raise BadInputError(
            f"{option('series')} needs two releases or more ({options.series} has {len(published)}): attack one with {option('release')}"
        )
    maps = {read_map(path).notes.get(RECORDS): path for path in options.private_maps}
    members = []
    for said in published.values():
        place, window = _place_of(said, found), _window_of(said, found)
        private_map = maps.pop(records_digest(place), None)
        if private_map is None:
            raise BadInputError(
                f"no {option('private_map')} is that of release '{said.name}' of the series: give one for each release"
            )
        job = job_of_release(place, private_map, options, window)
        members.append((window.first, Member(said.name, place, private_map, job)))
    if maps:
        raise BadInputError(
            f"private map {next(iter(maps.values()))} is of no release of the series: drop it"
        )
    ordered = [one for _, one in sorted(members, key=lambda pair: pair[0])]
    if len({one.job.kinds for one in ordered}) > 1:
        raise BadInputError(
            f"the releases of the series have different {option('kinds')}: attack each with {option('release')}"
        )
    return ordered


def _place_of(said: IndexedRelease, found: FoundSeries) -> Path:
    """Return where a release is; refuse one that is not there, is another one, or is a list."""
    place = found.places.get(said.name)
    if place is None:
        raise BadInputError(
            f"release '{said.name}' of the series is not there: put it beside the directory of the series"
        )
    if said.files is not None and files_of(place) != said.files:
        raise BadInputError(
            f"{place} has other files than the index of the series says: 'incrowd audit' tells more"
        )
    if format_of(place) == LIST_FORMAT:
        raise BadInputError(
            f"release '{said.name}' is a list of noisy counts, which has nothing of one person: attack it with {option('release')}"
        )
    return place


def _window_of(said: IndexedRelease, found: FoundSeries) -> Window:
    """Return the time that a release is of: its window, else that of its events as the ledger has it."""
    try:
        if said.window is not None:
            return said.window.window
    except ValueError:
        raise BadInputError(f"release '{said.name}' has a window in the index that is none") from None
    for one in [] if found.ledger is None else found.ledger.releases:
        if one.entry.name == said.name and one.released is not None and one.released.files == said.files:
            seen = one.entry.seen
            if seen.by == "times":
                return Window(seen.first, seen.last + 1)
    raise BadInputError(
        f"nothing says which time release '{said.name}' is of: a series is attacked by the times of its releases"
    )


# --- the attacks ---


class _Read(NamedTuple):
    """A release that was read: its people, the number of each in the whole series, and what it publishes."""

    subject: Subject
    published: Published
    job: Job


class _Numbered(NamedTuple):
    """Numbers that each person has in all releases: for each release, those of its people; and how many people there are."""

    of_release: Sequence[Ints64]
    people: int

    @classmethod
    def of(cls, releases: Sequence[_Read]) -> _Numbered:
        """Return numbers for the people of some releases, by their names."""
        names = [names_of(one.subject.attached.transactions) for one in releases]
        everybody = pa.chunked_array(names, pa.string()).unique()
        places = [np.array(pc.index_in(some, value_set=everybody), dtype=np.int64) for some in names]
        return cls(places, len(everybody))

    def lists(self, lists: Lists, release: int) -> Lists:
        """Return lists of a release's people as lists of all people."""
        place = self.of_release[release]
        sizes = np.zeros(self.people, np.int64)
        sizes[place] = np.diff(lists.start)
        _, at = take_lists(lists.start, np.argsort(place))
        return Lists(starts_of(sizes), lists.value[at])

    def attacked(self, one: Subject, seen: Seen, release: int) -> Attacked:
        """Return a release as it is attacked."""
        seen = Seen(seen.sets, seen.people, self.lists(seen.held, release))
        return Attacked(self.people_of(one, release), one.attached.taxonomy, seen)

    def people_of(self, one: Subject, release: int) -> People:
        """Return what all people have in the time of a release."""
        had = self.lists(Lists(one.people.start, one.people.leaf), release)
        return People(*had, one.people.leaves)


def attack_series(members: Sequence[Member], log: Log, options: RiskOptions, clock: Clock) -> Risk:
    """Attack the raw data, and all releases of a series together."""
    whole = subject_of(settled(replace(members[0].job, taken=None), log), log, clock)
    releases = [_read(one, log, clock) for one in members]
    clock.step("attack")
    k = check_k(options.k or min(one.job.k or 0 for one in releases))
    report = clock.listener.reading
    setting = Setting(k, options.most, options.seed, lambda share: report(round(100 * share), 100))
    numbered = _Numbered.of(releases)
    before = attack_raw(whole, Plan(setting, population=options.population))
    raw = [
        attacked_raw(numbered.people_of(one.subject, i), one.subject.attached.taxonomy)
        for i, one in enumerate(releases)
    ]
    together: dict[str, Found] = {
        "series_intersected": intersected(raw, setting),
        "series_followed": followed(raw, setting),
        "series_guessed": guessed(raw, setting),
    }
    return Risk(
        replace(before, found={**before.found, **together}),
        _attack_releases(releases, numbered, setting),
        k,
        setting.seed,
        setting.most,
        log.name,
        int(np.count_nonzero(whole.people.sizes)),
        ", ".join(sorted({one.job.method.name for one in releases})),
        options.limits,
        tuple(one.name for one in members),
    )


def _read(one: Member, log: Log, clock: Clock) -> _Read:
    """Read the originals of a release as it was made of them, and what it publishes."""
    job = settled(one.job, log)
    rows = build_rows(job, log, clock, events=job.method.needs_events)
    subject = subject_without_times(place_rows(job, rows, clock))
    return _Read(subject, published_by_map(one.place, one.private_map, subject.attached), job)


def _attack_releases(releases: Sequence[_Read], numbered: _Numbered, setting: Setting) -> Side:
    """Run the attacks on what is published."""
    series = [
        numbered.attacked(one.subject, seen_by(one.subject, one.published), i)
        for i, one in enumerate(releases)
    ]
    skipped = {"others": OTHERS}
    control = None
    try:
        control = _outsiders(releases, numbered, setting)
    except IncrowdError as error:
        skipped["control"] = f"{NO_CONTROL}: {error}"
    found: dict[str, Found] = {
        "series_followed": followed(series, setting),
        "series_guessed": guessed(series, setting, control),
    }
    if any(isinstance(one.published, Tiles) for one in releases):
        skipped |= dict.fromkeys(("series_intersected", "series_shared"), OF_TILES)
    else:
        found["series_intersected"] = intersected(series, setting, control)
        found["series_shared"] = shared(series, setting)
    return Side(found, skipped)


def _outsiders(releases: Sequence[_Read], numbered: _Numbered, setting: Setting) -> SeriesOutsiders:
    """Make all releases again without some of the people, the same in each."""
    filled = np.zeros(numbered.people, np.bool_)
    for place, one in zip(numbered.of_release, releases, strict=True):
        filled[place] |= one.subject.people.sizes > 0
    inside, outside = parted(filled, setting)
    made = [
        numbered.attacked(one.subject, seen_without_others(one.subject, made_by(one.job), inside[place]), i)
        for i, (place, one) in enumerate(zip(numbered.of_release, releases, strict=True))
    ]
    return SeriesOutsiders(made, outside)
