"""Transactions on the cluster: the same rows, numbers and counts as the local engine's.

What comes to the driver is the vocabulary, which is attached to the taxonomy, and counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import Broadcast
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from incrowd.core.activity import DAY, Activity
from incrowd.core.claims import PARTS
from incrowd.core.ragged import list_ids, starts_of
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints64
from incrowd.core.window import Window as TimeWindow
from incrowd.logs.items import WORD_ITEMS, Lookup, lookup_of, named_by_kind, words_of
from incrowd.logs.kinds import check_kinds
from incrowd.logs.mini_sessions import find_starts
from incrowd.logs.tokens import places_within
from incrowd.logs.units import Part, Unit
from incrowd.logs.weeks import WEEK
from incrowd.spark.bags import of_table
from incrowd.spark.kinds import typed_words
from incrowd.spark.reading.read import Reading, within
from incrowd.spark.work import Work
from incrowd.taxonomy import Attached, Taxonomy
from incrowd.text.never import NeverList
from incrowd.text.words import TERM

__all__ = ["Gathered", "gather", "place_rows"]

_Spans = tuple[tuple[int, int] | None, tuple[int, int] | None]
_NO_SPANS: _Spans = (None, None)
_MEANINGS = "text string, name string, kind byte, occurrences long"


@dataclass(frozen=True, eq=False)
class Gathered:
    """Who has which items.

    Parameters
    ----------
    bags
        `key` (the owner, or the number of a basket), `name` of an item, `times`, and where it was asked for the `place`: see
        :class:`incrowd.core.transactions.Transactions`.
    units
        `owner` and `row` of every unit, and the `person` behind it as a number: of parts of a person's log (sessions, say) the row
        of the person's first, otherwise the row. Units with nothing left are there too, except baskets. Parts have the `user`, too.
    unit, items
        What a row stands for, as a manifest names it, and the kind of its items.
    vocabulary
        The items' names, sorted by code point.
    entries
        How many items all units have, copies not counted.
    summary, account
        What was counted, and the same in words; see :meth:`incrowd.logs.input.Input.summed_up`.
    has_clicks
        Whether the log has clicks.
    times, read
        The first and the last time of the units, and of all that says how old accounts are; None where there are none. Then the steps
        ``weeks`` (`row`, `week`) and ``active`` (`row`, `days`) are written down: in which weeks each row has queries, and on how many
        days its person has.
    by_day
        The days since 1970 on which anybody was active, and how many people on each; None where nobody asked.
    window
        The time that the units are of, where only some of the log was taken.
    """

    bags: DataFrame
    units: DataFrame
    unit: str
    items: str
    vocabulary: pa.Array
    entries: int
    summary: Mapping[str, int]
    account: tuple[str, ...]
    has_clicks: bool = False
    times: tuple[int, int] | None = None
    read: tuple[int, int] | None = None
    by_day: tuple[Ints64, Ints64] | None = None
    window: TimeWindow | None = None

    @property
    def activity(self) -> Activity | None:
        """When people were active, without the days of each row."""
        return None if self.read is None else Activity(np.zeros(0, np.int32), *self.read, self.by_day)

    @property
    def has_parts(self) -> bool:
        """Whether one person may have several rows."""
        return self.unit.partition(":")[0] in PARTS

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
            has_clicks=self.has_clicks,
            kind=self.items,
            activity=None if self.by_day is None else self.activity,
            window=self.window,
        )


def gather(
    work: Work,
    reading: Reading,
    unit: Unit,
    items: str,
    knowledge: Taxonomy | None = None,
    *,
    bags: bool,
    places: bool = False,
    kinds: Sequence[str] = (),
    never: NeverList | None = None,
    named: bool = False,
    by_day: bool = False,
    window: TimeWindow | None = None,
) -> Gathered:
    """Build bags of named items from what was read; the parameters are those of :meth:`incrowd.logs.Log.transactions`."""
    first = [f.min("place").alias("place")] if places and items in WORD_ITEMS else []
    name, counts, span = reading.name_of_unit(unit), dict[str, int](), _NO_SPANS
    has_clicks, days = reading.has_clicks, None
    check_kinds(kinds, unit, reading.roles, has_times=reading.has_times)
    if reading.is_baskets:
        units, records = _baskets(reading), reading.rows
        words = reading.good.select(f.col("unit").alias("key"), f.col("query").alias("text"))
    else:
        taken = reading.good if window is None else reading.good.where(within(window))
        events = work.settle(_events(reading, taken, unit), "queries")
        units, queries = _units(work, events), events.where(f.col("query") != "").select("key", "query")
        records = work.count("units")
        sums = (f.count_if(f.col("query") != ""), f.min("time"), f.max("time"))
        counts["queries"], *ends = events.agg(*sums).collect()[0]
        if reading.has_times and ends[0] is not None:
            span = _settle_times(work, events, units, (ends[0], ends[1]), _until(reading, window))
            days = _people_by_day(events) if by_day else None
        if window is not None:
            has_clicks = bool(taken.agg(f.max("clicked")).collect()[0][0])
        words = queries.mapInArrow(
            partial(_words, items=items, named=named), "key string, text string, place int"
        )
        words = words.union(typed_words(taken, events, kinds, reading.roles)) if kinds else words
    pairs = work.settle(words.groupBy("key", "text").agg(f.count("*").alias("times"), *first), "pairs")
    lookup = lookup_of(items, knowledge, never, has_kinds=bool(kinds), named=named)
    meanings = work.settle(_meanings(work, pairs, lookup), "meanings")
    counts |= _count_kinds(meanings)
    joined = pairs.join(meanings.select("text", "name").where(f.col("name").isNotNull()), "text")
    times = f.sum("times") if bags else f.lit(1)
    bag = work.settle(joined.groupBy("key", "name").agg(times.cast("int").alias("times"), *first), "bags")
    vocabulary = _vocabulary(meanings)
    for step in ("queries", "pairs", "meanings"):
        work.forget(step)
    occurrences, entries, filled = bag.agg(f.sum("times"), f.count("*"), f.countDistinct("key")).collect()[0]
    counts |= {
        "units": records,
        "items": len(vocabulary),
        "occurrences": occurrences or 0,
        "empty": records - filled,
    }
    summary, account = reading.summed_up(name, items, counts)
    return Gathered(
        bag, units, name, items, vocabulary, entries, summary, account, has_clicks, *span, days, window
    )


def _baskets(reading: Reading) -> DataFrame:
    """Return the baskets that are not empty; their owners are the numbers of their lines."""
    found = reading.good.select(f.col("line").cast("string").alias("owner"), f.col("unit").alias("row"))
    return found.distinct().withColumn("person", f.col("row"))


def _until(reading: Reading, window: TimeWindow | None) -> DataFrame | None:
    """Return everything before a window's end, which says how old accounts are; None where that is the units' own events."""
    return None if window is None else reading.good.where(f.col("time") < window.stop).select("user", "time")


def _events(reading: Reading, taken: DataFrame, unit: Unit) -> DataFrame:
    """Return the `key` of the unit, the `query` and the `time` of all events, and of parts of a person's log the `user` and the part's number, the `visit`.

    The clicks of one query, which share its time, count once. An empty query counts as activity, as in
    :func:`incrowd.logs.units.make_units`.
    """
    events = taken.select("user", "time", "query")
    events = events.distinct() if reading.has_times else events
    if unit.gap is not None:
        visits = _sessions(events, unit.gap)
    elif unit.most is not None:
        visits = _mini_sessions(events, unit.most, unit.within)
    elif unit.part is not None:
        visits = events.withColumn("visit", _place(unit.part))
    else:
        return events.select(f.col("user").alias("key"), "query", "time")
    return visits.select(f.concat_ws("#", "user", "visit").alias("key"), "query", "time", "user", "visit")


def _sessions(events: DataFrame, gap: int) -> DataFrame:
    """Return the events with the `visit`: the number of the user's session."""
    # Rows of the same second are peers in the sum, so they share a visit whatever their order.
    in_order = Window.partitionBy("user").orderBy("time")
    starts = f.coalesce((f.col("time") - f.lag("time").over(in_order) > gap).cast("int"), f.lit(0))
    return events.withColumn("starts", starts).withColumn("visit", 1 + f.sum("starts").over(in_order))


