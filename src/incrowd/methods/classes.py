"""What a method decides: who shares a record with whom, and what that record says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incrowd.claims import SpeaksOf, check_k
from incrowd.errors import BadInputError
from incrowd.kernels.lcg import Generalizations
from incrowd.lists import count_distinct
from incrowd.transactions import Transactions

__all__ = ["WITHHELD", "Classes", "Progress", "filled_rows"]

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]
WITHHELD = -1


def filled_rows(transactions: Transactions, k: int) -> Ints64:
    """Return the rows that hold anything, or refuse a k that they cannot give."""
    filled = np.flatnonzero(np.diff(transactions.indptr) > 0)
    people = len(np.unique(transactions.person[filled]))
    if check_k(k) > people:
        whose = "records that hold anything" if transactions.people is None else "people who have anything"
        raise BadInputError(f"k must be at most {people:,}, the number of {whose} (got {k})")
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
    alternatives
        Where an entry of `nodes` is published as a bag of alternatives, those bags, one for each entry (bags of
        one node are that node). None: the nodes themselves are published.
    texts
        Where entries are published as texts of their own (real queries), those texts, one for each entry; null: the
        node's label. A text stands below its node.
    stands_for
        What the published nodes stand for as generalizations of their rows' items, one bag for each class,
        where they are no such generalizations themselves. Losses are measured on it.
    within, speaks_of, typed_by
        See :class:`incrowd.claims.Claim`.
    copies
        Where records are nobody's own, how often each class's is published; no row has a class then. None: once for
        each of its rows.
    notes
        What the method has to tell of its work, as sentences with numbers.
    """

    of_row: Ints32
    start: Ints64
    nodes: Ints32
    counts: Ints32
    alternatives: Generalizations | None = None
    texts: pa.Array | None = None
    stands_for: Generalizations | None = None
    within: int | None = None
    speaks_of: SpeaksOf = "owner"
    typed_by: int | None = None
    copies: Ints64 | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def sizes(self) -> Ints64:
        """Records of each class: one for each of its rows, as a rule."""
        if self.copies is not None:
            return self.copies
        return np.bincount(self.of_row[self.of_row != WITHHELD], minlength=len(self)).astype(np.int64)

    @property
    def withheld(self) -> int:
        """Rows that are not published."""
        return int(np.count_nonzero(self.of_row == WITHHELD))

    @property
    def readers(self) -> Ints32:
        """The class that a row is to be read in when losses are measured: its own, or the one for all."""
        return self.of_row if self.copies is None else np.zeros_like(self.of_row)

    @property
    def generalization(self) -> Generalizations:
        """What every class's published items stand for, as generalizations of its rows' items."""
        return self.stands_for or Generalizations(self.start, self.nodes, self.counts)

    def people(self, person: Ints32) -> Ints64:
        """Count the different people in each class, given a number for the person behind each row."""
        published = np.flatnonzero(self.of_row != WITHHELD)
        return count_distinct(self.of_row[published], person[published], len(self))
