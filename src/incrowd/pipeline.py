"""The whole job: a raw log in, an audited release out, with the time that each step took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from incrowd.anonymization import anonymize
from incrowd.auditor import Audit, Originals, audit
from incrowd.claims import check_k
from incrowd.errors import BadInputError
from incrowd.folder import gone_on_failure
from incrowd.job import (
    Clock,
    Job,
    Watcher,
    check_input,
    kernels_are_compiled,
    knowledge_of,
    load_kernels,
    map_notes,
    open_log,
    peak_megabytes,
    place_input,
    unlisted_by,
    with_items,
    write_rejects,
)
from incrowd.logs import Log, parse_columns, read_log
from incrowd.logs.encoding import UTF8
from incrowd.manifest import LIST_FORMAT, Manifest, format_of, read_manifest
from incrowd.methods import ASKING, PROMISES, Progress, read_parameters
from incrowd.private_map import PrivateMap, check_map, read_map
from incrowd.promises import read_settings
from incrowd.release import Release, check_out
from incrowd.remeasure import measure_again
from incrowd.report.visible import visible
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
        """Return the outcome as ``anonymize --json`` prints it: for the owner, with exact numbers.

        Beside a list of noisy counts, these are marked as private: the promise does not cover them.
        """
        release = self.release
        said = {
            "method": release.method,
            "k": release.claim.k,
            "claim": {
                **msgspec.to_builtins(release.claim),
                "in_words": release.claim.in_words,
                "not_promised": list(release.claim.not_promised),
                "holds": self.audit.holds,
            },
            "parameters": dict(release.parameters) if release.is_list else release.settings.spelled,
            "out": str(self.out),
        }
        if not release.is_list:
            return said | self._numbers()
        return said | {"queries": len(release.noisy_list.query), "private": self._numbers()}

    def _numbers(self) -> dict[str, Any]:
        """Return everything that was counted and measured on the originals."""
        release = self.release
        return {
            **msgspec.structs.asdict(release.counts),
            "loss": msgspec.to_builtins(release.losses),
            "bound": msgspec.to_builtins(release.bound),
            "utility": msgspec.to_builtins(release.utility),
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
            "peak_rss_mb": peak_megabytes(),
            "input": self.log.summary,
            "items": {"listed": self.listed, "unlisted": self.unlisted},
            "rejected": {
                "by_reason": dict(self.log.rejects.counts),
                "file": str(self.rejects_file) if self.rejects_file else None,
            },
            "account": list(release.account),
        }


def run_job(job: Job, watcher: Watcher) -> Outcome:
    """Read, place, group, write, audit; nothing is at the final name unless all of it went well."""
    _check(job)
    job = with_items(job, [job.method])
    clock = Clock(watcher)
    with clock, open_log(job, watcher) as log:
        grounded = place_input(job, log, clock, asked=job.method in ASKING)
        clock.step("load" if kernels_are_compiled(job) else "compile")
        load_kernels(job)
        clock.step("anonymize")
        release = _release(job, log, grounded, watcher.reading)
        with gone_on_failure(write_rejects(job, log)) as rejects_file:
            result = release.write(
                job.out,
                force=job.force,
                text_forms=job.text_forms,
                private_map=job.private_map,
                map_notes=map_notes(job, log.format),
                step=clock.step,
                progress=watcher.reading,
            )
        return Outcome(
            release, result, log, grounded.listed, grounded.unlisted, rejects_file, clock.seconds, job.out
        )


def audit_release(
    directory: Path,
    *,
    original: Path | None,
    private_map: Path | None,
    taxonomy: str | None,
    columns: str | None = None,
    encoding: str | None = None,
    memory: str,
    watcher: Watcher,
) -> Audit:
    """Recount a release, against the originals and the private map where they are given."""
    if private_map is None:
        if original is not None:
            raise BadInputError("--original needs --private-map: it says which record is whose")
        watcher.step("audit")
        return audit(directory)
    if format_of(directory) == LIST_FORMAT:
        raise BadInputError(
            f"{directory} is a list and no one's records: audit it without --original and --private-map"
        )
    owned, manifest = read_map(private_map), read_manifest(directory)
    if original is None:
        watcher.step("audit")
        result = audit(directory, people=owned.people(manifest.claim.unit) or [])
        result.require(wrong=not owned.is_of(directory), problem="the private map is another release's")
        return result
    if columns is not None:
        owned.notes["columns"] = columns
    grounded = _read_again(
        original, owned.notes, manifest, taxonomy=taxonomy, encoding=encoding, memory=memory, watcher=watcher
    )
    watcher.step("audit")
    result = _audit_against(directory, grounded, owned, watcher)
    if columns is None and owned.notes.get("columns") and not result.problems:
        # Whoever writes the map could call any column the user.
        said = visible(owned.notes["columns"])
        result.unproven.append(
            f"that the originals' columns are as the private map says: confirm with --columns {said}"
        )
    return result


def _read_again(
    original: Path,
    notes: Mapping[str, str],
    manifest: Manifest,
    *,
    taxonomy: str | None,
    encoding: str | None,
    memory: str,
    watcher: Watcher,
) -> Grounded:
    """Read the originals as they were read for the release."""
    made = read_settings(manifest.method, manifest.parameters).common
    if made.items is None:
        raise BadInputError("the release was not made from a file: its manifest does not say how to read one")
    source = made.taxonomy if made.taxonomy != "file" else taxonomy or notes.get("taxonomy")
    if source is None:
        raise BadInputError("the release was made with a taxonomy file: give it with --taxonomy FILE")
    watcher.step("read")
    columns = parse_columns(notes["columns"]) if notes.get("columns") else None
    how = notes.get("format", "auto")
    with read_log(
        original,
        format=how,
        columns=columns,
        encoding=encoding or notes.get("encoding", UTF8),
        memory=memory,
        progress=watcher.reading,
    ) as log:
        transactions = log.transactions(
            unit="user" if made.unit == "record" else made.unit,
            items=made.items,
            bags=not made.sets,
            knowledge=knowledge_of(source) if made.items == "concepts" else None,
            asked=manifest.claim.typed_by is not None,
        )
    watcher.step("taxonomy")
    return open_taxonomy(source, transactions, unlisted=made.unlisted)


def _audit_against(directory: Path, grounded: Grounded, owned: PrivateMap, watcher: Watcher) -> Audit:
    """Audit a release against originals that were read again and a map of owners to rows."""
    owners = grounded.transactions.owners.to_pylist()
    row_of = [owned.row_of_owner.get(owner, -1) for owner in owners]
    originals = Originals(grounded.transactions, grounded.taxonomy, row_of, owned.renamed)
    manifest = read_manifest(directory)
    settings = read_settings(manifest.method, manifest.parameters)
    measure = partial(measure_again, originals, settings, manifest.claim.claim)
    result = audit(directory, originals=originals, measure=measure, progress=watcher.reading)
    result.require(
        wrong=grounded.transactions.unit != settings.common.unit,
        problem="the release says of another unit than the originals have that a record is one's",
    )
    strangers = owned.row_of_owner.keys() - set(owners)
    result.require(
        wrong=bool(strangers),
        problem=f"the private map names {len(strangers):,} owners that the originals do not have",
    )
    return result


def _check(job: Job) -> None:
    """Refuse what cannot work before anything is read."""
    read_parameters(job.method, job.parameters)
    check_input(job)
    if PROMISES[job.method] != "differential privacy":
        if job.k is None:
            raise BadInputError(
                f"method {job.method} needs --k: how many must share every published record, as in --k 5"
            )
        check_k(job.k)
    elif job.unit != "user":
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
    items = job.items or ("raw" if log.is_baskets else "nouns")
    how = {"items": items, "sets": job.sets, "unlisted": unlisted_by(job, items, grounded.taxonomy.name)}
    return replace(release, parameters={**release.parameters, **how})
