"""A release held against what it was made from, for the audit: every row against its owner's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from incrowd.relations import Bag, Generalizing, Relation, Standing, count_typists
from incrowd.taxonomy.tree import Taxonomy
from incrowd.transactions import Transactions
from incrowd.verdict import Audit

__all__ = ["Originals", "Record", "check_originals"]

Record = tuple[tuple[str, ...], tuple[int, ...]]
ROWS_A_BATCH = 16_384
_ALTERNATIVES = re.compile(r"\{.+:\d+, .+:\d+\}", re.DOTALL)


@dataclass(frozen=True)
class Originals:
    """What the release was made from: transactions, the tree they are grounded in, each one's row (-1: none)."""

    transactions: Transactions
    taxonomy: Taxonomy
    row_of: list[int]


def check_originals(
    contents: list[Record],
    content_of_row: list[int],
    originals: Originals,
    parents: dict[str, str | None],
    result: Audit,
    *,
    progress: Callable[[int, int], None],
) -> None:
    """Check that every row belongs to exactly one owner and stands for what the owner has."""
    owned = [row for row in originals.row_of if row >= 0]
    nobodys = result.claim.kind == "differential privacy"
    if not nobodys and sorted(owned) != list(range(len(content_of_row))):
        result.blame("the map does not give every published row exactly one owner")
        return
    if result.claim.speaks_of == "class":
        _check_queries(contents, originals, result)
        return
    published = {label for items, _ in contents for label in items}
    asking = result.claim.typed_by is not None
    node_of = _nodes_of_labels(originals.taxonomy, published, parents, queries=asking)
    if node_of is None:
        result.blame("a published label is not in the originals' taxonomy")
        return
    bags = [_bag_of(record, node_of) for record in contents]
    if result.claim.within is None:
        relation: Relation = Generalizing(originals.taxonomy, node_of.values())
    else:
        relation = Standing(originals.taxonomy, result.claim.within)
    wanted = [relation.wanted(bag) for bag in bags]
    with result.checking(f"{len(owned):,} published records {relation.verb} their owners' originals"):
        for place, (row, bag) in enumerate(zip(originals.row_of, _original_bags(originals), strict=True)):
            if place % ROWS_A_BATCH == 0:
                progress(place, len(originals.row_of))
            if row >= 0 and not relation.holds(wanted[content_of_row[row]], bag):
                result.blame(f"row {row} does not {relation.verb} its owner's record")


def _check_queries(contents: list[Record], originals: Originals, result: Audit) -> None:
    """Check that what is published is a label of the taxonomy, or a query that enough people typed."""
    asked, least = originals.transactions.asked, result.claim.typed_by
    if asked is None or least is None:
        result.unchecked.append("who typed the published queries: that is not known here")
        return
    labels = {label for items, _ in contents for label in items}
    queries = labels - set(originals.taxonomy.names.to_pylist())
    typists = count_typists(queries, asked, originals.transactions.person.tolist())
    with result.checking(f"{len(queries):,} published queries were each typed by at least {least:,} people"):
        rare = sum(number < least for number in typists.values())
        if rare:
            result.blame(f"{rare:,} published queries were typed by fewer than {least} people")


def _nodes_of_labels(
    taxonomy: Taxonomy, labels: AbstractSet[str], parents: dict[str, str | None], *, queries: bool
) -> dict[str, int] | None:
    """Return the node of each label (of two that share it, the one above), or None if one is unknown.

    A bag of alternatives, as ``{Wine:2, Vino:1}``, has no node, nor has a query: the one that it is published under
    stands in.
    """
    names = set(taxonomy.labels.to_pylist()) if queries else labels
    known = {
        name: parents[name] if _ALTERNATIVES.fullmatch(name) or name not in names else name for name in labels
    }
    nodes = pc.index_in(pa.array(known.values(), pa.string()), value_set=taxonomy.labels).to_pylist()
    return None if None in nodes else dict(zip(known, nodes, strict=True))


def _bag_of(record: Record, node_of: dict[str, int]) -> Bag:
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
