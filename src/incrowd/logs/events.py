"""Collects every query event, in order, with its clicks: for methods that publish or remove whole queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.events import QueryEvents
from incrowd.core.ragged import starts_of
from incrowd.core.types import Ints32, Ints64
from incrowd.errors import BadInputError, option
from incrowd.logs.units import VISITS_BY_UNIT
from incrowd.text.words import normalise

if TYPE_CHECKING:
    from incrowd.logs.store import Store
    from incrowd.logs.units import Unit
    from incrowd.text.never import NeverList

__all__ = ["collect_events"]


# Each click of a query is a row with the same user, time and query. The order of queries within one second is not
# known, so they are ordered by text.
_CLICKED = "list_sort(list_distinct(list(url) FILTER (url <> ''))) AS urls"
_BY_USER = f"""
    SELECT unit, time, query, {_CLICKED} FROM events JOIN units ON events."user" = units.owner
    WHERE query <> '' GROUP BY unit, time, query ORDER BY unit, time, query
"""  # noqa: S608 (constants)
_BY_PART = f"""
    SELECT unit, time, query, {_CLICKED}
    FROM events JOIN people USING ("user") JOIN {VISITS_BY_UNIT} USING (person, time, query)
    WHERE query <> '' GROUP BY unit, time, query ORDER BY unit, time, query
"""  # noqa: S608 (constants)
_WITHOUT_TIMES = """
    SELECT unit, 0::BIGINT AS time, query, CASE WHEN url <> '' THEN [url] END AS urls
    FROM events JOIN units ON events."user" = units.owner
    WHERE query <> '' ORDER BY unit, query, url
"""
_MEANINGS = "SELECT text, item FROM meanings JOIN vocabulary USING (name) ORDER BY text, item"


def collect_events(
    store: Store, unit: Unit, units: int, *, has_times: bool, never: NeverList | None = None
) -> QueryEvents:
    """Return all query events; the tables `units`, `meanings` and `vocabulary` must exist.

    Queries and clicked addresses that hold a word of `never` are left out.
    """
    if unit.is_part and not has_times:
        raise BadInputError(f"this method needs times for unit {unit.kind}: use {option('unit', 'user')}")
    sql = _BY_PART if unit.is_part else _BY_USER if has_times else _WITHOUT_TIMES
    rows: list[pa.Array] = []
    times: list[pa.Array] = []
    texts: list[pa.Array] = []
    urls: list[pa.Array] = []
    for batch in store.batches(sql):
        text = normalise(batch.column("query").cast(pa.string()))
        kept = pc.not_equal(text, "")
        if never is not None:
            kept = pc.and_not(kept, pa.array(never.found_in(text)))
        for column, values in ((rows, batch.column("unit")), (times, batch.column("time")), (texts, text)):
            column.append(values.filter(kept))
        urls.append(batch.column("urls").filter(kept))
    query, distinct = _coded(pa.chunked_array(texts, pa.string()))
    clicked = _clicks_without(never, pa.chunked_array(urls, pa.list_(pa.string())).combine_chunks())
    site, sites = _coded(pa.chunked_array([clicked.flatten()], pa.string()))
    lengths = np.array(pc.fill_null(pc.list_value_length(clicked), 0), dtype=np.int64)
    concept_start, concept = _meanings(store, distinct)
    row = _numbers(rows)
    return QueryEvents(
        start=np.searchsorted(row, np.arange(units + 1)).astype(np.int64),
        query=query,
        time=_numbers(times),
        clicks=starts_of(lengths),
        site=site,
        texts=distinct,
        sites=sites,
        concept_start=concept_start,
        concept=concept,
    )


def _clicks_without(never: NeverList | None, clicked: pa.ListArray) -> pa.ListArray:
    """Return the lists of clicked addresses without those that hold a word of the list."""
    if never is None:
        return clicked
    sites = clicked.flatten()
    held = never.found_in(sites)
    row = np.repeat(
        np.arange(len(clicked)), np.array(pc.fill_null(pc.list_value_length(clicked), 0), dtype=np.int64)
    )
    offsets = starts_of(np.bincount(row[~held], minlength=len(clicked)))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), sites.filter(pa.array(~held)))


def _numbers(parts: list[pa.Array]) -> Ints64:
    return np.concatenate([np.empty(0, np.int64), *(np.array(part, dtype=np.int64) for part in parts)])


def _coded(texts: pa.ChunkedArray) -> tuple[Ints32, pa.Array]:
    """Return the rank of each text among the distinct ones, and these, sorted by code point."""
    encoded = texts.combine_chunks().dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    rank = np.empty(len(order), dtype=np.int32)
    rank[np.array(order)] = np.arange(len(order), dtype=np.int32)
    return rank[np.array(encoded.indices)], encoded.dictionary.take(order)


def _meanings(store: Store, texts: pa.Array) -> tuple[Ints64, Ints32]:
    """Return the items that each text stands for, as a ragged array."""
    table = store.table(_MEANINGS)
    known = np.array(pc.fill_null(pc.index_in(table.column("text"), value_set=texts), -1), dtype=np.int64)
    item = np.array(table.column("item"), dtype=np.int32)[known >= 0]
    known = known[known >= 0]
    order = np.lexsort((item, known))
    start = np.searchsorted(known[order], np.arange(len(texts) + 1)).astype(np.int64)
    return start, item[order]
