"""The comparison: several methods and several k on one input, one result for the table and the page.

The input is read once and placed on the taxonomy once. Each run is written as a release to a temporary
directory, audited there and deleted: a comparison holds counts and measures, never a record.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec
import pyarrow as pa
from msgspec.structs import replace as replace_values

from incrowd.attacks.result import LIMITS, QUESTIONS
from incrowd.core.atomic import atomic_write, check_free
from incrowd.core.claims import LEAST_K, Kind
from incrowd.core.rounding import four_digits
from incrowd.core.shown import html_lines, html_table
from incrowd.core.tabular import Tabular
from incrowd.core.temporary import private_directory
from incrowd.errors import BadInputError, ClaimError, IncrowdError
from incrowd.jobs.attacks import risk_of
from incrowd.jobs.clock import Clock, ProgressListener, peak_megabytes
from incrowd.jobs.data import open_log, place_input, write_rejects
from incrowd.jobs.run import anonymized, load_all
from incrowd.jobs.settings import Setting
from incrowd.jobs.spec import Job, Options, check_input
from incrowd.metrics import Bound
from incrowd.metrics.use import Use
from incrowd.release.model import Release
from incrowd.release.tiles import TileRelease
from incrowd.report.compare_choice import in_words
from incrowd.report.compare_measures import cell, flat
from incrowd.report.compare_page import PRIVATE, input_in_words, render_comparison, verdict
from incrowd.report.compare_table import as_text, shown_columns
from incrowd.taxonomy import Attached
from incrowd.version import __version__

__all__ = [
    "COMPARISON_FORMAT",
    "Comparison",
    "Read",
    "Run",
    "any_needs_events",
    "compared",
    "is_comparison",
    "run_comparison",
]

COMPARISON_FORMAT = "incrowd-comparison/1"
COMPARISON_FILES = frozenset(["compare.json", "compare.csv", "compare.html"])
MOST_TRIED = 300
NO_MEMORY = "not enough memory for this method on this input"


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One method with one k: what it promises, whether the audit confirms it, what it is of use for and what it loses.

    Measures have four digits. Those of records are None for a release of tiles.

    Parameters
    ----------
    label, method, parameters, k
        What ran; the parameters are the method's own, defaults included. k is None for a method that has none.
    kind, promise
        The kind of promise, and the promise as a sentence (none where the method failed).
    private
        Whether all numbers are the owner's alone: they are measured on the originals, and a promise of differential
        privacy does not cover them.
    holds
        Whether the audit of the written release confirms the promise; None where there is no release, and where noise
        leaves nothing to recount.
    error
        Why there is no release, or why the promise does not hold.
    use
        See :class:`incrowd.metrics.use.Use`.
    ncp, ggd_norm, ic_norm, kept_exactly, blm, avg_length, avg_level
        See :class:`incrowd.metrics.Losses`.
    bound
        See :class:`incrowd.metrics.Bound`; None where it does not hold for a release of this kind.
    recall, sdist, information_loss, linkage
        See :class:`incrowd.metrics.Utility`.
    groups, k_min, people_min, withheld
        Distinct records or tiles, the least number of records (units) and of different people who share one, and records (units) of
        which nothing is published.
    risk_singling_out, risk_linkability, risk_inference
        The highest risk that attacks found, see :class:`incrowd.attacks.result.Side`; None where none was measured.
    risk_intervals
        What each of them lies between, under their names.
    seconds
        Of the method alone: no reading, no measuring, no audit.
    peak_mb
        The most memory that the process has had so far; it never falls from run to run.
    """

    label: str
    method: str
    parameters: dict[str, Any]
    k: int | None
    kind: Kind
    private: bool = False
    promise: str | None = None
    holds: bool | None = None
    error: str | None = None
    use: Use | None = None
    ncp: float | None = None
    ggd_norm: float | None = None
    ic_norm: float | None = None
    kept_exactly: float | None = None
    blm: float | None = None
    avg_length: float | None = None
    avg_level: float | None = None
    bound: Bound | None = None
    recall: float | None = None
    sdist: float | None = None
    information_loss: float | None = None
    linkage: float | None = None
    groups: int | None = None
    k_min: int | None = None
    people_min: int | None = None
    withheld: int | None = None
    risk_singling_out: float | None = None
    risk_linkability: float | None = None
    risk_inference: float | None = None
    risk_intervals: dict[str, list[float]] | None = None
    seconds: float | None = None
    peak_mb: float | None = None

    @property
    def failed(self) -> bool:
        """Whether nothing came of it."""
        return self.promise is None

    @property
    def title(self) -> str:
        """What ran, for a message."""
        return self.label if self.k is None else f"{self.label} with k = {self.k}"


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """What came of a comparison.

    Parameters
    ----------
    input
        What was read, in numbers.
    how
        The name of the data, the unit, the items and the taxonomy that all runs share.
    runs
        One for each method and k, by promise, method and k.
    seconds
        The time of each step.
    rejects_file
        Where the lines that could not be read are listed, if there are any.
    """

    input: Mapping[str, int]
    how: Mapping[str, Any]
    runs: Sequence[Run]
    seconds: Mapping[str, float]
    rejects_file: Path | None = None

    def table(self) -> pa.Table:
        """Return all numbers as an Arrow table, one row a run: the columns of ``compare.csv``."""
        return pa.Table.from_pylist([_cells(run) for run in self.runs])

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write ``compare.html``, ``compare.csv`` and ``compare.json`` to a directory; it appears only when it is whole.

        Parameters
        ----------
        path
            The directory to make.
        force
            Replace a comparison that is there already (and nothing else).
        """
        path = Path(path)
        check_place(path, force=force)
        result = self.as_dict()
        with atomic_write(path, replaces=is_comparison if force else None) as draft:
            draft.mkdir()
            text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
            (draft / "compare.json").write_text(text, encoding="utf-8")
            lines = "".join(_csv_lines(self.runs))
            (draft / "compare.csv").write_text(lines, encoding="utf-8", newline="")
            (draft / "compare.html").write_text(render_comparison(result), encoding="utf-8")

    def __repr__(self) -> str:
        runs = self._flat_runs()
        said = [f"Comparison({input_in_words(self.how)})", as_text(runs), in_words(runs)]
        said += [f"{run.title}: {run.error}" for run in self.runs if run.error]
        return "\n".join(filter(None, said))

    def _repr_html_(self) -> str:
        runs = self._flat_runs()
        shown = shown_columns(runs)
        titles = ["method", "k", "audit", *(title.replace("\n", " ") for title in shown.values())]
        rows = [
            [
                run["label"],
                "" if run["k"] is None else run["k"],
                verdict(run),
                *(cell(run, name) for name in shown),
            ]
            for run in runs
        ]
        return html_table(input_in_words(self.how), rows, titles) + html_lines(filter(None, [in_words(runs)]))

    def _flat_runs(self) -> list[dict[str, Any]]:
        return [flat(msgspec.to_builtins(run)) for run in self.runs]

    @property
    def broken(self) -> bool:
        """Whether a release did not keep its promise."""
        return any(run.holds is False for run in self.runs)

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as ``compare.json`` holds it."""
        return {
            "format": COMPARISON_FORMAT,
            "incrowd": __version__,
            "input": dict(self.input),
            **self.how,
            **({"private": PRIVATE} if any(run.private for run in self.runs) else {}),
            "runs": [msgspec.to_builtins(run) for run in self.runs],
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
            "peak_rss_mb": peak_megabytes(),
        }


