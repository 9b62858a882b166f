"""The comparison: several methods and several k on one input, one result for the table and the page.

The input is read once and placed on the taxonomy once. Each run is written as a release to a temporary
directory, audited there and deleted: a comparison holds counts and losses, never a record.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec.structs import replace as replace_values

from incrowd.anonymization import anonymize
from incrowd.claims import LEAST_K, Kind
from incrowd.digits import four_digits
from incrowd.errors import BadInputError, ClaimError, IncrowdError
from incrowd.folder import appearing, check_free
from incrowd.job import (
    Clock,
    Job,
    Watcher,
    check_input,
    kernels_are_compiled,
    load_kernels,
    open_log,
    peak_megabytes,
    place_input,
    with_items,
    write_rejects,
)
from incrowd.methods import ASKING, read_parameters
from incrowd.release import Release
from incrowd.report.compare_page import PRIVATE, render_comparison
from incrowd.runs import Run, Setting
from incrowd.taxonomy import Grounded
from incrowd.temporary import private_directory
from incrowd.version import __version__

__all__ = [
    "COMPARISON_FORMAT",
    "Comparison",
    "is_comparison",
    "run_comparison",
]

COMPARISON_FORMAT = "incrowd-comparison/1"
COMPARISON_FILES = frozenset(["compare.json", "compare.csv", "compare.html"])
NO_MEMORY = "not enough memory for this method on this input"


@dataclass(frozen=True)
class Comparison:
    """What came of a comparison.

    Parameters
    ----------
    input
        What was read, in numbers.
    how
        The unit, the items and the taxonomy that all runs share.
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


def run_comparison(job: Job, methods: Sequence[Setting], ks: Sequence[int], watcher: Watcher) -> Comparison:
    """Run every method with every k on one input; write the results to ``job.out``.

    Parameters
    ----------
    job
        How to read the input and where to write; its method and k are not used.
    methods, ks
        What to compare; see :mod:`incrowd.runs`. All methods work on one input: if by default they would take different
        items, ``job.items`` must say which.
    watcher
        Is told how many runs are done.

    Raises
    ------
    BadInputError
        The input cannot be used, or no run succeeded; nothing is written.
    """
    check_input(job)
    job = with_items(job, [setting.method for setting in methods])
    check_free(job.out, force=job.force, ours=is_comparison, what="output directory")
    clock = Clock(watcher)
    with clock:
        with open_log(job, watcher) as log:
            asked = any(setting.method in ASKING for setting in methods)
            grounded = place_input(replace(job, k=min(ks, default=LEAST_K)), log, clock, asked=asked)
            counted, items = dict(log.summary), job.items or log.default_items
            rejects_file = write_rejects(job, log)
        _prepare(job, methods, clock)
        clock.step("anonymize")
        runs = _all_runs(grounded, methods, ks, job, watcher)
    # The step is called audit in a release; here it is a part of each run.
    seconds = {name: clock.seconds[name] for name in ("read", "taxonomy", "compile", "load")}
    seconds |= {"runs": clock.seconds["anonymize"], "total": clock.seconds["total"]}
    comparison = Comparison(counted, _how(job, items, grounded), runs, seconds, rejects_file)
    _write(comparison, job)
    return comparison


