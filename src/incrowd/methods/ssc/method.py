"""SSC: vocabulary k-anonymity by semantic similarity based clustering.

Liu & Wang, "Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering", ICDM 2010.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from incrowd.core.classes import WITHHELD, Classes, Generalizations, filled_rows
from incrowd.core.ragged import count_by_group, count_distinct, list_ids
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints32, Ints64, Progress
from incrowd.errors import BadInputError
from incrowd.kernels.arrays import leaf_rows
from incrowd.kernels.terms import Bags, Near, Paths, Typical, count_near, list_near, paths_to, typical_terms
from incrowd.methods.ssc.kernel import Clusters, ssc_clusters
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["check_ssc", "ssc"]


MOST_EPS = 1_000  # beyond any tree's paths, and below the distance of unlisted words
MOST_PAIRS = 50_000_000  # of relevant terms; each takes eight bytes
DECIMALS = 3  # of omega: costs are whole numbers of its last digit, so that ties are exact


class Vocabularies(NamedTuple):
    """Rows as bags of the terms that occur, and each term's place in the tree."""

    bags: Bags
    paths: Paths


def ssc(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    eps: float = 4.0,
    omega: float | None = None,
    model: Literal["perfect", "maximum"] = "perfect",
    order: Literal["ascending", "input", "farthest"] = "ascending",
    typical: Literal["medoid", "bags", "generalize"] = "medoid",
    terms: Literal["safe", "verbatim"] = "safe",
    seed: int = 0,  # noqa: ARG001 - every method has a seed; this one makes no random choice
    progress: Progress | None = None,
) -> Classes:
    """Cluster similar vocabularies by matching their terms; publish a typical vocabulary of each cluster.

    Parameters
    ----------
    transactions, taxonomy
        Data and a tree to which its items are attached. The distance of two terms is the length of the path between
        them; words that the taxonomy does not list match only themselves.
    k
        The least number of rows in a cluster; where a person may have several rows, of people.
    eps
        Terms at most this far apart are relevant to each other.
    omega
        What a term without a counterpart costs; more than eps / 2. Without it, eps + 1.
    model
        ``"perfect"``: unmatched terms cost omega. ``"maximum"``: as many terms as possible are matched and the rest
        is free, so that vocabularies with nothing in common count as near.
    order
        Where the next cluster begins: at the shortest row left, which loses least and reproduces the paper's
        printed example; at the first, as in its pseudo-code; or at the one farthest from the cluster before.
    typical
        ``"medoid"``: of matched terms, the one closest to the others. ``"bags"``: all of them, as alternatives.
        ``"generalize"``: the least node above them.
    terms
        ``"safe"``: a term that fewer than k people have is published as the least node above what it was matched
        with. ``"verbatim"``: it may be published as it is, as in the paper.
    seed, progress
        No random choice is made; `progress` is called with the number of rows that have a cluster and of all rows.
    """
    check_ssc(eps=eps, omega=omega)
    omega = eps + 1 if omega is None else omega
    order_of_rows = _ordered(transactions, filled_rows(transactions, k), order)
    data, scale = _vocabularies(transactions, taxonomy), 1 if omega == int(omega) else 10**DECIMALS
    found = ssc_clusters(
        data.bags,
        _near(data.paths, math.floor(eps), scale),
        order_of_rows,
        transactions.person,
        k=k,
        omega=round(omega * scale),
        model=model,
        farthest=order == "farthest",
        progress=progress,
    )
    common = _shared_by(data, transactions.person) >= k if terms == "safe" else None
    return _classes(found, data.paths, common, typical, math.floor(eps))


def check_ssc(*, eps: float, omega: float | None, **_: object) -> None:
    """Refuse parameters out of range."""
    if not 0 <= eps <= MOST_EPS:
        raise BadInputError(f"eps must be between 0 and {MOST_EPS:,} (got {eps:g})")
    omega = eps + 1 if omega is None else omega
    if not eps / 2 < omega <= 2 * MOST_EPS:
        raise BadInputError(
            f"omega must be greater than eps / 2 = {eps / 2:g} and at most {2 * MOST_EPS:,} (got {omega:g})"
        )
    if round(omega, DECIMALS) != omega:
        raise BadInputError(f"omega must have at most {DECIMALS} decimals (got {omega})")


