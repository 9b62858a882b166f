"""The whole job: a raw log in, an audited release out, with the time that each step took."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self, get_args

import msgspec

from incrowd.anonymization import anonymize
from incrowd.auditor import Audit, Originals, audit
from incrowd.claims import check_k
from incrowd.errors import BadInputError, IncrowdError, check_choice
from incrowd.kernels.jit import is_compiled, note_compiled
from incrowd.logs import Log, parse_columns, parse_unit, read_log
from incrowd.manifest import read_manifest
from incrowd.methods import method_named, read_parameters
from incrowd.methods.classes import filled_rows
from incrowd.release import Release, check_map, check_out, read_map
from incrowd.taxonomy import Grounded, Unlisted, balanced, open_taxonomy
from incrowd.textforms import check_forms
from incrowd.transactions import Transactions

__all__ = ["Job", "Outcome", "Watcher", "audit_release", "run_job"]

STEPS = ("read", "taxonomy", "compile", "load", "anonymize", "audit", "write")


class Watcher(Protocol):
    """Somebody who wants to see how the job goes on."""

    def step(self, name: str) -> None:
        """Tell that a step begins."""

    def reading(self, done: int, total: int) -> None:
        """Tell how many bytes of the input are read."""


@dataclass(frozen=True)
class Job:
    """What ``incrowd anonymize`` is asked to do; the fields are its options."""

    input: Path
    out: Path
    k: int
    method: str = "partition"
    taxonomy: str | None = None
    items: str | None = None
    unit: str = "user"
    sets: bool = False
    format: str = "auto"
    columns: str | None = None
    unlisted: Unlisted | None = None
    seed: int = 0
    parameters: Mapping[str, str] = field(default_factory=dict)
    text_forms: Sequence[str] = ()
    private_map: Path | None = None
    force: bool = False
    memory: str = "4GB"
    keep_rejected: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of a job."""

    release: Release
    audit: Audit
    log: Log
    listed: int
    unlisted: int
    rejects_file: Path | None
    seconds: dict[str, float]
    out: Path

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome as ``anonymize --json`` prints it."""
        release = self.release
        return {
            "method": release.method,
            "k": release.claim.k,
            **msgspec.structs.asdict(release.counts),
            "loss": msgspec.to_builtins(release.losses),
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
            "peak_rss_mb": _peak_megabytes(),
            "claim": {
                **msgspec.to_builtins(release.claim),
                "in_words": release.claim.in_words,
                "holds": self.audit.holds,
            },
            "parameters": dict(release.parameters),
            "input": self.log.summary,
            "items": {"listed": self.listed, "unlisted": self.unlisted},
            "rejected": {
                "by_reason": dict(self.log.rejects.counts),
                "file": str(self.rejects_file) if self.rejects_file else None,
            },
            "account": list(release.account),
            "out": str(self.out),
        }


def run_job(job: Job, watcher: Watcher) -> Outcome:
    """Read, place, group, write, audit; nothing is at the final name unless all of it went well."""
    _check(job)
    clock = _Clock(watcher)
    with clock, _open_log(job, watcher) as log:
        try:
            grounded = _grounded(job, log, clock)
        except IncrowdError as error:
            raise _with_rejects(error, job, log) from None
        clock.step("load" if is_compiled(_kernels_of(job)) else "compile")
        _load_kernels(job)
        clock.step("anonymize")
        release = _release(job, log, grounded)
        result = release.write(
            job.out,
            force=job.force,
            text_forms=job.text_forms,
            private_map=job.private_map,
            map_notes=_map_notes(job, log),
            step=clock.step,
        )
        rejects_file = _write_rejects(job, log)
        return Outcome(
            release, result, log, grounded.listed, grounded.unlisted, rejects_file, clock.seconds, job.out
        )


def audit_release(
    directory: Path,
    *,
    original: Path | None,
    private_map: Path | None,
    taxonomy: str | None,
    memory: str,
    watcher: Watcher,
) -> Audit:
    """Recount a release, against the originals and the private map where they are given."""
    if (original is None) != (private_map is None):
        raise BadInputError("--original and --private-map go together: give both, or neither")
    if original is None or private_map is None:
        watcher.step("audit")
        return audit(directory)
    made = read_manifest(directory).parameters
    if not {"unit", "items", "sets", "taxonomy", "unlisted"} <= made.keys():
        raise BadInputError(
            f"{directory} was not made from a file: its manifest does not say how to read one"
        )
    rows, notes = read_map(private_map)
    watcher.step("read")
    columns = parse_columns(notes["columns"]) if notes.get("columns") else None
    how = notes.get("format", "auto")
    with read_log(original, format=how, columns=columns, memory=memory, progress=watcher.reading) as log:
        transactions = log.transactions(unit=made["unit"], items=made["items"], bags=not made["sets"])
    watcher.step("taxonomy")
    source = taxonomy or notes.get("taxonomy") or made["taxonomy"]
    grounded = open_taxonomy(source, transactions, unlisted=made["unlisted"])
    watcher.step("audit")
    return _audit_against(directory, grounded, rows)


def _audit_against(directory: Path, grounded: Grounded, rows: dict[str, int]) -> Audit:
    """Audit a release against originals that were read again and a map of owners to rows."""
    owners = grounded.transactions.owners.to_pylist()
    row_of = [rows.get(owner, -1) for owner in owners]
    result = audit(directory, originals=Originals(grounded.transactions, grounded.taxonomy, row_of))
    strangers = rows.keys() - set(owners)
    if strangers:
        result.blame(f"the private map names {len(strangers):,} owners that the originals do not have")
    return result


def _peak_megabytes() -> float:
    """Return the most memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes on macOS, in KiB elsewhere
    return round(peak / (1024**2 if sys.platform == "darwin" else 1024), 1)


