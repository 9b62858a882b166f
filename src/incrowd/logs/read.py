"""Reads files into logs: recognises the format, streams the rows into a temporary database, and rejects bad lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.types import Progress
from incrowd.logs.formats.baskets import split_baskets
from incrowd.logs.formats.blocks import BLOCK_BYTES, Block
from incrowd.logs.formats.detect import Layout, choose_format, find_layout
from incrowd.logs.formats.encoding import UTF8, DecodedStream, Seen
from incrowd.logs.formats.parquet import read_parquet
from incrowd.logs.formats.rows import Rows, accept
from incrowd.logs.formats.source import Source
from incrowd.logs.formats.text import cutter_of, parse_blocks
from incrowd.logs.input import check_has_rows
from incrowd.logs.log import Log
from incrowd.logs.rejects import Rejects
from incrowd.logs.store import Store
from incrowd.logs.tokens import TokenTable

if TYPE_CHECKING:
    import os

__all__ = ["format_of", "read_baskets", "read_log"]


def read_log(
    path: str | os.PathLike[str],
    *,
    format: str = "auto",  # noqa: A002 (the name that people expect)
    columns: Mapping[str, str] | None = None,
    encoding: str = UTF8,
    memory: str | int = "4GB",
    keep_rejected: bool = False,
    progress: Progress | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Log:
    """Read a query log, or a file of baskets, of any size.

    Parameters
    ----------
    path
        The file: plain, gzip or zstd.
    format
        ``"aol"``, ``"excite"``, ``"csv"``, ``"tsv"``, ``"jsonl"``, ``"parquet"``, ``"dat"``, or ``"auto"``.
    columns
        The names of the columns that are the ``user``, ``query``, ``time`` and ``url``, where they are not
        the usual ones.
    encoding
        What the text is written in, as ``"gbk"``. Bytes that are not in it are replaced and counted; if they are more than
        0.1 % of all, the file is refused, with the encodings that it may be in.
    memory
        How much memory to use; the rest waits in the temporary directory.
    keep_rejected
        Whether to keep the text of lines that cannot be read, not only their numbers.
    progress
        Called with (bytes done, bytes in all) now and then.
    block_bytes
        How much to read at once; the result does not depend on it.

    Returns
    -------
    Log
        The log, on disk until it is closed or garbage-collected.
    """
    source = Source(path, encoding)
    layout = find_layout(source, format, columns)
    store = Store(memory)
    try:
        rejects = Rejects(store, keep_text=keep_rejected)
        reader = _Reader(source, layout, store, rejects, progress=progress, block_bytes=block_bytes)
        return reader.read_baskets() if layout.format == "dat" else reader.read_events()
    except BaseException:
        store.close()
        raise


def read_baskets(
    path: str | os.PathLike[str],
    *,
    encoding: str = UTF8,
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


def format_of(
    path: str | os.PathLike[str],
    *,
    format: str = "auto",  # noqa: A002 (as in read_log)
    columns: Mapping[str, str] | None = None,
    encoding: str = UTF8,
) -> str:
    """Return the format as which `read_log` would read a file, by its first bytes."""
    return choose_format(Source(path, encoding), format, columns)


class _Reader:
    """One reading of one file."""

    def __init__(
        self,
        source: Source,
        layout: Layout,
        store: Store,
        rejects: Rejects,
        *,
        progress: Progress | None,
        block_bytes: int,
    ) -> None:
        self._source = source
        self._layout = layout
        self._store = store
        self._rejects = rejects
        self._progress = progress
        self._seen = Seen()
        self._cutter = cutter_of(layout, rejects, block_bytes=block_bytes)

    def read_events(self) -> Log:
        """Fill the table `events`."""
        self._store.run('CREATE TABLE events ("user" VARCHAR, time BIGINT, query VARCHAR, url VARCHAR)')
        kept = 0
        for rows in self._rows():
            table = accept(rows, self._rejects)
            self._store.insert("events", table)
            kept += len(table)
        check_has_rows(self._source.name, kept, self._rejects.counts)
        return self._log(kept)

    def read_baskets(self) -> Log:
        """Fill the tables `units`, `tokens` and `words`."""
        self._store.run("CREATE TABLE units (unit INTEGER, owner VARCHAR)")
        tokens = TokenTable(self._store)
        kept = 0
        for block in self._blocks():
            units = np.arange(kept, kept + len(block), dtype=np.int32)
            owners = pc.cast(pa.array(block.lines), pa.string())
            self._store.insert("units", pa.table({"unit": units, "owner": owners}))
            tokens.add(units, split_baskets(block))
            kept += len(block)
        return self._log(kept)

    def _rows(self) -> Iterator[Rows]:
        layout = self._layout
        if layout.format == "parquet":
            for rows in read_parquet(self._source, layout, self._report):
                self._cutter.line += len(rows.lines)
                yield rows
            return
        yield from parse_blocks(self._blocks(), layout, self._rejects, header=layout.header)

    def _blocks(self) -> Iterator[Block]:
        with self._source.open() as stream:
            self._seen = stream.seen if isinstance(stream, DecodedStream) else self._cutter.seen
            for block in self._cutter.blocks(stream):
                if self._source.text_size is not None:  # then a wrong encoding may be certain before the end
                    self._seen.check(self._source.name, of=self._source.text_size)
                yield block
                self._report(stream.stored_bytes_read)
            self._seen.check(self._source.name)

    def _report(self, done: int) -> None:
        if self._progress:
            self._progress(done, self._source.size)

    def _log(self, rows: int) -> Log:
        return Log(
            name=self._source.name,
            format=self._layout.format,
            store=self._store,
            rejects=self._rejects,
            rejected=self._rejects.counts,
            lines=self._cutter.line,
            bad_bytes=self._seen.bad,
            has_times=self._layout.has_times,
            rows=rows,
            encoding=self._source.encoding,
        )