def _vocabularies(transactions: Transactions, taxonomy: Taxonomy) -> Vocabularies:
    """Return the rows in terms that are numbered by their place in the tree."""
    rows = leaf_rows(transactions, taxonomy)
    leaves = np.unique(rows.leaf)
    bags = Bags(rows.start, np.searchsorted(leaves, rows.leaf).astype(np.int32), rows.times)
    nodes = taxonomy.leaf_nodes[leaves]
    return Vocabularies(bags, paths_to(taxonomy.parent, taxonomy.end, taxonomy.root_distance, nodes))


def _near(paths: Paths, eps: int, scale: int) -> Near:
    """List the relevant terms of each term, or refuse an eps that makes too many; distances are scaled."""
    start = count_near(paths, eps, MOST_PAIRS)
    if start[-1] > MOST_PAIRS:
        raise BadInputError(
            f"eps = {eps} makes more than {MOST_PAIRS:,} pairs of relevant terms; use a smaller eps"
        )
    near = list_near(paths, eps, start)
    return near._replace(distance=near.distance * np.int32(scale))


def _ordered(transactions: Transactions, filled: Ints64, order: str) -> Ints64:
    """Return the rows in the order of seeds; equals stay in input order."""
    if order != "ascending":
        return filled
    return filled[np.argsort(transactions.lengths[filled], kind="stable")]


def _shared_by(data: Vocabularies, person: Ints32) -> Ints64:
    """Count the different people who have each term."""
    return count_distinct(data.bags.term, person[list_ids(data.bags.start)], len(data.paths.node))


def _classes(found: Clusters, paths: Paths, common: Bools | None, typical: str, within: int) -> Classes:
    """Turn clusters into classes; the rows of a cluster without a common hyper-term are withheld."""
    allowed = np.ones(len(paths.node), dtype=np.bool_) if common is None else common
    stands = typical_terms(paths, found.term_start, found.term, allowed)
    speaking = np.flatnonzero(np.diff(found.hyper_start) > 0)
    number = np.full(len(found.start), WITHHELD, dtype=np.int32)  # one more, for rows without a cluster
    number[speaking] = np.arange(len(speaking), dtype=np.int32)
    owner = number[list_ids(found.hyper_start)]
    of_row = number[found.of_row]
    covering = _merged(owner, stands.node, found.times, len(speaking))
    notes = (_note(found),)
    if typical == "generalize":
        return Classes(of_row, *covering, notes=notes)
    if typical == "bags":
        order = np.lexsort((stands.node, owner))
        start = np.searchsorted(owner[order], np.arange(len(speaking) + 1)).astype(np.int64)
        bags = _alternatives(found, paths, stands, allowed, order)
        if common is not None:  # a count of who in a class had which term may reveal one person
            bags = bags._replace(counts=np.zeros_like(bags.counts))
        entries = (start, stands.node[order], found.times[order].astype(np.int32))
        return Classes(of_row, *entries, alternatives=bags, stands_for=covering, notes=notes)
    nodes = np.where(stands.term < 0, stands.node, paths.node[stands.term])
    published = _merged(owner, nodes, found.times, len(speaking))
    return Classes(of_row, *published, stands_for=covering, within=within, notes=notes)


def _merged(owner: Ints32 | Ints64, nodes: Ints32, times: Ints64, classes: int) -> Generalizations:
    """Return a bag of nodes for each class, ascending, counts of equal nodes added up."""
    bags = count_by_group(owner, nodes, times, classes)
    return Generalizations(bags.start, bags.value.astype(np.int32), bags.times.astype(np.int32))


def _alternatives(
    found: Clusters, paths: Paths, stands: Typical, allowed: Bools, order: Ints64
) -> Generalizations:
    """Return the matched terms of each hyper-term as a bag of nodes, in that order of hyper-terms."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    hyper = list_ids(found.term_start)
    nodes = np.where(allowed[found.term], paths.node[found.term], stands.node[hyper])
    return _merged(place[hyper], nodes, np.ones(len(hyper), dtype=np.int64), len(order))


def _note(found: Clusters) -> str:
    """Return a sentence on how many matchings the bounds avoided."""
    avoided = 1 - found.computed / max(found.considered, 1)
    return (
        f"Looked for the nearest among {found.considered:,} pairs of a vocabulary and a cluster; "
        f"bounds avoided {avoided:.2%} of the matchings."
    )
