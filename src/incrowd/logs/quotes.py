"""Records of quoted fields: where each ends, when a newline inside quotes is no end.

A quote opens only at the start of a field, and a doubled quote inside quotes is a quote, as CSV writers do it. A quote that
was forgotten closes at the next one, lines later, and would make one person's query of other people's rows: a record of
several lines that looks so is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["CutRecords", "QuotedRecords"]

_LEAST_INSIDE = 2  # lines of a record without its first and its last; one may look like a record by chance

Ints64 = npt.NDArray[np.int64]


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
