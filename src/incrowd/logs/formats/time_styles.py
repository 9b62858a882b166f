"""How the times of a log are written, told by looking at some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from incrowd.errors import BadInputError, option
from incrowd.logs.formats.columns import shape_of
from incrowd.logs.formats.times import (
    DAY_FIRST,
    DIGITS,
    MONTH_FIRST,
    STYLES,
    WRITTEN,
    Times,
    is_time_of_day,
    parse_day,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from incrowd.logs.form import InputForm

__all__ = ["check_times_said", "check_written", "choose_times", "undecided", "which_comes_first"]

_EIGHT_DIGITS = "^(19[7-9]|20[0-9])[0-9]{5}$"  # a day as 20060331, which is no plausible number of seconds

_FEW = 5


def choose_times(samples: Mapping[str, pa.StringArray], form: InputForm) -> Times | None:
    """Return how times are written; None if they have the form 03/04/2006 and may begin with the month or the day.

    Parameters
    ----------
    samples
        Some times of each part of the input, by its name.
    form
        What the owner says of it; a time format that was given must fit.

    Raises
    ------
    BadInputError
        The times, or those of one part, are written in no known way; the message shows their shape.
    """
    filled = {name: _filled(texts) for name, texts in samples.items()}
    together = pa.concat_arrays(list(filled.values()))
    style = form.time_format or _best_style(together)
    if style is None:
        return None
    times = Times(style, 0 if form.day is None else parse_day(form.day))
    for name, texts in filled.items():
        few = len(filled) > 1 and len(texts) < _FEW  # then they are rejected one by one
        if len(texts) and not few and not _count_read(times, texts):
            raise _unknown(name, texts, form.time_format)
    _check_day(next(iter(samples)), times, form, has_times=bool(len(together)))
    return times


def check_times_said(name: str, form: InputForm, *, has_times: bool) -> None:
    """Refuse what is said of the times of an input that has none."""
    if not has_times and (form.time_format or form.day):
        raise BadInputError(
            f"{name} has no column of times that {option('time_format' if form.time_format else 'day')} could be for: "
            f"choose one ({option('columns', {'time': 'NAME'})})"
        )


def check_written(name: str, form: InputForm) -> None:
    """Refuse what is said of how times are written, where they are no texts."""
    if form.time_format or form.day:
        raise BadInputError(
            f"the times of {name} are times already: drop {option('time_format')} and {option('day')}"
        )


def undecided(name: str) -> BadInputError:
    """Return the error of times that may be read in two ways."""
    return BadInputError(
        f"the times of {name} may begin with the month or with the day: "
        f"say which ({option('time_format')} '%m/%d/%Y %H:%M' or '%d/%m/%Y %H:%M', as they are written)"
    )


def which_comes_first(columns: Iterable[pa.StringArray]) -> str | None:
    """Tell month first from day first by the first time that is possible in one way alone; None if there is none."""
    for texts in columns:
        filled = _filled(texts)
        both = [_count_read(Times(style), filled) for style in (MONTH_FIRST, DAY_FIRST)]
        if both[0] != both[1]:
            return MONTH_FIRST if both[0] > both[1] else DAY_FIRST
    return None


def _best_style(texts: pa.StringArray) -> str | None:
    """Return the style in which most of the times can be read, the usual one if none; None if month and day may be either."""
    days = texts.filter(pc.match_substring_regex(texts, _EIGHT_DIGITS))
    usual = _count_read(Times(WRITTEN), texts)
    if len(days) and _count_read(Times(DIGITS), days) == len(days) == usual:
        return DIGITS
    if usual == len(texts):  # looking further would only take time
        return WRITTEN
    found = {style: _count_read(Times(style), texts) for style in STYLES}
    best = max(found, key=found.__getitem__)  # the first of several
    if best in (MONTH_FIRST, DAY_FIRST) and found[MONTH_FIRST] == found[DAY_FIRST]:
        return None
    return best if found[best] else WRITTEN


def _filled(texts: pa.StringArray) -> pa.StringArray:
    trimmed = pc.ascii_trim_whitespace(texts)
    return trimmed.filter(pc.not_equal(trimmed, ""))


def _count_read(times: Times, texts: pa.StringArray) -> int:
    read = times.read(texts)
    return len(read) - int(read.null_count)


def _check_day(name: str, times: Times, form: InputForm, *, has_times: bool) -> None:
    """Refuse times of day without the day, and a day that would not be used."""
    if is_time_of_day(times.style) and form.day is None:
        raise BadInputError(
            f"{name} has times of day without a date: say which day it is ({option('day', '2006-03-31')})"
        )
    if form.day is not None and has_times and not is_time_of_day(times.style):
        raise BadInputError(
            f"{option('day')} is for times of day, and the times of {name} have a date: drop {option('day')}"
        )


def _unknown(name: str, texts: pa.StringArray, given: str | None) -> BadInputError:
    shape = shape_of(texts[0].as_py())
    if given is not None:
        return BadInputError(
            f"no time of {name} has the form of {option('time_format')}, the first has the shape '{shape}': correct {option('time_format')}"
        )
    return BadInputError(
        f"the times of {name} are written in no way that incrowd knows, the first has the shape '{shape}': "
        f"say how ({option('time_format')} '%d/%m/%Y %H:%M', as strptime has it)"
    )
