"""A stream of bytes cut into blocks of whole records, each record with the number of its first line.

Where fields may be quoted, a newline inside quotes is no end. A quote opens only at the start of a field, and a doubled
quote inside quotes is a quote, as CSV writers do it. A quote that was forgotten closes at the next one, lines later, and
would make one person's query of other people's rows: a record of several lines that looks so is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from incrowd.core.types import Ints64
from incrowd.logs.formats.encoding import Seen

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from incrowd.logs.formats.streams import Stream

__all__ = [
    "BLOCK_BYTES",
    "BYTE_ORDER_MARK",
    "LINE_TOO_LONG",
    "MAX_LINE_BYTES",
    "QUOTE_NOT_CLOSED",
    "Block",
    "BlockCutter",
    "QuotedRecords",
    "clean_text",
]

BLOCK_BYTES = 8 * 1024 * 1024
MAX_LINE_BYTES = 1024 * 1024  # of a line, and of a record that quotes spread over several lines

LINE_TOO_LONG = "line longer than 1 MiB"
QUOTE_NOT_CLOSED = "quote not closed"

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LEAST_INSIDE = 2  # lines of a record without its first and its last; one may look like a record by chance


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

    def as_array(self) -> pa.StringArray:
        r"""Return the records, each with its ``\n``."""
        bounds = pa.py_buffer(np.concatenate(([0], self.ends)).astype(np.int32))
        return pa.StringArray.from_buffers(len(self), bounds, pa.py_buffer(self.data))

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
    lines_alone
        Whether every line is a record, so that a quote which it does not close takes no other line with it.
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
        lines_alone: bool = False,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self._reject = reject
        records = QuotedLines if lines_alone else QuotedRecords
        self._quoted = None if quoted_by is None else records(quoted_by, MAX_LINE_BYTES, width)
        self._block_bytes = block_bytes
        self.line = 0
        self.seen = Seen()

    def blocks(self, stream: Stream) -> Iterator[Block]:
        """Yield the stream's records, in order."""
        unfinished = b""  # clean whole lines of a record whose quote is still open
        for lines, last in self._whole_lines(stream):
            first_line = self.line + 1 - unfinished.count(b"\n")
            data = unfinished + clean_text(
                lines if self.line else lines.removeprefix(BYTE_ORDER_MARK), self.seen
            )
            self.line += lines.count(b"\n")
            if self._quoted is None or b'"' not in data:
                block, unfinished = _block_of_lines(data, first_line), b""
            else:
                block, unfinished = self._block_of_quoted(self._quoted, data, first_line, last=last)
            if len(block):
                yield block

    def _whole_lines(self, stream: Stream) -> Iterator[tuple[bytes, bool]]:
        """Yield runs of whole lines, none too long; the flag says that no record continues after the run."""
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
        """Yield the whole lines of `data`, split where a line is too long; return the rest after the last line."""
        start = position = 0
        while True:
            # The last line end within the legal length: a few steps for each block, not one for each line.
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


def clean_text(data: bytes, seen: Seen) -> bytes:
    """Make line ends uniform, remove NULs, and replace bytes that are not UTF-8, which `seen` counts."""
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
    seen.add(data, bad)
    return data.decode(errors="replace").encode() if bad else data


def _block_of_lines(data: bytes, first_line: int) -> Block:
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
    return Block(data, ends, np.arange(first_line, first_line + len(ends), dtype=np.int64))


@dataclass(frozen=True, eq=False)
class CutRecords:
    """Lines cut into records.

    Parameters
    ----------
    data
        The whole records.
    ends
        Where each ends in `data`.
    lines
        How many lines stand before each record.
    unclosed
        How many lines stand before each line that was left out because its quote does not close.
    rest
        The lines of a last record that may still be closed by what follows.
    """

    data: bytes
    ends: Ints64
    lines: Ints64
    unclosed: list[int]
    rest: bytes


