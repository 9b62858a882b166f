"""What a release is worth, and what it risks: patterns found in it, likeness of users kept, records linked.

All are measured for every method on one scale. Where there are many rows, likeness and linkage are measured on a
sample of them, always the same.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from incrowd.kernels.likeness import UNIT, Categories, distances, taken
from incrowd.lists import added_up, list_of, starts_of_kept
from incrowd.methods.classes import WITHHELD, Classes
from incrowd.methods.meaning import Meaning, categories, meaning_of
from incrowd.metrics.linkage import QueryRows, count_queries, record_linkage
from incrowd.metrics.partitions import Logs, information_loss
from incrowd.metrics.patterns import pattern_utility
from incrowd.taxonomy.tree import Taxonomy
from incrowd.transactions import Transactions

__all__ = ["Utility", "likeness_lost", "linkage", "measure_utility"]

Floats = npt.NDArray[np.float64]
Ints64 = npt.NDArray[np.int64]
SAMPLE = 500


class Utility(msgspec.Struct, frozen=True):
    """What a release is worth to its readers, and how far it can be traced back.

    Parameters
    ----------
    recall, sdist
        Of the most frequent patterns (ssc.txt, section V-B); see :class:`incrowd.metrics.patterns.PatternUtility`.
    information_loss
        L: how differently users fall into clusters of like ones before and after, in percent
        (semantic-microaggregation.txt, equations 8 and 9).
    linkage
        RL: users whose published record an attacker who knows all originals links with them, in percent (equation 10).
    """

    recall: float
    sdist: float
    information_loss: float
    linkage: float


def measure_utility(transactions: Transactions, taxonomy: Taxonomy, classes: Classes) -> Utility:
    """Measure all of it."""
    patterns = pattern_utility(transactions, taxonomy, classes)
    return Utility(
        recall=patterns.recall,
        sdist=patterns.sdist,
        information_loss=likeness_lost(transactions, taxonomy, classes),
        linkage=linkage(transactions, taxonomy, classes),
    )


def likeness_lost(
    transactions: Transactions,
    taxonomy: Taxonomy,
    classes: Classes,
    *,
    sample: int = SAMPLE,
    clusters: int | None = None,
) -> float:
    """Return L: cluster users by what they had and by what is published of them, and compare.

    Parameters
    ----------
    transactions, taxonomy, classes
        The data and what is published of it.
    sample
        How many rows are looked at, at most.
    clusters
        Into how many clusters; None: the best number for the originals.
    """
    rows, meaning = _some(np.arange(len(transactions)), sample), meaning_of(taxonomy)
    own = categories(*taken(_leaves(transactions, taxonomy), rows), meaning)
    nothing = np.diff(own.start) == 0
    published = categories(classes.start, classes.nodes, classes.counts, meaning)
    if classes.copies is None:
        of_row = classes.of_row[rows]
        shown, place = np.unique(np.maximum(of_row, 0), return_inverse=True)
        apart = _apart(taken(published, shown.astype(np.int64)), meaning)[np.ix_(place, place)]
        silent = of_row == WITHHELD
    else:  # a list of queries is read as the paper does: everybody's log less what is not in the list
        keep = np.isin(own.node, published.node)
        left = Categories(starts_of_kept(own.start, keep), own.node[keep], own.times[keep])
        apart, silent = _apart(left, meaning), np.diff(left.start) == 0
    found = information_loss(
        Logs(_apart(own, meaning), nothing),
        Logs(apart, nothing | silent),
        np.random.default_rng(0),
        sample=None,
        clusters=clusters,
    )
    return float(found.loss)


def _some(rows: Ints64, sample: int) -> Ints64:
    """Return a sample of the rows where they are many, always the same."""
    if len(rows) <= sample:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, sample, replace=False))


def _leaves(transactions: Transactions, taxonomy: Taxonomy) -> Categories:
    """Return the rows as bags of leaf nodes."""
    assert taxonomy.item_leaf is not None  # noqa: S101 - ground() has run; methods see to that
    leaves = taxonomy.leaf_nodes[taxonomy.item_leaf[transactions.items]]
    return Categories(transactions.indptr, leaves, transactions.counts)


def _apart(users: Categories, meaning: Meaning) -> Floats:
    return distances(users, meaning.parent, meaning.depth) / UNIT


def linkage(
    transactions: Transactions, taxonomy: Taxonomy, classes: Classes, *, sample: int = SAMPLE
) -> float:
    """Return RL: link published records with originals, by queries where those are published, else by items."""
    original, published = _as_queries(transactions, taxonomy, classes)
    record_of_user = classes.of_row.astype(np.int64)
    if classes.copies is not None:
        original, published, record_of_user = _as_if_removed(original, published)
    rows = _some(np.flatnonzero(record_of_user != WITHHELD), sample)
    sampled = np.full(len(record_of_user), WITHHELD, dtype=np.int64)
    sampled[rows] = record_of_user[rows]
    whole = np.count_nonzero(record_of_user != WITHHELD) / max(len(rows), 1)
    return float(record_linkage(original, published, sampled) * whole)


def _as_queries(
    transactions: Transactions, taxonomy: Taxonomy, classes: Classes
) -> tuple[QueryRows, QueryRows]:
    """Return originals and published records in the same numbers."""
    asked = transactions.asked
    if classes.texts is None or asked is None:
        own = QueryRows(*_leaves(transactions, taxonomy))
        return own, QueryRows(classes.start, classes.nodes, classes.counts)
    texts = pc.coalesce(classes.texts, taxonomy.labels_of(classes.nodes))
    known = np.array(pc.fill_null(pc.index_in(texts, value_set=asked.texts), -1), dtype=np.int64)
    strange = len(asked.texts) + np.arange(len(known))  # names that nobody typed
    query = np.where(known >= 0, known, strange)
    # A query that stands for several concepts is one query all the same.
    published = added_up(list_of(classes.start), query, classes.counts, len(classes))
    return count_queries(asked.start, asked.query), QueryRows(*published)


def _as_if_removed(original: QueryRows, published: QueryRows) -> tuple[QueryRows, QueryRows, Ints64]:
    """Read a list of queries as the paper does: everybody's log less what is not in the list."""
    keep = np.isin(original.query, published.query)
    left = QueryRows(starts_of_kept(original.start, keep), original.query[keep], original.times[keep])
    rows = np.arange(len(original.start) - 1)
    return original, left, np.where(np.diff(left.start) > 0, rows, WITHHELD)
