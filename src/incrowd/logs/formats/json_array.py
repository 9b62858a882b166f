"""A JSON array of objects cut into blocks of records, one object each, as if each stood on a line of its own.

Objects may be spread over lines or share one, so a record's number stands for its line number.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from incrowd.errors import BadInputError, option
from incrowd.logs.formats.blocks import BLOCK_BYTES, BYTE_ORDER_MARK, MAX_LINE_BYTES, Block, clean_text
from incrowd.logs.formats.encoding import Seen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from incrowd.logs.formats.streams import Stream

__all__ = ["ArrayCutter", "first_objects", "looks_like_array"]

_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_BETWEEN = b" \t\r\n,"  # what may stand between the objects


class ArrayCutter:
    """Cuts the stream of one array into blocks.

    Parameters
    ----------
    name
        The file's name, for messages.
    block_bytes
        How much to read at once. The records do not depend on it.

    Attributes
    ----------
    line
        The number of records read so far.
    seen
        How many bytes were read, and how many of them were not UTF-8 and were replaced.
    """

    def __init__(self, name: str, *, block_bytes: int = BLOCK_BYTES) -> None:
        self._name = name
        self._block_bytes = block_bytes
        self.line = 0
        self.seen = Seen()

    def blocks(self, stream: Stream) -> Iterator[Block]:
        """Yield the array's objects, in order; refuse an array that does not end, or that something follows."""
        rest = b""  # the array's bracket is depth 1, and stays in front of what is not cut yet
        ended = False
        while not ended:
            chunk = stream.read(self._block_bytes, line=self.line)
            ended = len(chunk) < self._block_bytes
            data = chunk.removeprefix(BYTE_ORDER_MARK).lstrip() if not rest else rest + chunk
            objects, rest = _cut(data)
            if len(rest) > MAX_LINE_BYTES:
                raise BadInputError(
                    f"{self._name} has an object longer than 1 MiB after record {self.line + len(objects):,}, or is no JSON: "
                    "correct the file"
                )
            if objects:
                yield self._block(objects)
        self._check_end(rest)

    def _block(self, objects: list[bytes]) -> Block:
        texts = [clean_text(one, self.seen).replace(b"\n", b" ") + b"\n" for one in objects]
        lines = np.arange(self.line + 1, self.line + 1 + len(texts), dtype=np.int64)
        self.line += len(texts)
        return Block(b"".join(texts), np.cumsum([len(text) for text in texts], dtype=np.int64), lines)

    def _check_end(self, rest: bytes) -> None:
        if rest.strip(_BETWEEN + b"[") == b"]":
            return
        raise BadInputError(
            f"the JSON array of {self._name} does not end after record {self.line:,}: get a whole copy of the file, "
            f"or write one object a line ({option('format', 'jsonl')})"
        )


def looks_like_array(head: bytes) -> bool:
    """Whether a file begins as an array of objects does."""
    text = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    return text.startswith(b"[") and text[1:].lstrip().startswith((b"{", b"]"))


def first_objects(head: bytes) -> list[bytes]:
    """Return the whole objects in the first bytes of an array."""
    return _cut(head.removeprefix(BYTE_ORDER_MARK).lstrip())[0]


def _cut(data: bytes) -> tuple[list[bytes], bytes]:
    """Return the whole objects of an array that begins with its bracket, and a bracket with what comes after them.

    What stands between two objects and is no comma is left in front of the second, which then is no object.
    """
    plain = _ESCAPED.sub(b"  ", data) if b"\\" in data else data  # as long as before, without escaped quotes
    signs = np.frombuffer(plain, np.uint8)
    inside = np.cumsum(signs == ord('"'), dtype=np.int32) % 2 == 1  # of a text
    opens = ((signs == ord("{")) | (signs == ord("["))) & ~inside
    closes = ((signs == ord("}")) | (signs == ord("]"))) & ~inside
    depth = np.cumsum(opens.astype(np.int8) - closes.astype(np.int8), dtype=np.int32)
    ends = np.flatnonzero((signs == ord("}")) & closes & (depth == 1)) + 1
    starts = np.concatenate(([1], ends))[: len(ends)]
    objects = [
        data[start:end].lstrip(_BETWEEN) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    return objects, b"[" + data[int(ends[-1]) if len(ends) else 1 :] if data else b""
