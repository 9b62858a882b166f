"""What the publisher calls a release: a title and a date, both in the publisher's own words, or nothing.

Nothing here is found out: the name of the input may be a secret, and the clock would make two releases of one input differ.
"""

from __future__ import annotations

from datetime import date as calendar_date
from typing import NamedTuple

import pyarrow as pa

from incrowd.core.clean import clean_texts
from incrowd.errors import BadInputError

__all__ = ["NO_HEADING", "Heading", "read_heading"]

LONGEST_TITLE = 120


class Heading(NamedTuple):
    """A title and a day as YYYY-MM-DD; each may be missing."""

    title: str | None = None
    date: str | None = None

    @property
    def problem(self) -> str | None:
        """What is wrong with it, if anything is."""
        if self.title is not None and not (0 < len(self.title) <= LONGEST_TITLE and _is_plain(self.title)):
            return f"title must be one line of 1 to {LONGEST_TITLE} characters that can be seen"
        if self.date is not None and not _is_day(self.date):
            return "date must be a day as YYYY-MM-DD"
        return None


NO_HEADING = Heading()


def read_heading(title: str | None, date: str | None) -> Heading:
    """Check a title and a date as they are given."""
    heading = Heading(title, date)
    if heading.problem is not None:
        raise BadInputError(heading.problem)
    return heading


def _is_plain(text: str) -> bool:
    """Tell whether a text holds nothing that cannot be seen."""
    if not text.isprintable() or text != text.strip():
        return False
    return bool(clean_texts(pa.array([text], pa.string()))[0].as_py() == text)


def _is_day(text: str) -> bool:
    """Tell whether a text is a day in the one spelling that it has here."""
    try:
        return calendar_date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
