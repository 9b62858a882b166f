"""The whole job: a raw log in, an audited release out, with the time that each step took. Both engines walk it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from incrowd.attacks.result import Side
from incrowd.attacks.shown import certificate_rows
from incrowd.auditing.never import check_never
from incrowd.auditing.period import check_period
from incrowd.auditing.result import Audit
from incrowd.core.activity import Activity
from incrowd.core.atomic import removed_on_failure
from incrowd.core.types import Progress
from incrowd.errors import IncrowdError
from incrowd.jobs.anonymize import make_release
from incrowd.jobs.budget import charge
from incrowd.jobs.clock import Clock, ProgressListener, peak_megabytes
from incrowd.jobs.data import (
    check_rows,
    kernels_are_compiled,
    load_kernels,
    map_notes,
    open_log,
    place_input,
    unlisted_by,
    write_rejects,
)
from incrowd.jobs.series import in_series
from incrowd.jobs.spec import Job, Options, Taken, read_job, settled
from incrowd.jobs.trial import attack_draft, refuse_above
from incrowd.jobs.windows import in_window
from incrowd.logs.files import find_parts
from incrowd.logs.input import Input
from incrowd.methods.registry import method_named
from incrowd.release.budget import Budget
from incrowd.release.certificate import Pages, pages_of
from incrowd.release.model import Release
from incrowd.release.publication import Publication
from incrowd.release.tiles import TileRelease
from incrowd.taxonomy import Attached, Taxonomy

__all__ = [
    "Engine",
    "Made",
    "Outcome",
    "anonymized",
    "choices",
    "load_all",
    "run_job",
    "run_method",
    "run_on",
]


class Made(NamedTuple):
    """What an engine made of a job's input, before anything is written.

    Parameters
    ----------
    release
        What the method decided, ready to be written.
    found
        How many distinct items the taxonomy has and lacks, and how many it has in another case of letters only.
    read, summary
        The input, and what was counted on the way to the records.
    chosen
        Options that were chosen because nothing was said.
    taken
        The window that was asked for, and what it leaves out.
    """

    release: Publication
    found: Mapping[str, int]
    read: Input
    summary: Mapping[str, int]
    chosen: Sequence[str] = ()
    taken: Taken | None = None


Engine = Callable[[Job, Clock], AbstractContextManager[Made]]


@dataclass(frozen=True)
class Outcome:
    """What came of a job, on either engine.

    Parameters
    ----------
    made, audit
        What was made, and what was found when the written release was recounted.
    rejects_file
        Where the lines that could not be read are listed, if there are any.
    seconds, out
        What each step took, and where the release is.
    series
        The series in which it was recorded; None: overlaps with earlier releases were not looked for.
    pages
        The certificate and the dictionary beside the release, if they were asked for.
    risk
        What attacks on the written release found, if they were asked for.
    budget
        The budget that it was charged to, if it was.
    """

    made: Made
    audit: Audit
    rejects_file: Path | None
    seconds: Mapping[str, float]
    out: Path
    series: Path | None = None
    pages: Pages | None = None
    risk: Side | None = None
    budget: Path | None = None

    @property
    def release(self) -> Publication:
        """What was published, and what it was made from."""
        return self.made.release

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome as ``anonymize --json`` prints it: for the owner, with exact numbers.

        Of a list with noisy counts it has none that the promise does not cover.
        """
        release, parameters = self.release, self._parameters()
        secret = {} if "seed" in parameters else {"private": {"seed": release.parameters["seed"]}}
        said = {
            "method": release.method,
            "k": release.claim.k,
            "claim": {
                **msgspec.to_builtins(release.claim),
                "in_words": release.claim.in_words,
                "not_promised": list(release.claim.not_promised),
                "holds": self.audit.holds,
            },
            "parameters": parameters,
            "out": str(self.out),
            "chosen": list(self.made.chosen),
            "series": None if self.series is None else str(self.series),
            **(
                {} if self.pages is None else {name: str(path) for name, path in self.pages._asdict().items()}
            ),
        }
        if self.made.taken is not None:
            said["window"] = self.made.taken.as_dict()
        if not isinstance(release, Release) or not release.is_list:
            return said | self._numbers() | secret
        spent = (
            {}
            if self.budget is None
            else {"budget": {"file": str(self.budget), **Budget(self.budget).state().as_dict()}}
        )
        return said | {release.list_parameters.form.several: release.counts.labels} | spent

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters as the release has them: without the seed, where it is secret."""
        release = self.release
        if release.is_list:
            return dict(release.parameters)
        spelled = release.settings.spelled
        if method_named(release.method).seed_is_secret:
            del spelled["seed"]
        return spelled

    def _numbers(self) -> dict[str, Any]:
        """Return everything that was counted and measured on the originals."""
        made, release = self.made, self.release
        return {
            **msgspec.structs.asdict(release.counts),
            **release.measures,
            **({} if self.risk is None else {"risk": self.risk.as_dict()}),
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
            "peak_rss_mb": peak_megabytes(),
            "input": dict(made.summary),
            "items": dict(made.found),
            "rejected": {
                "by_reason": dict(made.read.rejected),
                "file": str(self.rejects_file) if self.rejects_file else None,
            },
            "account": list(release.account),
        }


def run_job(options: Options, listener: ProgressListener) -> Outcome:
    """Make an audited release in this process."""
    find_parts(options.input)  # before a ledger is made
    return run_on(local_engine, read_job(options), listener)


def run_on(engine: Engine, job: Job, listener: ProgressListener) -> Outcome:
    """Read, place, group, write, audit on an engine; nothing is at the final name unless all of it went well."""
    with Clock(listener) as clock, engine(job, clock) as made:
        check = _Check(job, made.release, clock)
        with removed_on_failure(write_rejects(job, made.read)) as rejects_file:
            result = made.release.write(
                job.options.out,
                force=job.options.force,
                text_forms=job.options.text_forms,
                heading=job.heading,
                private_map=job.options.private_map,
                private_report=job.options.private_report,
                map_notes=map_notes(replace(job, taken=made.taken), made.read),
                certificate=job.options.certificate,
                check=check,
                attack=lambda _: () if check.risk is None else certificate_rows(check.risk),
                step=clock.step,
                progress=listener.reading,
            )
        options = job.options
        pages = pages_of(options.out) if options.certificate else None
        return Outcome(
            made,
            result,
            rejects_file,
            clock.seconds,
            options.out,
            options.series,
            pages,
            check.risk,
            options.budget,
        )


class _Check:
    """Checks of a written release what the audit of its kind does not know: the list of words, the days that it names, and the risk."""

    def __init__(self, job: Job, release: Publication, clock: Clock) -> None:
        self.job, self.release, self.clock = job, release, clock
        self.risk: Side | None = None

    def __call__(self, draft: Path, result: Audit) -> None:
        """Add what is wrong to what the audit found."""
        job, release = self.job, self.release
        check_period(release.parameters, release.transactions.activity, release.claim.least, result)
        if job.never is not None:
            check_never(draft, job.never.found_in, result)
        if job.max_risk is not None and isinstance(release, (Release, TileRelease)) and not result.problems:
            self.clock.step("attack")
            self.risk = attack_draft(release, draft)
            refuse_above(self.risk, job.max_risk, result)


@contextmanager
def local_engine(job: Job, clock: Clock) -> Iterator[Made]:
    """Read, place and group in this process."""
    with open_log(job, clock.listener) as log, in_window(settled(job, log), log) as chosen:
        attached = place_input(chosen, log, clock, events=job.setting.reads.events)
        items = str(chosen.items)
        with in_series(chosen, items, attached):
            if not job.method.is_noisy:  # what compiled kernels would measure is not told
                load_all([chosen], clock)
            clock.step("anonymize")
            release = anonymized(chosen, items, attached, clock.listener.reading)
            yield Made(release, attached.found, log, log.summary, chosen.chosen, chosen.taken)


def load_all(jobs: Sequence[Job], clock: Clock) -> None:
    """Load each job's kernels, so that no method is charged for it."""
    clock.step("load" if all(kernels_are_compiled(job) for job in jobs) else "compile")
    for job in jobs:
        with suppress(IncrowdError):  # if it cannot run at all, its run says why
            load_kernels(job)


