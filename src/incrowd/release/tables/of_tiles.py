"""The tables of a release of tiles: items, pairs of items, items with what is of another kind, and trends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.core.types import Bools, Ints64
from incrowd.release.tables.pairs import (
    Estimates,
    Joined,
    estimated,
    joined_pairs,
    pair_bounds,
    without_joined,
)
from incrowd.release.tables.sets import MAIN, TileSets

__all__ = ["tables_of_tiles"]

PERIODS = ("day", "week", "month")


class Listed(NamedTuple):
    """Pairs that a table lists: the labels, what is known of them together, and what is estimated."""

    first: Ints64
    second: Ints64
    joined: Joined
    estimates: Estimates

    def ordered(self) -> Listed:
        """Return the pairs by estimate, the largest first, then by what is joint, then by label."""
        keys = (self.second, self.first, -self.joined.units, -self.estimates.units)
        order = np.lexsort(keys)
        estimates = Estimates(*(column[order] for column in self.estimates))
        return Listed(self.first[order], self.second[order], self.joined.chosen(order), estimates)


def tables_of_tiles(sets: TileSets, top: int) -> dict[str, pa.Table]:
    """Return all tables of a release of tiles.

    Parameters
    ----------
    sets
        The tiles.
    top
        How many pairs are listed for their estimates alone, and for how many items all periods are.
    """
    joined = joined_pairs(sets)
    kinds = [kind for kind in dict.fromkeys(sorted(sets.kinds)) if kind != MAIN]
    main = sets.of_kind(MAIN)
    tables = {"items": _items(sets), "pairs": _pairs(sets, joined, main, top)}
    for kind in kinds:
        if kind not in PERIODS:
            tables[f"item_{kind}"] = _pairs_with(sets, joined, kind, top)
    trends = list(_trends(sets, joined, [kind for kind in PERIODS if kind in kinds], top))
    return tables | ({"trends": pa.concat_tables(trends)} if trends else {})


def _items(sets: TileSets) -> pa.Table:
    """Return every label with its numbers, most units first, the main items before those of other kinds."""
    other = np.array([kind != MAIN for kind in sets.kinds], np.bool_)
    order = np.lexsort((np.arange(len(sets.labels)), -sets.label_units, np.array(sets.kinds), other))
    units, people = sets.label_bounds, sets.label_people
    return pa.table(
        {
            "kind": pa.array(sets.kinds, pa.string()).take(pa.array(order)),
            "item": sets.texts.take(pa.array(order)),
            "exact": sets.exact[order],
            "tiles": sets.summed(np.ones(len(sets), np.int64))[order],
            "units": sets.label_units[order],
            "lower": units.low[order],
            "upper": units.high[order],
            "people_low": people.low[order],
            "people_high": people.high[order],
        }
    )


def _pairs(sets: TileSets, joined: Joined, main: Bools, top: int) -> pa.Table:
    """Return the pairs of main items."""
    own = joined.chosen(_both(joined, sets, main, main))
    first, second = np.divmod(own.key, len(sets.labels))
    more = without_joined(sets, *(main & sets.exact,) * 2, joined, top)
    listed = _listed(sets, own, (first, second), (np.minimum(*more), np.maximum(*more)), top)
    names = (("item_a", "exact_a"), ("item_b", "exact_b"))
    return _table(sets, listed, names)


def _pairs_with(sets: TileSets, joined: Joined, kind: str, top: int) -> pa.Table:
    """Return the pairs of a main item and one of another kind."""
    own, ends = _across(sets, joined, kind)
    more = without_joined(sets, sets.of_kind(MAIN) & sets.exact, sets.of_kind(kind) & sets.exact, joined, top)
    return _table(sets, _listed(sets, own, ends, more, top), (("item", "exact"), (kind, f"{kind}_exact")))


def _across(sets: TileSets, joined: Joined, kind: str) -> tuple[Joined, tuple[Ints64, Ints64]]:
    """Return the pairs of a main item and a label of a kind that have a common tile, the main item first."""
    main, other = sets.of_kind(MAIN), sets.of_kind(kind)
    own = joined.chosen(_both(joined, sets, main, other) | _both(joined, sets, other, main))
    low, high = np.divmod(own.key, len(sets.labels))
    return own, (np.where(main[low], low, high), np.where(main[low], high, low))


def _both(joined: Joined, sets: TileSets, one: Bools, other: Bools) -> Bools:
    """Tell which pairs are of two given sorts of labels."""
    first, second = np.divmod(joined.key, max(len(sets.labels), 1))
    found: Bools = one[first] & other[second]
    return found


def _listed(
    sets: TileSets,
    own: Joined,
    ends: tuple[Ints64, Ints64],
    more: tuple[Ints64, Ints64],
    top: int,
) -> Listed:
    """Return all pairs with a common tile, and of the others those that are among the `top` largest estimates of exact items."""
    first, second = (np.concatenate(both) for both in zip(ends, more, strict=True))
    zeros = np.zeros(len(more[0]), np.int64)
    joined = Joined(*(np.concatenate((column, zeros)) for column in own))
    rest = (sets.label_units[first] - joined.units, sets.label_units[second] - joined.units)
    found = estimated(joined.units, rest, sets.total, sets.counting.step)
    listed = Listed(first, second, joined, found).ordered()
    of_exact = sets.exact[listed.first] & sets.exact[listed.second]
    keep = (listed.joined.units > 0) | (np.cumsum(of_exact) <= top)
    return _chosen(listed, keep)


def _chosen(listed: Listed, which: Bools) -> Listed:
    """Return some of the pairs."""
    estimates = Estimates(*(column[which] for column in listed.estimates))
    return Listed(listed.first[which], listed.second[which], listed.joined.chosen(which), estimates)


def _trends(sets: TileSets, joined: Joined, kinds: list[str], top: int) -> Iterator[pa.Table]:
    """Yield items by period, for each kind of periods: all that are joint, and all periods of the most frequent items."""
    main = np.flatnonzero(sets.of_kind(MAIN))
    frequent = main[np.argsort(-sets.label_units[main], kind="stable")][:top]
    size = len(sets.labels)
    for kind in kinds:
        own, (item, period) = _across(sets, joined, kind)
        periods = np.flatnonzero(sets.of_kind(kind))
        grid = np.repeat(frequent, len(periods)), np.tile(periods, len(frequent))
        places = np.unique(np.concatenate((item * size + period, grid[0] * size + grid[1])))
        item, period = np.divmod(places, size)
        found, _ = own.found(np.minimum(item, period) * size + np.maximum(item, period))
        yield _trend(sets, kind, item, period, found)


def _trend(sets: TileSets, kind: str, item: Ints64, period: Ints64, joined: Joined) -> pa.Table:
    """Return items by period, with estimates for the units of an item whose tile does not say when."""
    units, is_period = sets.label_units, sets.of_kind(kind)
    left = units[period] - joined.units
    if _has_one_period(sets.counting.unit, kind):
        # A unit that says another period is not of this one; the others are spread as what is left of all periods is.
        dated = np.zeros(len(sets), np.bool_)
        dated[sets.tile[is_period[sets.label]]] = True
        rest = units[item] - sets.summed(sets.units * dated)[item]
        of_item = np.bincount(item, joined.units, len(units)).astype(np.int64)
        found = estimated(joined.units, (rest, left), units[is_period].sum() - of_item[item], 0)
    else:
        rest = units[item] - joined.units
        found = estimated(joined.units, (rest, left), sets.total, sets.counting.step)
    order = np.lexsort((period, item, -units[item]))
    estimates = Estimates(*(column[order] for column in found))
    listed = Listed(item[order], period[order], joined.chosen(order), estimates)
    table = _table(sets, listed, (("item", "exact"), ("period", "period_exact")))
    return table.add_column(2, "kind", pa.array([kind] * len(item), pa.string()))


def _has_one_period(unit: str, kind: str) -> bool:
    """Tell whether a unit is of one day, week or month: queries, sessions and days are, but for midnight."""
    return unit.partition(":")[0] in {"query", "session", "day"} or (unit == "week" and kind != "day")


def _table(sets: TileSets, listed: Listed, names: tuple[tuple[str, str], tuple[str, str]]) -> pa.Table:
    """Return pairs as a table."""
    units = pair_bounds(listed.joined.low, listed.first, listed.second, sets.label_bounds)
    people = pair_bounds(listed.joined.people, listed.first, listed.second, sets.label_people)
    columns: Mapping[str, object] = {
        names[0][0]: sets.texts.take(pa.array(listed.first)),
        names[0][1]: sets.exact[listed.first],
        names[1][0]: sets.texts.take(pa.array(listed.second)),
        names[1][1]: sets.exact[listed.second],
        "joint": listed.joined.units,
        "estimate": listed.estimates.units,
        "error": listed.estimates.error,
        "lower": units.low,
        "upper": units.high,
        "people_low": people.low,
        "people_high": people.high,
    }
    return pa.table(columns)
