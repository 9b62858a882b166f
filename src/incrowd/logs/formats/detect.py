"""The formats of logs, and how they are recognised by the first lines."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from incrowd.errors import BadInputError, option
from incrowd.logs.form import FORMATS, InputForm
from incrowd.logs.formats.access import ACCESS_FIELDS, is_access_row, usual_access_columns
from incrowd.logs.formats.baskets import looks_like_baskets, looks_like_pairs
from incrowd.logs.formats.columns import (
    are_numbers,
    find_columns,
    is_usual_name,
    numbered_columns,
    recognisable,
    shape_of,
)
from incrowd.logs.formats.json_array import first_objects, looks_like_array
from incrowd.logs.formats.parquet import parquet_columns
from incrowd.logs.formats.sogou import SOGOU_WIDTHS, is_sogou_row, sogou_columns
from incrowd.logs.formats.time_styles import check_times_said
from incrowd.logs.formats.times import EXCITE, Times

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from incrowd.logs.formats.source import Source

__all__ = ["AOL_WIDTHS", "Layout", "choose_format", "find_layout"]

_AOL_HEADER = ("anonid", "query", "querytime")
_AOL_COLUMNS = {"user": 0, "query": 1, "time": 2, "url": 4}
AOL_WIDTHS = (5, 3)  # with and without the two columns of the click
_EXCITE_COLUMNS = {"user": 0, "time": 1, "query": 2}
_BY_POSITION = ("aol", "excite", "sogou")
_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*")
_EXCITE_TIME = re.compile(r"\d{12}")
_LINES_TO_LOOK_AT = 50
_STEADY_DELIMITERS = "\t,;|"
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
    times
        How the times are written.
    lines_alone
        Whether every line is a record, and quotes that it does not close are its own matter.
    """

    format: str
    columns: Mapping[str, int | str]
    width: int = 0
    delimiter: str = "\t"
    quoted: bool = False
    header: bool = False
    names: tuple[str, ...] = ()
    times: Times = Times()  # noqa: RUF009 - it never changes
    lines_alone: bool = False

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


def choose_format(source: Source, form: InputForm) -> str:
    """Return the named format, or for ``"auto"`` the one that the file looks like."""
    name = form.format
    if name == "parquet" and not source.is_parquet:
        raise BadInputError(
            f"{source.name} is not a Parquet file: choose another format ({option('format')})"
        )
    if source.is_parquet and name not in ("auto", "parquet"):
        raise BadInputError(
            f"{source.name} is a Parquet file: read it with format parquet ({option('format', 'parquet')})"
        )
    if source.is_parquet and form.delimiter is not None:
        raise BadInputError(
            f"{source.name} is a Parquet file, whose fields have no delimiter: drop {option('delimiter')}"
        )
    return _recognise(source, form) if name == "auto" else name


def find_layout(source: Source, form: InputForm) -> Layout:
    """Return how a file is written, but for its times: in the format that was named or for ``"auto"`` in the one that it looks like."""
    name = choose_format(source, form)
    if name == "dat":
        if form.columns or form.time_format or form.day:
            raise BadInputError("columns and times cannot be chosen for format dat: it has none")
        return Layout("dat", {})
    layout = replace(_layout_of_rows(source, name, form), lines_alone=form.by_first_lines)
    check_times_said(source.name, form, has_times=layout.has_times)
    return layout


def _layout_of_rows(source: Source, name: str, form: InputForm) -> Layout:
    if name in ("json", "jsonl", "parquet"):
        keys = parquet_columns(source) if name == "parquet" else _json_keys(source, name)
        positions = find_columns(keys, form.columns, file=source.name, wanted=form.wanted)
        return Layout(name, {role: keys[position] for role, position in positions.items()})
    lines = _first_lines(source)
    if name in _BY_POSITION and form.columns:
        raise BadInputError(
            f"columns cannot be chosen for format {name}: use format tsv ({option('format', 'tsv')})"
        )
    if name == "apache":
        usual = usual_access_columns(lines)
        said = {**usual, **(form.columns or {})}
        chosen = find_columns(ACCESS_FIELDS, said, file=source.name, wanted=form.wanted)
        return Layout("apache", {role: ACCESS_FIELDS[position] for role, position in chosen.items()})
    if name == "excite":
        _check_has(source, name, _EXCITE_COLUMNS, form)
        return Layout("excite", _EXCITE_COLUMNS, width=3, times=Times(EXCITE))
    if name == "sogou":
        width = _usual_width(lines, SOGOU_WIDTHS)
        _check_has(source, name, sogou_columns(width), form)
        return Layout("sogou", sogou_columns(width), width=width)
    if name == "aol":
        header = _is_aol_header(lines[0])
        _check_has(source, "aol", _AOL_COLUMNS, form)
        width = _usual_width(lines[1 if header else 0 :], AOL_WIDTHS)
        names = tuple(lines[0].split("\t")) if header else ()
        return Layout("aol", _AOL_COLUMNS, width=width, header=header, names=names)
    return _delimited_layout(source, name, lines, form)


def _check_has(source: Source, name: str, columns: Mapping[str, int], form: InputForm) -> None:
    """Refuse a format whose columns are always the same where others are wanted."""
    lacking = next((role for role in form.wanted if role not in columns), None)
    if lacking is not None:
        raise BadInputError(
            f"{source.name} is read as {name}, which has no column for the {lacking}: drop that kind ({option('kinds')}), "
            f"or read it by its names of columns ({option('format', 'tsv')})"
        )


