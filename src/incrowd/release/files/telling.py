"""What a release tells at a glance: tiles that surprise, what is special in a record, which labels hold together, where risk remains.

Everything here follows from what is published alone: of how many units there are only two digits are published, so no measure needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from incrowd.core.kinds import KINDS
from incrowd.core.ragged import filtered_starts, list_sums, pairs_within
from incrowd.core.types import Floats, Ints64
from incrowd.release.files.records import Label, shown
from incrowd.release.files.tile_table import Tile, TileTable
from incrowd.report.graph import Drawing, draw

__all__ = ["Risk", "Telling", "drawing_of", "risk_of", "special_first", "telling_tiles", "tiles_of_kinds"]

MOST_BOXES = 60
PARTNERS = 7  # of each hub
LOOKED_AT = 2_000  # tiles of several kinds, for the first of different words
ROUNDED = 1e-9  # more than doubles lose in a score


class Telling(NamedTuple):
    """A tile, and which share of all that its labels are held for is in this tile."""

    tile: Tile
    share: float


class Risk(NamedTuple):
    """Where risk remains: the fewest people of a tile, how many tiles have no more than k, and the surest sign.

    `surest` is the largest share of the people with a label who hold another label in one tile with it, as far as
    the file alone can tell.
    """

    people_min: int
    at_k: int
    tiles: int
    surest: float


def special_first(
    labels: Sequence[Label], counts: Sequence[int], rows_with: Mapping[Label, int]
) -> list[tuple[Label, int]]:
    """Return the labels of a record with their counts, those first that the fewest records have.

    Of labels that as many records have, items come before classes, and what the record has more often before the rest.
    """
    return sorted(
        zip(labels, counts, strict=True),
        key=lambda one: (rows_with[one[0]], not one[0][1], -one[1], one[0][0]),
    )


def telling_tiles(tiles: Sequence[Tile], most: int) -> list[Telling]:
    """Return the tiles of several labels that surprise: large, held by many, and much of what their labels are held for.

    The share is that of the tile among all that its labels are held for: len * units / the sum of the labels' units. It does
    not depend on how many units there are (it is null-invariant, as the harmonic mean of the confidences of each label).
    The score is share * sqrt(people) * (len - 1), compared as whole numbers.
    """
    table = TileTable.of(tiles)
    all_of_it = list_sums(table.start, table.summed(table.units)[table.label])
    scored = []
    for at in _promising(table, all_of_it, most).tolist():
        tile, whole = table[at], int(all_of_it[at])
        size = len(tile.labels)
        score = (size * tile.units * (size - 1)) ** 2 * tile.people * 10**6 // whole**2
        scored.append((-score, tile.labels, Telling(tile, size * tile.units / whole)))
    scored.sort(key=lambda one: one[:2])
    return [telling for *_, telling in scored[:most]]


def _promising(table: TileTable, all_of_it: Ints64, most: int) -> Ints64:
    """Return the tiles among which those with the highest scores are, reckoned in doubles and with room for what they round."""
    larger = np.flatnonzero(table.sizes > 1)
    size = table.sizes[larger]
    share = size * table.units[larger] / all_of_it[larger]
    score = (share * (size - 1)) ** 2 * table.people[larger] * 10**6
    if len(larger) <= most:
        return larger
    last = np.partition(score, len(score) - most)[-most]
    found: Ints64 = larger[score >= (last - 1) * (1 - ROUNDED)]
    return found


def tiles_of_kinds(tiles: Sequence[Tile], most: int) -> list[Tile]:
    """Return tiles whose words are with exact labels of most other kinds, those that most people hold first: one for the same words."""
    table = TileTable.of(tiles)
    kind = np.where(table.exact, table.kind, -1)[table.label]
    has = [list_sums(table.start, kind == number) > 0 for number in range(1 + len(KINDS))]
    kinds = np.where(has[0], np.sum(has[1:], axis=0), 0)
    order = np.lexsort((-table.people, -kinds))  # stable: ties as in the file, by content
    found: dict[tuple[Label, ...], Tile] = {}
    for tile in table.rows(order[: int(np.count_nonzero(kinds))][:LOOKED_AT]):
        found.setdefault(tuple(tile.words), tile)
    return list(found.values())[:most]


def risk_of(tiles: Sequence[Tile], k: int) -> Risk:
    """Return where risk remains, as far as published numbers tell."""
    table = TileTable.of(tiles)
    larger = table.rows(np.flatnonzero(table.sizes > 1))
    rarest = np.minimum.reduceat(table.summed(table.people)[larger.label], larger.start[:-1])
    return Risk(
        int(table.people.min()) if len(table) else 0,
        int(np.count_nonzero(table.people <= k)),
        len(table),
        float((larger.people / rarest).max(initial=0.0)),
    )


def drawing_of(tiles: Sequence[Tile]) -> Drawing:
    """Draw the labels that hold most others together, each with those that it is held with most."""
    table = TileTable.of(tiles)
    pairs = _pairs(table)
    chosen = _hubs(pairs)
    labels = sorted({label for pair in chosen for label in pair})
    place = {label: number for number, label in enumerate(labels)}
    spelled = {label: shown((table.labels[label].as_py(), bool(table.exact[label]))) for label in labels}
    edges = [
        (place[a], place[b], joint, f"{spelled[a]}, {spelled[b]}: {joint:,} units")
        for a, b in chosen
        for joint in [pairs.of(a, b)[0]]
    ]
    return draw([(spelled[label], not table.exact[label]) for label in labels], edges)


class _Pairs(NamedTuple):
    """Two labels that are in one tile, as one word of both, ascending: how many units hold both in one tile, and how strong that is."""

    width: int
    word: Ints64
    joint: Ints64
    strength: Floats

    def of(self, first: int, second: int) -> tuple[int, float]:
        """Return the units that hold two labels, and how strong that is; 0 if none does."""
        word = first * self.width + second
        at = int(np.searchsorted(self.word, word))
        if at == len(self.word) or self.word[at] != word:
            return 0, 0.0
        return int(self.joint[at]), float(self.strength[at])


def _pairs(table: TileTable) -> _Pairs:
    """Return the pairs of labels that say what was looked for or clicked, and not only when, where or with what."""
    says_what = np.array([True, *(not kind.is_context for kind in KINDS.values())])[table.kind][table.label]
    start, label = filtered_starts(table.start, says_what), table.label[says_what].astype(np.int64)
    tile, first, second = pairs_within(start)
    width = max(len(table.labels), 1)
    low, high = np.minimum(label[first], label[second]), np.maximum(label[first], label[second])
    word, entry = np.unique(low * width + high, return_inverse=True)
    joint = np.bincount(entry, table.units[tile].astype(np.float64), len(word)).astype(np.int64)
    units = table.summed(table.units)
    strength = joint * joint / (units[word // width] + units[word % width])
    return _Pairs(width, word, joint, strength)


def _hubs(pairs: _Pairs) -> list[tuple[int, int]]:
    """Choose hubs, the strongest first, each with partners that no other has, until there are labels enough."""
    order = np.lexsort((pairs.word, -pairs.strength))
    both = np.stack(np.divmod(pairs.word[order], pairs.width), axis=1)
    # In the order of pairs, so that sums are the same to the last digit wherever they are made.
    total = np.bincount(both.ravel(), np.repeat(pairs.strength[order], 2), pairs.width)
    chosen: list[tuple[int, int]] = []
    seen: set[int] = set()
    for hub in np.argsort(-total, kind="stable").tolist():
        if total[hub] == 0 or len(seen) >= MOST_BOXES:
            break
        if hub in seen:
            continue
        own = both[(both == hub).any(axis=1)].tolist()
        star = [(a, b) for a, b in own if a not in seen and b not in seen][:PARTNERS]
        if star:
            group = sorted({label for pair in star for label in pair})
            weakest = pairs.of(*star[-1])[1]
            chosen += [
                (a, b) for a, b in combinations(group, 2) if hub in (a, b) or pairs.of(a, b)[1] >= weakest
            ]
            seen.update(group)
    return chosen
