"""The result of a method: classes of rows that share a published record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from incrowd.core.claims import SpeaksOf, check_k
from incrowd.core.ragged import count_distinct
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints32, Ints64
from incrowd.errors import BadInputError

__all__ = ["WITHHELD", "Classes", "Generalizations", "Seconds", "check_enough", "filled_rows"]

WITHHELD = -1


def filled_rows(transactions: Transactions, k: int) -> Ints64:
    """Return the rows that are not empty, or refuse a k that is larger than their number."""
    filled = np.flatnonzero(np.diff(transactions.indptr) > 0)
    people = len(np.unique(transactions.person[filled]))
    check_enough(k, people, by_people=transactions.people is not None)
    return filled


def check_enough(k: int, found: int, *, by_people: bool = False) -> None:
    """Refuse a k that is larger than the number of non-empty records, or of people who have one."""
    if check_k(k) > found:
        whose = "people who have anything" if by_people else "records that hold anything"
        raise BadInputError(f"k must be at most {found:,}, the number of {whose} (got {k})")


class Generalizations(NamedTuple):
    """Bags of nodes: bag b is ``nodes[start[b]:start[b + 1]]``, ascending, each `counts` times."""

    start: Ints64
    nodes: Ints32
    counts: Ints32


class Seconds(NamedTuple):
    """What stands beside each entry of a list of pairs: a text, and the node that it stands below."""

    nodes: Ints32
    texts: pa.Array


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
        The generalizations of their rows' items for which the published nodes stand, one bag for each class, where the
        nodes are not generalizations themselves. Losses are measured on it.
    within, speaks_of, typed_by
        See :class:`incrowd.core.claims.Claim`.
    copies
        Where records belong to no row, how often each class's record is published; no row has a class then. None: once
        for each of its rows.
    notes
        The method's account of its work, as sentences with numbers.
    left
        The class of each person who is counted and has no row: who was in an earlier release, and has no record since
        (:mod:`incrowd.core.history`).
    second
        Where the entries of a list are pairs, the second of each; `nodes` and `texts` have the first.
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
    left: Ints32 | None = None
    second: Seconds | None = None

    @classmethod
    def of_list(
        cls,
        rows: int,
        nodes: Ints32,
        texts: pa.Array,
        counts: Ints64,
        *,
        second: Seconds | None = None,
        notes: tuple[str, ...] = (),
    ) -> Self:
        """Return a list with counts, as one record that is none of the rows'."""
        return cls(
            of_row=np.full(rows, WITHHELD, dtype=np.int32),
            start=np.array([0, len(nodes)], dtype=np.int64),
            nodes=nodes,
            counts=counts.astype(np.int32),
            texts=texts,
            second=second,
            speaks_of="class",
            typed_by=1,
            copies=np.ones(1, dtype=np.int64),
            notes=notes,
        )

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def sizes(self) -> Ints64:
        """Records of each class: one for each of its rows, as a rule, and one for each person who has left and is counted."""
        if self.copies is not None:
            return self.copies
        return (
            self.present if self.left is None else self.present + np.bincount(self.left, minlength=len(self))
        )

    @property
    def present(self) -> Ints64:
        """Rows of each class."""
        return np.bincount(self.of_row[self.of_row != WITHHELD], minlength=len(self)).astype(np.int64)

    @property
    def withheld(self) -> int:
        """Rows that are not published."""
        return int(np.count_nonzero(self.of_row == WITHHELD))

    @property
    def readers(self) -> Ints32:
        """The class by which a row's losses are measured: its own, or the one for all rows."""
        return self.of_row if self.copies is None else np.zeros_like(self.of_row)

    @property
    def generalization(self) -> Generalizations:
        """The generalizations of its rows' items for which every class's published items stand."""
        return self.stands_for or Generalizations(self.start, self.nodes, self.counts)

    def people(self, person: Ints32) -> Ints64:
        """Count the different people in each class, given a number for the person behind each row."""
        published = np.flatnonzero(self.of_row != WITHHELD)
        return count_distinct(self.of_row[published], person[published], len(self))
