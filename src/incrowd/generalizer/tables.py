"""Reading the auxiliary table (what an outsider may know about people) and ladders of coarser values from files.

Errors name the file and the row or the column, never the content of a cell.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from incrowd.core.atomic import atomic_write, check_free
from incrowd.errors import BadInputError, check_least, nearest
from incrowd.generalizer.schema import AuxiliaryTable, encode, schema_of, text_of
from incrowd.generalizer.synthetic import synthetic_loans

__all__ = ["load_auxiliary", "read_ladder", "read_table", "write_synthetic_table"]

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".data": ","}
_TOP = "*"
# Numbers that read back as they were written: a zip code such as 01234 is not one of them.
_WHOLE_NUMBER = r"^(0|-?[1-9][0-9]{0,17})$"
_WORDS = pa.dictionary(pa.int32(), pa.string())


def load_auxiliary(
    file: Path,
    *,
    names: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    ladders: Mapping[str, Path] | None = None,
) -> AuxiliaryTable:
    """Load an auxiliary table.

    Parameters
    ----------
    file
        The table, as `read_table` reads it.
    names
        The attributes to use, in the schema's order; every column if absent or empty.
    columns
        The names of all columns of a text file that has no header.
    domains
        The values of an attribute where they are more than those that occur.
    ladders
        For an attribute: the file of its ladder, as `read_ladder` reads it.
    """
    file = Path(file)
    coarser = {name: read_ladder(ladder) for name, ladder in (ladders or {}).items()}
    table = read_table(file, names=columns or None, only=names or None)
    if not table.num_rows:
        raise BadInputError(f"{file}: has no rows; give a table with people in it")
    fitted = {}
    for name, domain in (domains or {}).items():
        table, fitted[name] = _fit(table, name, domain)
    try:
        schema = schema_of(table, domains=fitted, ladders=coarser)
        return encode(table, schema)
    except BadInputError as error:
        raise BadInputError(f"{file}: {error}") from None


def write_synthetic_table(file: Path, *, rows: int, seed: int = 0, overwrite: bool = False) -> None:
    """Write a synthetic table of loan applicants atomically."""
    check_least("loans", rows)
    if file.suffix not in {".csv", ".parquet"}:
        raise BadInputError(f"{file}: a table is written as .csv or .parquet; name it so")
    check_free(file, force=overwrite, ours=Path.is_file, what="table")
    table = synthetic_loans(rows, seed)
    with atomic_write(file, replaces=Path.is_file if overwrite else None) as draft:
        if file.suffix == ".csv":
            pacsv.write_csv(table, draft)
        else:
            pq.write_table(table, draft)


def read_table(
    file: Path, *, names: Sequence[str] | None = None, only: Sequence[str] | None = None
) -> pa.Table:
    """Read a ``.parquet`` file, or text with a row a line: ``.csv``, ``.tsv``, and ``.data`` without a header.

    Text may be compressed (``.gz``). Spaces around a value are removed, an empty value is missing, and a column of
    whole numbers is read as numbers; everything else is text.

    Parameters
    ----------
    file
        The file.
    names
        The names of all columns of a text file that has no header.
    only
        The columns that are wanted, in this order; all of them if absent.
    """
    file = Path(file)
    kind = Path(file.stem).suffix if file.suffix == ".gz" else file.suffix
    with _readable(file):
        if kind == ".parquet" and file.suffix != ".gz":
            return _read_parquet(file, only)
        if kind in _DELIMITERS:
            return _read_text(file, kind, names, only)
    raise BadInputError(f"{file}: must end in .parquet, .csv, .tsv or .data (text also with .gz); convert it")


def read_ladder(file: Path) -> dict[str, tuple[str, ...]]:
    """Read a ladder: each line has a value and its coarser values, finest first.

    They are separated by ``;``, a tab or ``,``. A last column that contains only ``*`` is left out: it means "don't
    care", which is the top of every ladder.
    """
    file = Path(file)
    with _readable(file), _open_text(file) as lines:
        first = lines.readline()
        lines.seek(0)
        delimiter = next((sign for sign in ";\t" if sign in first), ",")
        rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
        numbered = [(rows.line_num, [cell.strip() for cell in row]) for row in rows if row]
    if not numbered:
        raise BadInputError(f"{file}: is empty; give a line for each value, such as Essex;Massachusetts")
    _check_ladder(file, numbered)
    end = -1 if all(row[-1] == _TOP for _, row in numbered) else None
    return {row[0]: tuple(row[1:end]) for _, row in numbered}


def _check_ladder(file: Path, numbered: Sequence[tuple[int, list[str]]]) -> None:
    seen: dict[str, int] = {}
    width = len(numbered[0][1])
    for line, row in numbered:
        if len(row) != width or width == 1:
            raise BadInputError(
                f"{file}: line {line}: has {len(row)} fields; give every value the same number of coarser values, at least one"
            )
        if not all(row):
            raise BadInputError(f"{file}: line {line}: field {row.index('') + 1} is empty; fill it")
        if row[0] in seen:
            raise BadInputError(
                f"{file}: line {line}: the value is the same as in line {seen[row[0]]}; keep one"
            )
        seen[row[0]] = line


@contextlib.contextmanager
def _readable(file: Path) -> Iterator[None]:
    """Turn the errors of reading a file into one line."""
    if file.is_dir():
        raise BadInputError(f"{file}: is a directory; give a file")
    try:
        yield
    except FileNotFoundError:
        raise BadInputError(f"{file}: does not exist; give a file that is there") from None
    except PermissionError:
        raise BadInputError(f"{file}: may not be read; check its permissions") from None
    except UnicodeDecodeError:
        raise BadInputError(f"{file}: is not UTF-8 text; convert it, as with iconv -t UTF-8") from None
    except csv.Error:
        raise BadInputError(f"{file}: cannot be read as lines of fields; check its quotes") from None
    except (OSError, EOFError, pa.ArrowException):
        raise BadInputError(
            f"{file}: is damaged or does not have the format that its name says; write it again"
        ) from None


def _read_parquet(file: Path, only: Sequence[str] | None) -> pa.Table:
    schema = pq.read_schema(file)
    wanted = _wanted(file, schema.names, only)
    texts = [name for name in wanted if pa.types.is_string(schema.field(name).type)]
    return pq.read_table(file, columns=wanted, read_dictionary=texts).select(wanted)


def _read_text(file: Path, kind: str, names: Sequence[str] | None, only: Sequence[str] | None) -> pa.Table:
    delimiter = _DELIMITERS[kind]
    if names is None and kind == ".data":
        raise BadInputError(f"{file}: has no header; name its columns")
    header = list(names) if names else _header(file, delimiter)
    wanted = _wanted(file, header, only)
    if len(set(header)) < len(header):
        raise BadInputError(f"{file}: two columns have the same name; rename one")
    reading = pacsv.ReadOptions(column_names=header, skip_rows=0 if names else 1)
    converting = pacsv.ConvertOptions(
        column_types=dict.fromkeys(header, _WORDS), include_columns=wanted, quoted_strings_can_be_null=True
    )
    try:
        table = pacsv.read_csv(file, reading, pacsv.ParseOptions(delimiter=delimiter), converting)
    except pa.ArrowInvalid:
        raise _first_bad_row(file, reading, delimiter, converting) from None
    return pa.table([_tidy(column) for column in table.columns], names=wanted)


def _first_bad_row(
    file: Path, reading: pacsv.ReadOptions, delimiter: str, converting: pacsv.ConvertOptions
) -> BadInputError:
    """Read again without threads to find the bad row: Arrow's own message would quote it."""
    found = []

    def note(row: pacsv.InvalidRow) -> str:
        found.append(
            f"row {row.number}: has {row.actual_columns} values instead of {row.expected_columns}; correct it"
        )
        return "error"

    reading.use_threads = False
    parsing = pacsv.ParseOptions(delimiter=delimiter, invalid_row_handler=note)
    with contextlib.suppress(pa.ArrowInvalid):
        pacsv.read_csv(file, reading, parsing, converting)
    return BadInputError(
        f"{file}: {found[0] if found else 'is not UTF-8 text; convert it, as with iconv -t UTF-8'}"
    )


