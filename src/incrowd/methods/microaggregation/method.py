"""Semantic microaggregation: MDAV over the meaning of queries.

Batet, Erola, Sánchez & Castellà-Roca, "Utility preserving query log anonymization via semantic microaggregation",
Information Sciences 2013. A release holds real queries that represent a group's interests, not taxonomy nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.classes import Classes, filled_rows
from incrowd.core.events import QueryEvents
from incrowd.core.ragged import distinct, list_ids
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints32, Ints64, Progress
from incrowd.errors import BadInputError, check_count, option
from incrowd.kernels.likeness import distances, taken
from incrowd.methods.microaggregation.mdav import BLOCK_SIZE, Clusters, mdav_in_blocks
from incrowd.methods.microaggregation.representatives import Representatives, like_order, representatives
from incrowd.methods.naming import NOTHING, Copies, Rule, classes_of, rule_for
from incrowd.taxonomy.meaning import Meaning, meaning_of, row_categories
from incrowd.taxonomy.tree import Taxonomy

__all__ = [
    "check_microaggregation",
    "concepts_of",
    "microaggregation",
    "needs_meaning",
    "needs_queries",
    "with_queries",
]


def microaggregation(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    verbatim: bool = False,
    block_size: int = BLOCK_SIZE,
    seed: int = 0,
    progress: Progress | None = None,
    people: Ints32 | None = None,
) -> Classes:
    """Group users of similar interests and publish, for each group, queries that represent the group's queries.

    Parameters
    ----------
    transactions, taxonomy
        What queries mean (``items="concepts"``), with the queries themselves, and the knowledge base.
    k
        The least number of rows in a group; where a person may have several rows, of people.
    verbatim
        Publish any query that means the same, as the paper does: nothing is promised then. Otherwise a query must
        have been typed by at least k people; where there is none, the name of the concept is published, or of the
        nearest one above it, that at least k people have (or something below it); where there is none, nothing.
    block_size
        The most rows that are compared with each other. More rows are split into blocks of similar ones: time and
        memory grow with the block size, and rows near a block's edge may miss their nearest.
    seed
        For the choice among queries of the same meaning.
    progress
        Called with the number of rows that have a group and of all rows.
    people
        A number for the person behind each row, to count who typed a query; None: as `transactions` has them.
    """
    check_microaggregation(block_size=block_size)
    events = needs_meaning(transactions, taxonomy, "microaggregation")
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
    rule = rule_for(transactions, taxonomy, events, meaning, people=people, least=1 if verbatim else k)
    return with_queries(
        clusters, chosen, meaning=meaning, events=events, taxonomy=taxonomy, rule=rule, seed=seed
    )


def check_microaggregation(*, block_size: int, **_: object) -> None:
    """Refuse parameters out of range."""
    check_count("block_size", block_size)


def needs_queries(transactions: Transactions, method: str) -> QueryEvents:
    """Return the query events of the transactions, or raise an error that says what is missing."""
    if transactions.events is None:
        raise BadInputError(
            f"method {method} needs the queries themselves: use {option('items', 'concepts')} (or events=True in Log.transactions)"
        )
    return transactions.events


def needs_meaning(transactions: Transactions, taxonomy: Taxonomy, method: str) -> QueryEvents:
    """Return the query events of the transactions; refuse missing events, and a tree that does not express meaning."""
    events = needs_queries(transactions, method)
    if taxonomy.edge is None:
        raise BadInputError(
            f"taxonomy {taxonomy.name} says nothing about meaning: use wordnet or a file of categories"
        )
    return events


def with_queries(
    clusters: Clusters,
    chosen: Representatives,
    *,
    meaning: Meaning,
    events: QueryEvents,
    taxonomy: Taxonomy,
    rule: Rule,
    seed: int,
) -> Classes:
    """Replace every copy of a concept by a query that means it and may be published, drawn once per cluster."""
    concept_of = concepts_of(events, taxonomy, meaning)
    meant = _queries_by_concept(concept_of, events, rule, nodes=len(taxonomy))
    cluster, concept = np.repeat(list_ids(chosen.start), chosen.times), np.repeat(chosen.node, chosen.times)
    choice = meant.start[concept + 1] - meant.start[concept]
    drawn = np.random.default_rng(seed).integers(0, np.maximum(choice, 1))
    query = np.full(len(concept), NOTHING, dtype=np.int64)
    query[choice > 0] = meant.query[(meant.start[concept] + drawn)[choice > 0]]
    copies = Copies(cluster, concept, query, np.ones(len(query), dtype=np.int64))
    return classes_of(copies, clusters.of_row, events=events, meaning=meaning, rule=rule)


class _Meant(NamedTuple):
    """The queries that mean each concept: ``query[start[node]:start[node + 1]]``."""

    start: Ints64
    query: Ints64


def concepts_of(events: QueryEvents, taxonomy: Taxonomy, meaning: Meaning) -> Ints32:
    """Return the concept node of each entry of ``events.concept``."""
    return meaning.of_node[taxonomy.leaves_of(events.concept)]


def _queries_by_concept(concept_of: Ints32, events: QueryEvents, rule: Rule, *, nodes: int) -> _Meant:
    """List the queries of each concept that may be published."""
    query, width = list_ids(events.concept_start), max(len(events.texts), 1)
    common = rule.query[query]
    node, known = np.divmod(distinct(concept_of.astype(np.int64)[common] * width + query[common]), width)
    start = np.searchsorted(node, np.arange(nodes + 1)).astype(np.int64)
    return _Meant(start, known)
