"""A release held against what it was made from, for the audit: every row against its owner's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.audit_taxonomy import PublishedTree
from incrowd.itemsets import rare_among_people
from incrowd.promises import Texts
from incrowd.published import MADE_LABEL, above, published_nodes, taxonomy_table, words_beside_queries
from incrowd.record_table import LEFT, Label, Record, class_name
from incrowd.relations import Bag, Generalizing, Relation, Standing, count_holders, count_typists
from incrowd.taxonomy.tree import Taxonomy
from incrowd.transactions import Transactions
from incrowd.verdict import Audit

__all__ = [
    "Finder",
    "Originals",
    "Written",
    "check_originals",
    "count_people",
    "is_their_tree",
    "nodes_of_labels",
]

ROWS_A_BATCH = 16_384
_BAG = re.compile(r"\{.+:\d+, .+:\d+\}", re.DOTALL)
_ALTERNATIVE = re.compile(r"(.+?):\d+(?:, |$)", re.DOTALL)
_CLASS = re.compile(class_name(".+"), re.DOTALL)


@dataclass(frozen=True)
class Originals:
    """What the release was made from.

    Parameters
    ----------
    transactions, taxonomy
        The data, and the tree that it is grounded in.
    row_of
        Each transaction's row in the release (-1: none).
    renamed
        What a made node that is published as ``unlisted 1.2`` is called in this taxonomy.
    """

    transactions: Transactions
    taxonomy: Taxonomy
    row_of: Sequence[int]
    renamed: Mapping[str, str] = field(default_factory=dict)


class Written(NamedTuple):
    """The distinct records of a release and which of them each row is (none where a cluster reads them), all labels, the tree.

    ``texts`` says which labels need not be nodes: none, queries, or bags of alternatives (ssc.txt).
    """

    records: Sequence[Record]
    record_of_row: Sequence[int]
    labels: AbstractSet[Label]
    tree: PublishedTree
    texts: Texts = "none"


def check_originals(
    written: Written, originals: Originals, result: Audit, *, progress: Callable[[int, int], None]
) -> dict[Label, int] | None:
    """Check that every row belongs to exactly one owner and stands for what the owner has.

    Returns the node of each published label; None where that cannot be said.
    """
    owned = [row for row in originals.row_of if row >= 0]
    if sorted(owned) != list(range(len(written.record_of_row))):
        result.add_problem("the map does not give every published row exactly one owner")
        return None
    if originals.transactions.people is None:
        result.people_min = result.k_min  # a row is a person's own
    else:
        count_people(written, _people_of_rows(originals, len(owned)), result)
    find = Finder(originals.taxonomy, originals.renamed, written.texts)
    node_of = nodes_of_labels(find, written)
    if node_of is None:
        result.add_problem("a published label is not in the originals' taxonomy")
        return None
    if not is_their_tree(written, find, node_of):
        result.add_problem(
            "taxonomy.parquet is not the part of the originals' taxonomy that the records need"
        )
        return None
    if result.claim.typed_by is not None:
        _check_texts(written, originals, node_of, result)
    if written.texts == "bags" and result.claim.kind != "none":
        _check_bags(written, originals, find, result)
    if result.claim.speaks_of == "owner":
        _check_rows(written, originals, node_of, result, progress)
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
    result.people_min = min(sharing.values(), default=0)
    if claim.distinct != "people":
        return
    if claim.kind == "k-anonymity":
        with result.checking(
            f"each distinct record is shared by at least {result.people_min:,} different people"
        ):
            rare = sum(number < claim.least for number in sharing.values())
            result.require(
                wrong=bool(rare),
                problem=f"{rare:,} distinct records are shared by fewer than {claim.k} different people",
            )
    if claim.kind == "k^m-anonymity" and claim.m is not None:
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


def _check_rows(
    written: Written,
    originals: Originals,
    node_of: Mapping[Label, int],
    result: Audit,
    progress: Callable[[int, int], None],
) -> None:
    """Hold every row against its owner's original."""
    relation: Relation = Generalizing(originals.taxonomy, node_of.values())
    if result.claim.within is not None:
        relation = Standing(originals.taxonomy, result.claim.within)
    holds, record_of_row = relation.holds, written.record_of_row
    wanted = [relation.wanted(_bag_of(record, node_of)) for record in written.records]
    with result.checking(
        f"{len(written.record_of_row):,} published records {relation.verb} their owners' originals"
    ):
        for place, (row, bag) in enumerate(zip(originals.row_of, _original_bags(originals), strict=True)):
            if place % ROWS_A_BATCH == 0:
                progress(place, len(originals.row_of))
            if row >= 0 and not holds(wanted[record_of_row[row]], bag):
                result.add_problem(f"row {row} does not {relation.verb} its owner's record")


def _check_texts(written: Written, originals: Originals, node_of: Mapping[Label, int], result: Audit) -> None:
    """Check that enough people typed each published query, and that a name stands for items of as many."""
    events, least = originals.transactions.asked, result.claim.typed_by or 0
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
    typed = np.zeros(len(data), dtype=np.int64) if data.asked is None else np.diff(data.asked.start)
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


