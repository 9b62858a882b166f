"""A window of time: the events from one moment on and before another. Moments are UTC, in seconds since 1970.

Windows are half-open, so two of them that meet have no event in common and lose none between them.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

import msgspec

from incrowd.core.activity import DAY
from incrowd.errors import BadInputError, option

__all__ = ["Window", "WindowChoice", "day_after", "parse_window", "read_time", "spelled_time"]

NEW = "new"
BEGINNING = -(2**62)  # before every time that a log can have
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The events at or after `start` and before `stop`; without `start`, all before `stop`."""

    start: int | None
    stop: int

    @property
    def first(self) -> int:
        """The first second."""
        return BEGINNING if self.start is None else self.start

    def meets(self, other: Window) -> bool:
        """Tell whether an event may be in both."""
        return self.first < other.stop and other.first < self.stop

    @property
    def in_words(self) -> str:
        """Which events they are."""
        since = "" if self.start is None else f"from {spelled_time(self.start)} and "
        return f"{since}before {spelled_time(self.stop)}"

    def __str__(self) -> str:
        """Return it as ``--window`` takes it."""
        start = "" if self.start is None else spelled_time(self.start)
        return f"{start}..{spelled_time(self.stop)}"


class WindowChoice(NamedTuple):
    """A window as it was asked for: either side may be open, and `is_new` begins where the last release of the series ends."""

    start: int | None = None
    stop: int | None = None
    is_new: bool = False


def parse_window(text: str) -> WindowChoice:
    """Read ``FROM..TO``, ``FROM..``, ``..TO``, ``new`` or ``new..TO``: days, or times of which TO is the first left out.

    Examples
    --------
    >>> parse_window("1970-01-02..1970-01-02")
    WindowChoice(start=86400, stop=172800, is_new=False)
    """
    said = text.strip()
    first, dots, last = (part.strip() for part in said.partition(".."))
    if not dots and said != NEW:
        raise _refusal(text)
    is_new = first == NEW
    try:
        start = None if is_new or not first else _moment(first)
        stop = None if not last else _end(last)
    except (ValueError, OverflowError):
        raise _refusal(text) from None
    if start is not None and stop is not None and stop <= start:
        raise BadInputError(f"{option('window')} must end after it begins (got '{text:.80}')")
    return WindowChoice(start, stop, is_new)


def _refusal(text: str) -> BadInputError:
    return BadInputError(
        f"{option('window')} must be FROM..TO, days or times in UTC as 2006-03-01..2006-03-31 or ..2006-03-31T12:00, "
        f"new or new..TO (got '{text:.80}')"
    )


def _moment(text: str) -> int:
    """Return when a day begins, or a time."""
    if not _DAY.fullmatch(text) and not _TIME.fullmatch(text):
        raise ValueError(text)
    when = datetime.fromisoformat(text)
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    return (when - _EPOCH) // timedelta(seconds=1)


def _end(text: str) -> int:
    """Return when a day is over, or a time."""
    if _DAY.fullmatch(text):
        return _moment((date.fromisoformat(text) + timedelta(days=1)).isoformat())
    return _moment(text)


def day_after(day: int) -> int:
    """Return when the day after a day begins; days are numbered from 1 January 1970."""
    return (day + 1) * DAY


def spelled_time(seconds: int) -> str:
    """Return a time in its only spelling, as ``2006-03-01T00:00:00Z``; what no calendar has, as a number of seconds."""
    try:
        return f"{(_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()}Z"
    except OverflowError:
        return f"{seconds} s"


def read_time(text: str) -> int:
    """Read a time in its only spelling.

    Raises
    ------
    ValueError
        It is spelt in another way.
    """
    seconds = _moment(text)
    if spelled_time(seconds) != text:
        raise ValueError("a time is spelt in another way than 2006-03-01T00:00:00Z")
    return seconds
