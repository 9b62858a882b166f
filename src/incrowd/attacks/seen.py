"""What an attacker sees: published sets of labels. And, privately, who holds which.

Raw data, records, tiles and lists are looked at in one way. A record is a set that its people share; a tile is a set that many people
hold, who hold others too; of a list, every line is a set of one label, and whoever has the item holds it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from incrowd.attacks.people import Lists, People, inverted
from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.ragged import distinct, list_ids, take_lists
from incrowd.core.tiles import Tiles
from incrowd.core.types import Ints32, Ints64
from incrowd.metrics.published import sets_of_classes
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Seen", "nothing_seen", "record_of_class", "seen_of_classes", "seen_of_people", "seen_of_tiles"]


class Seen(NamedTuple):
    """Published sets, and who holds them.

    Parameters
    ----------
    sets
        The nodes of each set, distinct.
    people
        How many people hold each set.
    held
        The sets that each person holds. Private.
    """

    sets: Lists
    people: Ints64
    held: Lists

    def __len__(self) -> int:
        return len(self.people)


def _seen(sets: Lists, person: Ints64 | Ints32, held: Ints64 | Ints32, people: int) -> Seen:
    """Return sets, given a person and a set that they hold, one line at a time, in any order and with repetitions."""
    width = max(len(sets.start) - 1, 1)
    keys = distinct(person.astype(np.int64) * width + held)
    start = np.searchsorted(keys, np.arange(people + 1, dtype=np.int64) * width).astype(np.int64)
    of_person = (keys % width).astype(np.int32)
    return Seen(sets, np.bincount(of_person, minlength=len(sets.start) - 1), Lists(start, of_person))


def seen_of_people(people: People, tree: Taxonomy) -> Seen:
    """Return raw data: every person's items are a set, which is theirs."""
    everyone = np.arange(len(people), dtype=np.int32)
    sets = Lists(people.start, tree.leaf_nodes[people.leaf])
    return Seen(sets, np.ones(len(people), np.int64), Lists(np.arange(len(people) + 1), everyone))


def seen_of_classes(classes: Classes, tree: Taxonomy, person: Ints32, people: People) -> Seen:
    """Return published records, given the person behind each row; or a list, every line of which is held by who has the item."""
    read = sets_of_classes(classes, tree)
    sets = Lists(read.start, read.nodes)
    if classes.copies is not None:
        holders = inverted(Lists(people.start, tree.leaf_nodes[people.leaf]), len(tree))
        start, at = take_lists(holders.start, sets.value.astype(np.int64))
        held = list_ids(sets.start)[list_ids(start)]
        return _seen(sets, holders.value[at], held, len(people))
    rows = np.flatnonzero(classes.of_row != WITHHELD)
    number = record_of_class(classes)
    chosen = np.flatnonzero(number == np.arange(len(number)))
    start, at = take_lists(sets.start, chosen)
    record = np.searchsorted(chosen, number)
    return _seen(Lists(start, sets.value[at]), person[rows], record[classes.of_row[rows]], len(people))


def record_of_class(classes: Classes) -> Ints64:
    """Return for each class the first that publishes the same record: to a reader they are one."""
    number = np.arange(len(classes))
    if classes.texts is not None or classes.alternatives is not None:
        return number
    first: dict[bytes, int] = {}
    for one, (a, b) in enumerate(pairwise(classes.start.tolist())):
        record = classes.nodes[a:b].tobytes() + classes.counts[a:b].tobytes()
        number[one] = first.setdefault(record, one)
    return number


def seen_of_tiles(tiles: Tiles, person: Ints32, people: People) -> Seen:
    """Return published tiles, given the person behind each row."""
    rows = list_ids(tiles.held_start)
    return _seen(Lists(tiles.start, tiles.nodes), person[rows], tiles.held, len(people))


def nothing_seen(people: People) -> Seen:
    """Return a release in which nothing is published."""
    none = np.zeros(0, dtype=np.int32)
    nobody = Lists(np.zeros(len(people) + 1, np.int64), none)
    return Seen(Lists(np.zeros(1, np.int64), none), np.zeros(0, np.int64), nobody)
