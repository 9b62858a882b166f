"""Type aliases of the arrays that functions take and return."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["Bools", "Floats", "Ints", "Ints32", "Ints64", "Words64"]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.integer]
Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Words64 = npt.NDArray[np.uint64]
