"""Text files of any format: how their records are cut apart, and the rows that are in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.logs.formats.access import AccessParser
from incrowd.logs.formats.blocks import BLOCK_BYTES, Block, BlockCutter
from incrowd.logs.formats.delimited import DelimitedParser
from incrowd.logs.formats.json_array import ArrayCutter
from incrowd.logs.formats.jsonl import JsonParser
from incrowd.logs.formats.rows import BLANK_LINE, Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from incrowd.logs.formats.detect import Layout
    from incrowd.logs.rejects import Rejects

__all__ = ["cutter_of", "parse_blocks"]


Parser = DelimitedParser | JsonParser | AccessParser
_PARSERS: dict[str, type[Parser]] = {"jsonl": JsonParser, "json": JsonParser, "apache": AccessParser}


def cutter_of(
    layout: Layout, rejects: Rejects, *, name: str, block_bytes: int = BLOCK_BYTES
) -> BlockCutter | ArrayCutter:
    """Return what cuts the text of a file with this layout and name into blocks of records."""
    if layout.format == "json":
        return ArrayCutter(name, block_bytes=block_bytes)
    quoted_by = layout.delimiter if layout.quoted else None
    return BlockCutter(
        rejects.add,
        quoted_by=quoted_by,
        width=layout.width,
        lines_alone=layout.lines_alone,
        block_bytes=block_bytes,
    )


def parse_blocks(
    blocks: Iterable[Block], layout: Layout, rejects: Rejects, *, header: bool
) -> Iterator[Rows]:
    """Yield the rows of some blocks; with `header`, less the first record that is not blank."""
    parser = _PARSERS.get(layout.format, DelimitedParser)(layout, rejects)
    header_to_come = header
    for block in blocks:
        records = block
        while header_to_come and len(records):
            header_to_come = _is_blank_line(records, rejects)
            records = records.without_first()
        if len(records):
            yield from parser.parse(records)


def _is_blank_line(block: Block, rejects: Rejects) -> bool:
    """Whether the block's first record is blank; if so it is a reject."""
    blank = not block.data[: int(block.ends[0])].strip()
    if blank:
        rejects.add(int(block.lines[0]), BLANK_LINE, "")
    return blank
