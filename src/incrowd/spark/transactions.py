"""Transactions on the cluster: the same rows, numbers and counts as the local engine's.

What comes to the driver is the vocabulary, on which the taxonomy is grounded, and counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.errors import BadInputError, nearest
from incrowd.logs.account import account_of_reading, account_of_units
from incrowd.logs.items import KINDS, LOOKUPS
from incrowd.logs.tokens import one_word_each
from incrowd.spark.reading import Reading
from incrowd.spark.work import Work
from incrowd.taxonomy import Grounded
from incrowd.text.words import TERM, normalise, split_terms
from incrowd.transactions import Transactions

__all__ = ["Gathered", "choose_items", "gather", "place_rows"]

LOG_ITEMS, BASKET_ITEMS = ("nouns", "terms", "queries"), ("raw",)
_MEANINGS = "text string, occurrences long, name string, kind int"


@dataclass(frozen=True, eq=False)
class Gathered:
    """Who has which items.

    Parameters
    ----------
    bags
        `key` (the user, or the number of a basket), `name` of an item, `times`.
    units
        `key` and `row` of every user, also of those with nothing left; None for baskets, whose key is their row.
    vocabulary
        The items' names, sorted by code point.
    summary, account
        What was counted, and the same in words; see :attr:`incrowd.logs.Log.summary`.
    """

    bags: DataFrame
    units: DataFrame | None
    vocabulary: pa.Array
    summary: Mapping[str, int]
    account: tuple[str, ...]

    @property
    def without_rows(self) -> Transactions:
        """Return transactions that have the vocabulary and no rows: what grounding a taxonomy takes."""
        nothing = np.empty(0, np.int32)
        return Transactions(
            np.zeros(1, np.int64),
            nothing,
            nothing,
            self.vocabulary,
            pa.array([], pa.string()),
            account=self.account,
        )


def choose_items(items: str | None, *, is_baskets: bool) -> str:
    """Return the kind of items that was asked for, or the one that suits the input."""
    fitting, what = (BASKET_ITEMS, "baskets") if is_baskets else (LOG_ITEMS, "a query log")
    if items == "concepts" and not is_baskets:
        raise BadInputError("items concepts are found by the local engine only: use --engine local")
    if items is not None and items not in fitting:
        raise BadInputError(
            f"items must be one of {', '.join(fitting)} for {what} (got '{items}'){nearest(items, fitting)}"
        )
    return items or fitting[0]


def gather(work: Work, reading: Reading, items: str, *, bags: bool) -> Gathered:
    """Build bags of named items from what was read."""
    counts: dict[str, int] = {}
    if reading.is_baskets:
        units, records = None, reading.found.records
        words = reading.good.select(f.col("unit").alias("key"), f.col("query").alias("text"))
    else:
        units = _units(work, reading)
        asked = work.settle(_asked(reading), "asked")
        counts["queries"], records = asked.count(), units.count()
        words = asked.mapInArrow(partial(_words, whole=items == "queries"), "key string, text string")
    pairs = work.settle(words.groupBy("key", "text").agg(f.count("*").alias("times")), "pairs")
    meanings = work.settle(_meanings(pairs, items), "meanings")
    counts |= _count_kinds(meanings)
    named = pairs.join(meanings.select("text", "name").where(f.col("name").isNotNull()), "text")
    times = f.sum("times") if bags else f.lit(1)
    bag = work.settle(named.groupBy("key", "name").agg(times.cast("int").alias("times")), "bags")
    vocabulary = _vocabulary(meanings)
    for step in ("asked", "pairs", "meanings"):
        work.forget(step)
    total = bag.agg(f.sum("times"), f.countDistinct("key")).collect()[0]
    summary = {
        "lines": reading.found.lines,
        "rejected": sum(reading.rejected.values()),
        "bad_bytes": reading.found.bad_bytes,
        **counts,
        "units": records,
        "items": len(vocabulary),
        "occurrences": total[0] or 0,
        "empty": records - total[1],
    }
    account = (
        *account_of_reading(
            reading.found.format, reading.found.lines, reading.rejected, reading.found.bad_bytes
        ),
        *account_of_units("record" if reading.is_baskets else "user", items, summary),
    )
    return Gathered(bag, units, vocabulary, summary, account)


def _units(work: Work, reading: Reading) -> DataFrame:
    """Give the users numbers from 0 by their ids, in the order of code points."""
    users = reading.good.select(f.col("user").alias("key")).distinct()
    return work.numbered(users, "key", "units", "row")


def _asked(reading: Reading) -> DataFrame:
    """Return everything that was asked; the clicks of one query, which share its time, count once."""
    asked = reading.good.where(f.col("query") != "").select(f.col("user").alias("key"), "time", "query")
    return (asked.distinct() if reading.found.has_times else asked).select("key", "query")


def _words(batches: Iterable[pa.RecordBatch], *, whole: bool) -> Iterator[pa.RecordBatch]:
    """Yield a row for each word (or each whole query) of each asking."""
    for batch in batches:
        texts = normalise(batch.column("query"))
        words = one_word_each(texts) if whole else split_terms(texts)
        owner = np.repeat(np.arange(len(batch)), np.diff(np.array(words.offsets)))
        yield pa.record_batch([batch.column("key").take(pa.array(owner)), words.flatten()], ["key", "text"])


def _meanings(pairs: DataFrame, items: str) -> DataFrame:
    """Return the item that each distinct text stands for, or null, and what kind of word it is."""
    texts = pairs.groupBy("text").agg(f.sum("times").alias("occurrences"))
    if items not in LOOKUPS:
        return texts.select("text", "occurrences", f.col("text").alias("name"), f.lit(TERM).alias("kind"))
    return texts.mapInArrow(partial(_look_up, items=items), _MEANINGS)


def _look_up(batches: Iterable[pa.RecordBatch], *, items: str) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        found = LOOKUPS[items](batch.column("text"))
        name, kind = pc.cast(found.item, pa.string()), pa.array(found.kind.astype(np.int32))
        yield pa.record_batch(
            [batch.column("text"), batch.column("occurrences"), name, kind],
            ["text", "occurrences", "name", "kind"],
        )


def _count_kinds(meanings: DataFrame) -> dict[str, int]:
    """Return how many distinct texts and how many occurrences each kind of word has."""
    found = meanings.groupBy("kind").agg(
        f.count("*").alias("words"), f.sum("occurrences").alias("occurrences")
    )
    rows = sorted(found.collect(), key=lambda one: int(one["kind"]))
    return {f"{KINDS[row['kind']]}_{what}": row[what] for what in ("words", "occurrences") for row in rows}


def _vocabulary(meanings: DataFrame) -> pa.Array:
    """Return the distinct names of items, sorted by code point."""
    names = meanings.where(f.col("name").isNotNull()).select("name").distinct().toArrow().column("name")
    flat = pc.cast(names, pa.string()).combine_chunks()
    flat = (
        flat if isinstance(flat, pa.Array) else pa.concat_arrays(flat.chunks or [pa.array([], pa.string())])
    )
    return flat.take(pc.sort_indices(flat))


def place_rows(work: Work, gathered: Gathered, grounded: Grounded) -> DataFrame:
    """Return the rows in terms of the taxonomy's leaves: `row`, `leaf`, `times`; rows that hold nothing are not there."""
    tree = grounded.taxonomy
    table = pa.table({"name": tree.items, "leaf": pa.array(tree.item_leaf, pa.int32())})
    placed = gathered.bags.join(work.table(table, "leaves.parquet"), "name")
    pairs = f.array_sort(f.collect_list(f.struct("leaf", "times"))).alias("pairs")
    rows = placed.groupBy("key").agg(pairs)
    if gathered.units is None:
        rows = rows.withColumn("row", f.col("key"))
    else:
        rows = rows.join(gathered.units, "key")
    return work.settle(rows.select("row", "pairs.leaf", "pairs.times"), "rows")
