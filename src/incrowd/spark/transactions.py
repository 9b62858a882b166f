"""Transactions on the cluster: the same rows, numbers and counts as the local engine's.

What comes to the driver is the vocabulary, which is attached to the taxonomy, and counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.core.transactions import Transactions
from incrowd.logs.items import Lookup, lookup_of, named_by_kind, words_of
from incrowd.spark.reading.read import Reading
from incrowd.spark.work import Work
from incrowd.taxonomy import Attached, Taxonomy
from incrowd.text.words import TERM

__all__ = ["Gathered", "gather", "place_rows"]

_MEANINGS = "text string, name string, kind byte, occurrences long"


@dataclass(frozen=True, eq=False)
class Gathered:
    """Who has which items.

    Parameters
    ----------
    bags
        `key` (the user, or the number of a basket), `name` of an item, `times`.
    units
        `key` and `row` of every user, also of those with nothing left; None for baskets, whose key is their row.
    unit
        What a row stands for, as a manifest names it.
    vocabulary
        The items' names, sorted by code point.
    summary, account
        What was counted, and the same in words; see :meth:`incrowd.logs.input.Input.summed_up`.
    """

    bags: DataFrame
    units: DataFrame | None
    unit: str
    vocabulary: pa.Array
    summary: Mapping[str, int]
    account: tuple[str, ...]

    @property
    def without_rows(self) -> Transactions:
        """Return transactions that have the vocabulary and no rows: what attaching items to a taxonomy takes."""
        nothing = np.empty(0, np.int32)
        return Transactions(
            np.zeros(1, np.int64),
            nothing,
            nothing,
            self.vocabulary,
            pa.array([], pa.string()),
            self.unit,
            account=self.account,
        )


def gather(
    work: Work, reading: Reading, items: str, knowledge: Taxonomy | None = None, *, bags: bool
) -> Gathered:
    """Build bags of named items from what was read; the parameters are those of :meth:`incrowd.logs.Log.transactions`."""
    counts: dict[str, int] = {}
    if reading.is_baskets:
        units, records = None, reading.rows
        words = reading.good.select(f.col("unit").alias("key"), f.col("query").alias("text"))
    else:
        units = _units(work, reading)
        queries = work.settle(_queries(reading), "queries")
        counts["queries"], records = queries.count(), units.count()
        words = queries.mapInArrow(partial(_words, items=items), "key string, text string")
    pairs = work.settle(words.groupBy("key", "text").agg(f.count("*").alias("times")), "pairs")
    meanings = work.settle(_meanings(work, pairs, lookup_of(items, knowledge)), "meanings")
    counts |= _count_kinds(meanings)
    named = pairs.join(meanings.select("text", "name").where(f.col("name").isNotNull()), "text")
    times = f.sum("times") if bags else f.lit(1)
    bag = work.settle(named.groupBy("key", "name").agg(times.cast("int").alias("times")), "bags")
    vocabulary = _vocabulary(meanings)
    for step in ("queries", "pairs", "meanings"):
        work.forget(step)
    occurrences, filled = bag.agg(f.sum("times"), f.countDistinct("key")).collect()[0]
    counts |= {
        "units": records,
        "items": len(vocabulary),
        "occurrences": occurrences or 0,
        "empty": records - filled,
    }
    unit = "record" if reading.is_baskets else "user"
    summary, account = reading.summed_up(unit, items, counts)
    return Gathered(bag, units, unit, vocabulary, summary, account)


def _units(work: Work, reading: Reading) -> DataFrame:
    """Give the users numbers from 0 by their ids, in the order of code points."""
    users = reading.good.select(f.col("user").alias("key")).distinct()
    return work.numbered(users, "key", "units", "row")


def _queries(reading: Reading) -> DataFrame:
    """Return all queries with the `key` of their unit; the clicks of one query, which share its time, count once."""
    queries = reading.good.where(f.col("query") != "").select(f.col("user").alias("key"), "time", "query")
    return (queries.distinct() if reading.has_times else queries).select("key", "query")


def _words(batches: Iterable[pa.RecordBatch], *, items: str) -> Iterator[pa.RecordBatch]:
    """Yield a row for each text of each query that is looked up."""
    for batch in batches:
        words = words_of(batch.column("query"), items)
        owner = np.repeat(np.arange(len(batch)), np.diff(np.array(words.offsets)))
        yield pa.record_batch([batch.column("key").take(pa.array(owner)), words.flatten()], ["key", "text"])


def _meanings(work: Work, pairs: DataFrame, lookup: Lookup | None) -> DataFrame:
    """Return the items that each distinct text stands for (the name is null for none), and how often it occurs."""
    texts = pairs.groupBy("text").agg(f.sum("times").alias("occurrences"))
    if lookup is None:
        return texts.select("text", f.col("text").alias("name"), f.lit(TERM).alias("kind"), "occurrences")
    return texts.mapInArrow(partial(_look_up, lookup=work.spark.sparkContext.broadcast(lookup)), _MEANINGS)


def _look_up(batches: Iterable[pa.RecordBatch], *, lookup: Broadcast[Lookup]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        texts = batch.column("text")
        found = lookup.value(texts)
        occurrences = batch.column("occurrences").take(pc.index_in(found.column("text"), value_set=texts))
        yield from found.append_column("occurrences", occurrences).combine_chunks().to_batches()


def _count_kinds(meanings: DataFrame) -> dict[str, int]:
    """Return how many distinct texts and how many occurrences each kind of word has."""
    counts = [f.count("*").alias("words"), f.sum("occurrences").alias("occurrences")]
    return named_by_kind(row.asDict() for row in meanings.groupBy("kind").agg(*counts).collect())


def _vocabulary(meanings: DataFrame) -> pa.Array:
    """Return the distinct names of items, sorted by code point."""
    names = meanings.where(f.col("name").isNotNull()).select("name").distinct().toArrow().column("name")
    flat = names.cast(pa.string()).combine_chunks()
    return flat.take(pc.sort_indices(flat))


def place_rows(work: Work, gathered: Gathered, attached: Attached) -> DataFrame:
    """Return the rows in terms of the taxonomy's leaves: `row`, `leaf`, `times`; rows that hold nothing are not there."""
    tree = attached.taxonomy
    table = pa.table({"name": tree.items, "leaf": pa.array(tree.item_leaf, pa.int32())})
    placed = gathered.bags.join(work.table(table, "leaves.parquet"), "name")
    pairs = f.array_sort(f.collect_list(f.struct("leaf", "times"))).alias("pairs")
    rows = placed.groupBy("key").agg(pairs)
    if gathered.units is None:
        rows = rows.withColumn("row", f.col("key"))
    else:
        rows = rows.join(gathered.units, "key")
    return work.settle(rows.select("row", "pairs.leaf", "pairs.times"), "rows")
