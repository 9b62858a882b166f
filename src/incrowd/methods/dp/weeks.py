"""Counts by week, for method `dp`: of each item, how many people have it in each week, at the cost of one count.

A person counts in one of the weeks in which they have an item, evenly chosen. What is noisy is not each week by itself: week t gets the sum of
c(t - s) x(s) over all weeks s up to t, where the c are the coefficients of (1 - z)^(-1/2), the square root of "all weeks so far". Counts of weeks
follow from these sums alone, and the noise of a sum of many weeks in a row is hardly larger than that of one. The proof is in ``docs/papers/dp.md``.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.gaussian import discrete_gaussian
from incrowd.core.kinds import kind_of, typed
from incrowd.core.noise import Words, secure_words
from incrowd.core.ragged import list_ids
from incrowd.core.spending import Spending
from incrowd.core.transactions import Transactions
from incrowd.core.types import Floats, Ints64
from incrowd.core.weeks import week_names
from incrowd.errors import BadInputError, option
from incrowd.methods.dp.mechanism import find_items
from incrowd.methods.dp.sets import Sets, among, sets_of

__all__ = ["check_unit", "noisy_weeks", "sets_by_week", "weeks_from"]


def check_unit(unit: str) -> None:
    """Refuse rows of which the week is not known."""
    if unit != "week":
        raise BadInputError(f"of=weeks counts by week: drop {option('unit', unit)}")


def sets_by_week(
    transactions: Transactions, since: str, weeks: int, d: int, words: Words = secure_words
) -> Sets:
    """Return the items of each person, each in one of the person's weeks with it, as ``item * weeks + week``; what is in no such week is left out.

    Rows are of one person and one week, which is among their items.
    """
    check_unit(transactions.unit)
    names = pa.array([typed("week", name) for name in week_names(since, weeks)])
    place = pc.fill_null(pc.index_in(transactions.vocabulary, value_set=names), -1)
    week_of_item = np.array(place, dtype=np.int64)[transactions.items]
    row = list_ids(transactions.indptr)
    week_of_row = np.full(len(transactions), -1, dtype=np.int64)
    week_of_row[row[week_of_item >= 0]] = week_of_item[week_of_item >= 0]
    is_word = np.array(
        [kind_of(text) is None for text in transactions.vocabulary.to_pylist()], dtype=np.bool_
    )
    shown = is_word[transactions.items] & (week_of_row[row] >= 0)
    person, item = (
        transactions.person[row[shown]].astype(np.int64),
        transactions.items[shown].astype(np.int64),
    )
    chosen = _one_each(person * max(len(is_word), 1) + item, words)
    number = item[chosen] * weeks + week_of_row[row[shown]][chosen]
    return sets_of(person[chosen], number, max(len(is_word), 1) * weeks, d=d, words=words)


def _one_each(key: Ints64, words: Words) -> Ints64:
    """Return the position of one entry of each key, evenly chosen."""
    order = np.lexsort((words(len(key)), key))
    return order[np.flatnonzero(np.diff(key[order], prepend=-1))]


def noisy_weeks(sets: Sets, spending: Spending, words: Words = secure_words) -> tuple[Ints64, Ints64]:
    """Return the items that were found, ascending, and their noisy counts by week, a row for each item."""
    weeks = spending.weeks
    found = find_items(Sets(sets.start, sets.item // weeks), spending, words)
    kept = sets.some(spending.d, among(found, sets.item // weeks), words).item
    counts = np.zeros((len(found), weeks), dtype=np.int64)
    np.add.at(counts, (np.searchsorted(found, kept // weeks), kept % weeks), 1)
    sums = np.zeros_like(counts)
    for late, added in enumerate(spending.column):
        sums[:, late:] += added * counts[:, : weeks - late]
    noisy = sums + discrete_gaussian(sums.size, words).reshape(sums.shape)
    return found, np.rint(weeks_from(noisy, spending)).astype(np.int64)


def weeks_from(noisy: Ints64, spending: Spending) -> Floats:
    """Return the counts of weeks that noisy sums say, week by week: it uses nothing else."""
    column = np.array(spending.column, dtype=np.float64)
    counts = np.zeros(noisy.shape)
    for week in range(spending.weeks):
        known = counts[:, :week] @ column[week:0:-1]
        counts[:, week] = (noisy[:, week] - known) / column[0]
    return counts
