"""The window of a job: what was asked for, in terms of the events that were read and of what the series has released."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from incrowd.core.window import BEGINNING, Window, WindowChoice, day_after, spelled_time
from incrowd.errors import BadInputError, option
from incrowd.jobs.spec import Job, Taken
from incrowd.logs.input import Input
from incrowd.release.series import Recorded, Series

__all__ = ["in_window", "taken_of"]

LAST = 2**62  # after every time that a log can have


@contextmanager
def in_window(job: Job, read: Input) -> Iterator[Job]:
    """Find the window of a job, and let no other run of the series choose one meanwhile; a job without one stays as it is."""
    if job.asked is None:
        yield job
        return
    place = job.options.series
    series = None if place is None else Series(place, read_only=job.options.dry_run)
    with nullcontext() if series is None else series.alone():
        past = [] if series is None else [one for one in series.releases if one.state != "withdrawn"]
        yield replace(job, taken=taken_of(job.asked, read, job.k or 1, past))


def taken_of(asked: WindowChoice, read: Input, k: int, past: Sequence[Recorded] = ()) -> Taken:
    """Return the window that was asked for, and what it leaves out.

    An open end is where the last day is over that has events of at least k people: an end in whole days tells no one's last event,
    and a single wrong time does not move it.
    """
    if not read.has_times:
        raise BadInputError(
            f"{option('window')} needs times: choose a time column ({option('columns', {'time': 'NAME'})})"
        )
    begun = _interrupted(past) if asked.is_new else None
    start = asked.start
    if begun is not None:
        start = begun.start
    elif asked.is_new:
        start = _last_end(past)
    stop = asked.stop
    if stop is None:
        stop = _end_of(read, k, start) if begun is None else begun.stop
    if start is not None and stop <= start:
        raise BadInputError(
            f"{option('window')} ends at {spelled_time(stop)}, and the last release of the series at {spelled_time(start)}: nothing is new"
        )
    return _counted(read, Window(start, stop), past)


def _last_end(past: Sequence[Recorded]) -> int | None:
    """Return where the last window ends; None if nothing was released."""
    for one in past:
        if one.entry.window is None:
            raise BadInputError(
                f"{option('window', 'new')} goes on after a window, and '{one.entry.name}' has none: "
                f"give {option('window', 'FROM..TO')} with the first day that is not in it"
            )
    return max((one.entry.window.stop for one in past if one.entry.window is not None), default=None)


def _interrupted(past: Sequence[Recorded]) -> Window | None:
    """Return the window of a release that was begun and may be out: the same job may be repeated, and nothing is lost by it."""
    published = {one.entry.job for one in past if one.state == "published"}
    open_ones = [one for one in past if one.state == "begun" and one.entry.job not in published]
    return open_ones[-1].entry.window if open_ones else None


def _end_of(read: Input, k: int, start: int | None) -> int:
    """Return when the last day is over on which at least k people were active."""
    day = read.last_day(k, BEGINNING if start is None else start)
    if day is None:
        since = "" if start is None else f" from {spelled_time(start)} on"
        raise BadInputError(
            f"no day of {read.name}{since} has events of {k:,} people or more: there is nothing to release yet"
        )
    return day_after(day)


def _counted(read: Input, window: Window, past: Sequence[Recorded]) -> Taken:
    """Count the events that a window takes and leaves out, and of those before it, those that are in no release."""
    earlier = _released(past, window)
    sides = [window, Window(window.stop, LAST)]
    if window.start is not None:
        sides.append(Window(None, window.start))
    inside, after, *rest = read.count_within([*sides, *(one for one, _ in earlier)])
    if not inside:
        raise BadInputError(f"{read.name} has no event {window.in_words}: choose another {option('window')}")
    before = rest.pop(0) if window.start is not None else 0
    late = sum(max(found - (known or found), 0) for found, (_, known) in zip(rest, earlier, strict=True))
    unreleased = before - sum(rest) if past else 0
    return Taken(window, inside, before, after, late, max(unreleased, 0))


def _released(past: Sequence[Recorded], window: Window) -> list[tuple[Window, int | None]]:
    """Return the windows before another that were released, each once, and how many events they had."""
    found: dict[Window, int | None] = {}
    for one in past:
        if one.entry.window is not None and one.entry.window.stop <= window.first:
            found[one.entry.window] = one.entry.events
    return list(found.items())
