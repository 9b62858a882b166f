"""The risk lab's job: data and a release of it are read, attacks are run, and what they found is written as a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np

from incrowd.attacks.attacked import Setting
from incrowd.attacks.exposing import exposure
from incrowd.attacks.page import risk_page
from incrowd.attacks.result import Risk
from incrowd.core.atomic import atomic_write, check_free, private_file
from incrowd.core.claims import check_k
from incrowd.errors import BadInputError, option
from incrowd.jobs.attack_kernels import attacks_are_compiled, load_attacks
from incrowd.jobs.attack_plan import Made, Plan, Published, made_by, made_of, published_by
from incrowd.jobs.attacks import attack_published, attack_raw
from incrowd.jobs.clock import Clock, ProgressListener
from incrowd.jobs.data import open_log, rejects_named
from incrowd.jobs.risk_options import RiskOptions, check_options, job_of, settings_in
from incrowd.jobs.risk_series import attack_series, members_of
from incrowd.jobs.run import load_all
from incrowd.jobs.spec import Job, settled
from incrowd.jobs.subject import Subject, sensitive_leaves, subject_of, subject_without_times
from incrowd.jobs.written import named_in, published_by_map, published_in
from incrowd.logs import Log
from incrowd.release.files.manifest import LIST_FORMAT, format_of
from incrowd.release.model import Release
from incrowd.release.tiles import TileRelease
from incrowd.report.html import is_marked
from incrowd.taxonomy import Attached

__all__ = ["attack_release", "check_page", "run_risk", "write_page"]

DEFAULT_K = 5
MARK = b"incrowd risk page"
Opened = Callable[[Job], AbstractContextManager[Log]]


def run_risk(options: RiskOptions, listener: ProgressListener, opened: Opened | None = None) -> Risk:
    """Read the data as the release says, or as is chosen, and run all attacks; `opened` gives data that Python holds."""
    check_options(options)
    members = members_of(options)
    job = members[0].job if members else job_of(options)
    source = open_log(job, listener) if opened is None else opened(job)
    with Clock(listener) as clock, source as log, rejects_named(job, log):
        if members:
            _load([one.job for one in members], clock)
            return attack_series(members, log, options, clock)
        job = settled(job if options.release else replace(job, k=None), log)
        subject = subject_of(job, log, clock)
        published = _published(options.release, options.private_map, subject)
        _load([] if published is None else [job], clock)
        clock.step("attack")
        k = check_k(options.k or job.k or DEFAULT_K)
        return _attacked(
            subject, published, _made(options, job), options, k=k, name=log.name, listener=listener
        )


def _load(jobs: Sequence[Job], clock: Clock) -> None:
    """Load the kernels of the attacks, and of methods that are run again."""
    clock.step("load" if attacks_are_compiled() else "compile")
    load_attacks()
    if jobs:
        load_all(jobs, clock)


def attack_release(release: Release | TileRelease, options: RiskOptions, listener: ProgressListener) -> Risk:
    """Run all attacks on a release that was made in this process, and on what it was made from."""
    subject = subject_without_times(Attached(release.transactions, release.taxonomy, 0, 0))
    k = check_k(options.k or release.claim.k or DEFAULT_K)
    with Clock(listener) as clock:
        _load([], clock)
        clock.step("attack")
        return _attacked(
            subject, published_by(release), made_of(release), options, k=k, name="the data", listener=listener
        )


def _attacked(
    subject: Subject,
    published: Published | None,
    made: Made | None,
    options: RiskOptions,
    *,
    k: int,
    name: str,
    listener: ProgressListener,
) -> Risk:
    """Run all attacks on raw data, and on what is published of it where that is given."""
    sensitive = None if options.sensitive is None else sensitive_leaves(options.sensitive, subject.attached)
    setting = Setting(k, options.most, options.seed, lambda share: listener.reading(round(100 * share), 100))
    second = _second(options, subject)
    plan = Plan(setting, sensitive, options.population, second, options.planted)
    after = None if published is None else attack_published(subject, published, made, plan)
    if after is not None and options.release is not None:
        named = named_in(options.release, subject.attached.transactions)
        after = replace(after, found={**after.found, "named": named})
    return Risk(
        attack_raw(subject, plan),
        after,
        setting.k,
        setting.seed,
        setting.most,
        name,
        int(np.count_nonzero(subject.people.sizes)),
        "" if made is None or published is None else made.method.name,
        options.limits,
        exposing=None
        if options.exposing is None
        else exposure(subject.attached, subject.people, setting, options.exposing),
    )


def _published(release: Path | None, private_map: Path | None, subject: Subject) -> Published | None:
    """Return what a release publishes, where there is one."""
    if release is None:
        return None
    if private_map is None:
        return published_in(release, subject.attached, None)
    return published_by_map(release, private_map, subject.attached)


def _second(options: RiskOptions, subject: Subject) -> Published | None:
    """Return what another release of the same people publishes; refuse one whose labels could not be told apart."""
    if options.second_release is None:
        return None
    if format_of(options.second_release) == LIST_FORMAT:
        raise BadInputError(f"{option('second_release')} is a list, which has no records to put together")
    common = settings_in(options.second_release).common
    own = {"items": subject.attached.transactions.kind, "taxonomy": subject.attached.taxonomy.name}
    for name, said in own.items():
        other = getattr(common, name)
        if said is not None and other not in (None, "file", said):
            raise BadInputError(
                f"{option('second_release')} has {name} '{other}', and the first release '{said}': both must be made from the same"
            )
    return _published(options.second_release, options.second_map, subject)


def _made(options: RiskOptions, job: Job) -> Made | None:
    """Return how a release was made; None for a list, whose counts are noise, and for none."""
    if options.release is None or format_of(options.release) == LIST_FORMAT:
        return None
    return made_by(job)


def check_page(path: Path, release: Path | None, *, force: bool) -> None:
    """Refuse a page that would be published, or that would replace another file."""
    if release is not None and path.resolve().is_relative_to(release.resolve()):
        raise BadInputError(
            f"{option('out')} {path} must not lie inside the release: the page is for its owner"
        )
    check_free(path, force=force, ours=is_risk_page, what="page of risks")


def is_risk_page(path: Path) -> bool:
    """Tell whether a file is a page of risks."""
    return is_marked(path, MARK)


def write_page(path: Path, found: Risk) -> None:
    """Write the page of risks, which only its owner can read."""
    with atomic_write(path, replaces=is_risk_page) as draft:
        private_file(draft).write_text(risk_page(found), encoding="utf-8")
