"""Names of weeks, as calendars have them: weeks begin on Monday, and are UTC's."""

from __future__ import annotations

from datetime import date, timedelta

__all__ = ["week_names"]


def week_names(since: str, weeks: int) -> list[str]:
    """Return the weeks from the one with a day on, as ``2006-W09``.

    Examples
    --------
    >>> week_names("2006-03-01", 2)
    ['2006-W09', '2006-W10']

    Raises
    ------
    ValueError
        It is no day, a day in another spelling, or some week is in no calendar.
    """
    first = date.fromisoformat(since)
    if first.isoformat() != since:
        raise ValueError(since)
    try:
        days = [first + timedelta(weeks=number) for number in range(weeks)]
    except OverflowError:
        raise ValueError(since) from None
    return ["{:04}-W{:02}".format(*day.isocalendar()[:2]) for day in days]
