"""Text from rows of numbers of pieces, with no string joined in Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from incrowd.core.types import Ints32, Ints64

__all__ = ["join_rows"]


def join_rows(pieces: pa.StringArray, rows: Ints32 | Ints64) -> pa.StringArray:
    """Join the pieces of each row of numbers; piece 0 is empty and costs nothing."""
    kept = rows != 0
    texts = pieces.take(pa.array(rows[kept]))
    bounds = np.append(0, np.cumsum(kept.sum(axis=1)))
    _, offsets, data = texts.buffers()
    if len(texts) == 0:
        return pa.array([""] * len(rows), pa.string())
    ends = np.frombuffer(offsets, dtype=np.int32)[bounds]
    return pa.StringArray.from_buffers(len(rows), pa.py_buffer(ends), data)
