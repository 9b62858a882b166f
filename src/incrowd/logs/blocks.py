"""A stream of bytes cut into blocks of whole records, each record with the number of its first line."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from incrowd.logs.encoding import Seen
from incrowd.logs.quotes import QuotedRecords

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from incrowd.logs.encoding import DecodedStream
    from incrowd.logs.source import ByteStream

__all__ = ["BLOCK_BYTES", "LINE_TOO_LONG", "MAX_LINE_BYTES", "QUOTE_NOT_CLOSED", "Block", "BlockCutter"]

BLOCK_BYTES = 8 * 1024 * 1024
MAX_LINE_BYTES = 1024 * 1024  # of a line, and of a record that quotes spread over several lines

LINE_TOO_LONG = "line longer than 1 MiB"
QUOTE_NOT_CLOSED = "quote not closed"

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Ints64 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Block:
    r"""Whole records as clean UTF-8 in which every line ends with ``\n``.

    Parameters
    ----------
    data
        The records' bytes.
    ends
        Where each record ends in `data`, behind its ``\n``.
    lines
        The number of each record's first line in the file, from 1.
    """

    data: bytes
    ends: Ints64
    lines: Ints64

    def __len__(self) -> int:
        return len(self.ends)

    def texts(self) -> list[str]:
        """Return the records as they stand in the file. Private."""
        starts = np.concatenate(([0], self.ends)).tolist()
        return [self.data[start : end - 1].decode() for start, end in pairwise(starts)]

    def take(self, records: Ints64) -> Block:
        """Return the block of some of the records, in the given order."""
        starts = np.concatenate(([0], self.ends))
        pieces = [self.data[starts[record] : self.ends[record]] for record in records.tolist()]
        ends = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
        return Block(b"".join(pieces), ends, self.lines[records])

    def without_first(self) -> Block:
        """Return the block less its first record (a header)."""
        cut = int(self.ends[0])
        return Block(self.data[cut:], self.ends[1:] - cut, self.lines[1:])


class BlockCutter:
    """Cuts one stream into blocks and counts what it had to leave out or repair.

    Parameters
    ----------
    reject
        Called with (line number, reason) for each line that is left out.
    quoted_by
        The delimiter of fields that may be quoted; None where a quote is a character like any other.
    width
        How many fields a quoted record should have; 0 where that is not known.
    block_bytes
        How much to read at once. The records do not depend on it.

    Attributes
    ----------
    line
        The number of lines read so far.
    seen
        How many bytes were read, and how many of them were not UTF-8 and were replaced.
    """

    def __init__(
        self,
        reject: Callable[[int, str], None],
        *,
        quoted_by: str | None = None,
        width: int = 0,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self._reject = reject
        self._quoted = None if quoted_by is None else QuotedRecords(quoted_by, MAX_LINE_BYTES, width)
        self._block_bytes = block_bytes
        self.line = 0
        self.seen = Seen()

    def blocks(self, stream: ByteStream | DecodedStream) -> Iterator[Block]:
        """Yield the stream's records, in order."""
        unfinished = b""  # clean whole lines of a record whose quote is still open
        for lines, last in self._whole_lines(stream):
            first_line = self.line + 1 - unfinished.count(b"\n")
            data = unfinished + self._clean(lines if self.line else lines.removeprefix(_BYTE_ORDER_MARK))
            self.line += lines.count(b"\n")
            if self._quoted is None or b'"' not in data:
                block, unfinished = _block_of_lines(data, first_line), b""
            else:
                block, unfinished = self._block_of_quoted(self._quoted, data, first_line, last=last)
            if len(block):
                yield block

    def _whole_lines(self, stream: ByteStream | DecodedStream) -> Iterator[tuple[bytes, bool]]:
        """Yield runs of whole lines, none too long; the flag says that no record goes on behind the run."""
        tail, skipping, ended = b"", False, False  # the start of a line; inside a line that is too long
        while not ended:
            chunk = stream.read(self._block_bytes, line=self.line)
            ended = len(chunk) < self._block_bytes
            if skipping:
                end = chunk.find(b"\n") + 1
                skipping = not end
                chunk = chunk[end:] if end else b""
            data = tail + chunk
            if ended and data and not data.endswith(b"\n"):
                data += b"\n"
            tail = yield from self._legal_runs(data, last=ended)
            if len(tail) > MAX_LINE_BYTES:
                self._reject_long_line()
                tail, skipping = b"", True

    def _legal_runs(self, data: bytes, *, last: bool) -> Generator[tuple[bytes, bool], None, bytes]:
        """Yield the whole lines of `data`, apart where a line is too long; return what is behind the last."""
        start = position = 0
        while True:
            # The farthest line end in reach of a line of legal length: a few steps a block, not one a line.
            found = data.rfind(b"\n", position, position + MAX_LINE_BYTES + 1) + 1
            if found:
                position = found
                continue
            end_of_long_line = data.find(b"\n", position) + 1
            beyond = len(data) - position > MAX_LINE_BYTES
            yield data[start:position], last or beyond
            if not end_of_long_line:
                return data[position:]
            self._reject_long_line()
            start = position = end_of_long_line

    def _reject_long_line(self) -> None:
        self.line += 1
        self._reject(self.line, LINE_TOO_LONG)

    def _clean(self, data: bytes) -> bytes:
        """Make line ends uniform, take NULs out, and make bytes that are not UTF-8 visible."""
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b" ")
        if b"\0" in data:
            data = data.replace(b"\0", b"")
        bad = 0
        if not data.isascii():
            try:
                data.decode()
            except UnicodeDecodeError:
                bad = len(data) - len(data.decode(errors="ignore").encode())
        self.seen.add(data, bad)
        return data.decode(errors="replace").encode() if bad else data

    @property
    def bad_bytes(self) -> int:
        """How many bytes were not UTF-8 and were replaced."""
        return self.seen.bad

    def _block_of_quoted(
        self, quoted: QuotedRecords, data: bytes, first_line: int, *, last: bool
    ) -> tuple[Block, bytes]:
        """Cut lines with quotes into records; return them and the lines of a record that is still open."""
        cut = quoted.cut(data, last=last)
        for line in cut.unclosed:
            self._reject(first_line + line, QUOTE_NOT_CLOSED)
        return Block(cut.data, cut.ends, cut.lines + first_line), cut.rest


def _block_of_lines(data: bytes, first_line: int) -> Block:
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
    return Block(data, ends, np.arange(first_line, first_line + len(ends), dtype=np.int64))
