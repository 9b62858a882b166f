"""Rows and published records of a cluster, brought to the driver where they are few enough for one process.

What is measured on them, or made of them, is measured and made by the local engine's own functions, and is the same.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.core.activity import Activity
from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.ragged import starts_of, take_lists
from incrowd.core.transactions import Transactions, Weeks
from incrowd.core.types import Ints64
from incrowd.logs.weeks import in_rows, weeks_between
from incrowd.spark.bags import rows_of
from incrowd.spark.transactions import Gathered
from incrowd.spark.work import Work
from incrowd.taxonomy import Attached
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["MOST_ENTRIES", "Collected", "collect", "collect_units", "weeks_here"]

MOST_ENTRIES = 5_000_000
"""How many items of rows, copies not counted, the driver takes at most to measure them."""


class Collected(NamedTuple):
    """The originals and what is published of them, as the local engine has them."""

    transactions: Transactions
    classes: Classes


def collect(work: Work, gathered: Gathered, taxonomy: Taxonomy, empty: Transactions) -> Collected | None:
    """Return the rows and what is published of them, or None if they are too many.

    Parameters
    ----------
    work
        The cluster, on which the steps ``rows`` and ``published`` are written down: leaves and published nodes of each row, with
        their counts; a row that holds nothing is in neither.
    gathered
        Who has which items.
    taxonomy, empty
        The tree, and transactions that have its vocabulary and no rows.
    """
    if gathered.entries > MOST_ENTRIES:
        return None
    number = gathered.summary["units"]
    own = work.here("rows", ["row", "leaf", "times"]).combine_chunks()
    said = work.here("published", ["row", "nodes", "counts"]).sort_by("row").combine_chunks()
    return Collected(_transactions(own, taxonomy, empty, number), _classes(said, number))


def collect_units(work: Work, gathered: Gathered, attached: Attached) -> Transactions:
    """Return all units in this process, in the order in which the local engine has them.

    Parameters
    ----------
    work
        The cluster, on which :func:`incrowd.spark.transactions.place_rows` has written the rows.
    gathered, attached
        Who has which items, and the tree with transactions that have its vocabulary and no rows.
    """
    number = gathered.summary["units"]
    places = ["place"] if "place" in gathered.bags.columns else []
    own = work.here("rows", ["row", "leaf", "times", *places]).combine_chunks()
    bags = _transactions(own, attached.taxonomy, attached.transactions, number)
    del own  # the names take as much again
    names = [name for name in ("owner", "user") if name in gathered.units.columns]
    work.settle(gathered.units.select("row", *names), "owners")
    named = work.here("owners", ["row", *names])
    owners, *people = (_in_place(named[name], np.array(named["row"]), number) for name in names)
    made = replace(bags, owners=owners, people=people[0] if people else None)
    if gathered.read is None:
        return made
    active = work.here("active", ["row", "days"])
    days = np.zeros(number, dtype=np.int32)
    days[np.array(active["row"])] = np.array(active["days"])
    return replace(
        made, activity=Activity(days, *gathered.read, gathered.by_day), weeks=weeks_here(work, gathered)
    )


def weeks_here(work: Work, gathered: Gathered) -> Weeks | None:
    """Return in which weeks each unit was active; None where the log has no times or spans less than two weeks."""
    number = gathered.times and weeks_between(*gathered.times)
    if number is None:
        return None
    found = work.here("weeks", ["row", "week"])
    return in_rows(found["row"], found["week"], gathered.summary["units"], number)


def _in_place(names: pa.ChunkedArray, row: Ints64, rows: int) -> pa.Array:
    """Return the names of rows in their order; null where a row has none."""
    place = np.full(rows, -1, dtype=np.int64)
    place[row] = np.arange(len(row))
    return names.combine_chunks().take(pa.array(place, mask=place < 0))


def _transactions(own: pa.Table, taxonomy: Taxonomy, empty: Transactions, rows: int) -> Transactions:
    """Return the rows, in their order, with an item in place of each leaf: which of several on one leaf makes no difference."""
    assert taxonomy.item_leaf is not None  # noqa: S101 - the tree is attached to the items
    item_of_leaf = np.zeros(taxonomy.leaf_count, dtype=np.int32)
    item_of_leaf[taxonomy.item_leaf] = np.arange(len(taxonomy.item_leaf), dtype=np.int32)
    bags = rows_of(own["leaf"].chunk(0), own["times"].chunk(0))
    row, item = np.repeat(np.array(own["row"]), np.diff(bags.start)), item_of_leaf[bags.leaf]
    order = np.argsort(row * len(empty.vocabulary) + item)
    indptr = starts_of(np.bincount(row, minlength=rows))
    places = own["place"].chunk(0).flatten() if "place" in own.column_names else None
    return replace(
        empty,
        indptr=indptr,
        items=item[order],
        counts=bags.times[order],
        owners=pa.nulls(rows, pa.string()),
        places=None if places is None else np.array(places, dtype=np.uint8)[order],
    )


def _classes(said: pa.Table, rows: int) -> Classes:
    """Return the published rows as classes of those that say the same."""
    bags = rows_of(said["nodes"].chunk(0), said["counts"].chunk(0))
    keys = (bags.leaf[a:b].tobytes() + bags.times[a:b].tobytes() for a, b in pairwise(bags.start.tolist()))
    number: dict[bytes, int] = {}
    of_row = np.full(rows, WITHHELD, dtype=np.int32)
    of_row[np.array(said["row"])] = [number.setdefault(key, len(number)) for key in keys]
    first = np.unique(of_row[np.array(said["row"])], return_index=True)[1]
    start, take = take_lists(bags.start, first)
    return Classes(of_row, start, bags.leaf[take], bags.times[take])
