"""Tiles as arrays of numbered labels, with what is certain of how many units and people hold each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from incrowd.core.kinds import kind_of, text_of
from incrowd.core.promises import Mosaic, read_settings
from incrowd.core.ragged import list_ids, starts_of
from incrowd.core.rounding import ROUNDED_TO, about_step
from incrowd.core.types import Bools, Floats, Ints64
from incrowd.release.files.records import Label
from incrowd.release.files.tiles import Tile, TileManifest

__all__ = ["MAIN", "Bounds", "Counting", "TileSets"]

MAIN = "item"  # the kind of words and queries


class Bounds(NamedTuple):
    """Numbers that are certain: at least so many, and at most."""

    low: Ints64
    high: Ints64


@dataclass(frozen=True)
class Counting:
    """How the numbers of a release are to be read.

    Parameters
    ----------
    units_about
        The number of all units as it is published.
    unit
        What a unit is, as ``"session:1800"``.
    k, cap, is_rounded
        The least number of people of a tile, how often one counts in its units, and whether its numbers were rounded.
    one_each
        Whether each person has one unit, so that nobody holds a label twice.
    """

    units_about: int
    unit: str
    k: int
    cap: int
    is_rounded: bool
    one_each: bool

    @classmethod
    def of(cls, manifest: TileManifest, tiles: Sequence[Tile]) -> Self:
        """Return how the tiles of a manifest were counted."""
        settings = read_settings("mosaic", {**manifest.parameters, "seed": 0})
        common, own = settings.common, settings.own
        assert isinstance(own, Mosaic)  # noqa: S101 - the parameters were read as such
        # Rows that a caller of Python made may be several of a person; those of a file are not.
        alone = common.unit == "user" or (common.unit == "record" and common.items is not None)
        one_each = alone and all(tile.units == tile.people for tile in tiles)
        is_rounded = own.counts == "rounded"
        return cls(manifest.counts.units_about, common.unit, common.k, own.cap, is_rounded, one_each)

    @property
    def step(self) -> int:
        """How far apart two numbers of all units are that are told apart."""
        return about_step(self.units_about)

    @property
    def most_units(self) -> int:
        """More units than these there are not: what was rounded was below."""
        return self.units_about + self.step // 2

    def people(self, said: Ints64) -> Bounds:
        """Return how many people hold a tile for certain."""
        slack = (ROUNDED_TO - 1) * self.is_rounded
        return Bounds(np.maximum(said - slack, self.k), said + slack)

    def units(self, said: Ints64, people: Ints64) -> Bounds:
        """Return how many units hold a tile for certain.

        A person who reached the cap may have any number of units. Nobody has reached it where fewer than `cap` - 1 units are not
        the first of their person.
        """
        slack = (ROUNDED_TO - 1) * self.is_rounded
        none_capped = (said - people < self.cap - 1) & (not self.is_rounded)
        high = np.where(none_capped | self.one_each, said + slack, self.most_units)
        return Bounds(np.maximum(said - slack, self.k), high)


@dataclass(frozen=True, eq=False)
class TileSets:
    """Distinct tiles: tile t has the labels ``label[start[t]:start[t + 1]]``, ascending.

    Parameters
    ----------
    labels
        The labels in code point order, with their kinds.
    start, label
        The tiles.
    units, units_bounds, people
        Of each tile: the published number of units, and what is certain of units and people.
    counting
        How they were counted.
    """

    labels: list[Label]
    start: Ints64
    label: Ints64
    units: Ints64
    units_bounds: Bounds
    people: Bounds
    counting: Counting

    @classmethod
    def of(cls, tiles: Sequence[Tile], counting: Counting) -> Self:
        """Return tiles with their labels as numbers."""
        labels = sorted({label for tile in tiles for label in tile.labels})
        number = {label: place for place, label in enumerate(labels)}
        start = starts_of([len(tile.labels) for tile in tiles])
        label = np.fromiter((number[one] for tile in tiles for one in tile.labels), np.int64, start[-1])
        label = label[np.lexsort((label, list_ids(start)))]  # as they are in every file that was audited
        people, units = (np.array([tile[place] for tile in tiles], np.int64) for place in (1, 2))
        bounds = counting.units(units, people)
        return cls(labels, start, label, units, bounds, counting.people(people), counting)

    def __len__(self) -> int:
        return len(self.units)

    @cached_property
    def tile(self) -> Ints64:
        """The tile that each entry of `label` is in."""
        return list_ids(self.start)

    @cached_property
    def kinds(self) -> list[str]:
        """The kind of each label."""
        return [kind_of(text) or MAIN for text, _ in self.labels]

    @cached_property
    def texts(self) -> pa.Array:
        """The text of each label, without its kind."""
        return pa.array([text_of(text) for text, _ in self.labels], pa.string())

    @cached_property
    def exact(self) -> Bools:
        """Which labels are the very items."""
        return np.array([exact for _, exact in self.labels], np.bool_)

    def of_kind(self, kind: str) -> Bools:
        """Tell which labels are of a kind."""
        return np.array([one == kind for one in self.kinds], np.bool_)

    def summed(self, of_tile: Ints64) -> Ints64:
        """Return for each label the sum of a number over its tiles."""
        weights: Floats = of_tile[self.tile].astype(np.float64)  # exact up to 2^53
        return np.bincount(self.label, weights, len(self.labels)).astype(np.int64)

    @cached_property
    def label_units(self) -> Ints64:
        """How many units hold each label, as published: those of different tiles differ, for a unit has a label once."""
        return self.summed(self.units)

    @cached_property
    def label_bounds(self) -> Bounds:
        """How many units hold each label, for certain."""
        high = self.summed(self.units_bounds.high)
        return Bounds(self.summed(self.units_bounds.low), np.minimum(high, self.counting.most_units))

    @cached_property
    def label_people(self) -> Bounds:
        """How many people hold each label, for certain: somebody may hold several tiles with it, unless each has one unit."""
        high = np.minimum(self.summed(self.people.high), self.counting.most_units)
        if self.counting.one_each:
            return Bounds(self.summed(self.people.low), high)
        low = np.zeros(len(self.labels), np.int64)
        np.maximum.at(low, self.label, self.people.low[self.tile])
        return Bounds(low, high)

    @cached_property
    def total(self) -> int:
        """N, the number of all units as far as it is known: at least those of any label."""
        return max(self.counting.units_about, int(self.label_units.max(initial=0)), 2)
