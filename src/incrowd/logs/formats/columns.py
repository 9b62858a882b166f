"""Which column of a log is the user, the query, the time and the clicked address, and which says more: a place, say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from incrowd.errors import BadInputError, nearest, option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "MORE_ROLES",
    "ROLES",
    "are_numbers",
    "find_columns",
    "is_other_column",
    "is_usual_name",
    "numbered_columns",
    "parse_columns",
    "recognisable",
    "shape_of",
]

ROLES = ("user", "query", "time", "url")
MORE_ROLES = ("shown", "rank", "place", "device", "language")
"""Columns that are read where items of such kinds are asked for (``--kinds``); the rank goes with the shown addresses."""
_ALL_ROLES = (*ROLES, *MORE_ROLES)
_REQUIRED = ("user", "query")
_USUAL_NAMES: dict[str, tuple[str, ...]] = {
    "user": ("user", "user_id", "userid", "anonid", "uid"),
    "query": ("query", "q", "search", "keywords", "text"),
    "time": ("time", "timestamp", "date", "datetime", "querytime"),
    "url": ("url", "click", "clickurl"),
    "shown": ("shown", "results", "impressions"),
    "rank": ("rank", "itemrank", "position"),
    "place": ("place", "location", "city", "region", "country"),
    "device": ("device", "platform"),
    "language": ("language", "lang", "locale"),
}
_OTHER_NAMES = (
    "id",  # of the person or of the row: ambiguous, so it must be named with --columns
    "session",
    "document",
    "doc",
    "docid",
    "item",
    "items",
    "itemrank",
    "rank",
    "basket",
    "transaction",
)
# A name of one or two words; anything else may be a record, and is not shown.
_NAME = re.compile(r"[^\W\d][\w.#/-]*( [\w.#/()-]+)?")
_LONGEST_NAME = 64
_LONGEST_RUN = 4
_LONGEST_SHAPE = 60
_BETWEEN_WORDS = str.maketrans("", "", " _-")
_RUN = re.compile(r"(?P<sign>[aA9])(?P=sign)+| {2,}")


def parse_columns(text: str) -> dict[str, str]:
    """Read a column map such as ``"user=uid,query=q"``, or by number ``"user=1,query=2"``.

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
                f"columns names '{role}' twice: give one column for each of {', '.join(_ALL_ROLES)}"
            )
        columns[role] = name
    _check_roles(columns)
    return columns


def find_columns(
    found: Sequence[str],
    chosen: Mapping[str, str] | None,
    *,
    file: str,
    has_lines: bool = True,
    wanted: Sequence[str] = (),
) -> dict[str, int]:
    """Return the position of each role's column among the names `found` in `file`.

    A column that was chosen must be there; the others are guessed by their usual names, and `time`
    and `url` may be missing unless they are `wanted`. Of `MORE_ROLES` only those that are wanted are looked for, and the
    rank beside shown addresses. A table without lines has no line of names that could be missing.
    """
    chosen = chosen or {}
    _check_roles(chosen)
    names = [name.strip() for name in found]
    positions: dict[str, int] = {}
    for role in _roles_of_interest(chosen, wanted):
        places = _chosen_places(chosen[role], names) if role in chosen else _usual_places(role, names, chosen)
        if len(places) > 1:
            raise BadInputError(_ambiguous(role, len(places), file))
        if places:
            positions[role] = places[0]
        elif role in chosen or role in _REQUIRED or role in wanted:
            missing = _missing if has_lines else _missing_in_table
            raise BadInputError(missing(role, chosen.get(role), names, file))
    _check_different(positions, file)
    return positions


def _roles_of_interest(chosen: Mapping[str, str], wanted: Sequence[str]) -> list[str]:
    """Return the roles whose columns are looked for."""
    more = {*wanted, *chosen, *(("rank",) if "shown" in wanted else ())}
    return [*ROLES, *(role for role in MORE_ROLES if role in more)]


def are_numbers(chosen: Mapping[str, str] | None) -> bool:
    """Whether columns are chosen by number."""
    return bool(chosen) and all(name.isdecimal() for name in (chosen or {}).values())


def numbered_columns(
    chosen: Mapping[str, str], width: int, *, file: str, wanted: Sequence[str] = ()
) -> dict[str, int]:
    """Return the positions of columns that are chosen by number, from 1, in a file of `width` columns."""
    _check_roles(chosen)
    for role in (*_REQUIRED, *wanted):
        if role not in chosen:
            raise BadInputError(
                f"columns has no number for the {role}: give {option('columns', {'user': 1, 'query': 2} | ({role: 3} if role in wanted else {}))}"
            )
    for role, number in chosen.items():
        if not 1 <= int(number) <= width:
            raise BadInputError(f"{file} has {width} columns, and none of number {number} for the {role}")
    positions = {role: int(chosen[role]) - 1 for role in _ALL_ROLES if role in chosen}
    _check_different(positions, file)
    return positions


def recognisable(names: Sequence[str], chosen: Mapping[str, str] | None = None) -> bool:
    """Whether the names are a header that has the user and the query, by the names chosen or the usual ones."""
    folded = {_folded(name) for name in names}
    usual = _USUAL_NAMES | {role: (name,) for role, name in (chosen or {}).items()}
    return all(any(_folded(name) in folded for name in usual[role]) for role in _REQUIRED)


