"""The dry run: what a job would do to its input, found out without its method, and without writing anything.

The input is read to its end, its items are attached to the taxonomy, and everything that a job checks before its method begins
is checked. What the method, the measures, the audit and the files would take is estimated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from incrowd.core.memory import Sizes, needed_memory, parse_memory
from incrowd.errors import BadInputError, IncrowdError
from incrowd.jobs.clock import Clock, ProgressListener
from incrowd.jobs.data import (
    build_rows,
    check_rows,
    kernels_are_compiled,
    open_log,
    place_rows,
    rejects_named,
    unlisted_by,
)
from incrowd.jobs.following import stand
from incrowd.jobs.lacking import Lacking, find_lacking
from incrowd.jobs.series import check_series_of
from incrowd.jobs.spec import DEFAULT_GOAL, Job, Options, read_job, settled
from incrowd.jobs.windows import in_window
from incrowd.logs import InputForm, Inputs, Log, look_at, parse_unit
from incrowd.methods.registry import GOALS
from incrowd.taxonomy import Attached

__all__ = ["Estimate", "Plan", "Recognised", "Rejected", "plan_job", "recognise"]

FIRST_LINES = 3
SPREAD = 3.0
"""By how much an estimate of time may be off, either way: data differ more than machines do."""
START_SECONDS = 1.0
"""Starting, loading kernels and naming the files, whatever the size."""


class Recognised(NamedTuple):
    """What the first bytes of an input say: how it is written, and which column has which role.

    Columns without names are numbers from 1.
    """

    name: str
    format: str
    encoding: str
    header: bool
    columns: Mapping[str, str]

    @property
    def is_baskets(self) -> bool:
        """Whether the input holds baskets of ready items, not queries."""
        return self.format == "dat"


class Rejected(NamedTuple):
    """How many lines would be left out for a reason, and the numbers of the first."""

    reason: str
    lines: int
    first: Sequence[int]


class Estimate(NamedTuple):
    """What a job will take: bytes of memory, and seconds between two bounds; None where there is no rate to go by."""

    memory: int
    memory_allowed: int
    seconds: tuple[float, float] | None
    seconds_read: float
    """What reading and attaching took just now; it is part of `seconds`."""
    compiles: bool
    """Whether kernels have to be compiled first, which takes up to a minute, once."""


@dataclass(frozen=True)
class Plan:
    """What a job would do.

    Parameters
    ----------
    job
        The job, with what was chosen where nothing was said.
    recognised
        How the input is written.
    lines, rejected, bad_bytes
        What was read and what would be left out.
    people
        How many people the input has; of baskets each counts as one.
    counts
        Units and items, as ``Log.summary`` names them; empty if the job is refused before they are counted.
    taxonomy, found, unlisted_are
        The taxonomy, how many distinct items it has, lacks, and has in another case only, and what becomes of those that it lacks.
    lacking
        Which items the taxonomy lacks; None if that was not asked for, or the job is refused before.
    reasons
        Why each option was chosen that nothing was said about.
    estimate
        What it will take; None if it is refused before that can be told.
    refused
        Why the job would be refused, in its words; None if it would run.
    """

    job: Job
    recognised: Recognised
    lines: int
    rejected: Sequence[Rejected]
    bad_bytes: int
    people: int
    counts: Mapping[str, int] = field(default_factory=dict)
    taxonomy: str | None = None
    found: Mapping[str, int] = field(default_factory=dict)
    unlisted_are: str | None = None
    lacking: Lacking | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    estimate: Estimate | None = None
    refused: str | None = None

    @property
    def unit(self) -> str:
        """What a unit is called."""
        return "record" if self.recognised.is_baskets or self.job.unit is None else self.job.unit.kind

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as ``anonymize --dry-run --json`` prints it: for the owner, with exact numbers."""
        estimate = None if self.estimate is None else self.estimate._asdict()
        return {
            "dry_run": True,
            "would_run": self.refused is None,
            "refused": self.refused,
            "method": self.job.method.name,
            "k": self.job.k,
            "promise": self.job.setting.kind,
            "items": self.job.items,
            "unit": None if self.job.unit is None else str(self.job.unit),
            "chosen": list(self.job.chosen),
            "why": dict(self.reasons),
            "input": {**self.recognised._asdict(), "lines": self.lines, "bad_bytes": self.bad_bytes},
            "rejected": [one._asdict() for one in self.rejected],
            "people": self.people,
            "counts": dict(self.counts),
            "taxonomy": {
                "name": self.taxonomy,
                **self.found,
                "unlisted_are": self.unlisted_are,
                **({} if self.lacking is None else self.lacking.as_dict()),
            },
            "estimate": estimate,
        } | ({} if self.job.taken is None else {"window": self.job.taken.as_dict()})


