"""What is left of the data in a release, and for whom: each purpose with its measure, or "no" and the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from incrowd.report.html import share

__all__ = ["Purpose", "purposes"]

Measures = Mapping[str, float | None]
NOT_MEASURED = "not measured"
NO_TIMES = "No: no times are published."


class Purpose(NamedTuple):
    """Something that a release may be used for, who needs it, and how well it is served."""

    name: str
    asked: str
    answer: str
    served: bool


def purposes(
    use: Measures, whole_people: str, *, people_are_served: bool, kinds: Sequence[str] = ()
) -> list[Purpose]:
    """Return what a release can be used for.

    Parameters
    ----------
    use
        Measures by name, as a manifest has them; what is missing or None was not measured.
    whole_people
        What there is to say about looking at whole people.
    people_are_served
        Whether that is possible at all.
    kinds
        The further kinds of items that are published, beside words.
    """
    return [
        Purpose("Counts", "How often does an item occur?", *_counts(use)),
        Purpose("Pairs", "Which items occur together, and how often?", *_pairs(use)),
        Purpose("Trends", "How does an item's use change from week to week?", *_trends(use, "week" in kinds)),
        Purpose("Clicks", "Which addresses were chosen for a query?", *_clicks(use)),
        Purpose(
            "Whole people", "What does one person do, from first to last?", whole_people, people_are_served
        ),
    ]


def _counts(use: Measures) -> tuple[str, bool]:
    error = use.get("items_error")
    if error is None:
        return NOT_MEASURED, False
    return f"Counts of the 1,000 most frequent items are off by {share(error)} on average.", True


def _pairs(use: Measures) -> tuple[str, bool]:
    recall, error, links = (use.get(name) for name in ("pairs_recall", "pairs_error", "links_kept"))
    if recall is None or error is None:
        return NOT_MEASURED, False
    found = f"{share(recall)} of the 1,000 most frequent pairs are found; their counts are off by {share(error)} on average."
    return found if links is None else f"{found} {share(links)} of all pairs are published together.", True


def _trends(use: Measures, has_weeks: bool) -> tuple[str, bool]:  # noqa: FBT001 - one of two answers
    error = use.get("trend_error")
    if error is None:
        return NO_TIMES, False
    if has_weeks:
        return f"Weekly counts of the 100 most frequent items are off by {share(error)} on average.", True
    return (
        f"{NO_TIMES} Spread evenly over the weeks, counts of the 100 most frequent items are off by {share(error)}.",
        False,
    )


def _clicks(use: Measures) -> tuple[str, bool]:
    recall = use.get("clicks_recall")
    if not recall:
        return "No: no addresses are published.", False
    return f"{share(recall)} of the 1,000 most frequent pairs of query and address are found.", True
