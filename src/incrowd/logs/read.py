"""Reads files into logs: recognises the format, streams the rows into a temporary database, and rejects bad lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.types import Ints64, Progress
from incrowd.logs.files import Inputs, PartFile, find_parts, name_of
from incrowd.logs.form import InputForm, read_form
from incrowd.logs.formats.baskets import split_baskets
from incrowd.logs.formats.blocks import BLOCK_BYTES, Block
from incrowd.logs.formats.detect import choose_format
from incrowd.logs.formats.encoding import UTF8, DecodedStream
from incrowd.logs.formats.parquet import read_parquet
from incrowd.logs.formats.parts import Part, first_rows, open_parts
from incrowd.logs.formats.rows import Rows, accept
from incrowd.logs.formats.source import Source
from incrowd.logs.formats.text import cutter_of, parse_blocks
from incrowd.logs.input import check_has_rows
from incrowd.logs.log import Log
from incrowd.logs.rejects import Rejects
from incrowd.logs.store import Store, make_events
from incrowd.logs.tokens import TokenTable

__all__ = ["first_lines", "first_records", "format_of", "look_at", "read_baskets", "read_log", "read_parts"]


def read_log(
    path: Inputs,
    *,
    format: str = "auto",  # noqa: A002 (the name that people expect)
    columns: Mapping[str, str | int] | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    time_format: str | None = None,
    day: str | None = None,
    segment: str | None = None,
    by_first_lines: bool = False,
    memory: str | int = "4GB",
    keep_rejected: bool = False,
    progress: Progress | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Log:
    """Read a query log, or a file of baskets, of any size, in one file or in several.

    Parameters
    ----------
    path
        The file, plain, gzip, zstd or zip; a folder or a pattern as ``"logs/*.gz"``; or a list of such paths. Several files are
        parts of one log: they are read in the order of their names, and must be written in one way.
    format
        ``"aol"``, ``"excite"``, ``"sogou"``, ``"apache"``, ``"csv"``, ``"tsv"``, ``"jsonl"``, ``"json"``, ``"parquet"``, ``"dat"``,
        or ``"auto"``.
    columns
        The names of the columns that are the ``user``, ``query``, ``time`` and ``url``, where they are not
        the usual ones, and of the ``shown``, ``rank``, ``place``, ``device`` and ``language``; or their numbers, as ``{"user": 1, "query": 2}``, where the file has no names.
    encoding
        What the text is written in, as ``"gbk"``; UTF-8 if it is not given. Bytes that are not in it are replaced and counted; if they
        are more than 0.1 % of all, the file is refused, with the encodings that it may be in.
    delimiter
        The character between fields, or its name: ``"tab"``, ``"comma"``, ``"semicolon"``, ``"pipe"``, ``"space"``.
    time_format
        How times are written, as :func:`time.strptime` has it, where that is not recognised.
    day, segment
        The date of times of day, as ``"2006-03-31"``; the language of queries without blanks: ``"zh"`` (Chinese; needs ``incrowd[zh]``).
    by_first_lines
        Whether the first lines alone tell how all others are read, each for itself, as differential privacy needs it: bytes in another
        encoding do not refuse the file, and a quote in CSV ends with its line.
    memory, keep_rejected
        How much memory to use (the rest waits on disk); whether to keep the text of lines that cannot be read, not only their numbers.
    progress, block_bytes
        Called with (bytes done, bytes in all) now and then; how much to read at once, on which the result does not depend.

    Returns
    -------
    Log
        The log, on disk until it is closed or garbage-collected.
    """
    return read_parts(
        path,
        read_form(locals()),  # whose parameters have the names that it takes
        memory=memory,
        keep_rejected=keep_rejected,
        progress=progress,
        block_bytes=block_bytes,
    )


def read_parts(
    given: Inputs,
    form: InputForm,
    *,
    memory: str | int = "4GB",
    keep_rejected: bool = False,
    progress: Progress | None = None,
    block_bytes: int = BLOCK_BYTES,
    first_bytes: int | None = None,
) -> Log:
    """Read an input as `read_log` does, with what is said of it as one value; only its beginning, of about `first_bytes` as stored, where that is given."""
    files = find_parts(given)
    sources = _open_sources(files, form.encoding)
    if form.by_first_lines:
        for source in sources:
            source.check_encoding()
    parts = open_parts(sources, form)
    store = Store(memory)
    try:
        rejects = Rejects(store, keep_text=keep_rejected)
        reader = _Reader(
            name_of(given, files),
            parts,
            store,
            rejects,
            form=form,
            progress=progress,
            block_bytes=block_bytes,
            first_bytes=first_bytes,
        )
        return reader.read_baskets() if parts[0].layout.format == "dat" else reader.read_events()
    except BaseException:
        store.close()
        raise


def read_baskets(
    path: Inputs,
    *,
    encoding: str | None = None,
    memory: str | int = "4GB",
    keep_rejected: bool = False,
    progress: Progress | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Log:
    """Read baskets: one record a line, items separated by white space, a blank line is a record with nothing.

    The parameters are those of `read_log`.
    """
    return read_log(
        path,
        format="dat",
        encoding=encoding,
        memory=memory,
        keep_rejected=keep_rejected,
        progress=progress,
        block_bytes=block_bytes,
    )


def _open_sources(files: Sequence[PartFile], encoding: str | None) -> list[Source]:
    """Open the files of an input, all in one encoding: one that is ASCII so far may be in that of the others."""
    sources = [Source(file.path, encoding, member=file.member, name=file.name) for file in files]
    others = {source.encoding for source in sources} - {UTF8}
    if not others or all(source.encoding in others for source in sources):
        return sources
    return _open_sources(files, others.pop())


def look_at(given: Inputs, form: InputForm) -> tuple[str, Part]:
    """Return the name of an input, and its first part: how it is written, by its first bytes."""
    files = find_parts(given)
    return name_of(given, files), open_parts(_open_sources(files, form.encoding)[:1], form)[0]


def format_of(given: Inputs, form: InputForm | None = None) -> str:
    """Return the format as which an input would be read, by the first bytes of its first file."""
    form = form or InputForm()
    return choose_format(_open_sources(find_parts(given)[:1], form.encoding)[0], form)


def first_records(given: Inputs, form: InputForm, most: int = 5) -> list[dict[str, str]]:
    """Return the first records of an input as they are written, by the roles of their columns. They are private."""
    _, part = look_at(given, form)
    if part.layout.format == "dat":
        lines = part.source.head.decode(errors="replace").splitlines()
        return [{"items": line} for line in lines if line.strip()][:most]
    rows = first_rows(part)
    if rows is None:
        return []
    columns = {"user": rows.user, "time": rows.time, "query": rows.query, "url": rows.url, **rows.more}
    texts = {role: column[:most].to_pylist() for role, column in columns.items() if column is not None}
    return [
        {role: str(text) for role, text in zip(texts, row, strict=True)}
        for row in zip(*texts.values(), strict=True)
    ]


def first_lines(given: Inputs, form: InputForm, most: int = 5) -> list[str]:
    """Return the first lines of an input, whatever they mean; none of a table in Parquet. They are private."""
    source = _open_sources(find_parts(given)[:1], form.encoding)[0]
    return [] if source.is_parquet else source.head.decode(errors="replace").splitlines()[:most]


class _Reader:
    """One reading of one input."""

    def __init__(
        self,
        name: str,
        parts: list[Part],
        store: Store,
        rejects: Rejects,
        *,
        form: InputForm,
        progress: Progress | None,
        block_bytes: int,
        first_bytes: int | None = None,
    ) -> None:
        self._name = name
        self._parts = parts
        self._store = store
        self._rejects = rejects
        self._progress = progress
        self._block_bytes = block_bytes
        self._segment = form.segment
        self._checks_all_bytes = not form.by_first_lines
        self._size = sum(part.source.size for part in parts)
        self._size_before = 0  # of the parts that are done
        self._done = 0
        self._first_bytes = first_bytes
        self._lines = 0
        self._bad_bytes = 0

    def read_events(self) -> Log:
        """Fill the table `events`."""
        make_events(self._store, self._parts[0].layout.columns)
        kept = 0
        for part in self._each_part():
            for rows in self._rows(part):
                table = accept(rows, self._rejects, part.layout.times, segment=self._segment)
                self._store.insert("events", table)
                kept += len(table)
        check_has_rows(self._name, kept, self._rejects.counts)
        return self._log(kept)

    def read_baskets(self) -> Log:
        """Fill the tables `units`, `tokens` and `words`."""
        self._store.run("CREATE TABLE units (unit INTEGER, owner VARCHAR)")
        tokens = TokenTable(self._store)
        kept = 0
        for part in self._each_part():
            for block in self._blocks(part):
                units = np.arange(kept, kept + len(block), dtype=np.int32)
                self._store.insert("units", pa.table({"unit": units, "owner": self._owners(block.lines)}))
                tokens.add(units, split_baskets(block))
                kept += len(block)
        return self._log(kept)

    def _each_part(self) -> Iterator[Part]:
        """Yield the parts; rejects name the part where there are several."""
        for part in self._parts:
            if len(self._parts) > 1:
                self._rejects.begin_part(part.source.name)
            yield part
            if self._has_enough:
                return
            self._size_before += part.source.size

    def _owners(self, lines: Ints64) -> pa.StringArray:
        """Return whose baskets these are: their line numbers, behind the part's name where there are several."""
        numbers = pc.cast(pa.array(lines), pa.string())
        part = self._rejects.part
        return numbers if part is None else pc.binary_join_element_wise(part, numbers, ":")

    def _rows(self, part: Part) -> Iterator[Rows]:
        layout = part.layout
        if layout.format == "parquet":
            for rows in read_parquet(part.source, layout, self._report):
                self._lines += len(rows.lines)
                yield rows
                if self._has_enough:
                    return
            return
        yield from parse_blocks(self._blocks(part), layout, self._rejects, header=layout.header)

    def _blocks(self, part: Part) -> Iterator[Block]:
        source = part.source
        cutter = cutter_of(part.layout, self._rejects, name=source.name, block_bytes=self._block_bytes)
        with source.open() as stream:
            seen = stream.seen if isinstance(stream, DecodedStream) else cutter.seen
            for block in cutter.blocks(stream):
                if (
                    self._checks_all_bytes and source.text_size is not None
                ):  # then a wrong encoding may be certain before the end
                    seen.check(source.name, of=source.text_size)
                yield block
                self._report(stream.stored_bytes_read)
                if self._has_enough:
                    break
            if self._checks_all_bytes:
                seen.check(source.name)
        self._lines += cutter.line
        self._bad_bytes += seen.bad

    @property
    def _has_enough(self) -> bool:
        """Whether the beginning that is wanted has been read."""
        return self._first_bytes is not None and self._done >= self._first_bytes

    def _report(self, done: int) -> None:
        self._done = self._size_before + done
        if self._progress:
            self._progress(self._done, self._size)

    def _log(self, rows: int) -> Log:
        first = self._parts[0]
        return Log(
            name=self._name,
            format=first.layout.format,
            store=self._store,
            rejects=self._rejects,
            rejected=self._rejects.counts,
            lines=self._lines,
            bad_bytes=self._bad_bytes,
            has_times=first.layout.has_times,
            rows=rows,
            encoding=first.source.encoding,
            roles=tuple(first.layout.columns),
        )