def plan_job(options: Options, listener: ProgressListener, *, lacking: int | None = None) -> Plan:
    """Find out what a job would do, and name so many items that the taxonomy lacks; what is refused before its input is read is raised."""
    if options.engine != "local":
        raise BadInputError(f"--dry-run reads the input on this machine: drop --engine {options.engine}")
    job = read_job(replace(options, dry_run=True))
    recognised = recognise(job.options.input, job.form)
    with Clock(listener) as clock, open_log(job, listener) as log:
        plan = Plan(job, recognised, log.lines, _rejected(log), log.bad_bytes, log.users)
        try:
            job = settled(job, log)
            plan = replace(plan, job=job, reasons=_reasons(job, log))
            with in_window(job, log) as job:
                plan = replace(plan, job=job)
                with rejects_named(job, log):
                    rows = build_rows(job, log, clock, events=job.setting.reads.events)
                    log.free_rows()
                    if lacking is not None:  # now, as a job may be refused for it
                        plan = replace(plan, lacking=find_lacking(job, rows, lacking))
                    attached = place_rows(job, rows, clock)
                plan = _with_items(plan, log, attached)
                check_series_of(job, str(job.items), attached)
                _check_data(job, attached)
        except IncrowdError as error:
            return replace(plan, counts=log.summary, refused=str(error))
        clock.step("load")  # ends what was timed
        return replace(plan, estimate=_estimate(job, attached, sum(clock.done().values())))


def recognise(given: Inputs, form: InputForm) -> Recognised:
    """Look at the first bytes of an input."""
    name, (source, layout) = look_at(given, form)
    return Recognised(name, layout.format, source.encoding, layout.header, layout.column_names)


def _rejected(log: Log) -> list[Rejected]:
    """Return what was left out, the most frequent reason first."""
    first: dict[str, list[int]] = {reason: [] for reason in log.rejected}
    for row in log.rejects.rows(first=FIRST_LINES):
        first[row["reason"]].append(row["line"])
    return [
        Rejected(reason, log.rejected[reason], first[reason])
        for reason in sorted(first, key=lambda reason: (-log.rejected[reason], reason))
    ]


def _with_items(plan: Plan, log: Log, attached: Attached) -> Plan:
    """Add what was counted on the way to the taxonomy."""
    job, tree = plan.job, attached.taxonomy
    return replace(
        plan,
        counts=log.summary,
        taxonomy=tree.name,
        found=attached.found,
        unlisted_are=unlisted_by(job, str(job.items), tree.name),
    )


def _check_data(job: Job, attached: Attached) -> None:
    """Refuse data that the method would refuse."""
    if job.past is not None and job.k is not None:
        stand(job.past, attached.transactions, k=job.k)
    check_rows(job, attached.transactions)


def _reasons(job: Job, log: Log) -> dict[str, str]:
    """Say why each option was chosen that nothing was said about."""
    method, goal = job.method, job.options.goal or DEFAULT_GOAL
    asked = "" if job.options.goal else ", the default"
    times = "with times" if log.has_times else "without times"
    unit = f" {times}" if parse_unit(job.setting.reads.unit).needs_times else ""
    why = {
        "--method": f"for --goal {goal}{asked}: {GOALS[goal].question}",  # type: ignore[index]
        "--k": "the default",
        "--items": f"what --goal {goal} is about"
        if _goal_items(job)
        else f"what {method.name} takes of a query log",
        "--unit": f"what {method.name} takes of a query log{unit}",
        "--unlisted": "words that WordNet lacks are named by their kinds",
    }
    return {option: why[option.partition(" ")[0]] for option in job.chosen}


def _goal_items(job: Job) -> bool:
    goal = job.options.goal
    return goal is not None and GOALS[goal].items is not None  # type: ignore[index]


def _estimate(job: Job, attached: Attached, seconds: float) -> Estimate:
    """Return what the whole job will take, given what reading and attaching took."""
    sizes = Sizes.of(attached.transactions)
    bounds = None
    if job.method.rate is not None:
        rest = job.method.rate(sizes.entries, **job.setting.parameters) * sizes.entries / 1e6
        bounds = (seconds + rest / SPREAD, 2 * seconds + START_SECONDS + rest * SPREAD)
    return Estimate(
        needed_memory(sizes, job.method.footprint),
        parse_memory(job.options.memory),
        bounds,
        seconds,
        compiles=not kernels_are_compiled(job),
    )
