"""Utility and risk of a release: patterns that are still found, change of user groups, record linkage.

All are measured for every method on one scale. Where there are many rows, user groups and linkage are measured on a
sample, which is always the same.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pyarrow.compute as pc

from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.ragged import count_by_group, filtered_starts, list_ids
from incrowd.core.transactions import Transactions
from incrowd.core.types import Floats, Ints64
from incrowd.kernels.likeness import UNIT, distances, taken
from incrowd.metrics.linkage import QueryRows, count_queries, record_linkage
from incrowd.metrics.partitions import Logs, information_loss
from incrowd.metrics.patterns import pattern_utility
from incrowd.taxonomy.meaning import Categories, Meaning, categories, meaning_of
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Utility", "linkage", "measure_utility", "user_group_change"]

SAMPLE = 500


class Utility(msgspec.Struct, frozen=True):
    """Utility of a release for analysis, and the risk that its records are linked to their owners (docs/glossary.md).

    Parameters
    ----------
    recall, sdist
        Pattern recall and pattern distance (Liu & Wang, ICDM 2010, section V-B); see
        :class:`incrowd.metrics.patterns.PatternUtility`.
    information_loss
        Change of user groups, L: how differently users cluster before and after, in percent
        (Batet et al., Information Sciences 2013, equations 8 and 9).
    linkage
        Record linkage, RL: records re-linked to their owners by an attacker who has the originals, in percent (the same
        paper, equation 10).
    """

    recall: float
    sdist: float
    information_loss: float
    linkage: float


def measure_utility(transactions: Transactions, taxonomy: Taxonomy, classes: Classes) -> Utility:
    """Measure utility and risk."""
    patterns = pattern_utility(transactions, taxonomy, classes)
    return Utility(
        recall=patterns.recall,
        sdist=patterns.sdist,
        information_loss=user_group_change(transactions, taxonomy, classes),
        linkage=linkage(transactions, taxonomy, classes),
    )


def user_group_change(
    transactions: Transactions,
    taxonomy: Taxonomy,
    classes: Classes,
    *,
    sample: int = SAMPLE,
    clusters: int | None = None,
) -> float:
    """Return the change of user groups, L: cluster users by their originals and by their published records, and compare.

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
    else:  # a list of queries is read as in the paper: each user's log without the queries that are not in the list
        keep = np.isin(own.node, published.node)
        left = Categories(filtered_starts(own.start, keep), own.node[keep], own.times[keep])
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
    """Return the rows, or a fixed sample of them if they are many."""
    if len(rows) <= sample:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, sample, replace=False))


def _leaves(transactions: Transactions, taxonomy: Taxonomy) -> Categories:
    """Return the rows as bags of leaf nodes."""
    leaves = taxonomy.leaves_of(transactions.items)
    return Categories(transactions.indptr, leaves, transactions.counts)


def _apart(users: Categories, meaning: Meaning) -> Floats:
    return distances(users, meaning.parent, meaning.depth) / UNIT


def linkage(
    transactions: Transactions, taxonomy: Taxonomy, classes: Classes, *, sample: int = SAMPLE
) -> float:
    """Return the record linkage, RL: by queries where those are published, else by items."""
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
    """Return originals and published records, queries numbered alike."""
    events = transactions.events
    if classes.texts is None or events is None:
        own = QueryRows(*_leaves(transactions, taxonomy))
        return own, QueryRows(classes.start, classes.nodes, classes.counts)
    texts = pc.coalesce(classes.texts, taxonomy.labels_of(classes.nodes))
    known = np.array(pc.fill_null(pc.index_in(texts, value_set=events.texts), -1), dtype=np.int64)
    strange = len(events.texts) + np.arange(len(known))  # names that no user typed
    query = np.where(known >= 0, known, strange)
    # A query that stands for several concepts counts as one query.
    published = count_by_group(list_ids(classes.start), query, classes.counts, len(classes))
    return count_queries(events.start, events.query), QueryRows(*published)


def _as_if_removed(original: QueryRows, published: QueryRows) -> tuple[QueryRows, QueryRows, Ints64]:
    """Read a list of queries as in the paper: each user's log without the queries that are not in the list."""
    keep = np.isin(original.query, published.query)
    left = QueryRows(filtered_starts(original.start, keep), original.query[keep], original.times[keep])
    rows = np.arange(len(original.start) - 1)
    return original, left, np.where(np.diff(left.start) > 0, rows, WITHHELD)
