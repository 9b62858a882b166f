"""Rows of a Parquet file; a row's number stands for its line number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incrowd.core.types import Ints64
from incrowd.errors import BadInputError
from incrowd.logs.formats.rows import Rows, rows_from

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from incrowd.logs.formats.detect import Layout
    from incrowd.logs.formats.source import Source

__all__ = ["as_text", "parquet_columns", "read_parquet", "rows_of"]

_BATCH_ROWS = 131_072
_BEYOND_INT64 = 2.0**63


def parquet_columns(source: Source) -> list[str]:
    """Return the names of a Parquet file's columns."""
    try:
        return list(pq.read_schema(source.path).names)
    except (pa.ArrowException, OSError):
        raise _damaged(source, 0) from None


def read_parquet(source: Source, layout: Layout, progress: Callable[[int], None]) -> Iterator[Rows]:
    """Yield the file's rows; `progress` is called with the approximate number of bytes done."""
    done = 0
    names = {role: str(name) for role, name in layout.columns.items()}
    try:
        with pq.ParquetFile(source.path) as file:
            for batch in file.iter_batches(_BATCH_ROWS, columns=list(dict.fromkeys(names.values()))):
                yield rows_of(batch, names, np.arange(done + 1, done + len(batch) + 1))
                done += len(batch)
                progress(source.size * done // max(file.metadata.num_rows, 1))
    except (pa.ArrowException, OSError):
        raise _damaged(source, done) from None


def rows_of(batch: pa.RecordBatch, names: Mapping[str, str], lines: Ints64) -> Rows:
    """Return rows with these line numbers; `names` are the columns of each role."""
    columns = {role: _READERS.get(role, as_text)(batch.column(name), name) for role, name in names.items()}

    def text_of(rows: Ints64) -> Sequence[str]:
        return [str(row) for row in batch.take(pa.array(rows)).to_pylist()]

    return rows_from(lines, columns, text_of)


def as_text(column: pa.Array, name: str) -> pa.StringArray:
    """Return a column as text, empty where there is none."""
    try:
        if pa.types.is_floating(column.type):
            return pc.fill_null(_written_out(column), "")
        texts = pc.fill_null(pc.cast(column, pa.string()), "")
        texts.validate(full=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise BadInputError(
            f"column '{name}' is not text in UTF-8 (it is {str(column.type).partition('<')[0]}): convert it first"
        ) from None
    return texts


def _written_out(column: pa.Array) -> pa.StringArray:
    """Return floating numbers as text, whole ones as a column of integers has them and not as 4.9e+10; NaN is none."""
    numbers = pc.cast(column, pa.float64())
    numbers = pc.if_else(pc.is_nan(numbers), None, numbers)
    is_whole = pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), _BEYOND_INT64))
    whole = pc.cast(pc.if_else(is_whole, numbers, None), pa.int64())
    return pc.coalesce(pc.cast(whole, pa.string()), pc.cast(numbers, pa.string()))


def _as_times(column: pa.Array, name: str) -> pa.Int64Array | pa.StringArray:
    """Return seconds since 1970 where the column holds times, else its text."""
    if pa.types.is_date(column.type):
        column = pc.cast(column, pa.timestamp("s"))
    if pa.types.is_timestamp(column.type):
        return pc.cast(pc.floor_temporal(column, unit="second"), pa.timestamp("s", column.type.tz)).cast(
            pa.int64()
        )
    if pa.types.is_duration(column.type) or isinstance(column.type, pa.BaseExtensionType):
        raise BadInputError(
            f"column '{name}' holds no times (it is {str(column.type).partition('[')[0].partition('<')[0]}): convert it to timestamps first"
        )
    return as_text(column, name)


def _addresses(column: pa.Array, name: str) -> pa.StringArray:
    """Return shown addresses with blanks between them: texts, or lists of texts."""
    if pa.types.is_list(column.type) and pa.types.is_string(column.type.value_type):
        return pc.fill_null(pc.binary_join(column, " "), "")
    return as_text(column, name)


_READERS: Mapping[str, Callable[[pa.Array, str], pa.Array]] = {"time": _as_times, "shown": _addresses}


def _damaged(source: Source, row: int) -> BadInputError:
    return BadInputError(
        f"{source.name} is damaged or cut short after row {row:,}: get a whole copy of the file"
    )
