"""What is promised of a release: a typed claim, in plain words, with what it does not promise."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from incrowd.errors import BadInputError

__all__ = ["LEAST_K", "Claim", "Kind", "check_k"]

Kind = Literal["k-anonymity", "k^m-anonymity", "none"]
LEAST_K = 2  # with 1 nobody shares anything

NOT_PROMISED = {
    "k-anonymity": (
        "It hides which record is whose; it does not hide what all people of a class have in common.",
        "It says nothing about people who are known to be in the data more than once under different names.",
        "It does not add up: two releases of overlapping data may say more together than each does alone.",
    ),
    "k^m-anonymity": (
        "It holds against people who know at most m items of somebody; who knows more may find a single record.",
        "It hides which record is whose; it does not hide what all records with the same items have in common.",
        "It does not add up: two releases of overlapping data may say more together than each does alone.",
    ),
    "none": ("Do not publish it as anonymous.",),
}


def check_k(k: object) -> int:
    """Return k as a number, or say what it must be."""
    if not re.fullmatch(r"-?[0-9]{1,18}", str(k)):
        raise BadInputError(f"k must be an integer (got '{k}')")
    number = int(str(k))
    if number < LEAST_K:
        raise BadInputError(f"k must be at least {LEAST_K} (got {number})")
    return number


class Claim(msgspec.Struct, frozen=True):
    """A promise that the audit recounts from the written file.

    Parameters
    ----------
    kind
        ``"k-anonymity"``: every published record occurs at least k times (partition.txt, Definition 2).
        ``"k^m-anonymity"``: any m labels that occur together in a record do so in at least k (Terrovitis et
        al., VLDB 2008). ``"none"``: nothing is promised.
    k
        The least number of records.
    unit
        What one record stands for: ``"user"``, ``"session"``, ``"record"``.
    m
        How many items an attacker may know, where the kind has such a bound.
    """

    kind: Kind
    k: int = 1
    unit: str = "record"
    m: int | None = None

    @property
    def in_words(self) -> str:
        """The promise as a sentence."""
        if self.kind == "none":
            return "Nothing is promised of this release."
        owners = "original records" if self.unit == "record" else f"{self.unit}s"
        if self.kind == "k^m-anonymity":
            return (
                f"Any {self.m} published items that occur together are shared by at least {self.k} {owners}."
            )
        return f"Every published record is shared by at least {self.k} {owners}."

    @property
    def not_promised(self) -> tuple[str, ...]:
        """What a reader must not conclude from the promise."""
        caveats = NOT_PROMISED[self.kind]
        if self.unit == "session" and self.kind != "none":
            caveats = ("Records are sessions: several records of a class may be one person's.", *caveats)
        return caveats