def run_comparison(
    options: Options,
    methods: Sequence[Setting],
    ks: Sequence[int],
    listener: ProgressListener,
    *,
    risk: bool = False,
) -> Comparison:
    """Run every method with every k on one input; write the results to ``options.out``.

    Parameters
    ----------
    options
        How to read the input and where to write; method and k are not used.
    methods, ks
        What to compare; see :mod:`incrowd.jobs.spec`. All methods work on one input: if by default they would take different
        items, ``options.items`` must say which.
    listener
        Receives how many runs are done.
    risk
        Attack every release too.

    Raises
    ------
    BadInputError
        The input cannot be used, or no run succeeded; nothing is written.
    """
    job = replace(check_input(options, methods), k=min(ks, default=LEAST_K))
    check_place(options.out, force=options.force)
    with Clock(listener) as clock:
        with open_log(job, listener) as log:
            attached = place_input(job, log, clock, events=any_needs_events(methods))
            read = Read(log.name, log.summary, log.kind_of_items(job.items), write_rejects(job, log))
        comparison = compared(job, attached, read, methods, ks, clock=clock, risk=risk)
    comparison.write(options.out, force=options.force)
    return comparison


class Read(NamedTuple):
    """What a comparison says of its input: its name, what was counted, the kind of its items, where rejected lines are."""

    name: str
    counted: Mapping[str, int]
    items: str
    rejects_file: Path | None = None


