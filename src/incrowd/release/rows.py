"""Classes of nodes into the records as they are published: sorted by content, without owners or input order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.ragged import list_ids, take_lists
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.release.files.nodes import (
    TAXONOMY_SCHEMA,
    PublishedNodes,
    above,
    published_nodes,
    sorted_table,
    taxonomy_table,
    words_beside_queries,
)
from incrowd.release.files.records import RecordTable, shown
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Entries", "Records", "entries_of", "published_taxonomy", "records_of"]


@dataclass(frozen=True, eq=False)
class Records(RecordTable):
    """Records that know whose they are.

    Parameters
    ----------
    row_of
        Where each transaction went: its row in the table; WITHHELD if it is not published. Private.
    row_of_left
        The row of each person who is counted and has no transaction. Private.
    """

    row_of: Ints64
    row_of_left: Ints64


@dataclass(frozen=True, eq=False)
class Entries:
    """What each entry of ``classes.nodes`` is published as: a label, and whether that is the very item.

    A bag of alternatives is a class, written ``{Vino | Wine}``, or as in Liu & Wang (ICDM 2010), ``{Wine:2, Vino:1}``, where the paper's
    literal behaviour was asked for: how many of a class had which term may be one person's.

    Parameters
    ----------
    classes
        What is published.
    nodes
        The node that each entry is, or that its own label is listed below.
    named
        What these nodes are called, and all above them.
    """

    classes: Classes
    nodes: Ints32
    named: PublishedNodes

    @cached_property
    def place(self) -> Ints64:
        """Where the node of each entry stands among those that are named."""
        return self.named.places(self.nodes)

    @cached_property
    def labels(self) -> pa.Array:
        """The label of each entry."""
        own = self.named.labels.take(pa.array(self.place))
        if self.classes.texts is not None:
            return pc.coalesce(self.classes.texts, own)
        return own if self.classes.alternatives is None else self._alternatives()

    @cached_property
    def exact(self) -> Bools:
        """Whether each entry is the very item (or query); else it is a class."""
        if self.classes.texts is not None:
            typed = np.array(self.classes.texts.is_valid(), dtype=np.bool_)
            return np.asarray(typed | self.named.exact[self.place])
        bags = self.classes.alternatives
        if bags is None:
            return np.asarray(self.named.exact[self.place])
        first = self.named.exact[self.named.places(bags.nodes[bags.start[:-1]])]
        return np.asarray(first & (np.diff(bags.start) == 1))

    @cached_property
    def own(self) -> Bools:
        """Whether each entry has a label of its own, below its node."""
        if self.classes.texts is not None:
            return np.array(self.classes.texts.is_valid(), dtype=np.bool_)
        bags = self.classes.alternatives
        return np.zeros(len(self.classes.nodes), dtype=np.bool_) if bags is None else np.diff(bags.start) > 1

    def _alternatives(self) -> pa.Array:
        bags = self.classes.alternatives
        assert bags is not None  # noqa: S101 - the caller has looked
        place = self.named.places(bags.nodes)
        texts, exact = self.named.labels.take(pa.array(place)).to_pylist(), self.named.exact[place].tolist()
        times = bags.counts.tolist()
        spelled = []
        for first, stop in pairwise(bags.start.tolist()):
            if stop == first + 1:
                spelled.append(texts[first])
                continue
            names = list(map(shown, zip(texts[first:stop], exact[first:stop], strict=True)))
            spelled.append(spell_bag(names, times[first:stop]))
        return pa.array(spelled, pa.string())


def spell_bag(names: list[str], times: list[int]) -> str:
    """Write alternatives: in order, and where the number of matches is published, the most frequent first."""
    if not any(times):
        return "{" + " | ".join(sorted(names)) + "}"
    ranked = sorted(zip(times, names, strict=True), key=lambda one: (-one[0], one[1]))
    return "{" + ", ".join(f"{name}:{count}" for count, name in ranked) + "}"


def entries_of(classes: Classes, taxonomy: Taxonomy) -> Entries:
    """Name everything that the classes publish."""
    if classes.texts is not None:
        nodes = _listed_below(classes.texts, classes.nodes)
        return Entries(classes, nodes, published_nodes(taxonomy, nodes, words=words_beside_queries(taxonomy)))
    bags = classes.alternatives
    nodes = classes.nodes if bags is None else np.concatenate((classes.nodes, bags.nodes))
    return Entries(classes, classes.nodes, published_nodes(taxonomy, nodes))


def _listed_below(texts: pa.Array, nodes: Ints32) -> Ints32:
    """Return the node of each entry; a query that means several concepts is listed below the first of them in the tree.

    The other concepts are not published, unless something else needs them: no record tells that the query means them too.
    """
    typed = np.array(texts.is_valid(), dtype=np.bool_)
    encoded = texts.filter(pa.array(typed)).dictionary_encode()
    query = encoded.indices.to_numpy(zero_copy_only=False)
    first = np.full(len(encoded.dictionary), np.iinfo(np.int32).max, dtype=np.int32)
    np.minimum.at(first, query, nodes[typed])
    listed = nodes.copy()
    listed[typed] = first[query]
    return listed


def records_of(classes: Classes, entries: Entries, group: Ints64 | None = None) -> Records:
    """Spell out the classes' nodes as labels, merge classes that say the same, and sort.

    Where each row, and each person who has none, is of a `group`, equal records of one group are side by side.
    """
    labels, exact, rank_of_entry = _ranked_labels(entries)
    start, rank, counts = _by_label(classes, rank_of_entry)
    keys = _keys(start, rank, counts)
    distinct = sorted(set(keys))
    number = {key: i for i, key in enumerate(distinct)}
    record_of_class = np.array([number[key] for key in keys], dtype=np.int64)
    first_class = np.empty(len(distinct), dtype=np.int64)
    first_class[record_of_class[::-1]] = np.arange(len(keys))[::-1]
    sizes = np.bincount(record_of_class, weights=classes.sizes, minlength=len(distinct)).astype(np.int64)
    offsets, take = take_lists(start, first_class)
    row_of, row_of_left = _rows(classes, record_of_class, group)
    return Records(labels, exact, offsets, rank[take], counts[take], sizes, row_of, row_of_left)


def published_taxonomy(entries: Entries) -> pa.Table:
    """Return the published nodes, all above them, and labels of the classes' own."""
    named, bags = entries.named, entries.classes.alternatives
    table = taxonomy_table(named, above(named, entries.nodes))
    own = np.flatnonzero(entries.own)
    # Several classes may publish the same label, below the same node.
    label = entries.labels.take(pa.array(own)).dictionary_encode()
    own = own[np.unique(label.indices.to_numpy(zero_copy_only=False), return_index=True)[1]]
    place = entries.place[own]
    leaves = np.ones(len(own)) if bags is None else np.diff(bags.start)[own]
    columns = [
        label.dictionary,
        pa.array(entries.exact[own]),
        named.labels.take(pa.array(place)),
        pa.array(named.level[place] + 1, pa.int32()),
        pa.array(leaves.astype(np.int32), pa.int32()),
    ]
    return sorted_table(pa.concat_tables([table, pa.table(columns, schema=TAXONOMY_SCHEMA)]))


