"""A release that follows others, held against them, in plain Python: who is alike in all of them, counted from private maps alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from incrowd.auditing.result import Audit
from incrowd.core.history import Past

__all__ = ["Chain", "check_chain", "check_present"]

NEW, OUT = -1, -1


class Chain(NamedTuple):
    """What the private maps of a release and of the one before it say.

    Parameters
    ----------
    past
        Who is alike in the release before and those that it follows.
    row_of
        The row of each person in the release.
    following
        Who is alike in all of them with the release, as its own map says it to the next.
    """

    past: Past
    row_of: Mapping[str, int]
    following: Past


def check_chain(record_of_row: Sequence[int], chain: Chain | None, result: Audit) -> None:
    """Hold a release against those that it follows, if it does; without their map, say that this is not proven."""
    if chain is not None:
        _check_groups(record_of_row, chain, result)
    elif result.claim.follows is not None:
        result.unproven.append(
            "what it promises together with the releases before it: only their private map shows it"
        )


def _check_groups(record_of_row: Sequence[int], chain: Chain, result: Audit) -> None:
    """Count the people who were alike before and have the same record now: none, or at least as many as the claim says."""
    past, least = chain.past, result.claim.follows or 0
    before, now = past.group_of, {person: record_of_row[row] for person, row in chain.row_of.items()}
    ways = {person: (before.get(person, NEW), now.get(person, OUT)) for person in before.keys() | now.keys()}
    together = Counter(ways.values())
    kinds: dict[str, list[int]] = {
        "of people who have the same record here and were alike in all releases before": [],
        "of newcomers with the same record": [],
        "of people who were alike in all releases before and are not in this one": [],
    }
    alike, new, left = kinds.values()
    for (group, record), number in together.items():
        (new if group == NEW else left if record == OUT else alike).append(number)
    with result.checking(
        f"{len(together):,} groups of people who are alike in all releases of the chain, each of at least {min(together.values(), default=0):,}"
    ):
        result.require(
            wrong=least != min(past.k, result.claim.least),
            problem="the claim's number for all releases together is not the smallest k of them",
        )
        for kind, numbers in kinds.items():
            rare = sum(number < least for number in numbers)
            result.require(wrong=bool(rare), problem=f"{rare:,} groups {kind} have fewer than {least}")
        result.require(
            wrong=not _is_noted(ways, chain.following, least),
            problem="the private map does not say who is alike in all releases, so that none can follow",
        )


def _is_noted(ways: Mapping[str, tuple[int, int]], noted: Past, least: int) -> bool:
    """Tell whether a map's groups are just the people who are alike, and those in the release come first."""
    if noted.group_of.keys() != ways.keys() or noted.k != least:
        return False
    pairs = {(noted.group_of[person], way) for person, way in ways.items()}
    if not len(pairs) == len(noted.groups) == len(set(ways.values())):
        return False
    return all((group < noted.published) == (record != OUT) for group, (_, record) in pairs)


def check_present(record_of_row: Sequence[int], rows: Sequence[int], result: Audit) -> None:
    """Check that every record is of at least k people who are in the originals; the others' are the rows of people who have left."""
    present = Counter(record_of_row[row] for row in rows)
    with result.checking(
        f"every record was made from at least {result.claim.least:,} people who have one now"
    ):
        rare = sum(present[record] < result.claim.least for record in set(record_of_row))
        result.require(
            wrong=bool(rare),
            problem=f"{rare:,} records are of fewer than {result.claim.k} people who have one now",
        )