def any_needs_events(methods: Sequence[Setting]) -> bool:
    """Tell whether a method needs every single query event."""
    return any(setting.reads.events for setting in methods)


def compared(
    job: Job,
    attached: Attached,
    read: Read,
    methods: Sequence[Setting],
    ks: Sequence[int],
    *,
    clock: Clock,
    risk: bool = False,
) -> Comparison:
    """Run every method with every k on data that is placed on a taxonomy; attack what they make where that is wanted."""
    job = replace(job, items=read.items)
    load_all([_job_of(setting, job) for setting in methods], clock)
    clock.step("anonymize")
    runs = _all_runs(attached, methods, ks, job, clock.listener, risk=risk)
    clock.stop()
    # The step is called audit in a release; here it is a part of each run.
    seconds = {name: clock.seconds[name] for name in ("read", "taxonomy", "compile", "load")}
    seconds |= {"runs": clock.seconds["anonymize"], "total": clock.seconds["total"]}
    how = {"data": read.name, **_how(job, attached)}
    if risk:
        how["risk"] = {"most": MOST_TRIED, **LIMITS._asdict()}
    return Comparison(dict(read.counted), how, runs, seconds, read.rejects_file)


def check_place(path: Path, *, force: bool) -> None:
    """Refuse a directory in which no comparison can be written."""
    check_free(path, force=force, ours=is_comparison, what="output directory")


