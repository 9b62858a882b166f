"""What an audit found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from incrowd.claims import Claim

__all__ = ["Audit"]

MOST_PROBLEMS = 20


@dataclass
class Audit:
    """What the recount found.

    Parameters
    ----------
    claim
        What the release promises.
    records, classes, k_min
        Records in the file, distinct ones, and the least number of equal ones.
    people_min
        The least number of different people who share a record; None where it is not known who they are.
    checks, unchecked
        What was found in order, and what could not be looked at.
    problems, blamed
        What is wrong, the first few of them, and how many in all; none if the claim holds. Rows are named by
        number, never by content.
    """

    claim: Claim
    records: int = 0
    classes: int = 0
    k_min: int = 0
    people_min: int | None = None
    checks: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    blamed: int = 0

    @property
    def holds(self) -> bool:
        """Whether everything that was looked at is as claimed."""
        return not self.problems

    def blame(self, text: str) -> None:
        """Note a problem; only the first few are kept, all are counted."""
        self.blamed += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(text)

    @contextmanager
    def checking(self, what: str) -> Iterator[None]:
        """Note that something is in order unless a problem turns up while it is looked at."""
        before = self.blamed
        yield
        if self.blamed == before:
            self.checks.append(what)

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return {
            "holds": self.holds,
            "claim": {"in_words": self.claim.in_words, **msgspec.to_builtins(self.claim)},
            "records": self.records,
            "classes": self.classes,
            "k_min": self.k_min,
            "people_min": self.people_min,
            "checks": self.checks,
            "unchecked": self.unchecked,
            "problems": self.problems,
        }

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else f"does NOT hold: {self.problems[0]}"
        return f"Audit({self.claim.in_words} It {verdict} (records={self.records:,}, k_min={self.k_min:,}))"
