"""Tables of other libraries, and rows of Python, as Arrow: no library but pyarrow is imported for it.

A frame is anything with the Arrow PyCapsule interface (Polars, DuckDB, Arrow itself), a pandas DataFrame, a mapping of columns, or rows
with names. What is refused here is named by its row, never by its content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from math import isfinite
from numbers import Integral, Number, Real
from typing import Any

import pyarrow as pa

from incrowd.errors import BadInputError, option

__all__ = ["Frame", "frame_of", "list_frame", "list_of", "rows_in"]

BATCH_ROWS = 131_072
_NOT_ARROW = (pa.ArrowException, TypeError, ValueError, OverflowError)


@dataclass(frozen=True, eq=False)
class Frame:
    """A table of which some columns are read, some rows at a time.

    Parameters
    ----------
    names
        What the columns are called.
    batches
        Yields the columns at some positions, in that order, under their own names.
    rows
        How many rows it has; None where that is not known before they are read.
    """

    names: Sequence[str]
    batches: Callable[[Sequence[int]], Iterator[pa.RecordBatch]]
    rows: int | None = None

    def table(self) -> pa.Table:
        """Return all of it."""
        found = list(self.batches(range(len(self.names))))
        if not found:
            raise BadInputError("data has no rows: give some")
        return pa.Table.from_batches(found)


def frame_of(data: object, names: Sequence[str] | None = None) -> Frame | None:
    """Return data as a frame; None if it is none. `names` are those of the columns of rows that have none."""
    frame = _table_frame(data)
    return _row_frame(rows_in(data), names) if frame is None else _with_own_names(frame, names)


def _with_own_names(frame: Frame, names: Sequence[str] | None) -> Frame:
    if names is not None:
        raise BadInputError(f"data has the names of its columns: drop {option('names')}")
    return frame


def _table_frame(data: object) -> Frame | None:
    """Return a table of any library; None if data is none."""
    if _is_pandas(data):
        return _pandas_frame(data)
    if hasattr(data, "__arrow_c_stream__"):
        return _stream_frame(data)
    if hasattr(data, "__arrow_c_array__"):
        return _array_frame(data)
    if isinstance(data, Mapping):
        return _column_frame({str(name): _values(values) for name, values in data.items()})
    return None


def _row_frame(rows: Sequence[Any] | None, names: Sequence[str] | None) -> Frame | None:
    """Return rows with names as a frame; None if they have none."""
    if rows is not None and isinstance(rows[0], Mapping):
        return _with_own_names(_mapping_rows(rows), names)
    names = names or (rows and getattr(rows[0], "_fields", None))
    return _named_rows(rows, names) if rows and names else None


def rows_in(data: object) -> list[Any] | None:
    """Return the rows of an iterable that is no text; None if it is none. There must be a row."""
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        return None
    rows = list(data)
    if not rows:
        raise BadInputError("data has no rows: give some")
    return rows


def list_frame(rows: Sequence[object]) -> Frame:
    """Return lists of items as a frame of one column."""
    return _column_frame({"items": rows})


def list_of(value: object) -> list[Any] | None:
    """Return a value that holds several as a list (a set in the order of its texts); None if it is none."""
    if isinstance(value, AbstractSet):
        return sorted(value, key=str)
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        return None
    return list(value)


def _is_pandas(data: object) -> bool:
    return type(data).__module__.startswith("pandas.") and hasattr(data, "iloc") and hasattr(data, "columns")


def _pandas_frame(data: Any) -> Frame:
    """Return a pandas DataFrame; an index that has a name is a column."""
    if any(name is not None for name in data.index.names):
        data = data.reset_index(allow_duplicates=True)

    def column(position: int) -> pa.Array:
        values = data.iloc[:, position]
        try:
            return pa.array(values, from_pandas=True)
        except _NOT_ARROW:  # values of several types
            return _column(values.tolist(), str(data.columns[position]))

    return _frame_of_columns([str(name) for name in data.columns], column, len(data))


def _stream_frame(data: Any) -> Frame:
    """Return what streams record batches."""
    try:
        reader = pa.RecordBatchReader.from_stream(data)
    except _NOT_ARROW as error:
        raise _not_a_table(error) from None
    return Frame(list(reader.schema.names), partial(_chosen, reader), getattr(data, "num_rows", None))


def _array_frame(data: Any) -> Frame:
    """Return a struct array or a record batch."""
    try:
        batch = pa.record_batch(data)
    except _NOT_ARROW as error:
        raise _not_a_table(error) from None
    return Frame(list(batch.schema.names), partial(_chosen, [batch]), batch.num_rows)


def _chosen(batches: Iterable[pa.RecordBatch], positions: Sequence[int]) -> Iterator[pa.RecordBatch]:
    try:
        for batch in batches:
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS).select(list(positions))
    except pa.ArrowException as error:
        raise _not_a_table(error) from None


def _not_a_table(error: Exception) -> BadInputError:
    return BadInputError(
        f"data cannot be read as a table ({type(error).__name__}): give rows with named columns"
    )


def _mapping_rows(rows: Sequence[Any]) -> Frame:
    """Return mappings of names to values; a name that a row lacks has no value there."""
    _check_rows(rows, lambda row: isinstance(row, Mapping), "is no mapping, as the first row is")
    names = dict.fromkeys(name for row in rows for name in row)
    return _column_frame({str(name): [row.get(name) for row in rows] for name in names})


def _named_rows(rows: Sequence[Any], names: Sequence[str]) -> Frame:
    """Return rows of as many values as there are names."""
    width = len(names)
    is_row = [list_of(row) for row in rows]
    _check_rows(
        is_row,
        lambda row: row is not None and len(row) == width,
        f"has not {width} values, as {option('names')} has",
    )
    return _column_frame(
        {str(name): [row[place] for row in is_row if row] for place, name in enumerate(names)}
    )


def _check_rows(rows: Sequence[Any], is_good: Callable[[Any], bool], problem: str) -> None:
    bad = next((number for number, row in enumerate(rows, 1) if not is_good(row)), None)
    if bad is not None:
        raise BadInputError(f"row {bad:,} of data {problem}: give rows of one kind")


def _values(column: Any) -> Sequence[object] | pa.Array:
    """Return the values of a column: as Arrow where a library has them in arrays."""
    if isinstance(column, (str, bytes)) or not isinstance(column, Iterable):
        raise BadInputError(
            "data is a mapping, and not each of its values is a column: give lists of values, or rows as [{...}, {...}]"
        )
    if isinstance(column, (list, tuple)):
        return column
    try:
        found = pa.array(column, from_pandas=True)
    except _NOT_ARROW:
        return list(column)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _column_frame(columns: Mapping[str, Sequence[object] | pa.Array]) -> Frame:
    """Return columns of Python values."""
    names, values = list(columns), list(columns.values())
    if len({len(column) for column in values}) != 1:
        raise BadInputError("the columns of data are not of one length: give every row a value, or None")
    return _frame_of_columns(
        names, lambda position: _column(values[position], names[position]), len(values[0])
    )


def _frame_of_columns(names: list[str], column: Callable[[int], pa.Array], rows: int) -> Frame:
    def batches(positions: Sequence[int]) -> Iterator[pa.RecordBatch]:
        table = pa.table([column(place) for place in positions], names=[names[place] for place in positions])
        yield from table.to_batches(BATCH_ROWS)

    return Frame(names, batches, rows)


def _column(values: Sequence[object] | pa.Array, name: str) -> pa.Array:
    """Return values as texts, or lists as lists of texts; what is neither is refused with its row. Arrow's stay as they are."""
    if isinstance(values, pa.Array):
        return values
    lists = [list_of(value) for value in values]
    if any(value is not None for value in lists):
        texts = [
            None if value is None else [_text(each, row, name) for each in value]
            for row, value in enumerate(lists, 1)
        ]
        return pa.array(texts, pa.list_(pa.string()))
    return pa.array([_text(value, row, name) for row, value in enumerate(values, 1)], pa.string())


