"""Method `dp`: a list of what many people have, with noisy numbers of people; differential privacy over people."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.claims import MOST_DELTA, MOST_EPS, PARTS
from incrowd.core.classes import Classes, Seconds
from incrowd.core.noise import Words, secure_words
from incrowd.core.spending import LEAST_DELTA, LEAST_EPS, MOST_ITEMS, PROPORTIONS, spend
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints32, Ints64
from incrowd.errors import BadInputError, option
from incrowd.methods.dp.entries import Entries, Of, entries_of
from incrowd.methods.dp.mechanism import find_items, noisy_people
from incrowd.methods.reads import Reads
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["check_dp", "dp", "dp_reads"]

MOST_COUNT = 2**31 - 1  # the largest count in a file; larger noisy counts are published as this
LARGEST_SHARE = 0.9


def dp(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int | None = None,  # noqa: ARG001 - every method has a k; here thresholds follow from d, eps and delta
    of: Of = "items",
    eps: float = 1.0,
    delta: float = 1e-6,
    d: int = 10,
    rounds: int = 3,
    counts: float = 0.25,
    seed: int = 0,  # noqa: ARG001 - noise that could be reproduced would protect nothing
) -> Classes:
    """Find and count what many people have, with noise: differential privacy over people, whatever an attacker knows or has planted.

    It never refuses because of the data, since a refusal would be an answer without noise. The list may be empty.

    Parameters
    ----------
    transactions, taxonomy
        Rows of people, or rows of which it is known whose they are; any taxonomy, on which losses are measured.
    k
        Has no effect: thresholds follow from the other parameters.
    of
        What the list is of: ``"items"``, ``"pairs"`` of items in one unit, or ``"clicks"``, pairs of a query and an address.
    eps, delta
        The parameters of differential privacy. eps of 1 or less is strong and 10 is weak; delta should be far below one over the number of people.
    d
        At most so many items of a person count. Choose it without looking at the data.
    rounds
        In how many rounds items are found, 1 to 3: what is found makes room for others.
    counts
        The share of the budget that the numbers of people get; the rest finds items.
    seed
        Has no effect: the noise comes from the system's cryptographic source.
    """
    check_dp(of=of, eps=eps, delta=delta, d=d, rounds=rounds, counts=counts)
    if transactions.people is None and transactions.unit.partition(":")[0] in PARTS:
        raise BadInputError(
            f"method dp protects people: use {option('unit', 'user')}, or say whose the rows are (drop {option('distinct', 'records')})"
        )
    entries = entries_of(transactions, of)
    found, people = noisy_list(entries, eps=eps, delta=delta, d=d, rounds=rounds, counts=counts)
    return _classes(transactions, taxonomy, entries, found, people)


def noisy_list(
    entries: Entries,
    *,
    eps: float,
    delta: float,
    d: int,
    rounds: int,
    counts: float,
    words: Words = secure_words,
) -> tuple[Ints64, Ints64]:
    """Return the entries that are published, ascending, and their noisy counts; `words` other than the default are for tests and promise nothing."""
    spending = spend(d=d, eps=eps, delta=delta, rounds=rounds, counts=counts)
    found = find_items(entries.sets, spending, words)
    return found, noisy_people(entries.sets, found, spending, words)


def dp_reads(*, of: Of = "items", **_: object) -> Reads:
    """Say what a log is read as: pairs are of one session, clicks need whole queries."""
    if of == "clicks":
        return Reads("queries", events=True)
    return Reads("terms", "session:30m" if of == "pairs" else "user")


def check_dp(
    *, eps: float, delta: float, d: int, rounds: int, counts: float, of: str = "items", **_: object
) -> None:
    """Refuse parameters out of range, and those that would promise next to nothing."""
    if of not in get_args(Of):
        raise BadInputError(f"of must be items, pairs or clicks (got '{of}')")
    if not 1 <= d <= MOST_ITEMS:
        raise BadInputError(f"d must be between 1 and {MOST_ITEMS:,} (got {d})")
    if not LEAST_EPS <= eps <= MOST_EPS:
        raise BadInputError(
            f"eps must be between {LEAST_EPS:g} and {MOST_EPS:g}: more would promise nothing (got {eps:g})"
        )
    if not LEAST_DELTA <= delta < MOST_DELTA:
        raise BadInputError(
            f"delta must be at least {LEAST_DELTA:g} and less than {MOST_DELTA}: more would promise nothing (got {delta:g})"
        )
    if not 1 <= rounds <= len(PROPORTIONS):
        raise BadInputError(f"rounds must be between 1 and {len(PROPORTIONS)} (got {rounds})")
    if not 0 < counts <= LARGEST_SHARE:
        raise BadInputError(
            f"counts must be greater than 0 and at most {LARGEST_SHARE}: the rest of the budget finds items (got {counts:g})"
        )
    if not spend(d=d, eps=eps, delta=delta, rounds=rounds, counts=counts).unit:
        raise BadInputError(
            f"counts = {counts:g} leaves next to nothing for each of d = {d:,} items: use a larger share, or a smaller d"
        )


def _classes(
    transactions: Transactions, taxonomy: Taxonomy, entries: Entries, found: Ints64, people: Ints64
) -> Classes:
    """Return what is published in the form that all methods have: one record of no one's."""
    first = entries.first[found]
    second = None if entries.second is None else entries.second[found]
    texts = entries.texts or (transactions.vocabulary, transactions.vocabulary)
    nodes = _leaves(taxonomy, transactions.vocabulary, texts[0], first)
    order = np.lexsort((found, nodes))
    return Classes.of_list(
        len(transactions),
        nodes[order],
        texts[0].take(pa.array(first[order])),
        np.minimum(people, MOST_COUNT)[order],
        second=None if second is None else _seconds(taxonomy, transactions, texts[1], second[order]),
    )


def _seconds(taxonomy: Taxonomy, transactions: Transactions, texts: pa.Array, place: Ints64) -> Seconds:
    """Return the second of each pair."""
    return Seconds(_leaves(taxonomy, transactions.vocabulary, texts, place), texts.take(pa.array(place)))


def _leaves(taxonomy: Taxonomy, items: pa.Array, texts: pa.Array, place: Ints64) -> Ints32:
    """Return the leaves of what is published, where it is an item; else the root."""
    item = pc.fill_null(pc.index_in(texts.take(pa.array(place)), value_set=items), -1)
    number = np.array(item, dtype=np.int32)
    return np.where(number < 0, 0, taxonomy.leaves_of(np.maximum(number, 0)) if len(items) else 0).astype(
        np.int32
    )