class _Clock:
    """Times the steps and tells the watcher."""

    def __init__(self, watcher: Watcher) -> None:
        self.seconds = dict.fromkeys((*STEPS, "total"), 0.0)
        self.watcher = watcher
        self._name = "read"
        self._begun = self._last = time.perf_counter()

    def __enter__(self) -> Self:
        self.watcher.step(self._name)
        return self

    def __exit__(self, *_: object) -> None:
        self._lap()
        self.seconds["total"] = self._last - self._begun

    def step(self, name: str) -> None:
        """End the step that runs and begin the next."""
        self._lap()
        self._name = name
        self.watcher.step(name)

    def _lap(self) -> None:
        now = time.perf_counter()
        self.seconds[self._name] += now - self._last
        self._last = now


def _check(job: Job) -> None:
    """Refuse what cannot work before anything is read."""
    check_k(job.k)
    method_named(job.method)
    read_parameters(job.method, job.parameters)
    parse_unit(job.unit)
    if job.unlisted is not None:
        check_choice("unlisted", job.unlisted, get_args(Unlisted))
    check_forms(job.text_forms)
    check_out(job.out, force=job.force)
    if job.private_map is not None:
        check_map(job.private_map, job.out, force=job.force)


def _kernels_of(job: Job) -> str:
    """Return a name for what the job compiles: the method with its parameters."""
    return "-".join(
        [job.method, *(str(value) for value in read_parameters(job.method, job.parameters).values())]
    )


def _load_kernels(job: Job) -> None:
    """Run the method on next to nothing, so that compiling or loading its kernels is not counted as its time."""
    rows = Transactions.from_rows([["1", "2"], ["1", "2"], ["2", "2", "3"], ["3"]])
    own: Mapping[str, Any] = job.parameters
    _ = anonymize(rows, balanced(rows, 2), k=2, method=job.method, **own).losses
    note_compiled(_kernels_of(job))


def _open_log(job: Job, watcher: Watcher) -> Log:
    return read_log(
        job.input,
        format=job.format,
        columns=parse_columns(job.columns) if job.columns else None,
        memory=job.memory,
        keep_rejected=job.keep_rejected,
        progress=watcher.reading,
    )


def _grounded(job: Job, log: Log, clock: _Clock) -> Grounded:
    """Build the transactions and place them on the taxonomy; refuse if k people are not left."""
    clock.watcher.step("items")
    transactions = log.transactions(unit=job.unit, items=job.items, bags=not job.sets)
    if transactions.empty_rows == len(transactions):
        raise BadInputError(_nothing_left(job, log))
    clock.step("taxonomy")
    grounded = open_taxonomy(_taxonomy(job, log), transactions, unlisted=job.unlisted)
    filled_rows(grounded.transactions, job.k)
    return grounded


def _nothing_left(job: Job, log: Log) -> str:
    """Say why there is nothing to publish."""
    if log.rows:
        return f"nothing is left of {job.input.name}: no line holds an item of this kind; try another --items"
    return f"no line of {job.input.name} could be read as {log.format}; look at --format and --columns"


def _with_rejects(error: IncrowdError, job: Job, log: Log) -> IncrowdError:
    """Return an error that also says which lines were rejected, if any were."""
    path = _write_rejects(job, log)
    if path is None:
        return error
    reason, times = log.rejects.counts.most_common(1)[0]
    total = log.rejects.counts.total()
    return type(error)(f"{error} ({total:,} lines were rejected, {times:,} of them: {reason}; see {path})")


def _taxonomy(job: Job, log: Log) -> str:
    """Return the taxonomy asked for, or the one that suits the items."""
    if job.taxonomy is not None:
        return job.taxonomy
    return "balanced:5" if log.is_baskets or job.items == "queries" else "wordnet"


def _release(job: Job, log: Log, grounded: Grounded) -> Release:
    own: Mapping[str, Any] = job.parameters
    release = anonymize(
        grounded.transactions, grounded.taxonomy, k=job.k, method=job.method, seed=job.seed, **own
    )
    how = {
        "items": job.items or ("raw" if log.is_baskets else "nouns"),
        "unit": job.unit,
        "sets": job.sets,
        "taxonomy": grounded.taxonomy.name,
        "unlisted": job.unlisted,
    }
    return replace(release, parameters={**release.parameters, **how})


def _map_notes(job: Job, log: Log) -> dict[str, str]:
    """Return what reading the originals again takes; it goes into the private map, never into the release."""
    notes = {"format": log.format, "columns": job.columns or ""}
    if job.taxonomy and Path(job.taxonomy).is_file():
        notes["taxonomy"] = str(Path(job.taxonomy).absolute())
    return notes


def _write_rejects(job: Job, log: Log) -> Path | None:
    """Write the rejected lines next to the release, under a name that is free."""
    if not log.rejects.counts:
        return None
    path = job.out.absolute().parent / "rejects.jsonl"
    number = 1
    while path.exists() or path.is_symlink():
        number += 1
        path = path.with_name(f"rejects-{number}.jsonl")
    log.rejects.write(path)
    return path