def _text(value: object, row: int, name: str) -> str | None:
    """Return a value as text, None where there is none: numbers as Arrow writes them, times as ISO 8601."""
    if value is None or _is_missing(value):
        return None
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, str):  # half of a pair of surrogates is no character
        return (
            value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    if isinstance(value, (Number, date, datetime)):
        return _written(value, row, name)
    raise BadInputError(
        f"row {row:,} of data has a {type(value).__name__} in column '{name}': give text, numbers, times or None"
    )


def _written(value: Any, row: int, name: str) -> str:
    """Return a number or a time as text."""
    try:
        return str(int(value) if _is_whole(value) else value)
    except (ValueError, OverflowError):  # Python writes no number of thousands of digits
        raise BadInputError(
            f"row {row:,} of data has a number in column '{name}' that is too long to write: give it as text"
        ) from None


def _is_whole(value: Any) -> bool:
    """Tell whether a number with a fraction is a whole one: 7.0 and Decimal("7.00") are the number 7."""
    has_fraction = isinstance(value, (Real, Decimal)) and not isinstance(value, Integral)
    return has_fraction and isfinite(value) and bool(value == int(value))


def _is_missing(value: object) -> bool:
    """Tell whether a value stands for none: NaN, and the like of other libraries, which equal nothing."""
    try:
        return bool(value != value)  # noqa: PLR0124 - this is what they have in common
    except (TypeError, ArithmeticError):
        return True
