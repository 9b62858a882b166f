"""Which column of a log is the user, the query, the time and the clicked address."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from incrowd.errors import BadInputError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ROLES", "find_columns", "parse_columns", "recognisable"]

ROLES = ("user", "query", "time", "url")
_REQUIRED = ("user", "query")
_USUAL_NAMES: dict[str, tuple[str, ...]] = {
    "user": ("user", "user_id", "userid", "anonid", "uid", "id"),
    "query": ("query", "q", "search", "keywords", "text"),
    "time": ("time", "timestamp", "date", "datetime", "querytime"),
    "url": ("url", "click", "clickurl"),
}
# A name of one or two words; anything else may be a record, and is not shown.
_NAME = re.compile(r"[^\W\d][\w.#/-]*( [\w.#/()-]+)?")
_LONGEST_NAME = 64


def parse_columns(text: str) -> dict[str, str]:
    """Read a column map such as ``"user=uid,query=q"``.

    Examples
    --------
    >>> parse_columns("user=uid, query=words")
    {'user': 'uid', 'query': 'words'}
    """
    columns: dict[str, str] = {}
    for part in text.split(","):
        role, equals, name = (piece.strip() for piece in part.partition("="))
        if not equals or not name:
            raise BadInputError(f"columns must look like user=NAME,query=NAME (got '{text}')")
        if role in columns:
            raise BadInputError(
                f"columns names '{role}' twice: give one column for each of {', '.join(ROLES)}"
            )
        columns[role] = name
    _check_roles(columns)
    return columns


def find_columns(found: Sequence[str], asked: Mapping[str, str] | None, *, file: str) -> dict[str, int]:
    """Return the position of each role's column among the names `found` in `file`.

    A column that was asked for must be there; the others are guessed by their usual names, and `time`
    and `url` may be missing.
    """
    asked = asked or {}
    _check_roles(asked)
    names = [name.strip() for name in found]
    folded = [name.casefold() for name in names]
    positions: dict[str, int] = {}
    for role in ROLES:
        wanted = (
            [asked[role]] if role in asked else [name for name in _USUAL_NAMES[role] if name in folded][:1]
        )
        if wanted and wanted[0] in names:
            positions[role] = names.index(wanted[0])
        elif wanted and wanted[0].casefold() in folded:
            positions[role] = folded.index(wanted[0].casefold())
        elif wanted or role in _REQUIRED:
            raise BadInputError(_missing(role, asked.get(role), names, file))
    return positions


def recognisable(names: Sequence[str], asked: Mapping[str, str] | None = None) -> bool:
    """Whether the names are a header that has the user and the query, by the names asked for or the usual ones."""
    folded = {name.strip().casefold() for name in names}
    wanted = _USUAL_NAMES | {role: (name,) for role, name in (asked or {}).items()}
    return all(any(name.casefold() in folded for name in wanted[role]) for role in _REQUIRED)


def _check_roles(columns: Mapping[str, str]) -> None:
    for role in columns:
        if role not in ROLES:
            raise BadInputError(f"columns has no '{role}', only {', '.join(ROLES)}{nearest(role, ROLES)}")


def _missing(role: str, asked: str | None, names: Sequence[str], file: str) -> str:
    if len(names) == 1 or not all(_NAME.fullmatch(name) and len(name) <= _LONGEST_NAME for name in names):
        return f"{file} seems to have no header line: add a first line with the names of the columns"
    lacks = f"no column '{asked}' for the {role}" if asked else f"no column that looks like the {role}"
    hint = nearest(asked, names) if asked else ""
    return f"{file} has {lacks}{hint}: found {', '.join(names)}; choose with columns (--columns {role}=NAME)"
