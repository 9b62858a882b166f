"""Sogou's query logs: two layouts, with the time of day or with the whole time, usually in a Chinese encoding."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from incrowd.logs.formats.encoding import UTF8

__all__ = ["SOGOU_WIDTHS", "encoding_by_look", "is_sogou_row", "sogou_columns", "without_brackets"]

SOGOU_WIDTHS = (5, 6)  # rank and order share a field, or have one each

_USUAL_ENCODING = "gb18030"  # it has all of GBK
_ROW = re.compile(
    rb"([0-9]{2}:[0-9]{2}:[0-9]{2}|[0-9]{14})\t[0-9A-Za-z]{8,}\t[^\t]+\t[0-9]+[\t ][0-9]+\t[^\t]+"
)


def is_sogou_row(line: str) -> bool:
    """Whether a line is a row of such a log."""
    return bool(_ROW.fullmatch(line.strip().encode(errors="replace")))


def encoding_by_look(head: bytes) -> str:
    """Return the encoding to assume where none is named: UTF-8, but for a log of Sogou's that is not."""
    first_line = head.lstrip().partition(b"\n")[0].rstrip()
    if not _ROW.fullmatch(first_line):
        return UTF8
    whole_lines = head[: head.rfind(b"\n") + 1] or head
    try:
        whole_lines.decode()
    except UnicodeDecodeError:
        return _USUAL_ENCODING
    return UTF8


def sogou_columns(width: int) -> dict[str, int]:
    """Return the position of each role's column."""
    return {"time": 0, "user": 1, "query": 2, "url": width - 1}


def without_brackets(queries: pa.StringArray) -> pa.StringArray:
    """Return queries without the brackets around them, which one of the layouts has."""
    return pc.replace_substring_regex(queries, r"^\s*\[(.*)\]\s*$", r"\1")
