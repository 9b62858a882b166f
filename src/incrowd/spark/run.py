"""The whole job on a cluster: files in, an audited release out, at its final name only when all of it went well."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from incrowd.core.atomic import working_beside
from incrowd.core.classes import check_enough
from incrowd.core.memory import Sizes, check_memory, parse_memory
from incrowd.errors import BadInputError
from incrowd.jobs.anonymize import counted_by, noisy_release
from incrowd.jobs.budget import charge
from incrowd.jobs.clock import Clock, ProgressListener
from incrowd.jobs.data import (
    attach_items,
    check_left,
    knowledge_for,
    rejects_named,
    taxonomy_for,
    unlisted_by,
)
from incrowd.jobs.run import Made, Outcome, anonymized, choices, load_all, run_on
from incrowd.jobs.series import in_series
from incrowd.jobs.spec import Job, Options, method_for, read_job, settled
from incrowd.jobs.windows import in_window
from incrowd.kernels.arrays import tree_arrays
from incrowd.logs import Inputs, Unit
from incrowd.logs.files import check_no_spreadsheet, listed
from incrowd.logs.formats.encoding import UTF8, find_encoding
from incrowd.release.publication import Publication
from incrowd.spark.collected import collect_units
from incrowd.spark.dp import check_units, dp_on_spark
from incrowd.spark.flock.method import check_shard, flock_on_spark
from incrowd.spark.partition.method import partition_on_spark
from incrowd.spark.people import WithPeople, with_people_on_spark
from incrowd.spark.reading.read import Reading, read
from incrowd.spark.release import SparkRelease
from incrowd.spark.session import plain_errors, session
from incrowd.spark.transactions import Gathered, gather, place_rows
from incrowd.spark.work import SHARD, Work
from incrowd.taxonomy import Attached, Taxonomy

__all__ = ["METHODS", "ON_DRIVER", "SUMMED", "run_spark_job"]

SHARD_SETTING = "spark.incrowd.shard"
METHODS: Mapping[str, Callable[..., DataFrame]] = {"flock": flock_on_spark, "partition": partition_on_spark}
"""Methods that group on the cluster."""
SUMMED = ("dp",)
"""Methods for which the cluster makes sums, to which the driver adds noise."""
ON_DRIVER = ("mosaic",)
"""Methods that the driver always runs, on units that the cluster has made."""


LOCAL_LISTS = ("clicks", "weeks")
"""Lists of method dp that the cluster does not make."""


class Placed(NamedTuple):
    """The units on the taxonomy: who has which items, the tree, the rows in its leaves, and how many of them hold anything."""

    gathered: Gathered
    attached: Attached
    rows: DataFrame
    filled: int


def run_spark_job(
    options: Options,
    listener: ProgressListener,
    *,
    source: Inputs | None = None,
    shard: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> Outcome:
    """Make an audited release on a cluster, the same as the local engine's.

    Parameters
    ----------
    options
        What to do; ``options.master`` is the cluster's address.
    listener
        Receives the progress.
    source
        The input as Spark shall read it: a file, a directory, a pattern or an address such as ``hdfs://host/log``, or several
        of them; without it ``options.input``.
    shard
        The most rows that a task holds at once; without it, Spark's setting ``spark.incrowd.shard``, else 200,000.
    settings
        Settings of Spark's.
    """
    sources = [os.fspath(path) for path in listed(source or options.input)]
    _check(options, sources)
    job = read_job(options)
    gave_up = "the cluster gave up, and nothing was published"
    with session(options.master, settings) as spark, plain_errors(gave_up):
        limit = shard or _shard(spark.conf.get(SHARD_SETTING, None))
        if job.method.name == "flock" and job.k is not None:
            check_shard(job.k, limit)
        return run_on(partial(_engine, spark, sources, limit), job, listener)


def _check(options: Options, sources: Sequence[str]) -> None:
    """Refuse what does not work on a cluster, before anything is read or a ledger is made."""
    name = method_for(options)[0].name
    local = {
        f"method {name}": name not in (*METHODS, *SUMMED, *ON_DRIVER),
        f"of={options.parameters.get('of')}": options.parameters.get("of") in LOCAL_LISTS,
        f"--encoding {options.encoding}": find_encoding(options.encoding or UTF8) != UTF8,
        "--format json": options.format == "json",
    }
    local |= {f"input {source}": source == "-" or source.lower().endswith(".zip") for source in sources}
    for source in sources:
        check_no_spreadsheet(source)
    for what, is_local in local.items():
        if is_local:
            raise BadInputError(f"{what} is for the local engine only: use --engine local")
    parse_memory(options.memory)


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
def _engine(
    spark: SparkSession, sources: Sequence[str], shard: int, job: Job, clock: Clock
) -> Iterator[Made]:
    """Read, place and group on a cluster; what lies between two steps is private."""
    with working_beside(job.options.out) as directory:
        work = Work(spark, directory)
        reading = read(work, sources, job.form, keep_rejected=job.options.keep_rejected)
        with (
            in_window(settled(job, reading), reading) as chosen,
            _made_of(chosen, work, clock, reading, shard) as made,
        ):
            yield made


@contextmanager
def _made_of(job: Job, work: Work, clock: Clock, reading: Reading, shard: int) -> Iterator[Made]:
    """Place and group what was read."""
    items = reading.kind_of_items(job.items)
    if job.method.name in SUMMED:
        yield _listed(job, work, clock, reading, items)
        return
    with rejects_named(job, reading):
        _check_map(job, reading)
        placed = _placed(job, work, clock, reading)
    if _on_driver(job):
        units = collect_units(work, placed.gathered, placed.attached)
        placed = placed._replace(attached=placed.attached._replace(transactions=units))
    attached, summary = placed.attached, placed.gathered.summary
    with in_series(job, items, attached):
        release = _made(job, work, clock, placed, items, shard=shard)
        yield Made(release, attached.found, reading, summary, job.chosen, job.taken)


def _on_driver(job: Job) -> bool:
    """Tell whether the driver runs the method, as the local engine does, on units that the cluster has made.

    It does where each choice depends on the one before, for all units, and for what needs all originals in one process.
    """
    options = job.options
    needs_originals = (job.past, options.series, options.private_report)
    return job.method.name in ON_DRIVER or (
        job.method.name in METHODS and any(one is not None for one in needs_originals)
    )


def _listed(job: Job, work: Work, clock: Clock, reading: Reading, items: str) -> Made:
    """Make a list with noisy counts; charge its budget first, if it has one, but not for what is refused."""
    gathered = _gathered(job, work, clock, reading)
    check_units(job, gathered)
    clock.step("taxonomy")
    attached = attach_items(job, items, gathered.without_rows)
    counted_by(attached.transactions, job.options.distinct)
    clock.step("anonymize")
    charge(job.options.budget, job.method, job.setting.parameters, job.options.out)
    classes = dp_on_spark(job, work, gathered, attached)
    release = noisy_release(attached, job.method, job.setting.parameters, classes, seed=job.seed)
    chosen = choices(job, items, attached.taxonomy, gathered.activity)
    release = replace(release, parameters={**release.parameters, **chosen})
    return Made(release, attached.found, reading, gathered.summary, job.chosen, job.taken)


def _check_map(job: Job, reading: Reading) -> None:
    """Refuse a private map that could not say which basket is which."""
    if job.options.private_map is not None and reading.is_baskets and len(reading.found.files) > 1:
        raise BadInputError(
            "the private map of baskets names each by its line number: give one file, or drop --private-map"
        )


def _made(job: Job, work: Work, clock: Clock, placed: Placed, items: str, *, shard: int) -> Publication:
    """Run the method: on the cluster, or in this process as the local engine does."""
    if _on_driver(job):
        load_all([job], clock)
        clock.step("anonymize")
        return anonymized(job, items, placed.attached, clock.listener.reading)
    clock.step("anonymize")
    return _made_there(job, work, placed, items, shard)


def _made_there(job: Job, work: Work, placed: Placed, items: str, shard: int) -> SparkRelease:
    """Run the method on the cluster."""
    tree = placed.attached.taxonomy
    found = _grouped(job, work, placed.rows, tree, shard)
    return SparkRelease(
        job.method.name,
        {
            "k": job.k,
            "seed": job.seed,
            **job.setting.parameters,
            **choices(job, items, tree, placed.gathered.activity),
        },
        placed.attached.transactions,
        tree,
        work,
        placed.gathered,
        placed.rows,
        placed.filled,
        work.settle(found.published, "published"),
        "people" if job.counts_people else "records",
        found.notes,
    )


def _grouped(job: Job, work: Work, rows: DataFrame, tree: Taxonomy, shard: int) -> WithPeople:
    """Run the method, and let every class have k different people where one may have several rows."""
    method, where = METHODS[job.method.name], str(work.directory / job.method.name)
    made = method(rows, tree_arrays(tree), tree, k=job.k, shard=shard, work=where, **job.setting.parameters)
    if not job.counts_people or job.k is None:
        return WithPeople(made.drop("place"))
    return with_people_on_spark(work.settle(made, "grouped"), rows, tree, k=job.k, shard=shard, work=work)


def _placed(job: Job, work: Work, clock: Clock, reading: Reading) -> Placed:
    """Build the transactions and place them on the taxonomy; refuse if k records, or people who have one, are not left."""
    gathered, items = _gathered(job, work, clock, reading), reading.kind_of_items(job.items)
    if _on_driver(job):
        _check_driver(job, gathered)
    check_left(reading, gathered.summary)
    clock.step("taxonomy")
    attached = attach_items(job, items, gathered.without_rows)
    counted_by(attached.transactions, job.options.distinct)
    rows = place_rows(work, gathered, attached)
    filled = work.count("rows")
    if job.k is not None:
        found = rows.select("person").distinct().count() if job.counts_people else filled
        check_enough(job.k, found, by_people=job.counts_people)
    return Placed(gathered, attached, rows, filled)


def _gathered(job: Job, work: Work, clock: Clock, reading: Reading) -> Gathered:
    """Build the transactions on the cluster."""
    clock.step("items")
    items = reading.kind_of_items(job.items)
    return gather(
        work,
        reading,
        job.unit or Unit(),
        items,
        knowledge_for(job, items),
        bags=not job.options.sets,
        places=job.method.uses_places,
        kinds=job.kinds,
        never=job.never,
        named=unlisted_by(job, items, taxonomy_for(job, items)) == "name",
        by_day=job.options.certificate,
        window=job.taken and job.taken.window,
    )


def _check_driver(job: Job, gathered: Gathered) -> None:
    """Refuse units that would take more memory than the driver may, before they are brought there."""
    sizes = Sizes(gathered.summary["units"], gathered.entries, gathered.vocabulary)
    check_memory(sizes, f"{job.method.name} on the driver", job.method.footprint, job.options.memory)
