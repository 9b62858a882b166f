"""A release held against what it was made from, for the audit: every row against its owner's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np

from incrowd.auditing.history import check_present
from incrowd.auditing.itemsets import rare_among_people
from incrowd.auditing.labels import (
    Finder,
    Written,
    alternatives,
    check_moved,
    is_their_tree,
    nodes_of_labels,
    tells_how_often,
)
from incrowd.auditing.relations import Bag, Generalizing, Relation, Standing, count_holders, count_typists
from incrowd.auditing.result import Audit
from incrowd.core.transactions import Transactions
from incrowd.core.types import Progress
from incrowd.release.files.records import Label, Record
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Originals", "Owners", "bag_of", "check_originals", "count_people", "require_people"]

ROWS_A_BATCH = 16_384


class Owners(Protocol):
    """What a release was made from, wherever it lies: the tree, and whose the published rows are."""

    @property
    def taxonomy(self) -> Taxonomy:
        """The tree that the originals are attached to."""

    @property
    def renamed(self) -> Mapping[str, str]:
        """What a made node that is published as ``unlisted 1.2`` is called in this taxonomy."""

    def check_people(self, written: Written, result: Audit) -> bool:
        """Count the people behind equal records; tell whether the rows have owners to be held against."""

    def check_texts(
        self, written: Written, find: Finder, node_of: Mapping[Label, int], result: Audit
    ) -> None:
        """Check that enough people have what is published beside nodes: queries, and bags of alternatives."""

    def check_rows(
        self,
        written: Written,
        node_of: Mapping[Label, int],
        relation: Relation,
        result: Audit,
        progress: Progress,
    ) -> None:
        """Hold every published row against its owner's original."""


@dataclass(frozen=True)
class Originals:
    """What the release was made from, in this process.

    Parameters
    ----------
    transactions, taxonomy
        The data, and the tree that it is attached to.
    row_of
        Each transaction's row in the release (-1: none).
    renamed
        What a made node that is published as ``unlisted 1.2`` is called in this taxonomy.
    left
        Rows of people who were in an earlier release and have no record now, where a release follows others.
    """

    transactions: Transactions
    taxonomy: Taxonomy
    row_of: Sequence[int]
    renamed: Mapping[str, str] = field(default_factory=dict)
    left: Sequence[int] = ()

    def check_people(self, written: Written, result: Audit) -> bool:
        """Check that every row belongs to exactly one owner, and count the people behind equal records."""
        owned = [row for row in self.row_of if row >= 0]
        if sorted([*owned, *self.left]) != list(range(len(written.record_of_row))):
            result.add_problem("the map does not give every published row exactly one owner")
            return False
        if result.claim.follows is not None:
            check_present(written.record_of_row, owned, result)
        if self.transactions.people is None:
            result.people_min = result.k_min  # a row is a person's own
        else:
            count_people(written, _people_of_rows(self, len(owned)), result)
        return True

    def check_texts(
        self, written: Written, find: Finder, node_of: Mapping[Label, int], result: Audit
    ) -> None:
        """Check that enough people have what is published beside nodes: queries, and bags of alternatives."""
        if result.claim.typed_by is not None:
            _check_texts(written, self, node_of, result)
        if written.texts == "bags" and result.claim.kind != "none":
            _check_bags(written, self, find, result)

    def check_rows(
        self,
        written: Written,
        node_of: Mapping[Label, int],
        relation: Relation,
        result: Audit,
        progress: Progress,
    ) -> None:
        """Hold every published row against its owner's original."""
        holds, record_of_row = relation.holds, written.record_of_row
        wanted = [relation.wanted(bag_of(record, node_of)) for record in written.records]
        for place, (row, bag) in enumerate(zip(self.row_of, _original_bags(self), strict=True)):
            if place % ROWS_A_BATCH == 0:
                progress(place, len(self.row_of))
            if row >= 0 and not holds(wanted[record_of_row[row]], bag):
                result.add_problem(f"row {row} does not {relation.verb} its owner's record")


def check_originals(
    written: Written, originals: Owners, result: Audit, *, progress: Progress
) -> dict[Label, int] | None:
    """Check that every row belongs to exactly one owner and stands for what the owner has.

    Returns the node of each published label; None where that cannot be said.
    """
    if not originals.check_people(written, result):
        return None
    labels = {*written.labels, *written.tree.parent}
    labels |= {(parent, False) for parent in written.tree.parent.values() if parent is not None}
    find = Finder(originals.taxonomy, originals.renamed, written.texts, labels)
    node_of = nodes_of_labels(find, written)
    if node_of is None:
        result.add_problem("a published label is not in the originals' taxonomy")
        return None
    if not is_their_tree(written, find, node_of):
        result.add_problem(
            "taxonomy.parquet is not the part of the originals' taxonomy that the records need"
        )
        return None
    check_moved([node_of[label] for label in written.labels if label[1]], find.tree, written.moved, result)
    originals.check_texts(written, find, node_of, result)
    if result.claim.speaks_of == "owner":
        relation: Relation = Generalizing(originals.taxonomy, node_of.values())
        if result.claim.within is not None:
            relation = Standing(originals.taxonomy, result.claim.within)
        with result.checking(f"{result.records:,} published records {relation.verb} their owners' originals"):
            originals.check_rows(written, node_of, relation, result, progress)
    return node_of