class Finder:
    """Finds the node of a published label in the originals' taxonomy."""

    def __init__(self, tree: Taxonomy, renamed: Mapping[str, str], texts: Texts) -> None:
        labels = tree.labels.to_pylist()
        # Beside queries, a leaf is a word only if its label is a query; else it is the name of a concept.
        words = words_beside_queries(tree) if texts == "queries" else tree.is_leaf
        names = tree.is_leaf & ~words
        self.tree, self.renamed = tree, renamed
        self.leaf_of = {labels[node]: node for node in reversed(np.flatnonzero(words).tolist())}
        self.class_of = {labels[node]: node for node in np.flatnonzero(~tree.is_leaf).tolist()}
        self.name_of = {labels[node]: node for node in np.flatnonzero(names).tolist()}

    def __call__(self, label: Label) -> int | None:
        """Return the node of a label; None if there is none."""
        text, exact = label
        if exact:
            return self.leaf_of.get(text)
        text = self.renamed.get(text, text)
        return self.class_of.get(text, self.name_of.get(text))


def nodes_of_labels(find: Finder, written: Written) -> dict[Label, int] | None:
    """Return the node of each published label, or None if one is unknown.

    A bag of alternatives, as ``{Vino | Wine}``, has no node, nor has a query: the one that it is published under
    stands in.
    """
    made = () if find.tree.made is None else find.tree.labels.filter(pa.array(find.tree.made)).to_pylist()
    if not _is_renaming(find.renamed) or not set(made) >= set(find.renamed.values()):
        return None
    found: dict[Label, int] = {}
    for label in written.labels:
        node, above = find(label), written.tree.parent.get(label)
        if node is None and above is not None and _stands_below(label, written.texts, find):
            node = find((above, False))
        if node is None:
            return None
        found[label] = node
    return found


def _stands_below(label: Label, texts: Texts, find: Finder) -> bool:
    """Tell whether a label that is no node's may be published: a query, or a bag of alternatives that are nodes'."""
    text, exact = label
    if texts == "queries":
        return exact
    return (
        texts == "bags"
        and not exact
        and all(find(name) is not None for name in alternatives(text) or [("", True)])
    )


def alternatives(text: str) -> list[Label]:
    """Return the labels in a bag, ``{Vino | Wine}`` or ``{Wine:2, Vino:1}``; none if it is no bag."""
    if _BAG.fullmatch(text):
        inside = _ALTERNATIVE.findall(text[1:-1])
    elif text.startswith("{") and text.endswith("}") and " | " in text:
        inside = text[1:-1].split(" | ")
    else:
        return []
    return [
        (name[1:-1], False) if _CLASS.fullmatch(name) else (name.replace(2 * LEFT, LEFT), True)
        for name in inside
    ]


def is_their_tree(written: Written, find: Finder, node_of: Mapping[Label, int]) -> bool:
    """Tell whether the published taxonomy is the part of the originals' that the labels need, as it is published."""
    tree = find.tree
    own = [label for label in written.labels if find(label) is None]
    bags = {
        label: [find(name) for name in alternatives(label[0])] if written.texts == "bags" else []
        for label in own
    }
    nodes = np.array(sorted(set(node_of.values())), dtype=np.int32)
    inside = np.array([node for some in bags.values() for node in some if node is not None], dtype=np.int32)
    words = words_beside_queries(tree) if written.texts == "queries" else None
    named = published_nodes(tree, np.concatenate((nodes, inside)), words=words)
    rows = taxonomy_table(named, above(named, nodes)).to_pylist()
    expected = {(row["label"], row["exact"]): (row["parent"], row["level"], row["leaves"]) for row in rows}
    for label in own:
        place = int(named.places(np.array([node_of[label]], dtype=np.int32))[0])
        leaves = len(bags[label]) or 1
        expected[label] = (named.labels[place].as_py(), int(named.level[place]) + 1, leaves)
    said = written.tree
    return expected == {
        label: (said.parent[label], said.level[label], said.leaves[label]) for label in said.parent
    }


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
        told = sum(":" in label[0] and bool(_BAG.fullmatch(label[0])) for label in bags)
        result.require(wrong=bool(told), problem=f"{told:,} bags tell how often each alternative was matched")


def _is_renaming(renamed: Mapping[str, str]) -> bool:
    """Tell whether made nodes were renamed within their level and in order: only their numbers may differ."""
    before: dict[tuple[str, str], tuple[int, int]] = {}
    for published, own in sorted(renamed.items(), key=lambda one: _number(one[0])):
        first, second = MADE_LABEL.fullmatch(published), MADE_LABEL.fullmatch(own)
        if first is None or second is None or first.groups()[:2] != second.groups()[:2]:
            return False
        kind, numbers = (first[1], first[2]), (int(first[3]), int(second[3]))
        last = before.get(kind, (0, 0))
        if numbers[0] != last[0] + 1 or numbers[1] <= last[1]:
            return False
        before[kind] = numbers
    return True


def _number(label: str) -> int:
    match = MADE_LABEL.fullmatch(label)
    return int(match[3]) if match else 0


def _bag_of(record: Record, node_of: Mapping[Label, int]) -> Bag:
    """Return a published record as a bag of nodes."""
    bag = Bag()
    for label, count in zip(*record, strict=True):
        bag[node_of[label]] += count
    return bag


def _original_bags(originals: Originals) -> Iterator[list[tuple[int, int]]]:
    """Yield each owner's bag as (leaf node, count) pairs."""
    data, tree = originals.transactions, originals.taxonomy
    assert tree.item_leaf is not None  # noqa: S101 - the caller grounds the tree
    for first in range(0, len(data), ROWS_A_BATCH):
        bounds = data.indptr[first : first + ROWS_A_BATCH + 1]
        part = slice(int(bounds[0]), int(bounds[-1]))
        nodes = tree.leaf_nodes[tree.item_leaf[data.items[part]]].tolist()
        pairs = list(zip(nodes, data.counts[part].tolist(), strict=True))
        ends = (bounds - bounds[0]).tolist()
        yield from (pairs[a:b] for a, b in pairwise(ends))
