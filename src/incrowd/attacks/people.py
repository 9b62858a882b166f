"""What people have, and what an attacker knows of some of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from incrowd.core.claims import PARTS
from incrowd.core.ragged import list_ids, starts_of
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Floats, Ints32, Ints64
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Drawn", "How", "Lists", "People", "draw_known", "inverted"]

How = Literal["random", "rarest", "recent"]


class Lists(NamedTuple):
    """Lists of numbers: list i is ``value[start[i]:start[i + 1]]``."""

    start: Ints64
    value: Ints32


@dataclass(frozen=True, eq=False)
class People:
    """The distinct items of each person, as leaves of a taxonomy. Private.

    Parameters
    ----------
    start, leaf
        Person p has the leaves ``leaf[start[p]:start[p + 1]]``, ascending.
    leaves
        How many leaves the taxonomy has.
    newest
        The same leaves, those that the person had last first; None where nothing says when.
    """

    start: Ints64
    leaf: Ints32
    leaves: int
    newest: Ints32 | None = None

    @classmethod
    def of(cls, data: Transactions, tree: Taxonomy) -> People:
        """Return what the people behind some rows have, whatever row it is in."""
        assert tree.item_leaf is not None  # noqa: S101 - the items are attached
        row, leaves = list_ids(data.indptr), tree.leaf_count
        person = data.person.astype(np.int64)
        key = person[row] * leaves + tree.item_leaf[data.items]
        order = np.argsort(key, kind="stable")  # so that the last entry of a key is of its latest row
        key, row = key[order], row[order]
        last = np.ones(len(key), dtype=np.bool_)
        np.not_equal(key[1:], key[:-1], out=last[:-1])
        key, row = key[last], row[last]
        number = int(person.max(initial=-1)) + 1
        start = np.searchsorted(key, np.arange(number + 1, dtype=np.int64) * leaves).astype(np.int64)
        leaf = (key % leaves).astype(np.int32)
        if data.unit.partition(":")[0] not in PARTS:
            return cls(start, leaf, leaves)
        return cls(start, leaf, leaves, leaf[np.lexsort((leaf, -row, key // leaves))])

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def sizes(self) -> Ints64:
        """How many distinct items each person has."""
        return np.diff(self.start)

    @cached_property
    def holders(self) -> Lists:
        """The people who have each leaf, ascending."""
        return inverted(Lists(self.start, self.leaf), self.leaves)

    @cached_property
    def counts(self) -> Ints64:
        """How many people have each leaf."""
        return np.diff(self.holders.start)

    @cached_property
    def weights(self) -> Floats:
        """What an item is worth in a match: 1 / ln(1 + people who have it).

        Narayanan & Shmatikov (IEEE S&P 2008, section 4) weigh by rarity alike.
        """
        return 1 / np.log1p(np.maximum(self.counts, 1))

    def secrets(self, share: float) -> Bools:
        """Tell which leaves at most a share of the people have, and anyone has: the others are no secret."""
        filled = max(int(np.count_nonzero(self.sizes)), 1)
        return (self.counts > 0) & (self.counts <= max(share * filled, 1))


def inverted(lists: Lists, values: int) -> Lists:
    """Return the lists that each value is in."""
    order = np.argsort(lists.value, kind="stable")
    counts = np.bincount(lists.value, minlength=values)
    return Lists(starts_of(counts), list_ids(lists.start)[order].astype(np.int32))


class Drawn(NamedTuple):
    """People, and p items of each that an attacker knows: row i of `known`, leaves."""

    person: Ints64
    known: Ints32

    def __len__(self) -> int:
        return len(self.person)


def draw_known(
    people: People,
    p: int,
    most: int,
    dice: np.random.Generator,
    *,
    how: How = "random",
    beside: int = 0,
    among: Bools | None = None,
) -> Drawn:
    """Draw people who have at least p items and `beside` more, and p items of each.

    Parameters
    ----------
    people, p
        Whom to draw from, and how many items the attacker knows.
    most
        The most people to draw; all who can be are drawn if they are fewer.
    dice
        Where chance comes from.
    how
        Which items are known: any, those that fewest people have, or those that the person had last.
    beside, among
        How many items a person must have beside them, and which people may be drawn.
    """
    fits = people.sizes >= p + beside
    person = np.flatnonzero(fits if among is None else fits & among)
    if len(person) > most:
        person = np.sort(dice.choice(person, most, replace=False))
    source = people.newest if how == "recent" and people.newest is not None else people.leaf
    known = np.empty((len(person), p), dtype=np.int32)
    for i, one in enumerate(person.tolist()):
        own = source[people.start[one] : people.start[one + 1]]
        known[i] = _chosen(own, p, how, people.counts, dice)
    return Drawn(person, known)


def _chosen(own: Ints32, p: int, how: How, counts: Ints64, dice: np.random.Generator) -> Ints32:
    """Return p of a person's leaves."""
    if how == "recent":
        return own[:p]
    if how == "rarest":
        return own[np.lexsort((own, counts[own]))[:p]]
    return dice.choice(own, p, replace=False)