def _mini_sessions(events: DataFrame, most: int, within: int) -> DataFrame:
    """Return the events with the `visit`: the number of the user's mini-session."""
    cut = of_table(_cut_user, most, within)
    return events.groupBy("user").applyInArrow(cut, "user string, time long, query string, visit long")


def _cut_user(most: int, within: int, table: pa.Table) -> pa.Table:
    """Cut one user's events."""
    ordered = table.select(["user", "time", "query"]).sort_by([("time", "ascending"), ("query", "ascending")])
    starts = find_starts(np.zeros(len(table), np.int64), np.array(ordered["time"], np.int64), most, within)
    return ordered.append_column("visit", pa.array(np.cumsum(starts), pa.int64()))


def _place(part: Part) -> Column:
    """Return the number of the user's query, day or week, as :mod:`incrowd.logs.units` counts them."""
    by_user, day = Window.partitionBy("user"), f.col("time") / DAY
    if part == "query":
        return f.row_number().over(by_user.orderBy("time", "query"))
    return f.dense_rank().over(by_user.orderBy(f.floor(day if part == "day" else (day + 3) / 7)))


def _settle_times(
    work: Work, events: DataFrame, units: DataFrame, span: tuple[int, int], earlier: DataFrame | None
) -> _Spans:
    """Write down in which weeks units were active, and on how many days people, in `earlier` where that is more than the units' events.

    `span` is the units' first and last time; return it and that of all that was read.
    """
    first, last = span
    week = f.floor((f.col("time") - first) / WEEK).cast("int").alias("week")
    named = units.withColumnRenamed("owner", "key")
    work.settle(events.select("key", week).distinct().join(named, "key").select("row", "week"), "weeks")
    person = "user" if "user" in events.columns else "key"
    days = f.countDistinct(f.floor(f.col("time") / DAY)).cast("int").alias("days")
    read = events if earlier is None else earlier.withColumnRenamed("user", person)
    work.settle(read.groupBy(person).agg(days).join(named, person).select("row", "days"), "active")
    since, until = (first, last) if earlier is None else read.agg(f.min("time"), f.max("time")).collect()[0]
    return (first, last), (since, until)


