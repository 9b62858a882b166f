"""Converts written times to seconds since 1970 (UTC); unreadable times become null.

A time without a zone is taken as UTC: only differences between the times of one log matter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.types import Bools, Ints64
from incrowd.errors import BadInputError, option

__all__ = [
    "ACCESS_LOG",
    "DAY_FIRST",
    "DIGITS",
    "EXCITE",
    "MONTH_FIRST",
    "STYLES",
    "TIME_OF_DAY",
    "WRITTEN",
    "Times",
    "check_time_format",
    "excite_times",
    "is_time_of_day",
    "parse_day",
    "written_times",
]

_EPOCH = r"^[0-9]{1,11}$"
_EPOCH_WITH_FRACTION = re.compile(r"[-+]?\d{1,11}(\.\d*)?", re.ASCII)
_ISO = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d.*)?", re.ASCII)
_ISO_KINDS = (
    pa.timestamp("s"),
    pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
)  # plain, with fractions, with zones
_YEAR_ONE = -62_135_596_800
_LARGEST_ZONE = 86_400
_LEAST, _BEYOND = (
    (1, 1, 1, 0, 0, 0),
    (10_000, 13, 32, 24, 60, 60),
)  # of year, month, day, hour, minute, second
_NOON = 12
_CENTURY_BREAK = 70  # 70..99 are 19xx, 00..69 are 20xx
_MONTHS = pa.array(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])

WRITTEN, EXCITE, MILLISECONDS = "written", "excite", "milliseconds"
DIGITS, ACCESS_LOG, TIME_OF_DAY = "digits", "access log", "time of day"
MONTH_FIRST, DAY_FIRST = "month first", "day first"

# What each directive of a time format stands for. The groups are the parts that a time is put together from.
_DIRECTIVES = {
    "Y": r"(?P<year>[0-9]{4})",
    "y": r"(?P<short_year>[0-9]{2})",
    "m": r"(?P<month>[0-9]{1,2})",
    "b": r"(?P<month_name>[A-Za-z]{3,9})",
    "d": r"(?P<day>[0-9]{1,2})",
    "H": r"(?P<hour>[0-9]{1,2})",
    "M": r"(?P<minute>[0-9]{1,2})",
    "S": r"(?P<second>[0-9]{1,2})",
    "f": r"[0-9]{1,9}",
    "p": r"(?P<half>[AaPp])\.?[Mm]\.?",
    "z": r"(?:Z|(?P<sign>[+-])(?P<zone_hour>[0-9]{2}):?(?P<zone_minute>[0-9]{2})?)",
    "a": r"[A-Za-z]{2,9}",
    "%": "%",
}
_SAME = {"e": "d", "I": "H", "B": "b", "h": "b", "A": "a"}
_SHORT_FOR = {"T": "%H:%M:%S", "R": "%H:%M", "F": "%Y-%m-%d", "D": "%m/%d/%y"}
_DIRECTIVE = re.compile(r"%(.)", re.DOTALL)

_CLOCK = r"%H:%M(?::%S(?:[.,]%f)?)?(?: ?%p)?"
_MAYBE_CLOCK = rf"(?:,?[ T]+{_CLOCK}(?: ?%z)?)?"
_TEMPLATES = {
    "iso": r"%Y-%m-%d(?:[ T]%H:%M(?::%S(?:[.,]%f)?)?(?: ?%z)?)?",
    MONTH_FIRST: rf"%m/%d/%Y{_MAYBE_CLOCK}",
    DAY_FIRST: rf"%d/%m/%Y{_MAYBE_CLOCK}",
    "german": rf"%d\.%m\.%Y{_MAYBE_CLOCK}",
    "year first": rf"%Y/%m/%d{_MAYBE_CLOCK}",
    ACCESS_LOG: r"\[?%d/%b/%Y:%H:%M:%S(?: %z)?\]?",
    DIGITS: r"%Y(?P<month>[0-9]{2})(?P<day>[0-9]{2})(?:(?P<hour>[0-9]{2})(?P<minute>[0-9]{2})(?P<second>[0-9]{2}))?",
    TIME_OF_DAY: _CLOCK,
}


@dataclass(frozen=True)
class Times:
    """How the times of a log are written.

    Parameters
    ----------
    style
        A name in `STYLES`, or a time format as :func:`time.strptime` takes it, which has a ``%``.
    day
        The day that times of day are of, in seconds since 1970.
    """

    style: str = WRITTEN
    day: int = 0

    def read(self, texts: pa.StringArray) -> pa.Int64Array:
        """Return the seconds since 1970 of each time, null where it cannot be read."""
        if self.style in STYLES:
            return STYLES[self.style](pc.ascii_trim_whitespace(texts), self.day)
        return _by_pattern(pc.ascii_trim_whitespace(texts), _pattern_of(self.style), self.day)


def written_times(texts: pa.StringArray) -> pa.Int64Array:
    """Read ISO 8601 times (blank or ``T``, with or without a zone) and seconds since 1970."""
    texts = pc.ascii_trim_whitespace(texts)
    if pc.all(pc.match_substring_regex(texts, _EPOCH), min_count=0).as_py():
        return pc.cast(texts, pa.int64())
    # A cast that fails takes long, so the first text says which one to try.
    kind = next((kind for kind in _ISO_KINDS if _cast(texts[:1], kind) is not None), None)
    moments = None if kind is None else _cast(texts, kind)
    if kind is None or moments is None:
        return _mixed(texts)
    units = np.array(moments.cast(pa.int64()), dtype=np.int64)
    seconds = pa.array(units if kind.unit == "s" else units // 1_000_000)
    # The last hours of the year 0 are in the year 1 by a zone: they are no time, whatever times stand beside them.
    return seconds if pc.min(seconds).as_py() >= _YEAR_ONE + _LARGEST_ZONE else _mixed(texts)


def _cast(texts: pa.StringArray, kind: pa.TimestampType) -> pa.TimestampArray | None:
    try:
        return pc.cast(texts, kind)
    except pa.ArrowInvalid:
        return None


def excite_times(texts: pa.StringArray) -> pa.Int64Array:
    """Read times written as ``yymmddhhmmss``."""
    texts = pc.ascii_trim_whitespace(texts)
    valid = np.array(pc.match_substring_regex(texts, "^[0-9]{12}$"), dtype=np.bool_)
    number = np.array(pc.cast(pc.if_else(pa.array(valid), texts, "0"), pa.int64()))
    year, *rest = (number // 100**place % 100 for place in range(5, -1, -1))
    return _put_together([_whole_year(year), *rest], valid)


def check_time_format(pattern: str) -> str:
    """Return a time format that can be read; refuse one with a directive that is not known, or without a time of day or a date."""
    found = set(_DIRECTIVE.findall(_spelled_out(pattern)))
    known = {*_DIRECTIVES, *_SAME}
    if unknown := sorted(found - known):
        raise BadInputError(
            f"{option('time_format')} has %{unknown[0]}, and knows only {' '.join('%' + one for one in sorted(known | {*_SHORT_FOR}))}"
        )
    names = {_SAME.get(one, one) for one in found}
    if not names & {"H", "d"}:
        raise BadInputError(
            f"{option('time_format')} must say where the day or the hour is, as '%d/%m/%Y %H:%M' (got '{pattern}')"
        )
    try:
        re.compile(_pattern_of(pattern))
    except re.error:
        raise BadInputError(
            f"{option('time_format')} has one directive twice: drop one (got '{pattern}')"
        ) from None
    return pattern


def is_time_of_day(style: str) -> bool:
    """Whether a style or a time format has no date."""
    if style in STYLES:
        return style == TIME_OF_DAY
    return not {"d", "e"} & set(_DIRECTIVE.findall(_spelled_out(style)))


def parse_day(text: str) -> int:
    """Return a day, as ``2006-03-31``, in seconds since 1970."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise BadInputError(f"{option('day')} must be a date as 2006-03-31 (got '{text}')") from None
    return (day - date(1970, 1, 1)).days * 86_400


