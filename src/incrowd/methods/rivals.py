"""The methods that semantic microaggregation was compared with, as methods of ours (see :mod:`incrowd.rivals`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incrowd.asked import Asked
from incrowd.claims import SpeaksOf
from incrowd.errors import BadInputError
from incrowd.kernels.likeness import UNIT
from incrowd.kernels.mdav import mdav
from incrowd.lists import gathered, list_of, starts_of_kept
from incrowd.methods.classes import WITHHELD, Classes, filled_rows
from incrowd.methods.meaning import meaning_of
from incrowd.methods.microaggregation import concepts_of, needs_queries, unless_a_name
from incrowd.rivals import Bags, row_bags
from incrowd.rivals.erola import erola_distances, erola_prototypes
from incrowd.rivals.korolova import check_korolova
from incrowd.rivals.korolova import korolova as noisy_counts
from incrowd.rivals.navarro import navarro_distances, navarro_prototypes
from incrowd.rivals.plain import plain_distances, plain_prototypes
from incrowd.rivals.poblete import check_poblete
from incrowd.rivals.poblete import poblete as surviving_queries
from incrowd.taxonomy.concepts import Knowledge, find_concepts
from incrowd.taxonomy.tree import Taxonomy
from incrowd.taxonomy.wordnet import wordnet_tree
from incrowd.text.words import split_terms
from incrowd.transactions import Transactions

__all__ = ["check_korolova", "check_poblete", "erola", "korolova", "navarro", "plain", "poblete"]

Floats = npt.NDArray[np.float64]
Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]

MOST_ROWS = 20_000  # whose distances to each other fit into memory


def navarro(transactions: Transactions, taxonomy: Taxonomy, *, k: int, seed: int = 0) -> Classes:
    """Navarro et al.: MDAV over how queries are spelt, when they were asked and what was clicked.

    Parameters
    ----------
    transactions, taxonomy
        Queries, understood as concepts, and the knowledge base.
    k
        The least number of rows (or people) in a group.
    seed
        For the choice of queries.
    """
    chance = np.random.default_rng(seed)
    return _grouped(
        transactions,
        taxonomy,
        "navarro",
        k=k,
        distances=navarro_distances,
        prototypes=lambda asked, of_row: navarro_prototypes(asked, of_row, chance),
    )


def erola(transactions: Transactions, taxonomy: Taxonomy, *, k: int, seed: int = 0) -> Classes:
    """Erola et al.: MDAV over identical categories, word by word; a random log of the group is published.

    Parameters
    ----------
    transactions, taxonomy
        Queries, understood as concepts, and the knowledge base.
    k
        The least number of rows (or people) in a group.
    seed
        For the choice of queries.
    """
    chance = np.random.default_rng(seed)
    return _grouped(
        transactions,
        taxonomy,
        "erola",
        k=k,
        distances=lambda asked: erola_distances(asked, *_word_categories(asked, taxonomy)),
        prototypes=lambda asked, of_row: erola_prototypes(asked, of_row, chance),
    )


def plain(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    seed: int = 0,  # noqa: ARG001 - every method has a seed; this one makes no random choice
) -> Classes:
    """Microaggregation without semantics: queries are equal or they are not.

    Parameters
    ----------
    transactions, taxonomy
        Queries, understood as concepts, and the knowledge base.
    k
        The least number of rows (or people) in a group.
    seed
        Has no effect.
    """
    return _grouped(
        transactions, taxonomy, "plain", k=k, distances=plain_distances, prototypes=plain_prototypes
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
    asked = needs_queries(transactions, taxonomy, "poblete")
    found = surviving_queries(asked, k_documents=k, kp=kp)
    bags = row_bags(asked)
    keep = found.stays[bags.query]
    left = Bags(starts_of_kept(bags.start, keep), bags.query[keep], bags.times[keep])
    speaking = np.flatnonzero(np.diff(left.start) > 0)
    of_row = np.full(len(transactions), WITHHELD, dtype=np.int32)
    of_row[speaking] = np.arange(len(speaking), dtype=np.int32)
    own = left._replace(start=np.append(left.start[speaking], left.start[-1]))
    note = (
        f"Removed queries: {found.few_documents:,} with too few documents, {found.well_targeted:,} that name their "
        f"target, {found.few_sites:,} with too few sites, {found.linked:,} that share clicks."
    )
    return _published(own, of_row, asked, taxonomy, speaks_of="owner", note=note)


def korolova(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    d: int = 20,
    eps: float = 1.0,
    delta: float = 1e-5,
    seed: int = 0,  # noqa: ARG001 - noise that could be drawn again would protect nobody
) -> Classes:
    """Korolova et al.: queries with noisy counts above a threshold; differential privacy, no records of people.

    Parameters
    ----------
    transactions, taxonomy
        Queries, understood as concepts, and the knowledge base. Each row must be a person's own.
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
    asked = needs_queries(transactions, taxonomy, "korolova")
    filled_rows(transactions, k)
    if transactions.unit.startswith("session"):
        raise BadInputError("method korolova protects rows: use --unit user, so that a row is a person")
    counts = noisy_counts(asked, d=d, eps=eps, delta=delta)
    nobody = np.full(len(transactions), WITHHELD, dtype=np.int32)
    one = Bags(np.array([0, len(counts.query)]), counts.query, counts.times.astype(np.int32))
    note = (
        f"Published {len(counts.query):,} of {len(asked.texts):,} distinct queries: those whose noisy counts are above "
        f"{counts.threshold:,}."
    )
    classes = _published(one, nobody, asked, taxonomy, speaks_of="class", note=note)
    return replace(classes, copies=np.array([1 if len(counts.query) else 0], dtype=np.int64))


