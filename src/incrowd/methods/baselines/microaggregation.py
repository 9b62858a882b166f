"""The baselines in the form of methods (see :mod:`incrowd.methods.baselines`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from incrowd.core.claims import PARTS
from incrowd.core.classes import WITHHELD, Classes, filled_rows
from incrowd.core.events import QueryEvents
from incrowd.core.ragged import filtered_starts, list_ids, take_lists
from incrowd.core.transactions import Transactions
from incrowd.core.types import Floats, Ints32, Ints64
from incrowd.errors import BadInputError, option
from incrowd.kernels.likeness import UNIT
from incrowd.methods.baselines import Bags, row_bags
from incrowd.methods.baselines.erola import erola_distances, erola_prototypes
from incrowd.methods.baselines.korolova import check_korolova
from incrowd.methods.baselines.korolova import korolova as noisy_counts
from incrowd.methods.baselines.navarro import navarro_distances, navarro_prototypes
from incrowd.methods.baselines.plain import plain_distances, plain_prototypes
from incrowd.methods.baselines.poblete import check_poblete
from incrowd.methods.baselines.poblete import poblete as surviving_queries
from incrowd.methods.microaggregation.mdav import mdav
from incrowd.methods.microaggregation.method import concepts_of, needs_meaning, needs_queries
from incrowd.methods.naming import Copies, classes_of, rule_for
from incrowd.taxonomy.meaning import Meaning, meaning_of
from incrowd.taxonomy.sources.wordnet import wordnet_tree
from incrowd.taxonomy.tree import Taxonomy
from incrowd.text.concepts import Knowledge, find_concepts
from incrowd.text.words import split_terms

__all__ = ["check_korolova_data", "erola", "korolova", "navarro", "plain", "poblete"]


MOST_ROWS = 20_000  # the most rows whose pairwise distances fit into memory


def navarro(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    verbatim: bool = False,
    seed: int = 0,
    people: Ints32 | None = None,
) -> Classes:
    """Navarro et al.: MDAV over the spelling, time and clicks of queries.

    Parameters
    ----------
    transactions, taxonomy
        Queries, understood as concepts, and the knowledge base.
    k
        The least number of rows (or people) in a group.
    verbatim
        Publish all queries, also a single person's, as the paper does: nothing is promised then. Otherwise see
        :mod:`incrowd.methods.naming`.
    seed
        For the choice of queries.
    people
        A number for the person behind each row, to count who typed a query; None: as `transactions` has them.
    """
    chance = np.random.default_rng(seed)
    return _grouped(
        transactions,
        taxonomy,
        "navarro",
        k=k,
        verbatim=verbatim,
        people=people,
        distances=navarro_distances,
        prototypes=lambda events, of_row: navarro_prototypes(events, of_row, chance),
    )


def erola(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    verbatim: bool = False,
    seed: int = 0,
    people: Ints32 | None = None,
) -> Classes:
    """Erola et al.: MDAV over identical categories, word by word; a random log of the group is published.

    The parameters are those of `navarro`.
    """
    chance = np.random.default_rng(seed)
    return _grouped(
        transactions,
        taxonomy,
        "erola",
        k=k,
        verbatim=verbatim,
        people=people,
        distances=lambda events: erola_distances(events, *_word_categories(events, taxonomy)),
        prototypes=lambda events, of_row: erola_prototypes(events, of_row, chance),
    )


def plain(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    verbatim: bool = False,
    seed: int = 0,  # noqa: ARG001 - every method has a seed; this one makes no random choice
    people: Ints32 | None = None,
) -> Classes:
    """Microaggregation without semantics: queries are equal or they are not.

    The parameters are those of `navarro`; the seed has no effect.
    """
    return _grouped(
        transactions,
        taxonomy,
        "plain",
        k=k,
        verbatim=verbatim,
        people=people,
        distances=plain_distances,
        prototypes=plain_prototypes,
    )


def poblete(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    kp: int = 2,
    seed: int = 0,  # noqa: ARG001 - every method has a seed; this one makes no random choice
) -> Classes:
    """Poblete et al.: remove queries with few documents or sites, and those that share clicks; nothing is promised.

    Parameters
    ----------
    transactions, taxonomy
        Queries, understood as concepts, and the knowledge base.
    k
        The least number of clicked documents that a query must have.
    kp
        The least number of sites that they must be on.
    seed
        Has no effect.
    """
    check_poblete(k_documents=k, kp=kp)
    events = needs_meaning(transactions, taxonomy, "poblete")
    found = surviving_queries(events, k_documents=k, kp=kp)
    bags = row_bags(events)
    keep = found.stays[bags.query]
    left = Bags(filtered_starts(bags.start, keep), bags.query[keep], bags.times[keep])
    speaking = np.flatnonzero(np.diff(left.start) > 0)
    of_row = np.full(len(transactions), WITHHELD, dtype=np.int32)
    of_row[speaking] = np.arange(len(speaking), dtype=np.int32)
    own = left._replace(start=np.append(left.start[speaking], left.start[-1]))
    note = (
        f"Removed queries: {found.few_documents:,} with too few documents, {found.well_targeted:,} that name their "
        f"target, {found.few_sites:,} with too few sites, {found.linked:,} that share clicks."
    )
    meaning = meaning_of(taxonomy)
    classes = classes_of(
        _copies(own, events, taxonomy, meaning),
        of_row,
        events=events,
        meaning=meaning,
        rule=rule_for(transactions, taxonomy, events, meaning, people=None, least=1),
        speaks_of="owner",
    )
    return replace(classes, notes=(note,))


def check_korolova_data(transactions: Transactions, **_: object) -> QueryEvents:
    """Return the query events; refuse rows without them, and rows of which a person may have several."""
    events = needs_queries(transactions, "korolova")
    if transactions.people is not None or transactions.unit.partition(":")[0] in PARTS:
        raise BadInputError(
            f"method korolova protects rows: use {option('unit', 'user')}, so that a row is a person"
        )
    return events


def korolova(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int | None = None,  # noqa: ARG001 - every method has a k; here the threshold follows from d, eps and delta
    d: int = 20,
    eps: float = 1.0,
    delta: float = 1e-5,
    seed: int = 0,  # noqa: ARG001 - noise that could be reproduced would protect nothing
) -> Classes:
    """Korolova et al.: queries with noisy counts above a threshold; differential privacy, no records of people.

    It never refuses because of the data, since a refusal would be an answer without noise. The list may be empty.

    Parameters
    ----------
    transactions, taxonomy
        Queries, one row for each person; any taxonomy, on which losses are measured.
    k
        Has no effect: the threshold follows from d, eps and delta.
    d
        Of each person's queries the first d count.
    eps, delta
        The parameters of differential privacy.
    seed
        Has no effect: the noise comes from the system's cryptographic source.
    """
    check_korolova(d=d, eps=eps, delta=delta)
    events = check_korolova_data(transactions)
    found = noisy_counts(events, d=d, eps=eps, delta=delta)
    node = _first_concepts(events, taxonomy, meaning_of(taxonomy))[found.query]
    order = np.lexsort((found.query, node))
    return Classes.of_list(
        len(transactions),
        node[order],
        events.texts.take(pa.array(found.query[order])),
        found.times[order],
        notes=(f"Published the queries whose noisy counts are above {found.threshold:,}.",),
    )


def _grouped(
    transactions: Transactions,
    taxonomy: Taxonomy,
    name: str,
    *,
    k: int,
    verbatim: bool,
    people: Ints32 | None,
    distances: Callable[[QueryEvents], Floats],
    prototypes: Callable[[QueryEvents, Ints32], Bags],
) -> Classes:
    """Cluster rows by MDAV on some distance, and publish a log for each cluster."""
    events = needs_meaning(transactions, taxonomy, name)
    filled = filled_rows(transactions, k)
    if len(filled) > MOST_ROWS:
        raise BadInputError(
            f"method {name} compares all rows with each other: at most {MOST_ROWS:,} rows (got {len(filled):,})"
        )
    apart = distances(events)[np.ix_(filled, filled)]
    clusters = mdav(np.rint(apart * UNIT).astype(np.int64), transactions.person[filled], k)
    of_row = np.full(len(transactions), WITHHELD, dtype=np.int32)
    of_row[filled] = clusters.of_row
    meaning = meaning_of(taxonomy)
    return classes_of(
        _copies(prototypes(events, of_row), events, taxonomy, meaning),
        of_row,
        events=events,
        meaning=meaning,
        rule=rule_for(transactions, taxonomy, events, meaning, people=people, least=1 if verbatim else k),
    )


def _word_categories(events: QueryEvents, taxonomy: Taxonomy) -> tuple[Ints64, Ints32]:
    """Return the categories of every word of every query; only their equality matters."""
    knowledge = Knowledge.of(wordnet_tree() if taxonomy.name == "wordnet" else taxonomy)
    words = split_terms(events.texts)
    encoded = words.flatten().dictionary_encode()
    found = find_concepts(encoded.dictionary, knowledge)
    code = np.array(encoded.indices, dtype=np.int64)
    before, place = take_lists(found.start, code)
    offsets = np.array(words.offsets, dtype=np.int64)
    return before[offsets - offsets[0]], found.node[place]


def _copies(bags: Bags, events: QueryEvents, taxonomy: Taxonomy, meaning: Meaning) -> Copies:
    """Return bags of queries as copies; each query is put below the first concept that it means."""
    node = _first_concepts(events, taxonomy, meaning)
    return Copies(
        list_ids(bags.start), node[bags.query], bags.query.astype(np.int64), bags.times.astype(np.int64)
    )


def _first_concepts(events: QueryEvents, taxonomy: Taxonomy, meaning: Meaning) -> Ints32:
    """Return the node of the first concept that each query means; the root where it means nothing."""
    means = np.diff(events.concept_start) > 0
    node = np.zeros(len(events.texts), dtype=np.int32)
    node[means] = concepts_of(events, taxonomy, meaning)[events.concept_start[:-1][means]]
    return node
