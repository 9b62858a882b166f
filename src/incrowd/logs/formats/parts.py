"""The parts of an input: each a checked file with its layout, all written in one way."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from incrowd.errors import BadInputError, option
from incrowd.logs.formats.blocks import BLOCK_BYTES
from incrowd.logs.formats.columns import are_numbers, is_other_column
from incrowd.logs.formats.detect import Layout, find_layout
from incrowd.logs.formats.json_array import first_objects
from incrowd.logs.formats.parquet import read_parquet
from incrowd.logs.formats.text import cutter_of, parse_blocks
from incrowd.logs.formats.time_styles import check_written, choose_times, undecided, which_comes_first
from incrowd.logs.formats.times import EXCITE, Times
from incrowd.logs.rejects import Rejects

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from incrowd.logs.form import InputForm
    from incrowd.logs.formats.rows import Rows
    from incrowd.logs.formats.source import Source
    from incrowd.logs.formats.streams import Stream

__all__ = ["Part", "first_rows", "open_parts", "with_times"]


class Part(NamedTuple):
    """A file of an input, and how it is written."""

    source: Source
    layout: Layout


def open_parts(sources: Sequence[Source], form: InputForm) -> list[Part]:
    """Find out how each file is written; refuse one that is written in another way than the first."""
    parts = [Part(source, find_layout(source, form)) for source in sources]
    for part in parts[1:]:
        _check_alike(parts[0], part)
        if are_numbers(form.columns):
            _check_same_names(parts[0], part)
    _check_no_copies(parts)
    return with_times(parts, form)


def with_times(parts: Sequence[Part], form: InputForm, *, look_further: bool = True) -> list[Part]:
    """Find out how the times of all parts are written: by their first lines or, if these leave it open, by all.

    Raises
    ------
    BadInputError
        It stays open, or is not known; the message says what to give.
    """
    first, said = parts[0].layout, form.time_format or form.day
    if not first.has_times or (first.times.style == EXCITE and not said):
        return list(parts)
    samples = {part.source.name: _first_times(part) for part in parts}
    texts = {name: sample for name, sample in samples.items() if isinstance(sample, pa.StringArray)}
    if not texts:
        check_written(parts[0].source.name, form)
        return list(parts)
    times = choose_times(texts, form)
    if times is None:
        look_further &= not form.by_first_lines
        style = which_comes_first(_all_times(parts)) if look_further else None
        if style is None:
            raise undecided(parts[0].source.name)
        times = Times(style)
    return [part._replace(layout=replace(part.layout, times=times)) for part in parts]


def _check_alike(first: Part, other: Part) -> None:
    name, one, two = other.source.name, first.layout, other.layout
    if one.format != two.format:
        raise BadInputError(
            f"{name} is written as {two.format}, and {first.source.name} as {one.format}: "
            f"give files of one kind, or name it ({option('format')})"
        )
    if set(one.columns) != set(two.columns):
        roles = ", ".join(sorted(set(one.columns) ^ set(two.columns)))
        raise BadInputError(
            f"{name} and {first.source.name} do not both have a column for: {roles}; "
            f"give files with the same columns, or choose them ({option('columns')})"
        )


def _check_same_names(first: Part, other: Part) -> None:
    """Refuse columns of one number that have different names in two headers: times may be taken for people."""
    one, two = first.layout.column_names, other.layout.column_names
    differing = [role for role in one if is_other_column(one[role], two[role])]
    if first.layout.header and other.layout.header and differing:
        raise BadInputError(
            f"{other.source.name} and {first.source.name} have another column at the number of the {differing[0]}: "
            f"choose columns by name ({option('columns', {'user': 'NAME', 'query': 'NAME'})})"
        )


def _check_no_copies(parts: Sequence[Part]) -> None:
    """Refuse a part with the content of another, as a file and its compressed copy: people would be counted as they are not."""
    seen: dict[bytes, list[Source]] = {}
    for source in (part.source for part in parts if _has_records(part)):
        alike = seen.setdefault(source.head, [])
        if other := next((other for other in alike if _digest(other) == _digest(source)), None):
            raise BadInputError(
                f"{source.name} has the content of {other.name}: leave one out, or join them if their records are not the same"
            )
        alike.append(source)


def _has_records(part: Part) -> bool:
    """Whether there is more than a header; several parts may have nothing else."""
    lines = (line for line in part.source.head.split(b"\n") if line.strip())
    return len(list(islice(lines, 2))) > part.layout.header


def _digest(source: Source) -> bytes:
    """Return what only files of the same text have in common."""
    digest = blake2b()
    with source.open() as stream:
        while data := stream.read(BLOCK_BYTES, line=0):
            digest.update(data)
    return digest.digest()


def first_rows(part: Part) -> Rows | None:
    """Return some first rows of a part that has columns, as they are written; None where there are none."""
    is_parquet = part.layout.format == "parquet"
    return next(
        read_parquet(part.source, part.layout, _ignore) if is_parquet else _rows_in(_Head(part), part), None
    )


def _first_times(part: Part) -> pa.Array:
    """Return some times as they are written, or as seconds where the format has them."""
    rows = first_rows(part)
    return pa.array([], pa.string()) if rows is None else rows.time


def _all_times(parts: Sequence[Part]) -> Iterator[pa.StringArray]:
    """Yield the times of all parts, block by block."""
    for part in parts:
        if part.layout.format == "parquet":
            yield from (rows.time for rows in read_parquet(part.source, part.layout, _ignore))
        else:
            with part.source.open() as stream:
                yield from (rows.time for rows in _rows_in(stream, part))


def _rows_in(stream: Stream, part: Part) -> Iterator[Rows]:
    source, layout = part
    rejects = Rejects()  # what cannot be read is reported when the rows are read
    blocks = cutter_of(layout, rejects, name=source.name).blocks(stream)
    for rows in parse_blocks(blocks, layout, rejects, header=layout.header):
        rejects.take()
        yield rows


class _Head:
    """The first whole records of a file, as a stream."""

    def __init__(self, part: Part) -> None:
        head = part.source.head
        if part.layout.format == "json":
            self._data = b"[%b]" % b",".join(first_objects(head))
        else:
            self._data = head if part.source.is_whole else head[: head.rfind(b"\n") + 1]
        self.stored_bytes_read = 0

    def read(self, size: int, *, line: int) -> bytes:  # noqa: ARG002 - as a file's stream has it
        """Read `size` bytes, fewer only at the end."""
        data, self._data = self._data[:size], self._data[size:]
        return data


def _ignore(_done: int) -> None:
    """Progress is reported when the rows are read."""