class QuotedRecords:
    """Cuts lines into records.

    Parameters
    ----------
    delimiter
        What stands between fields.
    max_bytes
        A record longer than this counts as one whose quote does not close.
    width
        How many fields a record should have; 0 where that is not known.
    """

    def __init__(self, delimiter: str, max_bytes: int, width: int = 0) -> None:
        self._delimiter = delimiter.encode()
        self._max_bytes = max_bytes
        between = re.escape(self._delimiter)
        field = rb'(?:"(?:[^"]++|"")*+"[^%b\n]*+|[^"%b\n][^%b\n]*+|)' % (between, between, between)
        self._record = re.compile(rb"%b(?:%b%b)*+\n" % (field, between, field))
        well = rb'(?:"(?:[^"]++|"")*+" *+|[^"%b\n][^%b\n]*+|)' % (between, between)
        self._well_closed = re.compile(rb"%b(?:%b%b)*+\n" % (well, between, well))
        self._width = width

    def cut(self, data: bytes, *, last: bool) -> CutRecords:
        """Cut whole lines into records; with `last`, an open quote at the end can no longer be closed."""
        return self._without_swallowing(self._cut(data, last=last))

    def _cut(self, data: bytes, *, last: bool) -> CutRecords:
        if self._is_regular(data):
            cut = self._cut_regular(data)
            longest = int(np.diff(cut.ends, prepend=0).max(initial=0))
            if longest <= self._max_bytes + 1 and not (
                cut.rest and (last or len(cut.rest) > self._max_bytes)
            ):
                return cut
        return self._cut_one_by_one(data, last=last)

    def _is_regular(self, data: bytes) -> bool:
        """Whether every quote opens a field, closes one, or is doubled inside one: then counting quotes is enough."""
        characters = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(characters == ord('"'))
        around = np.zeros(256, dtype=np.bool_)
        around[[ord('"'), ord("\n"), self._delimiter[0]]] = True
        before_open, behind_close = np.maximum(quotes[0::2] - 1, 0), quotes[1::2] + 1
        return bool(around[characters[before_open]].all() and around[characters[behind_close]].all())

    def _cut_regular(self, data: bytes) -> CutRecords:
        characters = np.frombuffer(data, np.uint8)
        line_ends = np.flatnonzero(characters == ord("\n")) + 1
        quotes = np.flatnonzero(characters == ord('"'))
        outside = np.searchsorted(quotes, line_ends) % 2 == 0
        ends = line_ends[outside]
        lines_before = np.concatenate(([0], np.flatnonzero(outside) + 1))[: len(ends)]
        whole = int(ends[-1]) if len(ends) else 0
        return CutRecords(data[:whole], ends, lines_before, [], data[whole:])

    def _cut_one_by_one(self, data: bytes, *, last: bool) -> CutRecords:
        """Cut by a pattern: slower, and right for any quotes."""
        records: list[bytes] = []
        lines: list[int] = []
        unclosed: list[int] = []
        line = position = 0
        while position < len(data):
            match = self._record.match(data, position, position + self._max_bytes + 1)
            if match:
                records.append(match.group())
                lines.append(line)
                line += match.group().count(b"\n")
                position = match.end()
            elif not last and len(data) - position <= self._max_bytes:
                break
            else:
                unclosed.append(line)
                line += 1
                position = data.find(b"\n", position) + 1
        ends = np.cumsum([len(record) for record in records], dtype=np.int64)
        return CutRecords(b"".join(records), ends, np.array(lines, np.int64), unclosed, data[position:])

    def _without_swallowing(self, cut: CutRecords) -> CutRecords:
        """Leave out the records of several lines that seem to have swallowed others: all their lines are unclosed."""
        line_ends = np.flatnonzero(np.frombuffer(cut.data, np.uint8) == ord("\n"))
        if len(line_ends) == len(cut.ends):
            return cut
        heights = np.diff(np.searchsorted(line_ends, cut.ends), prepend=0)
        starts = np.concatenate(([0], cut.ends[:-1]))
        bad = [
            record
            for record in np.flatnonzero(heights > 1).tolist()
            if self._swallows(cut.data[starts[record] : cut.ends[record]])
        ]
        if not bad:
            return cut
        lost = [int(cut.lines[record]) + below for record in bad for below in range(int(heights[record]))]
        good = np.delete(np.arange(len(cut.ends)), bad)
        data = b"".join([cut.data[starts[record] : cut.ends[record]] for record in good.tolist()])
        ends = np.cumsum((cut.ends - starts)[good], dtype=np.int64)
        return CutRecords(data, ends, cut.lines[good], sorted(cut.unclosed + lost), cut.rest)

    def _swallows(self, record: bytes) -> bool:
        """Whether text follows a closing quote, or most lines inside have as many delimiters as a record should have."""
        if not self._well_closed.fullmatch(record):
            return True
        inside = record.split(b"\n")[1:-2]
        alike = sum(line.count(self._delimiter) == self._width - 1 for line in inside)
        return self._width > 1 and len(inside) >= _LEAST_INSIDE and 2 * alike > len(inside)


class QuotedLines(QuotedRecords):
    """Cuts lines into records of one line each: a line with a quote that it does not close is left out, and takes no other with it."""

    def cut(self, data: bytes, *, last: bool) -> CutRecords:  # noqa: ARG002 - no line waits for another
        """Cut whole lines into records."""
        lines = data.splitlines(keepends=True)
        if self._is_regular(data) and len(self._cut_regular(data).ends) == len(lines):
            kept, unclosed = np.arange(len(lines)), []
        else:
            is_closed = [b'"' not in line or self._is_closed(line) for line in lines]
            kept, unclosed = np.flatnonzero(is_closed), np.flatnonzero(np.invert(is_closed)).tolist()
        good = [lines[line] for line in kept.tolist()]
        ends = np.cumsum([len(line) for line in good], dtype=np.int64)
        return CutRecords(b"".join(good), ends, kept.astype(np.int64), unclosed, b"")

    def _is_closed(self, line: bytes) -> bool:
        """Whether all quotes of a line are closed in it."""
        return self._record.fullmatch(line) is not None