def _grouped(
    transactions: Transactions,
    taxonomy: Taxonomy,
    name: str,
    *,
    k: int,
    distances: Callable[[Asked], Floats],
    prototypes: Callable[[Asked, Ints32], Bags],
) -> Classes:
    """Cluster rows by MDAV on some distance, and publish a log for each cluster."""
    asked = needs_queries(transactions, taxonomy, name)
    filled = filled_rows(transactions, k)
    if len(filled) > MOST_ROWS:
        raise BadInputError(
            f"method {name} compares everybody with everybody: at most {MOST_ROWS:,} rows (got {len(filled):,})"
        )
    apart = distances(asked)[np.ix_(filled, filled)]
    clusters = mdav(np.rint(apart * UNIT).astype(np.int64), transactions.person[filled], k)
    of_row = np.full(len(transactions), WITHHELD, dtype=np.int32)
    of_row[filled] = clusters.of_row
    return _published(prototypes(asked, of_row), of_row, asked, taxonomy, speaks_of="class")


def _word_categories(asked: Asked, taxonomy: Taxonomy) -> tuple[Ints64, Ints32]:
    """Return the categories of every word of every query; what counts is only whether two are the same."""
    knowledge = Knowledge.of(wordnet_tree() if taxonomy.name == "wordnet" else taxonomy)
    words = split_terms(asked.texts)
    encoded = words.flatten().dictionary_encode()
    found = find_concepts(encoded.dictionary, knowledge)
    code = np.array(encoded.indices, dtype=np.int64)
    before, place = gathered(found.start, code)
    offsets = np.array(words.offsets, dtype=np.int64)
    return before[offsets - offsets[0]], found.node[place]


def _published(
    bags: Bags,
    of_row: Ints32,
    asked: Asked,
    taxonomy: Taxonomy,
    *,
    speaks_of: SpeaksOf,
    note: str | None = None,
) -> Classes:
    """Return classes that publish bags of queries; each stands below the first concept that it means."""
    means = np.diff(asked.concept_start) > 0
    node = np.zeros(len(asked.texts), dtype=np.int32)
    node[means] = concepts_of(asked, taxonomy, meaning_of(taxonomy))[asked.concept_start[:-1][means]]
    order = np.lexsort((bags.query, node[bags.query], list_of(bags.start)))
    texts = asked.texts.take(pa.array(bags.query[order]))
    return Classes(
        of_row=of_row,
        start=bags.start,
        nodes=node[bags.query[order]],
        counts=bags.times[order],
        texts=unless_a_name(texts, taxonomy),
        speaks_of=speaks_of,
        typed_by=1,
        notes=(note,) if note else (),
    )
