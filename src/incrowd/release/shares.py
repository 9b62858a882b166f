"""Who got what of a release, and what became of every item of every row. Private: for the owner of the data alone."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

from incrowd.core.ragged import list_ids, take_lists
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints32, Ints64
from incrowd.release.files.records import Label
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["CLASS", "ITSELF", "WITHHELD", "Chosen", "Shares", "choose_people", "fates_of"]

PEOPLE = {"lost most": 6, "longest": 4, "shortest": 4, "typical": 6}
ITSELF, CLASS, WITHHELD = 0, 1, 2


class Shares(NamedTuple):
    """Row r got the sets ``held[start[r]:start[r + 1]]``; set s is the entries ``bounds[s]:bounds[s + 1]``.

    Parameters
    ----------
    start, held, bounds
        See above.
    nodes
        The node that each entry stands at.
    labels, counts
        What each entry is published as, and how often.
    stands_for
        Where published nodes are not above their rows' items: the bounds and the nodes of what each set stands for.
    """

    start: Ints64
    held: Ints64
    bounds: Ints64
    nodes: Ints32
    labels: list[Label]
    counts: list[int]
    stands_for: tuple[Ints64, Ints32] | None = None


class Chosen(NamedTuple):
    """A person to be shown: the number, why, how many items, and how many of them are withheld."""

    person: int
    why: str
    items: int
    withheld: int


def fates_of(data: Transactions, tree: Taxonomy, shares: Shares) -> Ints32:
    """Return what became of each item: published as itself, only as a class above it, or withheld."""
    row = list_ids(shares.start)
    bounds, over = shares.stands_for or (shares.bounds, shares.nodes)
    start, take = take_lists(bounds, shares.held)
    nodes, owner = over[take], row[list_ids(start)]
    leaf = owner * tree.leaf_count  # leaves of different rows are different places
    first, last = np.sort(leaf + tree.first_leaf[nodes]), np.sort(leaf + tree.last_leaf[nodes])
    item = list_ids(data.indptr) * tree.leaf_count + tree.first_leaf[tree.leaves_of(data.items)]
    covers = np.searchsorted(first, item, "right") - np.searchsorted(last, item, "right")
    own = tree.is_leaf[nodes]
    itself = np.isin(item, leaf[own] + tree.first_leaf[nodes[own]])
    return np.where(itself, ITSELF, np.where(covers > 0, CLASS, WITHHELD)).astype(np.int32)


def choose_people(data: Transactions, fates: Ints32, seed: int) -> list[Chosen]:
    """Choose the people to be shown: those who lost most, the longest, the shortest, and typical ones; ties by the seed."""
    person = data.person[list_ids(data.indptr)]
    people = int(data.person.max(initial=-1)) + 1
    items = np.bincount(person, minlength=people)
    withheld = np.bincount(person[fates == WITHHELD], minlength=people)
    filled = np.flatnonzero(items)
    chance = _chance(data, seed, people)
    lost = withheld / np.maximum(items, 1)
    middle = np.median(items[filled]) if len(filled) else 0
    keys = {
        "lost most": (-withheld, -lost),
        "longest": (-items,),
        "shortest": (items,),
        "typical": (np.abs(items - middle),),
    }
    why: dict[int, str] = {}
    for reason, number in PEOPLE.items():
        order = np.lexsort((chance[filled], *(key[filled] for key in keys[reason])))
        fresh = [int(one) for one in filled[order[: number + len(why)]] if one not in why]
        why.update(dict.fromkeys(fresh[:number], reason))
    return [Chosen(one, reason, int(items[one]), int(withheld[one])) for one, reason in why.items()]


def _chance(data: Transactions, seed: int, people: int) -> Ints64:
    """Return a number for each person that follows from the seed and the name."""
    names = data.owners if data.people is None else data.people
    first = np.zeros(people, dtype=np.int64)
    first[data.person[::-1]] = np.arange(len(data))[::-1]
    key = seed.to_bytes(8, "big")
    digests = [
        hashlib.blake2b(str(name).encode(), digest_size=7, key=key).digest()
        for name in names.take(first).to_pylist()
    ]
    return np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.int64)
