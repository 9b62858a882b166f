"""Published tiles: one tile for people to read, and all tiles of a release in arrays, which millions of them need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import NamedTuple, Self, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.kinds import KINDS, kind_of, typed
from incrowd.core.ragged import list_ids, list_sums, starts_of, take_lists
from incrowd.core.types import Bools, Floats, Ints, Ints32, Ints64
from incrowd.release.files.records import Label, shown

__all__ = ["KIND_NUMBER", "Tile", "TileTable", "sorted_labels"]

KIND_NUMBER = {kind: number for number, kind in enumerate((None, *KINDS))}
OF_LABELS = ("spelled", "kind")


class Tile(NamedTuple):
    """A tile as it is published: its labels in code point order, how many people hold it, and in how many units.

    `order` says in which order the words are shown where that is another: first ``words[order[0]]`` and so on. It is empty for
    code point order. Labels of other kinds than words come after them.
    """

    labels: tuple[Label, ...]
    people: int
    units: int
    order: tuple[int, ...] = ()

    @property
    def words(self) -> list[Label]:
        """The labels that are words, queries or items of baskets, in code point order."""
        return [label for label in self.labels if kind_of(label[0]) is None]

    @property
    def has_order(self) -> bool:
        """Whether the order is one of the words, and spelt only where it is not that of code points."""
        plain = list(range(len(self.words)))
        return not self.order or (sorted(self.order) == plain and list(self.order) != plain)

    @property
    def in_order(self) -> list[Label]:
        """The labels in the order in which they are shown; that of code points where the file has an order that is none."""
        words = self.words
        first = [words[place] for place in self.order] if self.order and self.has_order else words
        others = (label for label in self.labels if kind_of(label[0]) is not None)
        return [*first, *sorted(others, key=lambda label: KIND_NUMBER[kind_of(label[0])])]

    @property
    def in_words(self) -> str:
        """The labels as people see them, kind by kind: ``hardwood, floors | homedepot.com | 2006-W12``."""
        groups = groupby(self.in_order, key=lambda label: kind_of(label[0]))
        return " | ".join(", ".join(map(shown, some)) for _, some in groups)


@dataclass(frozen=True, eq=False)
class TileTable(Sequence[Tile]):
    """Tiles in arrays; as a sequence it gives one :class:`Tile` after another.

    Parameters
    ----------
    labels, exact
        The distinct labels, sorted by code point, classes before words of the same spelling; and which are the very items.
    start, label
        Tile t has the labels of the numbers ``label[start[t]:start[t + 1]]``.
    people, units
        How many people hold each tile, and in how many units.
    order_start, order
        Tile t shows its words in the order ``order[order_start[t]:order_start[t + 1]]``; none: that of code points.
    """

    labels: pa.Array
    exact: Bools
    start: Ints64
    label: Ints32
    people: Ints64
    units: Ints64
    order_start: Ints64
    order: Ints32

    @classmethod
    def of(cls, tiles: Sequence[Tile]) -> TileTable:
        """Return tiles as a table, in their order."""
        if isinstance(tiles, TileTable):
            return tiles
        names = sorted({label for tile in tiles for label in tile.labels})
        number = {label: place for place, label in enumerate(names)}
        return cls(
            pa.array([text for text, _ in names], pa.string()),
            np.array([exact for _, exact in names], dtype=np.bool_),
            starts_of([len(tile.labels) for tile in tiles]),
            np.array([number[label] for tile in tiles for label in tile.labels], dtype=np.int32),
            np.array([tile.people for tile in tiles], dtype=np.int64),
            np.array([tile.units for tile in tiles], dtype=np.int64),
            starts_of([len(tile.order) for tile in tiles]),
            np.array([place for tile in tiles for place in tile.order], dtype=np.int32),
        )

    def __len__(self) -> int:
        return len(self.people)

    @overload
    def __getitem__(self, index: int) -> Tile: ...
    @overload
    def __getitem__(self, index: slice) -> TileTable: ...
    def __getitem__(self, index: int | slice) -> Tile | TileTable:
        """Return a tile, or a table of some tiles."""
        chosen = np.arange(len(self))[index]
        if isinstance(index, slice):
            return self.rows(chosen)
        first, stop, begin, end = (
            int(bounds[chosen + more]) for bounds in (self.start, self.order_start) for more in (0, 1)
        )
        labels = tuple(self.spelled[label] for label in self.label[first:stop].tolist())
        order = tuple(self.order[begin:end].tolist())
        return Tile(labels, int(self.people[chosen]), int(self.units[chosen]), order)

    def __iter__(self) -> Iterator[Tile]:
        labels = self.spelled
        label, order = self.label.tolist(), self.order.tolist()
        bounds = zip(pairwise(self.start.tolist()), pairwise(self.order_start.tolist()), strict=True)
        numbers = zip(bounds, self.people.tolist(), self.units.tolist(), strict=True)
        for ((first, stop), (begin, end)), people, units in numbers:
            yield Tile(
                tuple([labels[one] for one in label[first:stop]]), people, units, tuple(order[begin:end])
            )

    def rows(self, chosen: Ints64) -> Self:
        """Return some tiles, in the order in which they are given."""
        start, at = take_lists(self.start, chosen)
        order_start, order_at = take_lists(self.order_start, chosen)
        some = replace(
            self,
            start=start,
            label=self.label[at],
            people=self.people[chosen],
            units=self.units[chosen],
            order_start=order_start,
            order=self.order[order_at],
        )
        # What is known of the labels need not be found again.
        some.__dict__.update({name: self.__dict__[name] for name in OF_LABELS if name in self.__dict__})
        return some

    @cached_property
    def spelled(self) -> list[Label]:
        """The labels, as tiles have them."""
        return list(zip(self.labels.to_pylist(), self.exact.tolist(), strict=True))

    @property
    def sizes(self) -> Ints64:
        """How many labels each tile has."""
        return np.diff(self.start)

    @cached_property
    def kind(self) -> Ints32:
        """The kind of each of the distinct labels, by its number in `KIND_NUMBER`."""
        found = np.zeros(len(self.labels), dtype=np.int32)
        for kind in KINDS:
            found[np.array(pc.starts_with(self.labels, typed(kind, "")), dtype=np.bool_)] = KIND_NUMBER[kind]
        return found

    @property
    def is_word(self) -> Bools:
        """Which labels of tiles are words, queries or items of baskets."""
        found: Bools = (self.kind == 0)[self.label]
        return found

    @property
    def contents(self) -> pa.Array:
        """The labels of each tile as bytes, which compare as the tiles do: four bytes for each number, the highest first."""
        numbers = pa.py_buffer(self.label.astype(">i4"))
        bounds = pa.py_buffer(np.ascontiguousarray(4 * self.start))
        return pa.Array.from_buffers(pa.large_binary(), len(self), [None, bounds, numbers])

    def summed(self, numbers: Ints) -> Ints64:
        """Return the sum of a number over the tiles that have each label."""
        # Sums of integers are exact in doubles up to 2^53.
        weights: Floats = np.repeat(numbers, self.sizes).astype(np.float64)
        return np.bincount(self.label, weights, minlength=len(self.labels)).astype(np.int64)

    @property
    def words_in(self) -> Ints64:
        """How many words each tile has."""
        return list_sums(self.start, self.is_word)

    @property
    def tile_of(self) -> Ints64:
        """The tile of each of the labels of tiles."""
        return list_ids(self.start)


def sorted_labels(texts: pa.Array, exact: Bools) -> tuple[pa.Array, Bools, Ints32]:
    """Sort distinct labels by code point, classes before words of the same spelling; return also the number that each then has."""
    order = pc.sort_indices(
        pa.table([texts, pa.array(exact).cast(pa.uint8())], names=["text", "exact"]),
        sort_keys=[("text", "ascending"), ("exact", "ascending")],
    )
    number = np.empty(len(texts), dtype=np.int32)
    number[np.array(order)] = np.arange(len(texts), dtype=np.int32)
    return texts.take(order), exact[np.array(order)], number
