"""A cover: which tiles every unit holds, and which labels every tile has. Each step takes one and returns another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.ragged import list_ids, starts_of
from incrowd.core.types import Bools, Floats, Ints32, Ints64, Words64
from incrowd.kernels.jit import helper
from incrowd.methods.mosaic.needs import Needs

__all__ = ["Cover", "Labels", "People", "cover_of", "kinds_in", "need_of", "tiles_in_order"]


class People(NamedTuple):
    """Whose the units are. Units are sorted by owner.

    ``owner`` has a number for each unit, ascending; ``counts`` says of each owner whether they count towards k;
    ``rank`` is the order in which owners are held back: a keyed hash, so that it tells nothing of the input's order.
    """

    owner: Ints32
    counts: Bools
    rank: Ints32


class Labels(NamedTuple):
    """What can stand in a tile: the stretch of leaves under each label, how many owners who count have it, and a random word.

    Labels are numbered from the one that most units hold. ``kinds`` has the kind of each as a bit; ``needs`` says what
    follows from a set of kinds, and ``weight`` is what each label counts.
    """

    first_leaf: Ints32
    last_leaf: Ints32
    holders: Ints64
    word: Words64
    kinds: Ints64
    weight: Floats
    needs: Needs


@helper
def kinds_in(some: Ints32, labels: Labels) -> int:
    """Return the set of the kinds of some labels."""
    found = 0
    for label in some:
        found |= labels.kinds[label]
    return found


@helper
def need_of(some: Ints32, labels: Labels) -> int:
    """Return how many owners must hold a tile of some labels."""
    return int(labels.needs.people[kinds_in(some, labels)])


class Cover(NamedTuple):
    """Unit u holds ``tile[start[u]:start[u + 1]]``; tile t has the labels ``label[first[t]:first[t + 1]]``, ascending."""

    start: Ints64
    tile: Ints32
    first: Ints64
    label: Ints32

    @property
    def sizes(self) -> Ints64:
        """How many labels each tile has."""
        return np.diff(self.first)

    @property
    def unit_of(self) -> Ints64:
        """The unit of each held tile."""
        return list_ids(self.start)


def cover_of(start: Ints64, label: Ints32, labels: int) -> Cover:
    """Return the cover in which every label is a tile of its own."""
    return Cover(start, label.astype(np.int32), np.arange(labels + 1), np.arange(labels, dtype=np.int32))


def tiles_in_order(cover: Cover) -> Cover:
    """Return the same cover without tiles that nobody holds, equal ones made one, ordered by size and then by content."""
    used = np.flatnonzero(np.bincount(cover.tile, minlength=len(cover.first) - 1))
    sizes = cover.sizes[used]
    renumbered = np.zeros(len(cover.first) - 1, dtype=np.int32)
    contents: list[Ints32] = [np.empty((0, 1), np.int32)]
    for size in np.unique(sizes):
        tiles = used[sizes == size]
        content, place = np.unique(
            cover.label[cover.first[tiles][:, None] + np.arange(size)], axis=0, return_inverse=True
        )
        renumbered[tiles] = sum(map(len, contents)) + place.ravel()
        contents.append(content)
    first = starts_of([content.shape[1] for content in contents for _ in range(len(content))])
    return Cover(
        cover.start, renumbered[cover.tile], first, np.concatenate([one.ravel() for one in contents])
    )
