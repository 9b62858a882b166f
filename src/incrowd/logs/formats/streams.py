"""The bytes of a file as a stream, decompressed in a thread of its own while the caller parses what came before."""

from __future__ import annotations

import os
import queue
import threading
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, Self

import pyarrow as pa

from incrowd.errors import BadInputError

__all__ = ["AheadStream", "ByteStream", "Stream"]

_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_PIECE_BYTES = 128 * 1024
_AHEAD_BYTES = 1024 * 1024
_MOST_AHEAD = 16  # pieces that wait; more would only take memory
_PATIENCE = 0.1  # seconds until a thread whose pieces no one takes looks whether it may end
# What damaged files raise; an archive's member may also be compressed in a way that Python lacks.
_DAMAGE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError)


class Stream(Protocol):
    """What gives the bytes of a text, some at a time."""

    def read(self, size: int, *, line: int) -> bytes:
        """Read `size` bytes, fewer only at the end; `line` is the number of whole lines read before."""

    @property
    def stored_bytes_read(self) -> int:
        """How far the file was read, in bytes as stored."""


class ByteStream:
    """The decompressed bytes of a file, or of a file in a .zip archive. Use as a context manager."""

    def __init__(self, path: Path, member: str | None = None) -> None:
        self.name = path.name if member is None else f"{path.name}:{member}"
        self._archive: zipfile.ZipFile | None = None
        try:
            self._stored = pa.OSFile(str(path)) if member is None else self._open_member(path, member)
            start = self._stored.read(4)
            self._stored.seek(0)
        except _DAMAGE as error:
            self._close_archive()
            raise self._unusable(error) from None
        compression = next((name for magic, name in _COMPRESSIONS.items() if start.startswith(magic)), None)
        self.is_compressed = compression is not None
        self._stream = pa.CompressedInputStream(self._stored, compression) if compression else self._stored

    def _open_member(self, path: Path, member: str) -> pa.PythonFile:
        self._archive = zipfile.ZipFile(path)
        return pa.PythonFile(self._archive.open(member), mode="r")

    def _unusable(self, error: Exception) -> BadInputError:
        if isinstance(error, OSError) and self._archive is None:
            return BadInputError(f"{self.name} cannot be opened: {os.strerror(error.errno or 5)}")
        return BadInputError(
            f"{self.name} cannot be read from its archive: unpack it first, and give the files"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._stored.close()
        self._close_archive()

    def _close_archive(self) -> None:
        if self._archive is not None:
            self._archive.close()

    @property
    def stored_bytes_read(self) -> int:
        """How far the file was read, in bytes as stored."""
        return int(self._stored.tell())

    def piece(self, size: int) -> bytes:
        """Return at most `size` more bytes, none at the end."""
        return bytes(self._stream.read(size))

    def read(self, size: int, *, line: int) -> bytes:
        """Read `size` bytes, fewer only at the end; `line` is the number of whole lines read before."""
        pieces: list[bytes] = []
        missing = size
        while missing:
            try:
                piece = self.piece(min(missing, _PIECE_BYTES))
            except _DAMAGE:
                raise _damaged(self.name, line, pieces) from None
            if not piece:
                break
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)


class AheadStream:
    """A stream that is read in a thread, a few pieces ahead of the caller. Use as a context manager.

    Decompressing needs no lock of the interpreter, so it takes place while the caller parses.

    Parameters
    ----------
    stream
        What to read; it is closed with this one.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._pieces: queue.Queue[tuple[bytes, int, Exception | None]] = queue.Queue(_MOST_AHEAD)
        self._unwanted = threading.Event()
        self._waiting = b""
        self._ended = False
        self.stored_bytes_read = 0
        self._thread = threading.Thread(target=self._read_ahead, name="incrowd-decompress", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._unwanted.set()
        self._thread.join()
        self._stream.__exit__()

    def read(self, size: int, *, line: int) -> bytes:
        """Read `size` bytes, fewer only at the end; `line` is the number of whole lines read before."""
        pieces, length = [self._waiting], len(self._waiting)
        while length < size and not self._ended:
            piece, self.stored_bytes_read, error = self._pieces.get()
            if error is not None:
                raise _damaged(self._stream.name, line, pieces) from None
            self._ended = not piece
            pieces.append(piece)
            length += len(piece)
        data = b"".join(pieces)
        self._waiting = data[size:]
        return data[:size] if self._waiting else data

    def _read_ahead(self) -> None:
        """Put the pieces into the queue: to the end, to an error, or until no one wants them."""
        piece, error, wanted = b"?", None, True
        while piece and wanted:
            try:
                piece = self._stream.piece(_AHEAD_BYTES)
            except _DAMAGE as reason:
                piece, error = b"", reason
            wanted = self._put((piece, self._stream.stored_bytes_read, error))

    def _put(self, item: Any) -> bool:
        """Wait until there is room; return whether anyone still wants it."""
        while not self._unwanted.is_set():
            with suppress(queue.Full):
                self._pieces.put(item, timeout=_PATIENCE)
                return True
        return False


def _damaged(name: str, line: int, pieces: list[bytes]) -> BadInputError:
    """Return the error of a file that ends too early, `line` whole lines and some pieces after its beginning."""
    reached = line + sum(piece.count(b"\n") for piece in pieces)
    return BadInputError(
        f"{name} is damaged or cut short after line {reached:,}: get a whole copy of the file"
    )