def _header(file: Path, delimiter: str) -> list[str]:
    with _open_text(file) as lines:
        header = [name.strip() for name in next(csv.reader(lines, delimiter=delimiter), [])]
    if not header:
        raise BadInputError(
            f"{file}: is empty or begins with an empty line; name the columns in its first line"
        )
    if "" in header:
        raise BadInputError(f"{file}: column {header.index('') + 1} has no name; name it in the first line")
    return header


def _wanted(file: Path, header: Sequence[str], only: Sequence[str] | None) -> list[str]:
    for name in only or ():
        if name not in header:
            raise BadInputError(
                f"{file}: has no column '{name}'; there are {', '.join(header)}{nearest(name, header)}"
            )
    return list(only or header)


def _open_text(file: Path) -> TextIO:
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding="utf-8-sig", newline="")
    return file.open(encoding="utf-8-sig", newline="")


def _tidy(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Trim the words of a column; treat empty ones as missing, and whole numbers as numbers."""
    column = column.unify_dictionaries()
    if not column.num_chunks:
        return column
    trimmed = pc.utf8_trim_whitespace(column.chunk(0).dictionary)
    words = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
    if len(words) and pc.all(pc.match_substring_regex(words, _WHOLE_NUMBER)).as_py():
        words = words.cast(pa.int64())
    chunks = [pa.DictionaryArray.from_arrays(chunk.indices, words) for chunk in column.chunks]
    tidy = pa.chunked_array(chunks)
    # Where trimming made words equal or empty, only plain values are counted correctly.
    return tidy.cast(words.type) if words.null_count or len(words.unique()) < len(words) else tidy


def _fit(table: pa.Table, name: str, domain: Sequence[Any]) -> tuple[pa.Table, list[Any]]:
    """Convert a column and its domain to text if one of them is text, as in 1, 2, unknown."""
    if name not in table.column_names:
        return table, list(domain)
    kind = table.column(name).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_integer(kind) and any(isinstance(value, str) for value in domain):
        words = table.column(name).cast(kind).cast(pa.string())
        table, kind = table.set_column(table.column_names.index(name), name, words), words.type
    return table, [text_of(value) for value in domain] if pa.types.is_string(kind) else list(domain)
