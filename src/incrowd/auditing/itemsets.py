"""Which sets of labels too few rows share: the recount behind k^m-anonymity, in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

__all__ = ["rare_among_people", "rare_itemsets"]

Ids = tuple[int, ...]


def rare_itemsets(records: Iterable[tuple[Sequence[Any], int]], k: int, m: int) -> int:
    """Count the sets of at most m distinct labels that occur, but in fewer than k rows.

    None means that the rows are k^m-anonymous (Terrovitis et al., VLDB 2008; He & Naughton, VLDB 2009, section 1).

    Parameters
    ----------
    records
        Records, each with the number of rows that share it; a label counts once per record. The same
        record may come more than once.
    k
        The least number of rows.
    m
        The most labels in a set.
    """
    rows = _rows(records)
    longest = max(map(len, rows), default=0)
    tails = _tails(rows)
    return sum(_rare_of_size(tails, size, k) for size in range(1, min(m, longest) + 1))


def rare_among_people(records: Iterable[tuple[Sequence[Any], object]], k: int, m: int) -> int:
    """Count the sets of at most m distinct labels that occur, but with fewer than k different people.

    Parameters
    ----------
    records
        Labels of a record, and whose it is; a person may have several.
    k
        The least number of people.
    m
        The most labels in a set.
    """
    number: defaultdict[object, int] = defaultdict(lambda: len(number))
    owned = sorted({(number[person], tuple(sorted(set(labels)))) for labels, person in records})
    tails: defaultdict[Any, list[tuple[int, tuple[Any, ...]]]] = defaultdict(list)
    for person, labels in owned:
        for place, label in enumerate(labels, 1):
            tails[label].append((person, labels[place:]))
    return sum(_rare_behind(behind, k, m) for behind in tails.values())


def _rare_behind(behind: list[tuple[int, tuple[Any, ...]]], k: int, m: int) -> int:
    """Count the rare sets that begin with one label, given what stands behind it, person by person."""
    people: Counter[tuple[Any, ...]] = Counter()
    last: dict[tuple[Any, ...], int] = {}
    for person, tail in behind:
        for size in range(min(m, len(tail) + 1)):
            for others in combinations(tail, size):
                if last.get(others) != person:
                    last[others] = person
                    people[others] += 1
    return sum(times < k for times in people.values())


def _rows(records: Iterable[tuple[Sequence[Any], int]]) -> Counter[Ids]:
    """Return the records as ascending tuples of numbers, with how many rows share each.

    The rarest label is number 0: a set is counted under its first label, so the rarer that is, the fewer
    sets are held in memory at once.
    """
    shared: Counter[frozenset[Any]] = Counter()
    support: Counter[Any] = Counter()
    for labels, rows in records:
        distinct = frozenset(labels)
        shared[distinct] += rows
        for label in distinct:
            support[label] += rows
    number = {label: i for i, label in enumerate(sorted(support, key=lambda label: (support[label], label)))}
    return Counter(
        {tuple(sorted(number[label] for label in labels)): rows for labels, rows in shared.items()}
    )


def _tails(rows: Counter[Ids]) -> dict[int, Counter[Ids]]:
    """Return, for each label, what stands behind it in the rows that hold it."""
    tails: defaultdict[int, Counter[Ids]] = defaultdict(Counter)
    for labels, times in rows.items():
        for place, label in enumerate(labels, 1):
            tails[label][labels[place:]] += times
    return dict(tails)


def _rare_of_size(tails: dict[int, Counter[Ids]], size: int, k: int) -> int:
    """Count the sets of exactly that many labels that fewer than k rows hold, one first label at a time."""
    rare = 0
    for behind in tails.values():
        support: Counter[Ids] = Counter()
        for tail, times in behind.items():
            if times == 1:
                support.update(combinations(tail, size - 1))  # the fast way
            else:
                for others in combinations(tail, size - 1):
                    support[others] += times
        rare += sum(times < k for times in support.values())
    return rare
