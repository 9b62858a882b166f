"""The whole job on a cluster: files in, an audited release out, at its final name only when all of it went well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from incrowd.audit_taxonomy import write_taxonomy
from incrowd.auditor import Figured
from incrowd.claims import Claim, check_k
from incrowd.digest import Digest
from incrowd.errors import BadInputError, IncrowdError
from incrowd.folder import appearing_together, gone_on_failure, working_beside
from incrowd.job import (
    Clock,
    Job,
    Watcher,
    check_input,
    map_notes,
    nothing_left,
    rejects_path,
    unlisted_by,
    with_rejects,
)
from incrowd.kernels.arrays import tree_arrays
from incrowd.lengths import bins_of_lengths
from incrowd.logs import parse_columns
from incrowd.logs.encoding import UTF8, find_encoding
from incrowd.methods import method_named, read_parameters
from incrowd.metrics import Losses
from incrowd.parts import part_files, read_part
from incrowd.private_map import check_map, is_map, notes_with
from incrowd.promises import Settings, promised, read_settings, taxonomy_name
from incrowd.published import levels_of, taxonomy_table
from incrowd.release import check_out, is_release
from incrowd.release_manifest import (
    Counts,
    account_for_owner,
    figures_of,
    manifest_of,
    published_counts,
)
from incrowd.report.page import render_report
from incrowd.spark.audit import Owned, audit_on_spark, on_executors
from incrowd.spark.flock import check_shard, flock_on_spark
from incrowd.spark.losses import count_lengths, measure_losses
from incrowd.spark.map import write_map
from incrowd.spark.outcome import SparkOutcome
from incrowd.spark.partition import partition_on_spark
from incrowd.spark.reading import Reading, read
from incrowd.spark.release import count_records, published_labels, spell, write_records
from incrowd.spark.session import plain_errors, session
from incrowd.spark.transactions import Gathered, choose_items, gather, place_rows
from incrowd.spark.work import SHARD, Work
from incrowd.taxonomy import Grounded, open_taxonomy

__all__ = ["METHODS", "run_spark_job"]

SHARD_SETTING = "spark.incrowd.shard"
METHODS: Mapping[str, Callable[..., DataFrame]] = {"flock": flock_on_spark, "partition": partition_on_spark}


def run_spark_job(
    job: Job,
    watcher: Watcher,
    *,
    source: str | None = None,
    shard: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> SparkOutcome:
    """Make an audited release on a cluster, the same as the local engine's.

    Parameters
    ----------
    job
        What is asked for; ``job.master`` says where the cluster is.
    watcher
        Told which step begins.
    source
        The input as Spark shall read it: a file, a directory, a pattern or an address such as ``hdfs://host/log``; without
        it ``job.input``.
    shard
        The most rows that a task holds at once; without it, Spark's setting ``spark.incrowd.shard``, else 200,000.
    settings
        Settings of Spark's.
    """
    _check(job)
    gave_up = "the cluster gave up, and nothing was published"
    with session(job.master, settings) as spark, plain_errors(gave_up), Clock(watcher) as clock:
        limit = shard or _shard(spark.conf.get(SHARD_SETTING, None))
        if job.method == "flock":
            check_shard(check_k(job.k), limit)
        with working_beside(job.out) as directory:  # what lies between two steps is private
            return _run(job, Work(spark, directory), clock, source=source or str(job.input), shard=limit)


def _check(job: Job) -> None:
    """Refuse what cannot work before anything is read."""
    if job.k is None:
        raise BadInputError(
            f"method {job.method} needs --k: how many must share every published record, as in --k 5"
        )
    check_k(job.k)
    method_named(job.method)
    read_parameters(job.method, job.parameters)
    check_input(job)
    local = {
        f"method {job.method}": job.method not in METHODS,
        f"unit {job.unit}": job.unit != "user",
        "items concepts": job.items == "concepts",
        "--write": bool(job.text_forms),
        f"--encoding {job.encoding}": find_encoding(job.encoding) != UTF8,
    }
    for what, is_local in local.items():
        if is_local:
            raise BadInputError(f"{what} is for the local engine only: use --engine local")
    check_out(job.out, force=job.force)
    if job.private_map is not None:
        check_map(job.private_map, job.out, force=job.force)


def _shard(setting: str | None) -> int:
    """Return the most rows that a task holds at once."""
    if setting is None:
        return SHARD
    if not setting.isdecimal() or not int(setting):
        raise BadInputError(
            f"{SHARD_SETTING} must be a whole number of records, 1 or more (got '{setting:.80}')"
        )
    return int(setting)


def _run(job: Job, work: Work, clock: Clock, *, source: str, shard: int) -> SparkOutcome:
    reading = read(
        work,
        source,
        format_name=job.format,
        columns=parse_columns(job.columns) if job.columns else None,
        keep_rejected=job.keep_rejected,
    )
    try:
        gathered, grounded, rows, filled = _placed(job, work, clock, reading)
    except IncrowdError as error:
        raise with_rejects(error, reading.rejected, _write_rejects(job, reading)) from None
    clock.step("anonymize")
    tree = tree_arrays(grounded.taxonomy)
    where = str(work.directory / job.method)
    own = read_parameters(job.method, job.parameters)
    made = METHODS[job.method](rows, tree, grounded.taxonomy, k=job.k, shard=shard, work=where, **own)
    published = work.settle(made, "published")
    clock.step("measure")
    ground = work.spark.sparkContext.broadcast(tree)
    losses = measure_losses(rows, published, ground, grounded.taxonomy, filled)
    labels = published_labels(published, grounded.taxonomy)
    sent = work.spark.sparkContext.broadcast(labels)
    spelled = work.settle(spell(published, sent), "spelled")
    counts = count_records(spelled, labels, gathered.summary["units"])
    settings = _settings(job, reading, grounded)
    claim = promised(settings, distinct="records")
    measured = Measured(settings, claim, counts, losses, count_lengths(rows))
    with (
        gone_on_failure(_write_rejects(job, reading)) as rejects_file,
        appearing_together(_finals(job)) as (*map_draft, draft),
    ):
        clock.step("write")
        draft.mkdir()
        written = write_records(work, spelled, sent, draft / "records.parquet")
        figured = _write_rest(draft, work, taxonomy_table(labels.named), measured)
        clock.step("audit")
        owned = Owned(rows, grounded.taxonomy, written, labels.named.renamed)
        result = audit_on_spark(work, draft, owned, figured)
        clock.step("write")
        for file in map_draft:
            notes = notes_with(map_notes(job, reading.found.format), labels.named.renamed, draft)
            write_map(file, gathered, written, notes)
    return SparkOutcome(
        job.method,
        settings.spelled,
        claim,
        counts,
        losses,
        account_for_owner(job.method, counts, grounded.transactions, grounded.taxonomy),
        result,
        gathered.summary,
        reading.rejected,
        rejects_file,
        grounded.listed,
        grounded.unlisted,
        clock.seconds,
        job.out,
    )


def _finals(job: Job) -> list[tuple[Path, Callable[[Path], bool] | None]]:
    """Return the final names, the release last, and what may be replaced there."""
    release = (job.out, is_release if job.force else None)
    if job.private_map is None:
        return [release]
    return [(job.private_map, is_map if job.force else None), release]


class Measured(NamedTuple):
    """What was counted and measured, before it is written down."""

    settings: Settings
    claim: Claim
    counts: Counts
    losses: Losses
    lengths: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def _write_rest(draft: Path, work: Work, table: pa.Table, measured: Measured) -> Figured:
    """Write taxonomy, manifest and report beside the records; return what was measured, as the manifest spells it."""
    files = part_files(draft / "records.parquet")
    digest = Digest()
    for part in on_executors(work)(read_part, files):
        digest.merge(part.digest)
    levels = levels_of(table)
    lengths = bins_of_lengths(*measured.lengths, measured.claim.least)
    figures = figures_of(measured.losses, None, None, lengths)
    silent = measured.counts.withheld  # each is a person's, or a basket
    told = published_counts(measured.counts, measured.claim, *digest.means(levels), silent_people=silent)
    manifest = manifest_of(measured.settings, measured.claim, told, figures)
    write_taxonomy(draft / "taxonomy.parquet", table)
    (draft / "manifest.json").write_text(manifest.text(), encoding="utf-8")
    (draft / "report.html").write_text(render_report(manifest, digest, levels), encoding="utf-8")
    return Figured(msgspec.to_builtins(figures), told.withheld)


def _placed(
    job: Job, work: Work, clock: Clock, reading: Reading
) -> tuple[Gathered, Grounded, DataFrame, int]:
    """Build the transactions and place them on the taxonomy; refuse if k records are not left."""
    clock.step("items")
    items = choose_items(job.items, is_baskets=reading.is_baskets)
    if job.distinct == "people" and reading.is_baskets:
        raise BadInputError("distinct people needs to know whose each record is; baskets do not say")
    gathered = gather(work, reading, items, bags=not job.sets)
    if gathered.summary["empty"] == gathered.summary["units"]:
        raise BadInputError(nothing_left(reading.name, reading.found.format, reading.kept))
    clock.step("taxonomy")
    default = "balanced:5" if reading.is_baskets or items == "queries" else "wordnet"
    source = job.taxonomy or default
    grounded = open_taxonomy(source, gathered.without_rows, unlisted=unlisted_by(job, items, source))
    rows = place_rows(work, gathered, grounded)
    filled = rows.count()
    if job.k is not None and job.k > filled:
        raise BadInputError(
            f"k must be at most {filled:,}, the number of records that hold anything (got {job.k})"
        )
    return gathered, grounded, rows, filled


def _write_rejects(job: Job, reading: Reading) -> Path | None:
    """Write the rejected lines next to the output, under a name that is free."""
    if not reading.rejected:
        return None
    path = rejects_path(job.out)
    reading.write_rejects(path)
    return path


def _settings(job: Job, reading: Reading, grounded: Grounded) -> Settings:
    """Return the parameters as a manifest names them."""
    items = choose_items(job.items, is_baskets=reading.is_baskets)
    how = {
        "k": job.k,
        "seed": job.seed,
        "unit": "record" if reading.is_baskets else "user",
        "taxonomy": taxonomy_name(grounded.taxonomy.name),
        "items": items,
        "sets": job.sets,
        "unlisted": unlisted_by(job, items, grounded.taxonomy.name),
    }
    return read_settings(job.method, {**how, **read_parameters(job.method, job.parameters)})