def _mixed(texts: pa.StringArray) -> pa.Int64Array:
    """Read ISO times and seconds that stand side by side, or have fractions: in bulk, and what is left one by one."""
    fraction = pc.match_substring_regex(texts, r"^[0-9]{1,11}(\.[0-9]*)?$")
    whole = pc.cast(pc.if_else(fraction, pc.replace_substring_regex(texts, r"\..*$", ""), None), pa.int64())
    seconds = pc.coalesce(whole, _by_pattern(texts, _regex(_TEMPLATES["iso"])))
    if seconds.null_count == 0:
        return seconds
    left = pc.is_null(seconds)
    return pc.replace_with_mask(seconds, left, _one_by_one(texts.filter(left)))


def _milliseconds(texts: pa.StringArray, _day: int) -> pa.Int64Array:
    valid = pc.match_substring_regex(texts, "^[0-9]{12,13}$")
    return pc.divide(pc.cast(pc.if_else(valid, texts, None), pa.int64()), 1000)


def _by_pattern(texts: pa.StringArray, pattern: str, day: int = 0) -> pa.Int64Array:
    """Read times by the parts that a pattern finds in them."""
    found = pc.extract_regex(texts, pattern)
    valid = np.array(pc.is_valid(found), dtype=np.bool_)
    parts = {field.name: pc.fill_null(pc.struct_field(found, field.name), "") for field in found.type}

    def number(name: str, missing: int) -> Ints64:
        if name not in parts:
            return np.full(len(texts), missing, dtype=np.int64)
        return np.array(pc.cast(_filled(parts[name], str(missing)), pa.int64()))

    year = _whole_year(number("short_year", 0)) if "short_year" in parts else number("year", 1970)
    month = number("month", 1)
    if "month_name" in parts:
        short = pc.utf8_slice_codeunits(pc.ascii_lower(parts["month_name"]), 0, 3)
        month = np.array(pc.fill_null(pc.index_in(short, value_set=_MONTHS), -1), dtype=np.int64) + 1
    hour = _whole_hour(number("hour", 0), parts.get("half"), valid)
    fields = [year, month, number("day", 1), hour, number("minute", 0), number("second", 0)]
    offset = number("zone_hour", 0) * 3600 + number("zone_minute", 0) * 60
    if "sign" in parts:
        offset = np.where(np.array(pc.equal(parts["sign"], "-"), dtype=np.bool_), -offset, offset)
    return _put_together(fields, valid, plus=day - offset)


