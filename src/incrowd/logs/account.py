"""What was done to the input, in plain sentences with numbers and without content."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["account_of_reading", "account_of_units"]

_KINDS = {
    "listed": "Nouns of WordNet",
    "unlisted": "Words that WordNet does not list",
    "other": "Words of other kinds (verbs, adjectives, adverbs), left out",
    "stop": "Stop words, left out",
    "term": "Words kept as they are",
}


_CONCEPTS = {"listed": "Queries and what they mean", "unlisted": "Queries in which no concept was found"}


def account_of_reading(
    form: str, lines: int, rejects: Mapping[str, int], bad_bytes: int, encoding: str = "utf-8"
) -> list[str]:
    """Say what was read and what was left out."""
    sentences = [f"Lines read as {form}: {lines:,}."]
    sentences += [f"Lines rejected ({reason}): {count:,}." for reason, count in sorted(rejects.items())]
    if bad_bytes:
        sentences.append(f"Bytes that were not {encoding.upper()}, replaced: {bad_bytes:,}.")
    return sentences


def account_of_units(unit: str, items: str, counts: Mapping[str, int]) -> list[str]:
    """Say what became of the rows; `counts` as in ``Log.summary``."""
    sentences = []
    if "queries" in counts:
        sentences.append(f"Queries, where the clicks of one query count once: {counts['queries']:,}.")
    if items in ("nouns", "terms", "concepts"):
        sentences += [
            f"{_CONCEPTS.get(kind, what) if items == 'concepts' else what}: {counts[f'{kind}_words']:,} distinct, {counts[f'{kind}_occurrences']:,} in all."
            for kind, what in _KINDS.items()
            if f"{kind}_words" in counts
        ]
    units = f"{unit.capitalize()}s"
    sentences.append(
        f"{units}: {counts['units']:,}; {counts['items']:,} distinct items, {counts['occurrences']:,} in all."
    )
    if counts["empty"]:
        sentences.append(f"{units} with nothing left: {counts['empty']:,}.")
    return sentences
