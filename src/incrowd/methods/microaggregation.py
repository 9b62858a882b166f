"""Semantic microaggregation: MDAV over what queries mean (semantic-microaggregation.txt).

The release is made of real queries that stand for a group's interests, not of abstract nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.asked import Asked
from incrowd.errors import BadInputError
from incrowd.kernels.likeness import distances, taken
from incrowd.kernels.mdav import BLOCK_SIZE, Clusters, mdav_in_blocks
from incrowd.kernels.representatives import Representatives, like_order, representatives
from incrowd.lists import count_distinct, list_of
from incrowd.methods.classes import Classes, Progress, filled_rows
from incrowd.methods.meaning import Meaning, meaning_of, row_categories
from incrowd.taxonomy.tree import Taxonomy
from incrowd.transactions import Transactions

__all__ = [
    "check_microaggregation",
    "concepts_of",
    "microaggregation",
    "needs_queries",
    "unless_a_name",
    "with_queries",
]

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]


def microaggregation(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    verbatim: bool = False,
    block_size: int = BLOCK_SIZE,
    seed: int = 0,
    progress: Progress | None = None,
) -> Classes:
    """Group users of like interests and publish, for each group, queries that stand for what it asked.

    Parameters
    ----------
    transactions, taxonomy
        What queries mean (``items="concepts"``), with the queries themselves, and the knowledge base.
    k
        The least number of rows in a group; where a person may have several rows, of people.
    verbatim
        Publish any query that means the same, as the paper does. Otherwise a query must have been typed by at least
        k people; where there is none, the concept's name is published.
    block_size
        The most rows that are compared with each other. More rows are cut into blocks of like ones: time and memory
        grow with the block size, and rows near a block's edge may miss their nearest.
    seed
        For the choice among queries of the same meaning.
    progress
        Told how many rows of how many have a group.
    """
    check_microaggregation(block_size=block_size)
    asked = needs_queries(transactions, taxonomy, "microaggregation")
    filled = filled_rows(transactions, k)
    meaning = meaning_of(taxonomy)
    users = row_categories(transactions, taxonomy, meaning)
    order = filled[like_order(taken(users, filled), meaning.parent, meaning.depth)]
    clusters = mdav_in_blocks(
        lambda rows: distances(taken(users, rows), meaning.parent, meaning.depth),
        order,
        transactions.person,
        k=k,
        block_size=block_size,
        progress=progress,
    )
    chosen = representatives(users, meaning.parent, meaning.depth, clusters)
    return with_queries(
        clusters,
        chosen,
        meaning=meaning,
        asked=asked,
        taxonomy=taxonomy,
        person=transactions.person,
        least=1 if verbatim else k,
        seed=seed,
    )


def check_microaggregation(*, block_size: int, **_: object) -> None:
    """Refuse parameters out of range."""
    if block_size < 1:
        raise BadInputError(f"block_size must be at least 1 (got {block_size})")


def needs_queries(transactions: Transactions, taxonomy: Taxonomy, method: str) -> Asked:
    """Return the queries behind the transactions, or say what is missing."""
    if transactions.asked is None:
        raise BadInputError(
            f"method {method} needs the queries themselves: use --items concepts (or asked=True in Log.transactions)"
        )
    if taxonomy.edge is None:
        raise BadInputError(
            f"taxonomy {taxonomy.name} says nothing about meaning: use wordnet or a file of categories"
        )
    return transactions.asked


def with_queries(
    clusters: Clusters,
    chosen: Representatives,
    *,
    meaning: Meaning,
    asked: Asked,
    taxonomy: Taxonomy,
    person: Ints32,
    least: int,
    seed: int,
) -> Classes:
    """Replace every copy of a concept by a query that means it and that enough people typed, drawn once per cluster."""
    concept_of = concepts_of(asked, taxonomy, meaning)
    meant = _queries_by_concept(concept_of, asked, person, least=least, nodes=len(taxonomy))
    cluster, concept = np.repeat(list_of(chosen.start), chosen.times), np.repeat(chosen.node, chosen.times)
    choice = meant.start[concept + 1] - meant.start[concept]
    drawn = np.random.default_rng(seed).integers(0, np.maximum(choice, 1))
    at = np.minimum(meant.start[concept] + drawn, max(len(meant.query) - 1, 0))
    query = np.where(choice > 0, meant.query[at] if len(meant.query) else -1, -1)
    node = np.where(query >= 0, concept, meaning.instead[concept]).astype(np.int32)
    entry, counts = np.unique(np.stack([cluster, node, query]), axis=1, return_counts=True)
    texts = asked.texts.take(pa.array(entry[2], mask=entry[2] < 0))
    return Classes(
        of_row=clusters.of_row,
        start=np.searchsorted(entry[0], np.arange(len(chosen.start))).astype(np.int64),
        nodes=entry[1].astype(np.int32),
        counts=counts.astype(np.int32),
        texts=unless_a_name(texts, taxonomy),
        speaks_of="class",
        typed_by=least,
        notes=(_note(query, int(np.count_nonzero(meaning.private)), least),),
    )


class _Meant(NamedTuple):
    """The queries that mean each concept: ``query[start[node]:start[node + 1]]``."""

    start: Ints64
    query: Ints64


def concepts_of(asked: Asked, taxonomy: Taxonomy, meaning: Meaning) -> Ints32:
    """Return the concept node of each entry of ``asked.concept``."""
    assert taxonomy.item_leaf is not None  # noqa: S101 - ground() has run; methods see to that
    return meaning.of_node[taxonomy.leaf_nodes[taxonomy.item_leaf[asked.concept]]]


def _queries_by_concept(
    concept_of: Ints32, asked: Asked, person: Ints32, *, least: int, nodes: int
) -> _Meant:
    """List the queries of each concept that at least so many different people typed."""
    typists = count_distinct(asked.query, person[list_of(asked.start)], len(asked.texts))
    query = list_of(asked.concept_start)
    concept = concept_of.astype(np.int64)
    known = np.unique(concept[typists[query] >= least] * len(asked.texts) + query[typists[query] >= least])
    node = known // max(len(asked.texts), 1)
    start = np.searchsorted(node, np.arange(nodes + 1)).astype(np.int64)
    return _Meant(start, known % max(len(asked.texts), 1))


def unless_a_name(texts: pa.Array, taxonomy: Taxonomy) -> pa.Array:
    """Return the texts without those that are a node's name: they would say where they do not belong."""
    name = pc.is_in(texts, value_set=taxonomy.labels)
    return pc.if_else(pc.fill_null(name, True), pa.scalar(None, pa.string()), texts)  # noqa: FBT003 (a fill value)


def _note(query: Ints64, unlisted: int, least: int) -> str:
    """Say how much of what is published are real queries."""
    real, named = int(np.count_nonzero(query >= 0)), int(np.count_nonzero(query < 0))
    rule = f"typed by at least {least:,} people" if least > 1 else "whoever typed them"
    return (
        f"Published {real:,} copies of queries, {rule}, and {named:,} names of concepts in place of queries; "
        f"{unlisted:,} queries mean nothing that the knowledge base lists."
    )
