"""The lines of text files as Spark reads them, in the order of each file, as streams for the local readers.

Spark cuts large files into blocks. A block's lines come in order, so a line's number is its place in the block after
the lines of the file's blocks before; those are counted first (incrowd.spark.reading.survey).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from incrowd.errors import BadInputError
from incrowd.logs.formats.blocks import Block, BlockCutter
from incrowd.logs.formats.json_array import ArrayCutter

__all__ = ["Place", "Text", "arrow_schema", "cut_blocks", "read_lines", "streams", "whole_files"]

_UNSPLIT = {
    "spark.sql.files.maxPartitionBytes": str(2**62),
    "spark.sql.files.openCostInBytes": str(2**61),
}


_ARROW = {"boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "string": pa.string()}


class Place(NamedTuple):
    """A block of a file: the file's address and the byte that the block begins at."""

    file: str
    block: int


def read_lines(spark: SparkSession, sources: Sequence[str]) -> DataFrame:
    """Return the lines (`value`, as bytes) of all files of some paths, with their `file` and `block`."""
    files: Counter[str] = Counter()
    for source in sources:
        files.update(_text(spark, [source]).inputFiles() if len(sources) > 1 else [])
    for file, times in files.items():
        if times > 1:
            raise BadInputError(f"input {unquote(file)} is given twice: name each file once")
    lines = _text(spark, sources)
    return lines.select(
        f.col("value").cast("binary").alias("value"),
        f.col("_metadata.file_path").alias("file"),
        f.col("_metadata.file_block_start").alias("block"),
    )


def _text(spark: SparkSession, sources: Sequence[str]) -> DataFrame:
    try:
        return spark.read.option("lineSep", "\n").text(list(sources))
    except AnalysisException as error:
        if "PATH_NOT_FOUND" not in (error.getCondition() or ""):
            raise
        raise BadInputError(f"input {sources[0]} does not exist") from None


@contextmanager
def whole_files(spark: SparkSession) -> Iterator[None]:
    """Let no file be cut into blocks while it is read: a quoted record may go on over many lines."""
    before = {name: spark.conf.get(name) for name in _UNSPLIT}
    for name, value in _UNSPLIT.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, usual in before.items():
            spark.conf.set(name, str(usual))


class Text:
    """The bytes of one block's lines, for a block cutter.

    Parameters
    ----------
    pieces
        Some lines at a time, as bytes, each line with its end.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._waiting = b""

    def read(self, size: int, *, line: int = 0) -> bytes:  # noqa: ARG002 - as a file's stream has it
        """Read `size` bytes, fewer only at the end."""
        gathered, length = [self._waiting], len(self._waiting)
        while length < size and (piece := next(self._pieces, None)) is not None:
            gathered.append(piece)
            length += len(piece)
        data = b"".join(gathered)
        self._waiting = data[size:]
        return data[:size]

    def head(self, size: int) -> bytes:
        """Return the first bytes and leave them to be read."""
        data = self.read(size)
        self._waiting = data + self._waiting
        return data


def streams(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Place, Text]]:
    """Yield each block of the batches, whose lines are in order, as a stream; read one before the next."""
    for place, pieces in groupby(_pieces(batches), key=itemgetter(0)):
        yield place, Text(map(itemgetter(1), pieces))


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Place, bytes]]:
    for batch in batches:
        file = batch.column("file").dictionary_encode()
        code, block = np.array(file.indices), np.array(batch.column("block"))
        changes = np.flatnonzero((np.diff(code) != 0) | (np.diff(block) != 0)) + 1
        lines = batch.column("value").to_pylist()
        for first, stop in pairwise([0, *changes.tolist(), len(lines)]):
            if first < stop:
                place = Place(file[first].as_py(), int(block[first]))
                yield place, b"\n".join(lines[first:stop]) + b"\n"


def cut_blocks(text: Text, cutter: BlockCutter | ArrayCutter, *, lines_before: int) -> Iterator[Block]:
    """Yield the records of a file's block, numbered after the lines of the blocks before."""
    cutter.line = lines_before
    yield from cutter.blocks(text)  # type: ignore[arg-type] # it reads, as a file's stream does


def arrow_schema(columns: str) -> pa.Schema:
    """Return columns that are described for Spark, as in ``line long, text string``, as a schema of Arrow's."""
    return pa.schema([(name, _ARROW[kind]) for name, kind in map(str.split, columns.split(", "))])