def is_other_column(one: str, two: str) -> bool:
    """Whether two names are those of different columns, however they are spelled."""
    return _folded(one) != _folded(two)


def is_usual_name(word: str) -> bool:
    """Whether a word is one that columns of logs are often called by."""
    usual = {*_OTHER_NAMES, *(name for names in _USUAL_NAMES.values() for name in names)}
    return _folded(word) in set(map(_folded, usual))


def _folded(name: str) -> str:
    """Return a name without what people write differently: case, blanks, underscores and hyphens."""
    return name.casefold().translate(_BETWEEN_WORDS)


def _places(wanted: str, names: Sequence[str], spelled: Callable[[str], str]) -> list[int]:
    return [place for place, name in enumerate(names) if name and spelled(name) == spelled(wanted)]


def _chosen_places(chosen: str, names: Sequence[str]) -> list[int]:
    """Return where the columns of a name are: spelled so, or if there is none in any case, or else in any spelling."""
    return (
        _places(chosen, names, str) or _places(chosen, names, str.casefold) or _places(chosen, names, _folded)
    )


def _usual_places(role: str, names: Sequence[str], chosen: Mapping[str, str]) -> list[int]:
    """Return where the first usual name of a role is that was not chosen as another role."""
    taken = {place for name in chosen.values() for place in _chosen_places(name, names)}
    left = ["" if place in taken else name for place, name in enumerate(names)]
    for spelled in (str.casefold, _folded):
        for usual in _USUAL_NAMES[role]:
            if places := _places(usual, left, spelled):
                return places
    return []


def _check_different(positions: Mapping[str, int], file: str) -> None:
    for role, place in positions.items():
        first = next(other for other, taken in positions.items() if taken == place)
        if first != role:
            raise BadInputError(
                f"columns names one column of {file} for the {first} and for the {role}: "
                f"give each its own ({option('columns', {first: 'NAME', role: 'NAME'})})"
            )


def _check_roles(columns: Mapping[str, str]) -> None:
    for role in columns:
        if role not in _ALL_ROLES:
            raise BadInputError(
                f"columns has no '{role}', only {', '.join(_ALL_ROLES)}{nearest(role, _ALL_ROLES)}"
            )


def _ambiguous(role: str, number: int, file: str) -> str:
    return (
        f"{file} has {number} columns of one name for the {role}: "
        f"rename all but one, or choose another ({option('columns', {role: 'NAME'})})"
    )


def _missing(role: str, chosen: str | None, names: Sequence[str], file: str) -> str:
    if len(names) == 1 or not all(_NAME.fullmatch(name) and len(name) <= _LONGEST_NAME for name in names):
        return (
            f"{file} seems to have no header line: add a first line with the names of the columns, "
            f"or number them ({option('columns', {'user': 1, 'query': 2})})"
        )
    if not any(map(_is_name_of_a_role, names)):  # then they may be a record
        return (
            f"{file} has {_lacks(role, chosen)}, and none with a usual name: found the shape '{shape_of(', '.join(names))}'; if that is "
            f"a record, number the columns ({option('columns', {'user': 1, 'query': 2})}), "
            f"else choose by name ({option('columns', {'user': 'NAME', 'query': 'NAME'})})"
        )
    return _listing(role, chosen, names, file)


def _missing_in_table(role: str, chosen: str | None, names: Sequence[str], file: str) -> str:
    """Say what is missing; names are shown only where one is usual, for else they may be a record that was taken for names."""
    if any(map(_is_name_of_a_role, names)) and all(map(_NAME.fullmatch, names)):
        return _listing(role, chosen, names, file)
    return f"{file} has {_lacks(role, chosen)}: choose with columns ({option('columns', {role: 'NAME'})})"


def _listing(role: str, chosen: str | None, names: Sequence[str], file: str) -> str:
    hint = nearest(chosen, names) if chosen else ""
    how = option("columns", {role: "NAME"})
    return f"{file} has {_lacks(role, chosen)}{hint}: found {', '.join(names)}; choose with columns ({how})"


def _lacks(role: str, chosen: str | None) -> str:
    return f"no column '{chosen}' for the {role}" if chosen else f"no column that looks like the {role}"


def _is_name_of_a_role(name: str) -> bool:
    return any(_folded(name) in map(_folded, usual) for usual in _USUAL_NAMES.values())


def shape_of(line: str) -> str:
    r"""Return a line with every letter as ``a`` or ``A``, every digit as ``9``, and long runs cut short.

    Blanks and ASCII punctuation stay, a tab is shown as ``\t``, and anything else becomes ``?``.

    Examples
    --------
    >>> shape_of("bob7|cats dog|2020-01-31")
    'aaa9|aaaa aaa|9999-99-99'
    """
    signs = "".join(map(_sign, line.strip("\r\n")))
    shape = _RUN.sub(lambda run: run.group()[: _LONGEST_RUN if run["sign"] else 1], signs).replace(
        "\t", "\\t"
    )
    return shape if len(shape) <= _LONGEST_SHAPE else shape[:_LONGEST_SHAPE] + "..."


def _sign(character: str) -> str:
    if character.isalpha():
        return "A" if character.isupper() else "a"
    if character.isdecimal():
        return "9"
    return character if character == "\t" or (character.isascii() and character.isprintable()) else "?"