def anonymized(
    job: Job, items: str, attached: Attached, progress: Progress | None = None
) -> Release | TileRelease:
    """Run the job's method on items of some kind that are placed on a taxonomy, and note how they were read."""
    release = run_method(job, attached, progress)
    chosen = choices(job, items, attached.taxonomy, attached.transactions.activity)
    return replace(release, parameters={**release.parameters, **chosen})


def run_method(job: Job, attached: Attached, progress: Progress | None = None) -> Release | TileRelease:
    """Run the job's method on data that is placed on a taxonomy; charge its budget first, if it has one, but not for what is refused."""
    if job.options.budget is not None:
        check_rows(job, attached.transactions)
    charge(job.options.budget, job.method, job.setting.parameters, job.options.out)
    return make_release(
        attached,
        job.method,
        job.setting.parameters,
        k=job.k,
        seed=job.seed,
        distinct=job.options.distinct,
        past=job.past,
        progress=progress,
    )


def choices(job: Job, items: str, taxonomy: Taxonomy, activity: Activity | None) -> dict[str, Any]:
    """Return how the input was read, as parameters of the release."""
    said = {"items": items, "sets": job.options.sets, "unlisted": unlisted_by(job, items, taxonomy.name)}
    if job.kinds:
        said["kinds"] = ",".join(job.kinds)
    if job.never is not None:
        said["never"] = True
    if job.options.certificate and activity is not None:
        said |= activity.period(job.k or 1)
    return said