def _people_by_day(events: DataFrame) -> tuple[Ints64, Ints64]:
    """Return the days on which anybody was active, and how many different people on each."""
    person = "user" if "user" in events.columns else "key"
    by_day = events.groupBy(f.floor(f.col("time") / DAY).alias("day")).agg(f.countDistinct(person))
    found = np.array(sorted(map(tuple, by_day.collect())), dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _units(work: Work, events: DataFrame) -> DataFrame:
    """Give the units numbers from 0 by the user's id, in the order of code points, then by the part of the user's log."""
    if "visit" not in events.columns:
        users = work.numbered(events.select("key").distinct(), "key", "units", "row")
        return users.select(f.col("key").alias("owner"), "row", f.col("row").alias("person"))
    parts = events.select(f.struct("user", "visit", "key").alias("part")).distinct()
    numbered = work.numbered(parts, "part", "units", "row")
    person = f.min("row").over(Window.partitionBy("part.user")).alias("person")
    named = numbered.select(f.col("part.key").alias("owner"), "row", person, "part.user")
    return work.settle(named, "people")


def _words(batches: Iterable[pa.RecordBatch], *, items: str, named: bool) -> Iterator[pa.RecordBatch]:
    """Yield a row for each text of each query that is looked up, with its place in the query."""
    for batch in batches:
        words = words_of(batch.column("query"), items, named=named)
        lengths = np.diff(np.array(words.offsets))
        key = batch.column("key").take(pa.array(list_ids(starts_of(lengths))))
        place = pa.array(places_within(lengths).astype(np.int32))
        yield pa.record_batch([key, words.flatten(), place], ["key", "text", "place"])


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
    """Return the rows in terms of the taxonomy's leaves: `row`, `person`, `leaf`, `times`, and `place` where it was asked for.

    Rows that hold nothing are not there.
    """
    tree = attached.taxonomy
    table = pa.table({"name": tree.items, "leaf": pa.array(tree.item_leaf, pa.int32())})
    placed = gathered.bags.join(work.table(table, "leaves.parquet"), "name")
    said = [name for name in ("leaf", "times", "place") if name in placed.columns]
    pairs = f.array_sort(f.collect_list(f.struct(*said))).alias("pairs")
    rows = placed.groupBy("key").agg(pairs)
    if gathered.unit == "record":
        rows = rows.select(f.col("key").alias("row"), f.col("key").alias("person"), "pairs")
    else:
        rows = rows.join(gathered.units.withColumnRenamed("owner", "key"), "key")
    return work.settle(rows.select("row", "person", *(f"pairs.{name}" for name in said)), "rows")
