"""Claims: what a release promises, as a typed value and in words, with the limits of the promise."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from incrowd.core.shown import html_lines, html_table
from incrowd.errors import BadInputError, check_least

__all__ = [
    "LEAST_K",
    "MOST_DELTA",
    "MOST_EPS",
    "PARTS",
    "Claim",
    "Distinct",
    "Kind",
    "Promise",
    "SpeaksOf",
    "check_k",
    "plural_of",
]

Kind = Literal["k-anonymity", "k^m-anonymity", "k-anonymous tiles", "differential privacy", "none"]
Distinct = Literal["records", "people"]
SpeaksOf = Literal["owner", "class"]
LEAST_K = 2  # with 1 no record would be shared
PARTS = ("session", "mini-session", "query", "day", "week")  # units of which one person may have several
MOST_EPS, MOST_DELTA = 20.0, 1e-2  # beyond these differential privacy promises next to nothing

OVERLAP = "Two releases of the same people say more together than each does alone: publish one, or none that overlap."
PLANTED = "It counts accounts: k - 1 planted accounts, or one person with several, undo it."
OTHERS = "Other releases of the same people than those that it follows say more together with it than each does alone: always follow the last."
COMMON = "It hides which record is whose; it does not hide what all people of a class have in common."
LENGTH = "Where copies are published, a record is exactly as long as the shortest original of its class: it discloses that length."
NOT_PROMISED = {
    "k-anonymity": (
        COMMON,
        LENGTH,
        PLANTED,
        OVERLAP,
    ),
    "k^m-anonymity": (
        "It holds against people who know at most m items of a person; with more, a single record may be found.",
        "It hides which record is whose; it does not hide what all records with the same items have in common.",
        PLANTED,
        OVERLAP,
    ),
    "k-anonymous tiles": (
        "It does not hide what all holders of a tile have in common, nor that a person lacks an item.",
        "An attacker who knows or has planted k - 1 of the holders of a tile learns of the last one.",
        "An attacker who knows all data but one item learns whether the tiles have it.",
        "Whether a person is in the data is not hidden, and tiles about the same subject may be guessed to be one person's.",
        OVERLAP,
    ),
    "differential privacy": (
        "It is a promise about the noise that was drawn: it cannot be recounted from the file.",
        "Counts are noisy, and what few people have is not there.",
        "The eps and delta of several releases of the same people add up.",
    ),
    "none": ("Do not publish it as anonymous: it may hold what a single person typed.",),
}


def plural_of(unit: str) -> str:
    """Return what several units are called."""
    return "queries" if unit == "query" else f"{unit}s"


def check_k(k: object) -> int:
    """Return k as a number, or raise an error that says what it must be."""
    if not re.fullmatch(r"-?[0-9]{1,18}", str(k)):
        raise BadInputError(f"k must be an integer (got '{k}')")
    number = int(str(k))
    check_least("k", number, LEAST_K)
    return number


class Promise(msgspec.Struct, frozen=True):
    """What is promised, as values.

    Parameters
    ----------
    kind
        ``"k-anonymity"``: every published record occurs at least k times (He & Naughton, VLDB 2009, Definition 2).
        ``"k^m-anonymity"``: any m labels that occur together in a record do so in at least k (Terrovitis et
        al., VLDB 2008). ``"differential privacy"``: the release hardly depends on any one person (Korolova et al., WWW
        2009). ``"k-anonymous tiles"``: every published set of labels was held by at least k people, and nothing says which
        sets are one person's. ``"none"``: nothing is promised.
    k
        The least number of records; None where the kind has no such number.
    unit
        What one record stands for: ``"user"``, ``"session"``, ``"mini-session"``, ``"query"``, ``"day"``, ``"week"``, ``"record"``.
    m
        How many items an attacker may know, where the kind has such a bound.
    distinct
        What k counts: ``"records"`` (each a unit's), or ``"people"``, where a person may have several records.
    within
        Published items need not be the owner's own, but each stands for one of the owner's at most this many steps
        away in the taxonomy (Liu & Wang, ICDM 2010, section III). None: they are the owner's own items, or nodes above
        them.
    speaks_of
        ``"owner"``: what a record says is true of each of its owners. ``"class"``: it describes the class as a whole.
    typed_by
        Published queries were typed by at least this many different people, and names of concepts stand for items of
        as many; None where no queries are published.
    eps, delta
        The parameters of differential privacy.
    aged
        Only accounts that were active on at least this many different days count; None where all do.
    follows
        Where a release follows others of the same people: how many people at least have the same record in each of them
        and in this one, or are missing from the same ones. None where it follows none.
    """

    kind: Kind
    k: int | None = None
    unit: str = "record"
    m: int | None = None
    distinct: Distinct = "records"
    within: int | None = None
    speaks_of: SpeaksOf = "owner"
    typed_by: int | None = None
    eps: float | None = None
    delta: float | None = None
    aged: int | None = None
    follows: int | None = None


class Claim(Promise, frozen=True):
    """A promise that the audit recounts from the written files, and its wording."""

    def __str__(self) -> str:
        return self.in_words

    def _repr_html_(self) -> str:
        return html_lines([self.in_words]) + html_table(
            "It does not promise more:", [("", each) for each in self.not_promised]
        )

    @property
    def least(self) -> int:
        """The number of records (or people) that must share each published record; 1 where nothing is promised."""
        return self.k or 1

    @property
    def in_words(self) -> str:
        """The promise as a sentence or two."""
        if self.kind == "none":
            return "Nothing is promised of this release."
        if self.kind == "differential privacy":
            return (
                f"With or without any one {self.unit}, every release is about as likely: by a factor of e^{self.eps:g} at "
                f"most, but for a chance of {self.delta:g}."
            )
        if self.kind == "k-anonymous tiles":
            return (
                f"Every distinct tile was held by at least {self.k} different accounts{self._active}, and nothing published says "
                "which tiles belong to one person. Someone who knows items of a person may learn that the person holds a tile, and "
                f"so its other labels, but only tiles that at least {self.least - 1} other {'such ' if self.aged else ''}accounts "
                "also hold."
            )
        what = "Every published record is"
        if self.kind == "k^m-anonymity":
            what = f"Any {self.m} published items that occur together are"
        return (
            f"{what} shared by at least {self.k} {self._sharers}.{self._chain}{self._nearness}{self._queries}"
        )

    @property
    def _active(self) -> str:
        return "" if self.aged is None else f" that were active on at least {self.aged} different days"

    @property
    def _sharers(self) -> str:
        if self.distinct == "people":
            return f"different people (and so by at least {self.k} {plural_of(self.unit)})"
        return "original records" if self.unit == "record" else plural_of(self.unit)

    @property
    def _chain(self) -> str:
        if self.follows is None:
            return ""
        return (
            f" Together with the releases before it that it follows: whatever records a {self.unit} has in all of them, or lacks in "
            f"some, at least {self.follows} {plural_of(self.unit)} have and lack the same."
        )

    @property
    def _nearness(self) -> str:
        if self.within is None:
            return ""
        return f" Its items stand for items of theirs at most {self.within} steps away in the taxonomy."

    @property
    def _queries(self) -> str:
        if self.typed_by is None or self.typed_by < LEAST_K:
            return ""
        return (
            f" Every query in it was typed by at least {self.typed_by} different people, and every name of a concept "
            "stands for items of as many."
        )

    @property
    def not_promised(self) -> tuple[str, ...]:
        """What a reader must not conclude from the promise."""
        caveats = NOT_PROMISED[self.kind]
        if self.kind in {"none", "differential privacy", "k-anonymous tiles"}:
            return caveats
        if self.follows is not None:
            caveats = tuple(OTHERS if caveat == OVERLAP else caveat for caveat in caveats)
        if self.speaks_of == "class":
            others = (caveat for caveat in caveats if caveat != LENGTH)
            caveats = ("A record describes its class: a person in it may have typed nothing of it.", *others)
        if self.within is not None:
            caveats = ("A person may never have had the very item that is published.", *caveats)
        if self.unit in PARTS and self.distinct == "records":
            caveats = (
                f"Records are {plural_of(self.unit)}: several records of a class may be one person's.",
                *caveats,
            )
        return caveats
