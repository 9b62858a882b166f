"""The lines of a taxonomy file, with their numbers; a file that holds no text in UTF-8 is refused."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import NoReturn

import pyarrow as pa

from incrowd.core.clean import clean_texts
from incrowd.errors import BadInputError

__all__ = ["Line", "read_lines", "refuse_empty"]

Line = tuple[int, str]

MOST_BYTES = 100_000_000  # the largest lists of categories have a hundredth of it
_MARKS = {
    "UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),  # first: UTF-16's marks are the beginnings of these
    "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}


def read_lines(path: Path) -> list[Line]:
    """Return the lines that hold something, with their numbers."""
    text = _decoded(path, _bytes_of(path)).replace("\r\n", "\n").replace("\r", "\n")
    lines = clean_texts(pa.array(text.split("\n"), pa.string())).to_pylist()
    rows = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        refuse_empty(path)
    return rows


def refuse_empty(path: Path) -> NoReturn:
    """Raise an error that says what a taxonomy file may hold."""
    raise BadInputError(
        f"taxonomy {path.name} is empty; give lines of 'child TAB parent', 'A > B' or 'A/B' paths, or 'leaf;parent;*' rows"
    )


def _bytes_of(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise BadInputError(
                f"taxonomy {path.name} has {size:,} bytes, and a taxonomy may have {MOST_BYTES:,}; give a smaller file (is this the data?)"
            )
        return path.read_bytes()
    except OSError as error:
        raise BadInputError(f"taxonomy {path.name} cannot be read: {error.strerror}") from None


def _decoded(path: Path, data: bytes) -> str:
    for encoding, marks in _MARKS.items():
        if data.startswith(marks):
            raise BadInputError(f"taxonomy {path.name} is in {encoding}; {_convert(path, encoding)}")
    if b"\0" in data:
        raise BadInputError(f"taxonomy {path.name} looks like a binary file; give a text file in UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInputError(
            f"taxonomy {path.name}: line {line} is not in UTF-8; {_convert(path, 'LATIN1')}, "
            "with the encoding that it is in"
        ) from None


def _convert(path: Path, encoding: str) -> str:
    return f"convert it, as by 'iconv -f {encoding} -t UTF-8 {path.name}'"