def _filled(texts: pa.StringArray, missing: str) -> pa.StringArray:
    return pc.if_else(pc.equal(texts, ""), missing, texts)


def _whole_year(year: Ints64) -> Ints64:
    return np.where(year >= _CENTURY_BREAK, 1900, 2000) + year


def _whole_hour(hour: Ints64, half: pa.StringArray | None, valid: Bools) -> Ints64:
    """Return the hour of the day; before or after noon there are only the hours 1 to 12."""
    if half is None:
        return hour
    letter = pc.ascii_lower(half)
    is_half = np.array(pc.not_equal(letter, ""), dtype=np.bool_)
    after_noon = np.array(pc.equal(letter, "p"), dtype=np.bool_)
    valid &= ~is_half | ((hour >= 1) & (hour <= _NOON))
    return np.where(is_half, hour % _NOON + _NOON * after_noon, hour)


def _put_together(fields: list[Ints64], valid: Bools, plus: Ints64 | int = 0) -> pa.Int64Array:
    """Return the seconds of year, month, day, hour, minute and second; null where there is no such moment."""
    for part, least, beyond in zip(fields, _LEAST, _BEYOND, strict=True):
        valid &= (part >= least) & (part < beyond)
    year, month, day, hour, minute, second = fields
    first_of_month = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    whole_day = first_of_month.astype("datetime64[D]") + (day - 1)
    valid &= whole_day.astype("datetime64[M]") == first_of_month  # no 30th of February
    seconds = whole_day.astype("datetime64[s]").astype(np.int64) + hour * 3600 + minute * 60 + second
    return pa.array(seconds + plus, mask=~valid)


def _regex(template: str) -> str:
    """Return a pattern that has the parts of a time in place of its directives."""
    return f"^{_DIRECTIVE.sub(lambda found: _DIRECTIVES[_SAME.get(found[1], found[1])], template)}$"


def _spelled_out(pattern: str) -> str:
    return _DIRECTIVE.sub(lambda found: _SHORT_FOR.get(found[1], found[0]), pattern)


def _pattern_of(time_format: str) -> str:
    """Return the pattern of a time format that was given."""
    pieces = re.split(r"(%.)|(\s+)", _spelled_out(time_format), flags=re.DOTALL)
    kept = (piece for piece in pieces if piece)
    return _regex(
        "".join(
            piece if piece.startswith("%") else r"[ \t]+" if piece.isspace() else re.escape(piece)
            for piece in kept
        )
    )


def _one_by_one(texts: pa.StringArray) -> pa.Int64Array:
    return pa.array([_seconds(text) for text in texts.to_pylist()], pa.int64())


def _seconds(text: str | None) -> int | None:
    if text and _EPOCH_WITH_FRACTION.fullmatch(text):
        return math.floor(float(text))
    if not text or not _ISO.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return math.floor((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _of_template(name: str) -> Callable[[pa.StringArray, int], pa.Int64Array]:
    pattern = _regex(_TEMPLATES[name])
    return lambda texts, day: _by_pattern(texts, pattern, day if name == TIME_OF_DAY else 0)


STYLES: dict[str, Callable[[pa.StringArray, int], pa.Int64Array]] = {
    WRITTEN: lambda texts, _day: written_times(texts),
    EXCITE: lambda texts, _day: excite_times(texts),
    MILLISECONDS: _milliseconds,
    **{name: _of_template(name) for name in _TEMPLATES if name != "iso"},
}
"""The ways of writing times that are recognised, the usual one first; each takes the texts and the day of times of day."""