def is_comparison(path: Path) -> bool:
    """Tell whether a directory holds a comparison and nothing else."""
    if not path.is_dir() or not {file.name for file in path.iterdir()} <= COMPARISON_FILES:
        return False
    try:
        said = msgspec.json.decode((path / "compare.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return False
    return isinstance(said, dict) and said.get("format") == COMPARISON_FORMAT


def _how(job: Job, attached: Attached) -> dict[str, Any]:
    """Return what all runs share."""
    return {
        "records": len(attached.transactions),
        "avg_length": four_digits(attached.transactions.occurrences / len(attached.transactions)),
        "unit": attached.transactions.unit,
        "sets": job.options.sets,
        "items": {"kind": job.items, **attached.found},
        "taxonomy": {
            "name": attached.taxonomy.name,
            "leaves": attached.taxonomy.leaf_count,
            "levels": attached.taxonomy.height,
        },
        "seed": job.seed,
    }


def _job_of(setting: Setting, job: Job, k: int | None = None) -> Job:
    """Return what one run is asked to do."""
    return replace(job, setting=setting, k=k)


def _all_runs(
    attached: Attached,
    methods: Sequence[Setting],
    ks: Sequence[int],
    job: Job,
    listener: ProgressListener,
    *,
    risk: bool,
) -> list[Run]:
    """Run all there is to run, methods of the same promise together; refuse if nothing came of it."""
    kinds = get_args(Kind)
    ordered = sorted(methods, key=lambda setting: kinds.index(setting.kind))
    runs: list[Run] = []
    todo = [(setting, k) for setting in ordered for k in ([None] if setting.method.is_noisy else ks)]
    for setting, k in todo:
        listener.reading(len(runs), len(todo))
        runs.append(_run(attached, setting, k, job, risk=risk))
    listener.reading(len(runs), len(todo))
    if all(run.failed for run in runs):
        raise BadInputError(f"no method could run; {runs[0].title}: {runs[0].error}")
    return runs


def _run(attached: Attached, setting: Setting, k: int | None, job: Job, *, risk: bool) -> Run:
    """Run one method with one k, audit what it would publish, and attack it where that is wanted."""
    failed = Run(
        label=setting.label,
        method=setting.method.name,
        parameters=dict(setting.parameters),
        k=k,
        kind=setting.kind,
        private=setting.method.is_noisy,
    )
    begun = time.perf_counter()
    try:
        release = anonymized(_job_of(setting, job, k), str(job.items), attached)
        run = _measured(failed, release, time.perf_counter() - begun)
        return _attacked(run, attached, release, k or job.k or LEAST_K) if risk else run
    except IncrowdError as error:
        return replace_values(failed, error=str(error))
    except MemoryError:
        return replace_values(failed, error=NO_MEMORY)


def _measured(run: Run, release: Release | TileRelease, seconds: float) -> Run:
    """Add what the release is of use for, what it loses, and whether it keeps its promise."""
    counts, problem = release.counts, _problem(release)
    recounted = problem is not None or run.kind not in {"none", "differential privacy"}
    return replace_values(
        run,
        promise=release.claim.in_words,
        holds=problem is None if recounted else None,
        error=problem,
        use=Use(**_rounded(msgspec.structs.asdict(release.use))),
        **(_losses(release) if isinstance(release, Release) else {}),
        groups=counts.groups,
        k_min=counts.k_min,
        people_min=counts.people_min,
        withheld=counts.withheld,
        seconds=round(seconds, 6),
        peak_mb=peak_megabytes(),
    )


def _attacked(run: Run, attached: Attached, release: Release | TileRelease, k: int) -> Run:
    """Add the risk of each question; what cannot be attacked is measured all the same, with the reason."""
    try:
        side = risk_of(attached, release, k=k, most=MOST_TRIED)
    except IncrowdError as error:
        return replace_values(run, error=run.error or f"the risk could not be measured: {error}")
    found = {f"risk_{group}": side.worst(group) for group in QUESTIONS}
    worst = {name: figure for name, figure in found.items() if figure is not None}
    return replace_values(
        run,
        **_rounded({name: figure.risk for name, figure in worst.items()}),
        risk_intervals={name: [*map(four_digits, figure.risk_interval)] for name, figure in worst.items()},
    )


def _losses(release: Release) -> dict[str, Any]:
    """Return the measures that records have and tiles have not."""
    measures = msgspec.structs.asdict(release.losses) | msgspec.structs.asdict(release.utility)
    del measures["ggd"]  # the runs are compared by shares
    bound = release.bound
    if bound is not None:
        bound = replace_values(bound, value=four_digits(bound.value), error=four_digits(bound.error))
    return {**_rounded(measures), "bound": bound}


def _rounded(measures: Mapping[str, float | None]) -> dict[str, Any]:
    return {name: None if value is None else four_digits(value) for name, value in measures.items()}


def _problem(release: Release | TileRelease) -> str | None:
    """Write the release to a private directory, audit it, delete it; return what the audit found wrong."""
    with private_directory() as scratch:
        try:
            release.write(scratch / "release")
        except ClaimError as error:
            return str(error)
    return None


def _csv_lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the table line by line; a method's parameters share one column, as ``a=1;b=2``, and a bound is one number."""
    table = [_cells(run) for run in runs]
    for values in [list(table[0]), *(list(cells.values()) for cells in table)]:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(values)
        yield line.getvalue()


def _cells(run: Run) -> dict[str, Any]:
    fields = flat(msgspec.to_builtins(run))
    del fields["use"], fields["risk_intervals"]  # what is in them has columns of its own
    fields["parameters"] = ";".join(f"{name}={value}" for name, value in run.parameters.items())
    fields["bound"] = run.bound and run.bound.value
    return fields