def _people_of_rows(originals: Originals, rows: int) -> list[int]:
    """Return a number for the person behind each published row."""
    people = [0] * rows
    for row, person in zip(originals.row_of, originals.transactions.person.tolist(), strict=True):
        if row >= 0:
            people[row] = person
    return people


def count_people(written: Written, people: Sequence[object], result: Audit) -> None:
    """Count the different people behind equal records, and hold the claim against them where it speaks of people."""
    claim = result.claim
    sharing = Counter(record for record, _ in set(zip(written.record_of_row, people, strict=True)))
    rare = sum(number < claim.least for number in sharing.values())
    require_people(min(sharing.values(), default=0), rare, result)
    if claim.distinct == "people" and claim.kind == "k^m-anonymity" and claim.m is not None:
        with result.checking(
            f"every set of at most {claim.m} labels belongs to at least {claim.k:,} different people"
        ):
            owned = (
                (written.records[record][0], person)
                for record, person in zip(written.record_of_row, people, strict=True)
            )
            rare = rare_among_people(owned, claim.least, claim.m)
            result.require(
                wrong=bool(rare),
                problem=f"{rare:,} sets of at most {claim.m} labels belong to fewer than {claim.k} people",
            )


def require_people(least: int, rare: int, result: Audit) -> None:
    """Hold the claim against the least number of different people who share a record, and how many records fewer than k share."""
    result.people_min = least
    if result.claim.distinct == "people" and result.claim.kind == "k-anonymity":
        with result.checking(f"each distinct record is shared by at least {least:,} different people"):
            result.require(
                wrong=bool(rare),
                problem=f"{rare:,} distinct records are shared by fewer than {result.claim.k} different people",
            )


def _check_texts(written: Written, originals: Originals, node_of: Mapping[Label, int], result: Audit) -> None:
    """Check that enough people typed each published query, and that a name stands for items of as many."""
    events, least = originals.transactions.events, result.claim.typed_by or 0
    if events is None:
        result.unproven.append("how many people typed the published queries: that is not known here")
        return
    labels = written.labels
    typists = count_typists(
        {text for text, exact in labels if exact}, events, originals.transactions.person.tolist()
    )
    with result.checking(f"{len(typists):,} published queries were each typed by at least {least:,} people"):
        rare = sum(number < least for number in typists.values())
        result.require(
            wrong=bool(rare), problem=f"{rare:,} published queries were typed by fewer than {least} people"
        )
    if result.claim.speaks_of == "class":
        _check_copies(written, originals, result)
    names = {node_of[label] for label in labels if not label[1]}
    holders = count_holders(names, originals.transactions, originals.taxonomy)
    with result.checking(
        f"{len(names):,} published names of concepts stand for items of at least {least:,} people"
    ):
        rare = sum(number < least for number in holders.values())
        result.require(
            wrong=bool(rare),
            problem=f"{rare:,} published names of concepts stand for items of fewer than {least} people",
        )


def _check_copies(written: Written, originals: Originals, result: Audit) -> None:
    """Check that no record of a class is longer than its longest member's original."""
    data = originals.transactions
    typed = np.zeros(len(data), dtype=np.int64) if data.events is None else np.diff(data.events.start)
    longest: dict[int, int] = {}
    for row, length in zip(originals.row_of, np.maximum(data.lengths, typed).tolist(), strict=True):
        if row >= 0:
            record = written.record_of_row[row]
            longest[record] = max(longest.get(record, 0), length)
    with result.checking("no record of a class is longer than its longest original"):
        wrong = sum(
            sum(counts) > longest.get(number, 0) for number, (_, counts) in enumerate(written.records)
        )
        result.require(
            wrong=bool(wrong), problem=f"{wrong:,} records are longer than any original of their class"
        )


def _check_bags(written: Written, originals: Originals, find: Finder, result: Audit) -> None:
    """Check that enough people have each alternative, and that no bag tells how many had which."""
    least = result.claim.least
    bags = {
        label: [find(name) for name in alternatives(label[0])]
        for label in written.labels
        if find(label) is None
    }
    nodes = {node for some in bags.values() for node in some if node is not None}
    holders = count_holders(nodes, originals.transactions, find.tree)
    with result.checking(f"{len(nodes):,} published alternatives are each of at least {least:,} people"):
        rare = sum(number < least for number in holders.values())
        result.require(
            wrong=bool(rare), problem=f"{rare:,} published alternatives are of fewer than {least} people"
        )
        counted = sum(tells_how_often(label[0]) for label in bags)
        result.require(
            wrong=bool(counted), problem=f"{counted:,} bags tell how often each alternative was matched"
        )


def bag_of(record: Record, node_of: Mapping[Label, int]) -> Bag:
    """Return a published record as a bag of nodes."""
    bag = Bag()
    for label, count in zip(*record, strict=True):
        bag[node_of[label]] += count
    return bag


def _original_bags(originals: Originals) -> Iterator[list[tuple[int, int]]]:
    """Yield each owner's bag as (leaf node, count) pairs."""
    data, tree = originals.transactions, originals.taxonomy
    for first in range(0, len(data), ROWS_A_BATCH):
        bounds = data.indptr[first : first + ROWS_A_BATCH + 1]
        part = slice(int(bounds[0]), int(bounds[-1]))
        nodes = tree.leaves_of(data.items[part]).tolist()
        pairs = list(zip(nodes, data.counts[part].tolist(), strict=True))
        ends = (bounds - bounds[0]).tolist()
        yield from (pairs[a:b] for a, b in pairwise(ends))
