"""Items of other kinds than words on the cluster: the same texts as :mod:`incrowd.logs.kinds` finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from incrowd.core.kinds import KINDS, typed_texts
from incrowd.logs.kinds import items_of, moment_seconds

__all__ = ["typed_words"]

_WORDS = "key string, text string, place int"


def typed_words(taken: DataFrame, events: DataFrame, kinds: Sequence[str], roles: Sequence[str]) -> DataFrame:
    """Return a row for each item of a unit: its `key`, the item's `text` with its kind, and 0 as its `place`.

    Parameters
    ----------
    taken
        The rows that units are made of.
    events
        The `key` of the unit, `user`, `time` and `query` of all queries; without a `user`, units are users.
    kinds, roles
        The kinds, and the roles of the columns that were read.
    """
    if "user" in events.columns:
        by = ["user", "time", "query"]
        rows = taken.join(events.select("key", *by), by)
    else:
        rows = taken.withColumn("key", f.col("user"))
    return reduce(DataFrame.union, [_of_kind(rows, kind, roles) for kind in kinds])


def _of_kind(rows: DataFrame, kind: str, roles: Sequence[str]) -> DataFrame:
    """Return the items of one kind."""
    role = KINDS[kind].role
    if role == "time":
        moment = f.floor(f.col("time") / moment_seconds(kind)).cast("long")
        some = rows.where(f.col("time").isNotNull()).select("key", moment.alias("moment"))
    else:
        wanted = [role, *(("rank",) if kind == "shown" and "rank" in roles else ())]
        some = rows.where(f.col(role) != "").select("key", *wanted)
    return some.distinct().mapInArrow(partial(_items, kind=kind), _WORDS)


def _items(batches: Iterable[pa.RecordBatch], *, kind: str) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        row, items = items_of(kind, batch.columns[1:])
        key = batch.column("key").take(pa.array(row))
        texts = typed_texts(kind, items)
        yield pa.record_batch([key, texts, pa.array([0] * len(key), pa.int32())], ["key", "text", "place"])
