"""Type aliases: the arrays that functions take and return, and who is told of progress."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["Bools", "Bytes", "Floats", "Ints", "Ints32", "Ints64", "Progress", "Words64"]

Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.integer]
Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Words64 = npt.NDArray[np.uint64]
Progress = Callable[[int, int], None]
"""Is called with how much is done, and how much there is in all."""