def _ranked_labels(entries: Entries) -> tuple[pa.Array, Bools, Ints32]:
    """Return the published labels, sorted, which are words, and the rank of each entry's label."""
    encoded = entries.labels.dictionary_encode()
    names = encoded.dictionary
    order = pc.sort_indices(names)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order.to_numpy(zero_copy_only=False)] = np.arange(len(names))
    # A class and a word may be spelt alike: the class comes first.
    key = 2 * rank[encoded.indices.to_numpy(zero_copy_only=False)] + entries.exact
    distinct, place = np.unique(key, return_inverse=True)
    return names.take(order).take(pa.array(distinct // 2)), distinct % 2 == 1, place.astype(np.int32)


def _by_label(classes: Classes, rank: Ints32) -> tuple[Ints64, Ints32, Ints32]:
    """Sort each class by label; equal labels are added up."""
    owner = list_ids(classes.start)
    order = np.lexsort((rank, owner))
    owner, rank, counts = owner[order], rank[order], classes.counts[order]
    fresh = np.ones(len(rank), dtype=np.bool_)
    fresh[1:] = (owner[1:] != owner[:-1]) | (rank[1:] != rank[:-1])
    at = np.flatnonzero(fresh)
    counts = np.add.reduceat(counts, at).astype(np.int32) if len(at) else counts
    start = np.searchsorted(owner[at], np.arange(len(classes) + 1)).astype(np.int64)
    return start, rank[at], counts


def _keys(start: Ints64, rank: Ints32, counts: Ints32) -> list[tuple[bytes, bytes]]:
    """Return a key per class that sorts as its labels do, then as its counts do."""
    items, times = rank.astype(">u4"), counts.astype(">u4")
    bounds = start.tolist()
    return [(items[a:b].tobytes(), times[a:b].tobytes()) for a, b in pairwise(bounds)]


def _rows(classes: Classes, record_of_class: Ints64, group: Ints64 | None) -> tuple[Ints64, Ints64]:
    """Give each published transaction a row of its record, and each person who is counted without one."""
    of_class = classes.of_row if classes.left is None else np.concatenate((classes.of_row, classes.left))
    published = np.flatnonzero(of_class != WITHHELD)
    record = record_of_class[of_class[published]]
    order = np.argsort(record, kind="stable") if group is None else np.lexsort((group[published], record))
    row_of = np.full(len(of_class), WITHHELD, dtype=np.int64)
    row_of[published[order]] = np.arange(len(published))
    return row_of[: len(classes.of_row)], row_of[len(classes.of_row) :]
