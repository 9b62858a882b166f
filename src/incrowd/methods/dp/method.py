"""Method `dp`: a list of what many people have, with noisy numbers of people; differential privacy over people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.claims import MOST_DELTA, MOST_EPS, PARTS
from incrowd.core.classes import Classes, Seconds
from incrowd.core.noise import Words, secure_words
from incrowd.core.spending import (
    LEAST_DELTA,
    LEAST_EPS,
    MOST_ITEMS,
    MOST_WEEKS,
    PROPORTIONS,
    Spending,
    spend,
)
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints32, Ints64
from incrowd.core.weeks import week_names
from incrowd.errors import BadInputError, option
from incrowd.methods.dp.entries import Entries, Of, entries_of, events_with_clicks
from incrowd.methods.dp.mechanism import find_items, noisy_people
from incrowd.methods.dp.weeks import check_unit, noisy_weeks, sets_by_week
from incrowd.methods.reads import Reads
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["check_dp", "check_dp_data", "check_people", "dp", "dp_reads", "list_of", "spending_of"]

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
    d: int = 50,
    rounds: int = 3,
    counts: float = 0.25,
    since: str | None = None,
    weeks: int | None = None,
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
        What the list is of: ``"items"``, ``"pairs"`` of items in one unit, ``"clicks"``, pairs of a query and an address, or ``"weeks"``,
        items with a count for each week.
    eps, delta
        The parameters of differential privacy. eps of 1 or less is strong and 10 is weak; delta should be far below one over the number of people.
    d
        At most so many items of a person count. Choose it without looking at the data: 10 or 20 where people have few, 100 for words of months.
    rounds
        In how many rounds items are found, 1 to 3: what is found makes room for others.
    counts
        The share of the budget that the numbers of people get; the rest finds items.
    since, weeks
        For ``of="weeks"``: a day of the first week (weeks begin on Monday, UTC) and how many there are, whatever the data's times are.
    seed
        Has no effect: the noise comes from the system's cryptographic source.
    """
    check_dp(of=of, eps=eps, delta=delta, d=d, rounds=rounds, counts=counts, since=since, weeks=weeks)
    check_dp_data(transactions, of=of)
    spending = spend(d=d, eps=eps, delta=delta, rounds=rounds, counts=counts, weeks=weeks)
    return noisy_list(transactions, taxonomy, of, spending, since)


def spending_of(parameters: Mapping[str, Any]) -> Spending:
    """Return how the budget is divided with some values of the method's own parameters."""
    names = ("d", "eps", "delta", "rounds", "counts", "weeks")
    return spend(**{name: parameters[name] for name in names})


def check_dp_data(transactions: Transactions, *, of: Of = "items", **_: object) -> None:
    """Refuse rows in which there is not what the list is of, by what they are and not by what is in them."""
    check_people(transactions.unit, has_people=transactions.people is not None)
    if of == "clicks":
        events_with_clicks(transactions)
    if of == "weeks":
        check_unit(transactions.unit)


def check_people(unit: str, *, has_people: bool) -> None:
    """Refuse rows of which a person may have several if nobody knows whose they are."""
    if not has_people and unit.partition(":")[0] in PARTS:
        raise BadInputError(
            f"method dp protects people: use {option('unit', 'user')}, or say whose the rows are (drop {option('distinct', 'records')})"
        )


def noisy_list(
    transactions: Transactions,
    taxonomy: Taxonomy,
    of: Of,
    spending: Spending,
    since: str | None = None,
    words: Words = secure_words,
) -> Classes:
    """Find and count; `words` other than the default are for tests and promise nothing."""
    if since is not None:
        sets = sets_by_week(transactions, since, spending.weeks, spending.d, words)
        return list_by_week(transactions, taxonomy, since, *noisy_weeks(sets, spending, words))
    entries = entries_of(transactions, of, d=spending.d, words=words)
    found = find_items(entries.people, spending, words)
    return list_of(
        transactions, taxonomy, entries, found, noisy_people(entries.people, found, spending, words)
    )


def dp_reads(*, of: Of = "items", **_: object) -> Reads:
    """Say what a log is read as: pairs are of one session, clicks need whole queries, and weeks are among the items of rows by week."""
    if of == "clicks":
        return Reads("queries", events=True)
    if of == "weeks":
        return Reads("terms", "week", kinds=("week",))
    return Reads("terms", "session:30m" if of == "pairs" else "user")


def check_dp(
    *,
    eps: float,
    delta: float,
    d: int,
    rounds: int,
    counts: float,
    of: str = "items",
    since: str | None = None,
    weeks: int | None = None,
    **_: object,
) -> None:
    """Refuse parameters out of range, and those that would promise next to nothing."""
    if of not in get_args(Of):
        raise BadInputError(f"of must be items, pairs, clicks or weeks (got '{of}')")
    _check_weeks(of, since, weeks)
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
    if not spend(d=d, eps=eps, delta=delta, rounds=rounds, counts=counts, weeks=weeks).unit:
        raise BadInputError(
            f"counts = {counts:g} leaves next to nothing for each of d = {d:,} items: use a larger share, or a smaller d"
        )


def _check_weeks(of: str, since: str | None, weeks: int | None) -> None:
    """Refuse weeks that are not said where they are needed, and the other way round: those of the data would tell of single people."""
    if of != "weeks":
        if since is not None or weeks is not None:
            raise BadInputError("since and weeks are for of=weeks: use it, or drop them")
        return
    if since is None or weeks is None:
        raise BadInputError(
            "of=weeks needs since (a day of the first week, as since=2006-03-01) and weeks (how many): say them without looking at the data"
        )
    if not 1 <= weeks <= MOST_WEEKS:
        raise BadInputError(f"weeks must be between 1 and {MOST_WEEKS} (got {weeks})")
    try:
        week_names(since, weeks)
    except ValueError:
        raise BadInputError(f"since must be a day, as 2006-03-01 (got '{since:.80}')") from None


def list_by_week(
    transactions: Transactions, taxonomy: Taxonomy, since: str, found: Ints64, counts: Ints64
) -> Classes:
    """Return what is published: each item that was found with each week, whatever its count."""
    weeks = counts.shape[1]
    nodes = _leaves(taxonomy, transactions.vocabulary, transactions.vocabulary, found)
    order = np.lexsort((found, nodes))
    names = pa.array(week_names(since, weeks), pa.string())
    week = np.tile(np.arange(weeks), len(found))
    item = np.repeat(found[order], weeks)
    return Classes.of_list(
        len(transactions),
        np.repeat(nodes[order], weeks),
        transactions.vocabulary.take(pa.array(item)),
        np.clip(counts[order], -MOST_COUNT, MOST_COUNT).ravel(),
        second=Seconds(np.zeros(len(item), dtype=np.int32), names.take(pa.array(week))),
    )


def list_of(
    transactions: Transactions, taxonomy: Taxonomy, entries: Entries, found: Ints64, people: Ints64
) -> Classes:
    """Return what is published in the form that all methods have: one record of no one's."""
    first, second = entries.places(found)
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
