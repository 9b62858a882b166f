"""From what was counted and measured to what a release says of itself; both engines end here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from incrowd.core.claims import Claim
from incrowd.core.promises import Settings
from incrowd.core.rounding import at_least, four_digits
from incrowd.core.transactions import Transactions
from incrowd.metrics import Bound, Losses, Utility
from incrowd.metrics.use import Use
from incrowd.release.files.heading import NO_HEADING, Heading
from incrowd.release.files.manifest import (
    RELEASE_FORMAT,
    Bin,
    BoundFigures,
    LossFigures,
    Manifest,
    PublishedCounts,
    SpelledClaim,
    UseFigures,
    UtilityFigures,
    Versions,
    account_of,
)
from incrowd.release.files.names import files_with
from incrowd.taxonomy.tree import Taxonomy

__all__ = [
    "Counts",
    "account_for_owner",
    "figures_of",
    "manifest_of",
    "published_counts",
    "rounded_withheld",
    "said_of_place",
]


class Counts(msgspec.Struct, frozen=True):
    """How many records came in, went out and were withheld; distinct ones; the smallest class; labels. For the owner.

    `k_min` is the least number of records in a class, `people_min` the least number of different people.
    """

    records_in: int
    records_out: int
    withheld: int
    groups: int
    k_min: int
    people_min: int
    labels: int


def manifest_of(
    settings: Settings,
    claim: Claim,
    counts: PublishedCounts,
    figures: Mapping[str, Any],
    text_forms: Sequence[str] = (),
    *,
    heading: Heading = NO_HEADING,
) -> Manifest:
    """Return what a release of records says of itself."""
    return Manifest(
        format=RELEASE_FORMAT,
        title=heading.title,
        date=heading.date,
        versions=Versions.here(),
        files=files_with(text_forms),
        method=settings.method,
        parameters=settings.spelled,
        claim=SpelledClaim.of(claim),
        counts=counts,
        account=account_of(settings, claim, counts),
        **figures,
    )


def account_for_owner(
    method: str, counts: Counts, transactions: Transactions, tree: Taxonomy
) -> tuple[str, ...]:
    """Say what was done to the data, in order, with exact numbers."""
    placed = f"Placed {len(transactions.vocabulary):,} distinct items on the taxonomy {tree.name}"
    shape = f"({len(tree):,} nodes, {tree.leaf_count:,} leaves, {tree.height} levels)"
    grouped = f"Grouped {counts.records_out:,} records by method {method}"
    return (
        *transactions.account,
        f"{placed} {shape}{said_of_place(tree)}.",
        f"Took {counts.records_in:,} records. {counts.withheld:,} have nothing to publish and are withheld.",
        f"{grouped} into {counts.groups:,} distinct ones, each shared by at least {counts.k_min:,}.",
    )


def said_of_place(tree: Taxonomy) -> str:
    """Say how many distinct items their owner moved, where any could be."""
    return "" if tree.moved is None else f", {int(tree.moved.sum()):,} of them where they were moved to"


def figures_of(
    losses: Losses | None,
    utility: Utility | None,
    bound: Bound | None,
    use: Use | None,
    lengths: list[Bin],
) -> dict[str, Any]:
    """Return measures as a manifest spells them."""
    return {
        "lengths": lengths,
        "losses": None if losses is None else LossFigures.of(msgspec.structs.asdict(losses)),
        "utility": None if utility is None else UtilityFigures.of(msgspec.structs.asdict(utility)),
        "bound": None if bound is None else BoundFigures.of(msgspec.to_builtins(bound)),
        "use": None if use is None else UseFigures.of(msgspec.structs.asdict(use)),
    }


def published_counts(
    counts: Counts, claim: Claim, length: float, level: float, *, silent_people: int
) -> PublishedCounts:
    """Return counts as a release may tell them: none about fewer than k people.

    Parameters
    ----------
    counts, claim
        What was counted and is promised.
    length, level
        How many items a record has on average, and on which level they are.
    silent_people
        Whose the withheld records are: so many different people's.
    """
    return PublishedCounts(
        records_out=counts.records_out,
        groups=counts.groups,
        k_min=counts.k_min,
        labels=counts.labels,
        avg_length=four_digits(length),
        avg_level=four_digits(level),
        people_min=at_least(claim.least, counts.people_min),
        withheld=rounded_withheld(counts.withheld, silent_people, claim.least),
    )


def rounded_withheld(records: int, people: int, k: int) -> int | str:
    """Return how many records are withheld, unless they are fewer than k people's."""
    return records if people >= k else at_least(k, 0)
