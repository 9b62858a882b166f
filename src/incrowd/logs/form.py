"""How an input is written, as far as its owner says: one value from the command line to both engines, and to the audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from incrowd.errors import BadInputError, check_choice, option
from incrowd.logs.formats.columns import parse_columns
from incrowd.logs.formats.encoding import find_encoding
from incrowd.logs.formats.times import check_time_format, parse_day

__all__ = ["FORMATS", "InputForm", "read_form"]

FORMATS = ("aol", "excite", "sogou", "apache", "csv", "tsv", "jsonl", "json", "parquet", "dat")
DELIMITED = ("csv", "tsv")
SEGMENTED = ("zh",)

_DELIMITERS = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " ", "\\t": "\t"}


@dataclass(frozen=True)
class InputForm:
    """How an input is written; what is not said is told by looking at it.

    Parameters
    ----------
    format
        One of `FORMATS`, or ``"auto"``.
    columns
        The column of each role, by its name or its number from 1.
    encoding
        What the text is written in.
    delimiter
        The character between fields.
    time_format
        How times are written, as :func:`time.strptime` has it.
    day
        The date of times of day, as ``2006-03-31``.
    segment
        The language in which queries have no blanks between words: ``zh`` (Chinese).
    wanted
        The roles of columns that must be there, beside the user and the query.
    by_first_lines
        Whether the first lines alone tell how all others are read, and each line is read for itself: no line decides how those of other
        people are read, or whether the input is refused. For methods that must not depend on a single person.
    """

    format: str = "auto"
    columns: Mapping[str, str] | None = None
    encoding: str | None = None
    delimiter: str | None = None
    time_format: str | None = None
    day: str | None = None
    segment: str | None = None
    wanted: tuple[str, ...] = ()
    by_first_lines: bool = False

    def __post_init__(self) -> None:
        """Refuse what fits no format, or not the one that is named."""
        if self.delimiter is not None and self.format not in ("auto", *DELIMITED):
            raise BadInputError(
                f"{option('delimiter')} is for formats csv and tsv, not for {self.format}: drop it"
            )
        if self.format == "dat" and self.segment:
            raise BadInputError(
                f"format dat holds baskets, whose items are whole: drop {option('segment', self.segment)}"
            )
        if self.format == "dat" and (self.time_format or self.day):
            raise BadInputError(
                f"format dat holds baskets, which have no times: drop {option('time_format')} and {option('day')}"
            )


def read_form(said: Mapping[str, Any]) -> InputForm:
    """Check what is said of an input: values by the names of `InputForm`; what is missing or None is not said.

    Columns may be text, as ``user=uid,query=words``; a delimiter may be a name, as ``tab``.
    """
    given = {name: check(said[name]) for name, check in _CHECKS.items() if said.get(name) is not None}
    return InputForm(**given)


def _columns(said: str | Mapping[str, str | int]) -> dict[str, str] | None:
    if isinstance(said, str):
        return parse_columns(said) if said else None  # as private maps have it
    return {role: str(name) for role, name in said.items()}


def _day(text: str) -> str:
    parse_day(text)
    return text


def _delimiter(text: str) -> str:
    """Return the character that is meant."""
    found = _DELIMITERS.get(text.lower(), text)
    if len(found) != 1 or not found.isascii() or found in '"\r\n\0':
        raise BadInputError(
            f"{option('delimiter')} must be one ASCII character, or tab, comma, semicolon, pipe or space (got '{text}')"
        )
    return found


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "format": lambda name: check_choice("format", name, ("auto", *FORMATS)),
    "columns": _columns,
    "encoding": find_encoding,
    "delimiter": _delimiter,
    "time_format": check_time_format,
    "day": _day,
    "segment": lambda name: check_choice("segment", name, SEGMENTED),
    "by_first_lines": bool,
}
