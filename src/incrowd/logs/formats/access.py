"""Access logs of web servers, as Apache and nginx write them: the common and the combined log format."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, unquote_plus

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.logs.formats.rows import Rows, rows_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from incrowd.core.types import Ints64
    from incrowd.logs.formats.blocks import Block
    from incrowd.logs.formats.detect import Layout
    from incrowd.logs.rejects import Rejects

__all__ = ["ACCESS_FIELDS", "AccessParser", "is_access_row", "usual_access_columns"]

ACCESS_FIELDS = ("host", "login", "time", "path", "search", "referer")
"""What a line has: who, when, the path without its parameters, the words that were searched for, and where the person came from."""

_LINE = (
    r'^(?P<host>\S+) \S+ (?P<login>.*?) \[(?P<time>[^\]]+)\] "[A-Z]+ (?P<target>\S+)[^"]*" [0-9]{3} (?:[0-9]+|-)'
    r'(?: "(?P<referer>(?:[^"\\]|\\.)*)".*)?\s*$'
)
_ROW = re.compile(_LINE)
_SEARCH = r"[?&](?:q|query|search|text|keywords?|s)=(?P<words>[^&#]*)"
_SEARCHED = re.compile(_SEARCH)
_NOT_AN_ACCESS = "not a line of an access log"
_NOTHING = "-"


class AccessParser:
    """Parses blocks of lines of an access log.

    Parameters
    ----------
    layout
        Which of `ACCESS_FIELDS` is the user, the query, the time and the address.
    rejects
        Where other lines go.
    """

    def __init__(self, layout: Layout, rejects: Rejects) -> None:
        self._fields = {role: str(name) for role, name in layout.columns.items()}
        self._rejects = rejects

    def parse(self, block: Block) -> Iterator[Rows]:
        """Yield the rows that can be read."""
        found = pc.extract_regex(block.as_array(), _LINE)
        good = np.array(pc.is_valid(found), dtype=np.bool_)
        if not good.all():
            others = block.take(np.flatnonzero(~good))
            self._rejects.add_many(others.lines, _NOT_AN_ACCESS, others.texts())
            block, found = block.take(np.flatnonzero(good)), found.filter(pa.array(good))
        columns = {role: _field(found, name) for role, name in self._fields.items()}

        def text_of(rows: Ints64) -> Sequence[str]:
            return block.take(rows).texts()

        yield rows_from(block.lines, columns, text_of)


def is_access_row(line: str) -> bool:
    """Whether a line is one of an access log."""
    return bool(_ROW.match(line))


def usual_access_columns(lines: Sequence[str]) -> dict[str, str]:
    """Return the roles' fields: who is the host, and a query what was searched for, or the path if most lines have no search."""
    searches = sum(bool(_SEARCHED.search(line)) for line in lines)
    return {"user": "host", "query": "search" if 2 * searches > len(lines) else "path", "time": "time"}


def _field(found: pa.StructArray, name: str) -> pa.StringArray:
    if name == "path":
        return _decoded(_target(found, r"^(?P<words>[^?#]*)"), unquote)
    if name == "search":
        return _decoded(_target(found, _SEARCH), unquote_plus)
    texts = pc.struct_field(found, name)
    return pc.if_else(pc.equal(texts, _NOTHING), "", texts)


def _target(found: pa.StructArray, pattern: str) -> pa.StringArray:
    words = pc.extract_regex(pc.struct_field(found, "target"), pattern)
    return pc.fill_null(pc.struct_field(words, "words"), "")


def _decoded(texts: pa.StringArray, decode: Callable[[str], str]) -> pa.StringArray:
    """Decode what addresses write as ``%20``; each text once."""
    coded = texts.dictionary_encode()
    known = pa.array([decode(text) for text in coded.dictionary.to_pylist()], pa.string())
    return known.take(coded.indices)
