"""The formats of logs, and how they are recognised by the first lines."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from incrowd.errors import BadInputError, nearest, option
from incrowd.logs.formats.baskets import looks_like_baskets, looks_like_pairs
from incrowd.logs.formats.columns import find_columns, recognisable, shape_of
from incrowd.logs.formats.parquet import parquet_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from incrowd.logs.formats.source import Source

__all__ = ["AOL_WIDTHS", "FORMATS", "Layout", "choose_format", "find_layout"]

FORMATS = ("aol", "excite", "csv", "tsv", "jsonl", "parquet", "dat")

_AOL_HEADER = ("anonid", "query", "querytime")
_AOL_COLUMNS = {"user": 0, "query": 1, "time": 2, "url": 4}
AOL_WIDTHS = (5, 3)  # with and without the two columns of the click
_EXCITE_COLUMNS = {"user": 0, "time": 1, "query": 2}
_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*")
_EXCITE_TIME = re.compile(r"\d{12}")
_LINES_TO_LOOK_AT = 50
_CSV_DELIMITERS = ",;\t|"
_RECOGNISED_DELIMITERS = _CSV_DELIMITERS[
    :-1
]  # a bar occurs in queries too, so such a file needs --format csv


@dataclass(frozen=True)
class Layout:
    """How to read a log's rows.

    Parameters
    ----------
    format
        One of `FORMATS`.
    columns
        The position of each role's column, or its name where rows have keys.
    width
        How many fields a row has (delimited formats).
    delimiter
        What stands between them.
    quoted
        Whether fields may be quoted.
    header
        Whether the first row holds the names of the columns.
    names
        These names.
    """

    format: str
    columns: Mapping[str, int | str]
    width: int = 0
    delimiter: str = "\t"
    quoted: bool = False
    header: bool = False
    names: tuple[str, ...] = ()

    @property
    def column_names(self) -> dict[str, str]:
        """The name of each role's column, or its number from 1 where columns have no names."""
        return {
            role: self._name_at(place)
            for role, place in self.columns.items()
            if isinstance(place, str) or place < self.width
        }

    @property
    def has_times(self) -> bool:
        """Whether the log has the times of queries."""
        return "time" in self.columns

    def _name_at(self, place: int | str) -> str:
        if isinstance(place, str):
            return place
        return self.names[place].strip() if place < len(self.names) else f"{place + 1}"


def choose_format(source: Source, name: str, columns: Mapping[str, str] | None) -> str:
    """Return the named format, or for ``"auto"`` the one that the file looks like."""
    if name not in (*FORMATS, "auto"):
        known = ("auto", *FORMATS)
        raise BadInputError(f"format must be one of {', '.join(known)} (got '{name}'){nearest(name, known)}")
    if name == "parquet" and not source.is_parquet:
        raise BadInputError(
            f"{source.name} is not a Parquet file: choose another format ({option('format')})"
        )
    if source.is_parquet and name not in ("auto", "parquet"):
        raise BadInputError(
            f"{source.name} is a Parquet file: read it with format parquet ({option('format', 'parquet')})"
        )
    return _recognise(source, columns) if name == "auto" else name


def find_layout(source: Source, format_name: str, columns: Mapping[str, str] | None) -> Layout:
    """Return how a file is written, in the format that was named or for ``"auto"`` in the one that it looks like."""
    name = choose_format(source, format_name, columns)
    if name == "dat":
        if columns:
            raise BadInputError("columns cannot be chosen for format dat: it has none")
        return Layout("dat", {})
    if name in ("jsonl", "parquet"):
        keys = _json_keys(source) if name == "jsonl" else parquet_columns(source)
        positions = find_columns(keys, columns, file=source.name)
        return Layout(name, {role: keys[position] for role, position in positions.items()})
    return _delimited_layout(source, name, columns)


