"""Rows of fields between delimiters: AOL, Excite, Sogou, CSV, TSV."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv

from incrowd.core.types import Ints64
from incrowd.logs.formats.detect import AOL_WIDTHS, Layout
from incrowd.logs.formats.rows import Rows, rows_from
from incrowd.logs.formats.sogou import without_brackets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from incrowd.logs.formats.blocks import Block
    from incrowd.logs.rejects import Rejects

__all__ = ["DelimitedParser"]


class DelimitedParser:
    """Parses blocks of delimited rows.

    Parameters
    ----------
    layout
        How the rows are written.
    rejects
        Where rows with a wrong number of fields go.
    """

    def __init__(self, layout: Layout, rejects: Rejects) -> None:
        self._layout = layout
        self._rejects = rejects
        self._positions = {role: int(at) for role, at in layout.columns.items() if int(at) < layout.width}

    def parse(self, block: Block) -> Iterator[Rows]:
        """Yield the rows with the right number of fields."""
        odd: list[tuple[int, int]] = []  # (record, number of fields) of the others

        def note(row: pv.InvalidRow) -> str:
            odd.append((row.number - 1, row.actual_columns))
            return "skip"

        fields = self._read_fields(block.data, note)
        if not odd:
            yield self._rows(block, fields, block.lines)
            return
        records, widths = np.array(odd, dtype=np.int64).T
        regular = block.take(np.delete(np.arange(len(block)), records)) if self._rejects.keep_text else block
        yield self._rows(regular, fields, np.delete(block.lines, records))
        yield from self._parse_odd(block, records, widths)

    def _parse_odd(self, block: Block, records: Ints64, widths: Ints64) -> Iterator[Rows]:
        """Read AOL rows with or without the columns of the click, and reject the rest."""
        layout = self._layout
        for width in np.unique(widths).tolist():
            chosen = block.take(records[widths == width])
            if layout.format == "aol" and width in AOL_WIDTHS:
                yield from DelimitedParser(replace(layout, width=width), self._rejects).parse(chosen)
            else:
                reason = f"{width} fields, not {layout.width}"
                self._rejects.add_many(chosen.lines, reason, chosen.texts())

    def _read_fields(self, data: bytes, note: Callable[[pv.InvalidRow], str]) -> pa.Table:
        layout = self._layout
        names = [str(position) for position in range(layout.width)]
        return pv.read_csv(
            pa.BufferReader(data),
            read_options=pv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
            parse_options=pv.ParseOptions(
                delimiter=layout.delimiter,
                quote_char='"' if layout.quoted else False,
                newlines_in_values=layout.quoted,
                ignore_empty_lines=False,
                invalid_row_handler=note,
            ),
            convert_options=pv.ConvertOptions(
                check_utf8=False,  # the blocks are clean
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=[str(position) for position in self._positions.values()],
            ),
        ).combine_chunks()

    def _rows(self, block: Block, fields: pa.Table, lines: Ints64) -> Rows:
        columns = {role: _one_array(fields.column(str(at))) for role, at in self._positions.items()}
        if self._layout.format == "sogou":
            columns["query"] = without_brackets(columns["query"])

        def text_of(rows: Ints64) -> Sequence[str]:
            return block.take(rows).texts()

        return rows_from(lines, columns, text_of)


def _one_array(column: pa.ChunkedArray) -> pa.StringArray:
    return column.chunk(0) if column.num_chunks else pa.array([], pa.string())
