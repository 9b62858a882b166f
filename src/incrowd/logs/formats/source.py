"""A file of an input, checked by its first bytes: it exists, holds something, and is text or Parquet."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path

from incrowd.errors import BadInputError, option
from incrowd.logs.formats.encoding import UTF8, DecodedStream, Seen, decode_head, find_encoding
from incrowd.logs.formats.sogou import encoding_by_look
from incrowd.logs.formats.streams import AheadStream, ByteStream

__all__ = ["HEAD_BYTES", "PARQUET_MAGIC", "Source"]

PARQUET_MAGIC = b"PAR1"

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BINARY_MAGICS = (
    b"PK\x03\x04",
    b"BZh",
    b"\xfd7zXZ\x00",
    b"\x7fELF",
    b"\x89PNG",
    b"%PDF",
    b"SQLite format 3\x00",
)
# The escapes that switch to Japanese in text that is all ASCII.
_ISO_2022_JP = (b"\x1b$B", b"\x1b$@", b"\x1b(J")
HEAD_BYTES = 64 * 1024

# Text has these only by accident; random bytes have them in one byte of nine.
_CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_CONTROL_SHARE = 0.05
_CONTROL_ACCIDENTS = 8


class Source:
    """A readable file that was checked to exist, to hold something and, unless Parquet, to be text.

    Parameters
    ----------
    path
        The file.
    encoding
        What its text is written in; None: UTF-8, unless it looks like a log that usually is in another.
    member
        The name of the file within `path`, where that is a .zip archive.
    name
        What messages call it; by default its name without the directory.

    Attributes
    ----------
    size
        The file's size in bytes, as stored.
    head
        The first bytes, decompressed, as UTF-8.
    is_whole
        Whether the head is all of the text.
    text_size
        The file's size in bytes before it was compressed; None where that is not known.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        encoding: str | None = None,
        *,
        member: str | None = None,
        name: str | None = None,
    ) -> None:
        self.path = Path(path)
        self.member = member
        self.name = name or self.path.name
        _check_name(self.path)
        named = None if encoding is None else find_encoding(encoding)
        self.is_whole = True
        self.size = _size_of_regular_file(self.path) if member is None else _size_of_member(self.path, member)
        with ByteStream(self.path, member) as opened:
            self.head = opened.read(HEAD_BYTES, line=0)
            self._is_compressed = opened.is_compressed
        self.text_size = None if self._is_compressed else self.size
        if not self.head:
            raise BadInputError(f"{self.name} is empty: give a file with at least one line")
        self.encoding = named or encoding_by_look(self.head)
        if not self.is_parquet:
            self._decode_head()
        elif member is not None:
            raise BadInputError(f"{self.name} is a Parquet file in an archive: unpack it first")
        elif self.encoding != UTF8:
            raise BadInputError(
                f"{self.name} is a Parquet file, whose text is UTF-8: drop {option('encoding')}"
            )

    def _decode_head(self) -> None:
        if not self.encoding.startswith(("utf-16", "utf-32")):
            _check_not_utf16(self.name, self.head)
        self.is_whole = len(self.head) < HEAD_BYTES
        self.head = decode_head(self.name, self.head, self.encoding)
        _check_text(self.name, self.head)

    def check_encoding(self) -> None:
        """Refuse a head in another encoding than UTF-8, where that was named; the file's other bytes may be better."""
        if self.encoding != UTF8:
            return
        lines = self.head if self.is_whole else self.head[: self.head.rfind(b"\n") + 1]
        seen = Seen()
        seen.add(lines, len(lines) - len(lines.decode(errors="ignore").encode()))
        seen.check(self.name)

    @property
    def suffixes(self) -> list[str]:
        """The endings of the file's name, in small letters."""
        return [suffix.lower() for suffix in Path(self.member or self.path).suffixes]

    @property
    def is_parquet(self) -> bool:
        """Whether the file is Parquet."""
        return self.head.startswith(PARQUET_MAGIC)

    def open(self) -> ByteStream | AheadStream | DecodedStream:
        """Open the file from its beginning, as text in UTF-8."""
        opened = ByteStream(self.path, self.member)
        is_slow = self._is_compressed or self.member is not None
        stream = AheadStream(opened) if is_slow else opened
        return stream if self.encoding == UTF8 else DecodedStream(stream, self.encoding)


def _check_name(path: Path) -> None:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = str(path).encode(errors="backslashreplace").decode()
        raise BadInputError(f"{shown} is no name in UTF-8: rename the file or its directory") from None


def _size_of_regular_file(path: Path) -> int:
    try:
        status = path.stat()
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {os.strerror(error.errno or 5)}") from None
    if not stat.S_ISREG(status.st_mode):
        raise BadInputError(f"{path} is not a regular file: give the path of a log")
    if status.st_size == 0:
        raise BadInputError(f"{path.name} is empty: give a file with at least one line")
    return status.st_size


def _size_of_member(path: Path, member: str) -> int:
    with zipfile.ZipFile(path) as archive:
        return archive.getinfo(member).file_size


def _check_not_utf16(name: str, head: bytes) -> None:
    """Refuse UTF-16 that was not named, with or without its mark."""
    zeros = head.count(b"\0")
    found = "utf-16" if head.startswith(_UTF16_MARKS) else None
    if not found and zeros > _CONTROL_ACCIDENTS and zeros > 0.3 * len(head) and _alternates(head):
        found = "utf-16-le" if head[1::2].count(b"\0") > zeros // 2 else "utf-16-be"
    if found:
        raise BadInputError(
            f"{name} looks like UTF-16: read it with {option('encoding', found)}, or convert it to UTF-8"
        )


def _check_text(name: str, head: bytes) -> None:
    """Refuse a file that is not 8-bit text, by its first bytes."""
    if any(escape in head for escape in _ISO_2022_JP):
        raise BadInputError(
            f"{name} looks like ISO-2022-JP: read it with {option('encoding', 'iso2022_jp')}, or convert it to UTF-8"
        )
    controls = len(head) - len(head.translate(None, _CONTROL_BYTES))
    noisy = controls > _CONTROL_ACCIDENTS and controls > _CONTROL_SHARE * len(head)
    if noisy or head.startswith(_BINARY_MAGICS):
        raise BadInputError(f"{name} looks like a binary file: give text, gzip, zstd, zip or Parquet")


def _alternates(head: bytes) -> bool:
    """Whether the zero bytes sit on every other place, as in UTF-16 without a mark."""
    even, odd = head[::2].count(b"\0"), head[1::2].count(b"\0")
    return max(even, odd) > 10 * min(even, odd)
