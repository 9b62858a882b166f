"""The whole job: a raw log in, an audited release out, with the time that each step took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from incrowd.anonymization import anonymize
from incrowd.auditor import Audit, Originals, audit
from incrowd.claims import check_k
from incrowd.errors import BadInputError
from incrowd.job import (
    Clock,
    Job,
    Watcher,
    asking,
    check_input,
    kernels_are_compiled,
    knowledge_of,
    load_kernels,
    map_notes,
    open_log,
    peak_megabytes,
    place_input,
    write_rejects,
)
from incrowd.logs import Log, parse_columns, read_log
from incrowd.manifest import read_manifest
from incrowd.methods import ASKING, PROMISES, Progress, read_parameters
from incrowd.release import PrivateMap, Release, check_map, check_out, read_map
from incrowd.report.page import Cost
from incrowd.taxonomy import Grounded, open_taxonomy
from incrowd.textforms import check_forms

__all__ = ["Outcome", "audit_release", "run_job"]


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
            "bound": msgspec.to_builtins(release.bound),
            "utility": msgspec.to_builtins(release.utility),
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
            "peak_rss_mb": peak_megabytes(),
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
    job = asking(job, [job.method])
    clock = Clock(watcher)
    with clock, open_log(job, watcher) as log:
        grounded = place_input(job, log, clock, asked=job.method in ASKING)
        clock.step("load" if kernels_are_compiled(job) else "compile")
        load_kernels(job)
        clock.step("anonymize")
        release = _release(job, log, grounded, watcher.reading)
        result = release.write(
            job.out,
            force=job.force,
            text_forms=job.text_forms,
            private_map=job.private_map,
            map_notes=map_notes(job, log.format),
            step=clock.step,
            progress=watcher.reading,
            cost=lambda: Cost(clock.done(), peak_megabytes()),
        )
        rejects_file = write_rejects(job, log)
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
    if private_map is None:
        if original is not None:
            raise BadInputError("--original needs --private-map: it says which record is whose")
        watcher.step("audit")
        return audit(directory)
    owned = read_map(private_map)
    if original is None:
        watcher.step("audit")
        return audit(directory, people=owned.people)
    manifest = read_manifest(directory)
    made = manifest.parameters
    if not {"unit", "items", "sets", "taxonomy", "unlisted"} <= made.keys():
        raise BadInputError(
            f"{directory} was not made from a file: its manifest does not say how to read one"
        )
    notes = owned.notes
    watcher.step("read")
    columns = parse_columns(notes["columns"]) if notes.get("columns") else None
    how = notes.get("format", "auto")
    with read_log(original, format=how, columns=columns, memory=memory, progress=watcher.reading) as log:
        source = taxonomy or notes.get("taxonomy") or made["taxonomy"]
        transactions = log.transactions(
            unit=made["unit"],
            items=made["items"],
            bags=not made["sets"],
            knowledge=knowledge_of(source) if made["items"] == "concepts" else None,
            asked=manifest.claim.typed_by is not None,
        )
    watcher.step("taxonomy")
    grounded = open_taxonomy(source, transactions, unlisted=made["unlisted"])
    watcher.step("audit")
    return _audit_against(directory, grounded, owned)


def _audit_against(directory: Path, grounded: Grounded, owned: PrivateMap) -> Audit:
    """Audit a release against originals that were read again and a map of owners to rows."""
    owners = grounded.transactions.owners.to_pylist()
    row_of = [owned.row_of_owner.get(owner, -1) for owner in owners]
    originals = Originals(grounded.transactions, grounded.taxonomy, row_of)
    result = audit(directory, originals=originals, people=owned.people)
    strangers = owned.row_of_owner.keys() - set(owners)
    if strangers:
        result.blame(f"the private map names {len(strangers):,} owners that the originals do not have")
    return result


def _check(job: Job) -> None:
    """Refuse what cannot work before anything is read."""
    check_k(job.k)
    read_parameters(job.method, job.parameters)
    check_input(job)
    if PROMISES[job.method] == "differential privacy" and job.unit != "user":
        raise BadInputError(f"method {job.method} protects rows: use --unit user, so that a row is a person")
    check_forms(job.text_forms)
    check_out(job.out, force=job.force)
    if job.private_map is not None:
        check_map(job.private_map, job.out, force=job.force)


def _release(job: Job, log: Log, grounded: Grounded, progress: Progress) -> Release:
    own: Mapping[str, Any] = job.parameters
    release = anonymize(
        grounded.transactions,
        grounded.taxonomy,
        k=job.k,
        method=job.method,
        seed=job.seed,
        distinct=job.distinct,
        progress=progress,
        **own,
    )
    how = {
        "items": job.items or ("raw" if log.is_baskets else "nouns"),
        "unit": job.unit,
        "sets": job.sets,
        "taxonomy": grounded.taxonomy.name,
        "unlisted": job.unlisted,
    }
    return replace(release, parameters={**release.parameters, **how})
