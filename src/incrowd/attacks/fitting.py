"""Which attacks have a meaning for a release, by how it was made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

__all__ = ["Published", "reason_against"]

Published = Literal["records", "tiles", "list"]
"""What a release consists of."""
LEAST_COMMON = ("flock", "clump")
"""Methods that publish the least common generalization, whatever their parameters are."""

_NO_ACCOUNTS = "a list has no records that accounts could share, and noise stands for more than k - 1 of them"
AGAINST_LISTS: Mapping[str, str] = {
    "alone": _NO_ACCOUNTS,
    "read_off": _NO_ACCOUNTS,
    "two_releases": "a list has no records to put together, and its counts are noisy",
}


def reason_against(
    attack: str, method: str, given: Mapping[str, Any], published: Published, *, needs_events: bool = False
) -> str | None:
    """Return why an attack has no meaning for a release, in words; None where it has one.

    Parameters
    ----------
    attack
        Its name, as in :data:`incrowd.attacks.result.ATTACKS`.
    method, given
        How the release was made.
    published
        What it consists of.
    needs_events
        Whether the method needs every single query.
    """
    if attack == "proven_items":
        return _against_proofs(method, given)
    if attack == "few_leaves":
        return _against_leaves(method, given, published)
    if published == "list":
        return AGAINST_LISTS.get(attack)
    if attack in {"alone", "read_off"} and needs_events:
        return f"{method} reads single queries with their times and clicks, which are not made up for planted accounts"
    return None


def _against_leaves(method: str, given: Mapping[str, Any], published: Published) -> str | None:
    if published != "tiles":
        return f"{method} does not publish whatever enough people have as itself"
    return "nothing is generalized" if given.get("generalize") is False else None


def _against_proofs(method: str, given: Mapping[str, Any]) -> str | None:
    if method in LEAST_COMMON:
        return None
    if method != "partition":
        return f"{method} does not publish the least common generalization"
    publish = given.get("publish", "set")
    return (
        None
        if publish == "lcg"
        else f"partition publishes {publish}s of the cut, not the least common generalization"
    )