def is_comparison(path: Path) -> bool:
    """Tell whether a directory holds a comparison and nothing else."""
    if not path.is_dir() or not {file.name for file in path.iterdir()} <= COMPARISON_FILES:
        return False
    try:
        said = msgspec.json.decode((path / "compare.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return False
    return isinstance(said, dict) and said.get("format") == COMPARISON_FORMAT


def _how(job: Job, items: str, grounded: Grounded) -> dict[str, Any]:
    """Return what all runs share."""
    return {
        "records": len(grounded.transactions),
        "avg_length": four_digits(grounded.transactions.occurrences / len(grounded.transactions)),
        "unit": grounded.transactions.unit,
        "sets": job.sets,
        "items": {"kind": items, "listed": grounded.listed, "unlisted": grounded.unlisted},
        "taxonomy": {
            "name": grounded.taxonomy.name,
            "leaves": grounded.taxonomy.leaf_count,
            "levels": grounded.taxonomy.height,
        },
        "seed": job.seed,
    }


def _prepare(job: Job, methods: Sequence[Setting], clock: Clock) -> None:
    """Load each method's kernels, so that no run is charged for it."""
    jobs = [replace(job, method=setting.method, parameters=setting.parameters) for setting in methods]
    clock.step("load" if all(kernels_are_compiled(one) for one in jobs) else "compile")
    for one in jobs:
        with suppress(IncrowdError):  # if it cannot run at all, its runs say why
            load_kernels(one)


def _all_runs(
    grounded: Grounded, methods: Sequence[Setting], ks: Sequence[int], job: Job, watcher: Watcher
) -> list[Run]:
    """Run all there is to run, methods of the same promise together; refuse if nothing came of it."""
    kinds = get_args(Kind)
    ordered = sorted(methods, key=lambda setting: kinds.index(setting.kind))
    runs: list[Run] = []
    todo = [(setting, k) for setting in ordered for k in (ks if setting.takes_k else [None])]
    for setting, k in todo:
        watcher.reading(len(runs), len(todo))
        runs.append(_run(grounded, setting, k, job))
    watcher.reading(len(runs), len(todo))
    if all(run.failed for run in runs):
        raise BadInputError(f"no method could run; {runs[0].title}: {runs[0].error}")
    return runs


def _run(grounded: Grounded, setting: Setting, k: int | None, job: Job) -> Run:
    """Run one method with one k and audit what it would publish."""
    failed = Run(
        label=setting.label,
        method=setting.method,
        parameters=read_parameters(setting.method, setting.parameters),
        k=k,
        kind=setting.kind,
        private=setting.kind == "differential privacy",
    )
    own: Mapping[str, Any] = setting.parameters
    begun = time.perf_counter()
    try:
        release = anonymize(
            grounded.transactions,
            grounded.taxonomy,
            k=LEAST_K if k is None else k,  # which has no effect then
            method=setting.method,
            seed=job.seed,
            distinct=job.distinct,
            **own,
        )
        seconds = time.perf_counter() - begun
        return _measured(failed, release, seconds)
    except IncrowdError as error:
        return replace_values(failed, error=str(error))
    except MemoryError:
        return replace_values(failed, error=NO_MEMORY)


def _measured(run: Run, release: Release, seconds: float) -> Run:
    """Add what the release loses and whether it keeps its promise."""
    counts, bound = release.counts, release.bound
    measures = msgspec.structs.asdict(release.losses) | msgspec.structs.asdict(release.utility)
    del measures["ggd"]  # the runs are compared by shares
    problem = _problem(release)
    recounted = problem is not None or run.kind not in {"none", "differential privacy"}
    return replace_values(
        run,
        promise=release.claim.in_words,
        holds=problem is None if recounted else None,
        error=problem,
        **{name: None if value is None else four_digits(value) for name, value in measures.items()},
        bound=bound and replace_values(bound, value=four_digits(bound.value), error=four_digits(bound.error)),
        groups=counts.groups,
        k_min=counts.k_min,
        people_min=counts.people_min,
        withheld=counts.withheld,
        seconds=round(seconds, 6),
        peak_mb=peak_megabytes(),
    )


def _problem(release: Release) -> str | None:
    """Write the release where nobody sees it, audit it, delete it; return what the audit found wrong."""
    with private_directory() as scratch:
        try:
            release.write(scratch / "release")
        except ClaimError as error:
            return str(error)
    return None


def _write(comparison: Comparison, job: Job) -> None:
    """Write the directory; it appears only when it is whole."""
    result = comparison.as_dict()
    with appearing(job.out, replaces=is_comparison if job.force else None) as draft:
        draft.mkdir()
        text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
        (draft / "compare.json").write_text(text, encoding="utf-8")
        (draft / "compare.csv").write_text("".join(_csv_lines(comparison.runs)), encoding="utf-8", newline="")
        (draft / "compare.html").write_text(render_comparison(result), encoding="utf-8")


def _csv_lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the table line by line; a method's parameters share one column, as ``a=1;b=2``, and a bound is one number."""
    for values in [Run.__struct_fields__, *map(_cells, runs)]:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(values)
        yield line.getvalue()


def _cells(run: Run) -> list[Any]:
    fields = msgspec.structs.asdict(run)
    fields["parameters"] = ";".join(f"{name}={value}" for name, value in run.parameters.items())
    fields["bound"] = run.bound and run.bound.value
    return list(fields.values())
