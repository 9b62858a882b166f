"""The whole job on a cluster: files in, an audited release out, at its final name only when all of it went well."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from incrowd.claims import Claim, check_k
from incrowd.errors import BadInputError, IncrowdError
from incrowd.folder import appearing
from incrowd.job import (
    Clock,
    Job,
    Watcher,
    check_input,
    map_notes,
    nothing_left,
    rejects_path,
    with_rejects,
)
from incrowd.kernels.arrays import tree_arrays
from incrowd.leftovers import marked, remove, remove_leftovers
from incrowd.logs import parse_columns
from incrowd.manifest import RELEASE_FORMAT, Counts, Manifest, SpelledClaim
from incrowd.methods import PROMISES, method_named, read_parameters
from incrowd.metrics import Losses
from incrowd.release import account_of, check_map, check_out, is_release, taxonomy_table
from incrowd.spark.audit import Owned, audit_on_spark
from incrowd.spark.flock import check_shard, flock_on_spark
from incrowd.spark.losses import measure_losses
from incrowd.spark.map import write_map
from incrowd.spark.outcome import SparkOutcome
from incrowd.spark.partition import partition_on_spark
from incrowd.spark.reading import Reading, read
from incrowd.spark.release import count_records, published_labels, spell, write_records
from incrowd.spark.session import plain_errors, session
from incrowd.spark.transactions import Gathered, choose_items, gather, place_rows
from incrowd.spark.work import SHARD, Work
from incrowd.taxonomy import Grounded, open_taxonomy
from incrowd.version import __version__

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
            check_shard(job.k, limit)
        with _work(spark, job.out) as work:
            return _run(job, work, clock, source=source or str(job.input), shard=limit)


def _check(job: Job) -> None:
    """Refuse what cannot work before anything is read."""
    check_k(job.k)
    method_named(job.method)
    read_parameters(job.method, job.parameters)
    check_input(job)
    local = {
        f"method {job.method}": job.method not in METHODS,
        f"unit {job.unit}": job.unit != "user",
        "items concepts": job.items == "concepts",
        "--write": bool(job.text_forms),
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


@contextmanager
def _work(spark: SparkSession, out: Path) -> Iterator[Work]:
    """Give a directory beside the release for what lies between two steps; it holds private data and goes in any case."""
    out = out.absolute()
    remove_leftovers(out.parent, f".{out.name}.")
    directory = out.with_name(f".{out.name}.{marked()}{secrets.token_hex(4)}-work")
    directory.mkdir(mode=0o700)
    try:
        yield Work(spark, directory)
    finally:
        remove(directory)


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
    own = read_parameters(job.method, job.parameters)
    made = METHODS[job.method](
        rows, tree, grounded.taxonomy, k=job.k, shard=shard, work=str(work.directory / job.method), **own
    )
    published = work.settle(made, "published")
    clock.step("measure")
    ground = work.spark.sparkContext.broadcast(tree)
    losses = measure_losses(rows, published, ground, grounded.taxonomy, filled)
    labels = published_labels(published, grounded.taxonomy)
    sent = work.spark.sparkContext.broadcast(labels)
    spelled = work.settle(spell(published, sent), "spelled")
    counts = count_records(spelled, labels, gathered.summary["units"])
    manifest = _manifest(job, reading, grounded, counts, losses)
    with appearing(job.out, replaces=is_release if job.force else None) as draft:
        clock.step("write")
        draft.mkdir()
        written = write_records(work, spelled, sent, draft / "records.parquet")
        table = taxonomy_table(grounded.taxonomy, labels.nodes)
        pq.write_table(table, draft / "taxonomy.parquet", compression="zstd")
        (draft / "manifest.json").write_text(manifest.text(), encoding="utf-8")
        clock.step("audit")
        result = audit_on_spark(work, draft, Owned(rows, grounded.taxonomy, written))
        clock.step("write")
        if job.private_map is not None:
            write_map(
                job.private_map, gathered, written, map_notes(job, reading.found.format), force=job.force
            )
    return SparkOutcome(
        manifest,
        result,
        gathered.summary,
        reading.rejected,
        _write_rejects(job, reading),
        grounded.listed,
        grounded.unlisted,
        clock.seconds,
        job.out,
    )


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
    grounded = open_taxonomy(job.taxonomy or default, gathered.without_rows, unlisted=job.unlisted)
    rows = place_rows(work, gathered, grounded)
    filled = rows.count()
    if job.k > filled:
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


def _manifest(job: Job, reading: Reading, grounded: Grounded, counts: Counts, losses: Losses) -> Manifest:
    """Return what the release says of itself; what a cluster does not measure is not in it."""
    own = read_parameters(job.method, job.parameters)
    how = {
        "items": choose_items(job.items, is_baskets=reading.is_baskets),
        "unit": job.unit,
        "sets": job.sets,
        "taxonomy": grounded.taxonomy.name,
        "unlisted": job.unlisted,
    }
    steps = account_of(job.method, counts, grounded.transactions, grounded.taxonomy)
    claim = Claim(PROMISES[job.method], job.k, "record" if reading.is_baskets else "user")
    return Manifest(
        format=RELEASE_FORMAT,
        incrowd=__version__,
        method=job.method,
        parameters={"k": job.k, "seed": job.seed, **own, **how},
        claim=SpelledClaim.of(claim),
        counts=counts,
        losses=msgspec.structs.asdict(losses),
        utility={},
        bound=None,
        account=[f"{number}. {step}" for number, step in enumerate(steps, 1)],
    )
