"""A release in short sentences, for whoever has to decide whether it may leave: what is published, and what is promised."""

from __future__ import annotations

from typing import NamedTuple

from incrowd.core.claims import Promise

__all__ = ["Summary", "summary_of"]

NAMES = "An item that is published as it is may itself be a person's name."
UNNAMED = "Accounts are not named."


class Summary(NamedTuple):
    """What is published, and what is promised of it. What is not promised has words of its own in every claim."""

    published: list[str]
    promised: list[str]


def summary_of(claim: Promise) -> Summary:
    """Say in short sentences what a claim means."""
    if claim.kind == "k-anonymous tiles":
        return _tiles(claim)
    one = {"user": "person", "session": "session", "mini-session": "mini-session"}.get(
        claim.unit, "original record"
    )
    published = [
        f"One record for each {one}, made of items or of classes that stand for items.",
        UNNAMED,
        NAMES,
    ]
    if claim.kind == "none":
        return Summary(published, ["Nothing. Treat the release as if it were the original data."])
    if claim.kind == "k^m-anonymity":
        known = f"Someone who knows at most {claim.m} items of a record finds none that fits, or at least {claim.k}."
        return Summary(published, [known])
    return Summary(published, _shared(claim, one))


def _tiles(claim: Promise) -> Summary:
    """Say what a release of tiles means."""
    k = claim.k or 1
    unit = claim.unit if claim.unit != "user" else "person"
    counted = "how many people hold it" if unit == "person" else f"how many people and {unit}s hold it"
    return Summary(
        [
            f"Small sets of items, called tiles, each with {counted}.",
            f"No record of a person or {unit} is published."
            if unit != "person"
            else "No person's record is published.",
            UNNAMED,
            NAMES,
        ],
        [
            f"At least {k:,} different accounts hold every tile.",
            "Nothing says which tiles belong to one person.",
            f"Someone who knows items of a person may learn more items of a tile, which at least {k - 1:,} other accounts hold too.",
        ],
    )


def _shared(claim: Promise, one: str) -> list[str]:
    """Say what k-anonymity means."""
    k = claim.k or 1
    sharers = "accounts" if claim.distinct == "people" or claim.unit == "user" else f"{one}s"
    lines = [
        f"At least {k:,} different {sharers} share every published record: all of them have the same one.",
        "Nobody can tell which of these equal records is whose.",
    ]
    if claim.speaks_of == "class":
        lines.append("A record describes all of them together, and need not be true of each.")
    elif claim.within is None:
        lines.append("What a record says is true of each of them.")
    return lines
