"""What a method decides: who shares a record with whom, and what that record says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incrowd.claims import check_k
from incrowd.errors import BadInputError
from incrowd.transactions import Transactions

__all__ = ["WITHHELD", "Classes", "filled_rows"]

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]
WITHHELD = -1


def filled_rows(transactions: Transactions, k: int) -> Ints64:
    """Return the rows that hold anything, or refuse a k that they cannot give."""
    filled = np.flatnonzero(np.diff(transactions.indptr) > 0)
    if check_k(k) > len(filled):
        raise BadInputError(
            f"k must be at most {len(filled):,}, the number of records that hold anything (got {k})"
        )
    return filled


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of rows that publish the same bag of taxonomy nodes.

    Parameters
    ----------
    of_row
        The class of each row of the transactions; WITHHELD for a row that is not published.
    start
        Class c publishes ``nodes[start[c]:start[c + 1]]`` with their `counts`.
    nodes
        Taxonomy nodes, ascending and distinct within a class.
    counts
        How often each node is published (at least 1).
    """

    of_row: Ints32
    start: Ints64
    nodes: Ints32
    counts: Ints32

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def sizes(self) -> Ints64:
        """Rows in each class."""
        return np.bincount(self.of_row[self.of_row != WITHHELD], minlength=len(self)).astype(np.int64)

    @property
    def withheld(self) -> int:
        """Rows that are not published."""
        return int(np.count_nonzero(self.of_row == WITHHELD))

    def per_class(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Sum a value over the nodes of each class."""
        total = np.concatenate(([0.0], np.cumsum(values)))
        return np.asarray(total[self.start[1:]] - total[self.start[:-1]])