def _usual_width(lines: Sequence[str], widths: tuple[int, ...]) -> int:
    """Return how many fields the first line has that has a possible number of them."""
    found = (line.count("\t") + 1 for line in lines)
    return next((width for width in found if width in widths), widths[0])


def _delimited_layout(source: Source, format_name: str, lines: list[str], form: InputForm) -> Layout:
    """Return the layout of a file with any columns (csv, tsv)."""
    quoted = format_name == "csv"
    delimiter = form.delimiter or (_csv_delimiter(lines[0]) if quoted else "\t")
    names = _csv_header(lines, delimiter) if quoted else lines[0].split(delimiter)
    if not recognisable(names, form.columns):
        source.check_encoding()  # names in another encoding would not be found
        if are_numbers(form.columns):
            return _numbered_layout(source, format_name, lines, form)
    positions = find_columns(names, form.columns, file=source.name, wanted=form.wanted)
    return Layout(
        format_name, positions, len(names), delimiter, quoted=quoted, header=True, names=tuple(names)
    )


def _numbered_layout(source: Source, format_name: str, lines: list[str], form: InputForm) -> Layout:
    """Return the layout of a file whose columns are chosen by number; usual names in them are a header."""
    quoted = format_name == "csv"
    delimiter = form.delimiter or (_steady_delimiter(lines) if quoted else "\t")
    if delimiter is None:
        raise BadInputError(
            f"no character separates as many fields in each of the first lines of {source.name}: name it ({option('delimiter')})"
        )
    cells = _csv_header(lines, delimiter) if quoted else lines[0].split(delimiter)
    positions = numbered_columns(form.columns or {}, len(cells), file=source.name, wanted=form.wanted)
    header = all(is_usual_name(cells[position].strip()) for position in positions.values())
    names = tuple(cells) if header else ()
    return Layout(format_name, positions, len(cells), delimiter, quoted=quoted, header=header, names=names)


def _json_keys(source: Source, format_name: str) -> list[str]:
    """Return the keys of the first JSON objects of a file, in order of appearance."""
    is_array = format_name == "json"
    keys: dict[str, None] = {}
    rows: Sequence[str | bytes] = []
    if is_array == looks_like_array(source.head):
        rows = first_objects(source.head) if is_array else _first_lines(source)
    for text in rows:
        try:
            row = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(row, dict):
            keys.update(dict.fromkeys(row))
    if not keys:
        where = "as an array" if is_array else "in its first lines"
        raise BadInputError(
            f"{source.name} has no JSON object {where}: choose another format ({option('format')})"
        )
    return list(keys)


def _recognise(source: Source, form: InputForm) -> str:
    if source.is_parquet:
        return "parquet"
    columns = form.columns
    lines = _first_lines(source)
    if form.delimiter is not None:
        return "tsv" if form.delimiter == "\t" else "csv"
    suffix = next((suffix for suffix in reversed(source.suffixes) if suffix not in (".gz", ".zst")), "")
    delimiter = _csv_delimiter(lines[0], _RECOGNISED_DELIMITERS)
    named = recognisable(_csv_header(lines, delimiter), columns)  # whether the first line is a header
    steady = _steady_delimiter(lines) if are_numbers(columns) and not named else None
    bare = not named and not columns
    looks_like = {
        "jsonl": lines[0].lstrip().startswith("{"),
        "json": looks_like_array(source.head),
        "apache": 2 * sum(map(is_access_row, lines)) > len(lines),
        # By position, only if the first line is such a row: else it may name other columns in that order.
        "aol": not columns and (_is_plain_aol_header(lines[0]) or (bare and _is_aol_row(lines[0]))),
        "excite": bare and _is_excite_row(lines[0]),
        "sogou": bare and is_sogou_row(lines[0]),
        "csv": suffix == ".csv" or (named and delimiter != "\t") or steady not in (None, "\t"),
        "tsv": suffix in (".tsv", ".tab") or named or steady == "\t",
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


def _is_plain_aol_header(line: str) -> bool:
    """Whether a line names AOL's columns, and no further ones: a file with more is read by their names."""
    named = [name for name in line.split("\t") if name.strip()]
    return _is_aol_header(line) and len(named) <= max(AOL_WIDTHS)


def _is_aol_row(line: str) -> bool:
    fields = line.split("\t")
    return len(fields) in AOL_WIDTHS and bool(_ISO_TIME.fullmatch(fields[2].strip()))


def _is_excite_row(line: str) -> bool:
    fields = line.split("\t")
    return len(fields) == len(_EXCITE_COLUMNS) and bool(_EXCITE_TIME.fullmatch(fields[1].strip()))


def _csv_delimiter(line: str, delimiters: str = _CSV_DELIMITERS) -> str:
    return next((delimiter for delimiter in delimiters if delimiter in line), ",")


def _steady_delimiter(lines: list[str]) -> str | None:
    """Return what separates as many fields in each of some lines: where no header says so, one line proves nothing."""
    for delimiter in _STEADY_DELIMITERS:
        try:
            widths = {len(row) for row in csv.reader([line + "\n" for line in lines], delimiter=delimiter)}
        except csv.Error:
            continue
        if len(widths) == 1 and widths != {1}:
            return delimiter
    return None


def _csv_header(lines: list[str], delimiter: str) -> list[str]:
    """Return the cells of the first record, which quotes may spread over several lines."""
    try:
        return next(csv.reader([line + "\n" for line in lines], delimiter=delimiter))
    except csv.Error:
        return [""]
