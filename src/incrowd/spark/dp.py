"""Method `dp` on a cluster: people's sets are made and summed up there, and noise is drawn on the driver, as the local engine draws it.

What comes to the driver is a sum for each item that any person gave in a round: exact, and never written outside the job's private directory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.core.classes import Classes
from incrowd.core.noise import Words, secure_words
from incrowd.core.ragged import list_ids
from incrowd.core.spending import Round
from incrowd.core.types import Ints64
from incrowd.jobs.spec import Job
from incrowd.methods.dp.entries import Entries, item_sets
from incrowd.methods.dp.mechanism import find_items, noisy_people
from incrowd.methods.dp.method import check_people, list_of, spending_of
from incrowd.methods.dp.pairs import Rows, sets_of_pairs
from incrowd.methods.dp.sets import Sets, Sums
from incrowd.spark.bags import lists, starts
from incrowd.spark.transactions import Gathered
from incrowd.spark.work import Work
from incrowd.taxonomy import Attached

__all__ = ["SparkPeople", "check_units", "dp_on_spark"]

Step = Callable[[Sets], Sums]


def check_units(job: Job, gathered: Gathered) -> None:
    """Refuse units of which a person may have several if nobody knows whose they are."""
    check_people(gathered.unit, has_people=gathered.has_parts and job.options.distinct != "records")


def dp_on_spark(job: Job, work: Work, gathered: Gathered, attached: Attached) -> Classes:
    """Find and count items, or pairs of items in one unit, that many people have."""
    own, data = job.setting.parameters, attached.transactions
    spending = spending_of(own)
    width, of_pairs = len(data.vocabulary), own["of"] == "pairs"
    people = SparkPeople(work, _sets(work, gathered, data.vocabulary, spending.d, of_pairs=of_pairs))
    entries = Entries(people, max(width, 1) if of_pairs else None)
    found = find_items(people, spending)
    return list_of(data, attached.taxonomy, entries, found, noisy_people(people, found, spending))


class SparkPeople:
    """People on a cluster, see :class:`incrowd.methods.dp.mechanism.People`; `sets` has the `items` of each, in an order of chance."""

    def __init__(self, work: Work, sets: DataFrame) -> None:
        self._work, self._sets = work, sets

    def weights(self, found: Ints64, one: Round, d: int, words: Words = secure_words) -> Sums:
        """Return what people add to items in a round, each to at most d of those that were not found."""
        return self._summed(lambda sets: sets.weights(found, one, d, words))

    def people(self, found: Ints64, d: int, words: Words = secure_words) -> Sums:
        """Return how many people have each of the items that were found, of each person at most d of them."""
        return self._summed(lambda sets: sets.people(found, d, words))

    def _summed(self, step: Step) -> Sums:
        """Sum up what people give, each on the executor that has them.

        What they give is written down before it is added up: drawn again, where a part of the work is repeated, it would be added to
        what others have read of the first draw, and a person would give more than d items.
        """
        drawn = self._sets.mapInArrow(partial(_sums, step=step), "item bigint, sum bigint")
        given = self._work.settle(drawn, "given")
        self._work.settle(given.groupBy("item").agg(f.sum("sum").alias("sum")), "sums")
        here = self._work.here("sums", ["item", "sum"])
        for name in ("given", "sums"):
            self._work.forget(name)
        item, total = (np.array(here[name], dtype=np.int64) for name in ("item", "sum"))
        order = np.argsort(item)
        return Sums(item[order], total[order])


def _sets(work: Work, gathered: Gathered, vocabulary: pa.Array, d: int, *, of_pairs: bool) -> DataFrame:
    """Return what each person has, written down: the order of a set must not be drawn again if part of the work is repeated."""
    numbers = pa.table({"name": vocabulary, "item": pa.array(np.arange(len(vocabulary)), pa.int32())})
    bags = gathered.bags.join(work.table(numbers, "numbers.parquet"), "name")
    rows = bags.groupBy("key").agg(f.sort_array(f.collect_list("item")).alias("items"))
    if gathered.unit == "record":
        owned = rows.withColumnRenamed("key", "person")
    else:
        units = gathered.units.select(f.col("owner").alias("key"), "person")
        owned = rows.join(units, "key")
    people = owned.groupBy("person").agg(f.collect_list("items").alias("rows")).select("rows")
    made = partial(_sets_in, width=len(vocabulary), d=d, of_pairs=of_pairs)
    return work.settle(people.mapInArrow(made, "items array<bigint>"), "sets")


def _sets_in(
    batches: Iterable[pa.RecordBatch], *, width: int, d: int, of_pairs: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the sets of people, given their rows."""
    for batch in batches:
        column = batch.column("rows")
        own = column.flatten()
        item = np.array(own.flatten(), dtype=np.int32)
        rows = Rows(starts(own), item, list_ids(starts(column)), len(batch))
        sets = (sets_of_pairs if of_pairs else item_sets)(rows, width, d)
        yield pa.record_batch([lists(sets.start, sets.item)], ["items"])


def _sums(batches: Iterable[pa.RecordBatch], *, step: Step) -> Iterator[pa.RecordBatch]:
    """Yield what the people of each batch give."""
    for batch in batches:
        column = batch.column("items")
        found = step(Sets(starts(column), np.array(column.flatten(), dtype=np.int64)))
        yield pa.record_batch([pa.array(found.item), pa.array(found.sum)], ["item", "sum"])