def _delimited_layout(source: Source, format_name: str, columns: Mapping[str, str] | None) -> Layout:
    """Return the layout of a file with one row a line (aol, excite, csv, tsv)."""
    if format_name in ("aol", "excite") and columns:
        raise BadInputError(
            f"columns cannot be chosen for format {format_name}: use format tsv ({option('format', 'tsv')})"
        )
    if format_name == "excite":
        return Layout("excite", _EXCITE_COLUMNS, width=3)
    lines = _first_lines(source)
    if format_name == "aol":
        header = _is_aol_header(lines[0])
        widths = [line.count("\t") + 1 for line in lines[1 if header else 0 :]]
        width = next((width for width in widths if width in AOL_WIDTHS), 5)
        return Layout(
            "aol",
            _AOL_COLUMNS,
            width=width,
            header=header,
            names=tuple(lines[0].split("\t")) if header else (),
        )
    delimiter = "\t" if format_name == "tsv" else _csv_delimiter(lines[0])
    names = _csv_header(lines, delimiter) if format_name == "csv" else lines[0].split(delimiter)
    if not recognisable(names, columns):
        source.check_encoding()  # names in another encoding would not be found
    positions = find_columns(names, columns, file=source.name)
    return Layout(
        format_name,
        positions,
        len(names),
        delimiter,
        quoted=format_name == "csv",
        header=True,
        names=tuple(names),
    )


def _json_keys(source: Source) -> list[str]:
    """Return the keys of the first JSON objects of a file, in order of appearance."""
    keys: dict[str, None] = {}
    for line in _first_lines(source):
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            continue
        if isinstance(row, dict):
            keys.update(dict.fromkeys(row))
    if not keys:
        raise BadInputError(
            f"{source.name} has no JSON object in its first lines: choose another format ({option('format')})"
        )
    return list(keys)


def _recognise(source: Source, columns: Mapping[str, str] | None) -> str:
    if source.is_parquet:
        return "parquet"
    lines = _first_lines(source)
    suffix = next((suffix for suffix in reversed(source.suffixes) if suffix not in (".gz", ".zst")), "")
    delimiter = _csv_delimiter(lines[0], _RECOGNISED_DELIMITERS)
    named = recognisable(_csv_header(lines, delimiter), columns)  # whether the first line is a header
    bare = not named and not columns
    looks_like = {
        "jsonl": lines[0].lstrip().startswith("{"),
        # By position, only if the first line is such a row: else it may name other columns in that order.
        "aol": not columns and (_is_aol_header(lines[0]) or (bare and _is_aol_row(lines[0]))),
        "excite": bare and _is_excite_row(lines[0]),
        "csv": suffix == ".csv" or (named and delimiter != "\t"),
        "tsv": suffix in (".tsv", ".tab") or named,
        "dat": looks_like_baskets(lines, suffix) and not looks_like_pairs(_head_lines(source)),
    }
    found = next((name for name, so in looks_like.items() if so), None)
    if found is None:
        source.check_encoding()
        raise BadInputError(
            f"{source.name} is in no format that incrowd recognises, its first line has the shape '{shape_of(lines[0])}': "
            f"name one of {', '.join(FORMATS)} ({option('format')}), and its columns where they have other names ({option('columns')})"
        )
    return found


def _first_lines(source: Source) -> list[str]:
    """Return some first lines that are not blank."""
    filled = [line for line in _head_lines(source)[:_LINES_TO_LOOK_AT] if line.strip()]
    if not filled:
        raise BadInputError(
            f"{source.name} starts with blank lines only: give a file that starts with records"
        )
    return filled


def _head_lines(source: Source) -> list[str]:
    """Return all whole lines of the file's head."""
    text = source.head.decode(errors="replace").removeprefix("\ufeff").replace("\r\n", "\n")
    lines = text.split("\n")
    if not source.is_whole and len(lines) > 1:
        lines.pop()  # it may be cut off
    return lines


def _is_aol_header(line: str) -> bool:
    return tuple(name.strip().casefold() for name in line.split("\t")[:3]) == _AOL_HEADER


def _is_aol_row(line: str) -> bool:
    fields = line.split("\t")
    return len(fields) in AOL_WIDTHS and bool(_ISO_TIME.fullmatch(fields[2].strip()))


def _is_excite_row(line: str) -> bool:
    fields = line.split("\t")
    return len(fields) == len(_EXCITE_COLUMNS) and bool(_EXCITE_TIME.fullmatch(fields[1].strip()))


def _csv_delimiter(line: str, delimiters: str = _CSV_DELIMITERS) -> str:
    return next((delimiter for delimiter in delimiters if delimiter in line), ",")


def _csv_header(lines: list[str], delimiter: str) -> list[str]:
    """Return the cells of the first record, which quotes may spread over several lines."""
    try:
        return next(csv.reader([line + "\n" for line in lines], delimiter=delimiter))
    except csv.Error:
        return [""]
