"""What an audit found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from incrowd.core.claims import PARTS, Claim
from incrowd.core.shown import html_table

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
    checks
        What was found in order.
    unproven
        What the claim says and could not be looked at: the claim is not confirmed.
    unchecked
        What else could not be looked at.
    problems, found
        What is wrong, the first few of them, and how many in all; none if the claim holds. Rows are named by
        number, never by content.
    """

    claim: Claim
    records: int = 0
    classes: int = 0
    k_min: int = 0
    people_min: int | None = None
    checks: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    found: int = 0

    @property
    def holds(self) -> bool | None:
        """Whether everything that was looked at is as claimed; None if nothing is promised, or no file can show it (noise)."""
        if self.problems:
            return False
        return None if self.claim.kind in {"none", "differential privacy"} else True

    @property
    def confirmed(self) -> bool:
        """Whether something is promised of people, and all of it was recounted."""
        return bool(self.holds) and not self.unproven and not self.speaks_of_records

    @property
    def speaks_of_records(self) -> bool:
        """Whether the claim counts records where a person may have several: a class may be one person's."""
        few = self.people_min is not None and self.people_min < self.claim.least
        return few or (self.claim.unit in PARTS and self.claim.distinct == "records")

    def add_problem(self, text: str) -> None:
        """Note a problem; only the first few are kept, all are counted."""
        self.found += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(text)

    def require(self, *, wrong: bool, problem: str) -> None:
        """Note a problem if something is wrong."""
        if wrong:
            self.add_problem(problem)

    @contextmanager
    def checking(self, what: str) -> Iterator[None]:
        """Note that something is in order unless a problem turns up while it is looked at."""
        before = self.found
        yield
        if self.found == before:
            self.checks.append(what)

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return {
            "holds": self.holds,
            "confirmed": self.confirmed,
            "claim": {"in_words": self.claim.in_words, **msgspec.to_builtins(self.claim)},
            "not_promised": list(self.claim.not_promised),
            "records": self.records,
            "classes": self.classes,
            "k_min": self.k_min,
            "people_min": self.people_min,
            "checks": self.checks,
            "unchecked": self.unproven + self.unchecked,
            "problems": self.problems,
        }

    def _repr_html_(self) -> str:
        rows = [("holds", {True: "yes", False: "NO", None: "cannot be recounted"}[self.holds])]
        rows += [("problem", text) for text in self.problems]
        rows += [("checked", text) for text in self.checks]
        rows += [("not checked", text) for text in self.unproven + self.unchecked]
        return html_table(self.claim.in_words, rows)

    def __repr__(self) -> str:
        words = {
            True: "holds",
            False: f"does NOT hold: {''.join(self.problems[:1])}",
            None: "is not confirmed",
        }
        return f"Audit({self.claim.in_words} It {words[self.holds]} (records={self.records:,}, k_min={self.k_min:,}))"
