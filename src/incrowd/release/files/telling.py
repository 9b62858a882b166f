"""What published tiles tell at a glance: those that surprise, which labels hold together, and where risk remains.

Everything here follows from the published tiles alone: of how many units there are only two digits are published, so no measure needs it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from incrowd.core.kinds import KINDS, kind_of
from incrowd.release.files.records import Label, shown
from incrowd.release.files.tiles import Tile
from incrowd.report.graph import Drawing, draw

__all__ = ["Risk", "Telling", "drawing_of", "risk_of", "telling_tiles"]

MOST_BOXES = 60
PARTNERS = 7  # of each hub
Pair = tuple[Label, Label]


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


def telling_tiles(tiles: Sequence[Tile], most: int) -> list[Telling]:
    """Return the tiles of several labels that surprise: large, held by many, and much of what their labels are held for.

    The share is that of the tile among all that its labels are held for: len * units / the sum of the labels' units. It does
    not depend on how many units there are (it is null-invariant, as the harmonic mean of the confidences of each label).
    The score is share * sqrt(people) * (len - 1), compared as whole numbers.
    """
    units = _units_of(tiles)
    scored = []
    for tile in tiles:
        size = len(tile.labels)
        if size > 1:
            all_of_it = sum(units[label] for label in tile.labels)
            score = (size * tile.units * (size - 1)) ** 2 * tile.people * 10**6 // all_of_it**2
            scored.append((-score, tile.labels, Telling(tile, size * tile.units / all_of_it)))
    scored.sort(key=lambda one: one[:2])
    return [telling for *_, telling in scored[:most]]


def risk_of(tiles: Sequence[Tile], k: int) -> Risk:
    """Return where risk remains, as far as published numbers tell."""
    holders: Counter[Label] = Counter()
    for tile in tiles:
        for label in tile.labels:
            holders[label] += tile.people
    larger = (tile for tile in tiles if len(tile.labels) > 1)
    surest = max((tile.people / min(holders[label] for label in tile.labels) for tile in larger), default=0.0)
    return Risk(
        min((tile.people for tile in tiles), default=0),
        sum(tile.people <= k for tile in tiles),
        len(tiles),
        surest,
    )


def drawing_of(tiles: Sequence[Tile]) -> Drawing:
    """Draw the labels that hold most others together, each with those that it is held with most."""
    pairs = _pairs(tiles)
    strength = {
        pair: number * number / sum(pairs.units[label] for label in pair)
        for pair, number in pairs.joint.items()
    }
    chosen = _hubs(strength)
    labels = sorted({label for pair in chosen for label in pair})
    place = {label: number for number, label in enumerate(labels)}
    edges = [
        (place[a], place[b], pairs.joint[a, b], f"{shown(a)}, {shown(b)}: {pairs.joint[a, b]:,} units")
        for a, b in chosen
    ]
    return draw([(shown(label), not label[1]) for label in labels], edges)


class _Pairs(NamedTuple):
    """How many units hold each label, and each two labels in one tile."""

    units: Counter[Label]
    joint: Counter[Pair]


def _units_of(tiles: Sequence[Tile]) -> Counter[Label]:
    units: Counter[Label] = Counter()
    for tile in tiles:
        for label in tile.labels:
            units[label] += tile.units
    return units


def _pairs(tiles: Sequence[Tile]) -> _Pairs:
    joint: Counter[Pair] = Counter()
    for tile in tiles:
        for pair in combinations(filter(_says_what, tile.labels), 2):
            joint[pair] += tile.units
    return _Pairs(_units_of(tiles), joint)


def _says_what(label: Label) -> bool:
    """Whether a label says what was looked for or clicked, and not only when, where or with what."""
    kind = kind_of(label[0])
    return kind is None or not KINDS[kind].is_context


def _hubs(strength: dict[Pair, float]) -> list[Pair]:
    """Choose hubs, the strongest first, each with partners that no other has, until there are labels enough."""
    own: dict[Label, list[Pair]] = {}
    total: defaultdict[Label, float] = defaultdict(float)
    for pair in sorted(strength, key=lambda pair: (-strength[pair], pair)):
        for label in pair:
            total[label] += strength[pair]
            own.setdefault(label, []).append(pair)
    chosen: list[Pair] = []
    seen: set[Label] = set()
    for hub in sorted(total, key=lambda label: (-total[label], label)):
        star = [pair for pair in own[hub] if not seen.intersection(pair)][:PARTNERS]
        if star:
            group = sorted({label for pair in star for label in pair})
            weakest = strength[star[-1]]
            chosen += [
                pair for pair in combinations(group, 2) if hub in pair or strength.get(pair, 0) >= weakest
            ]
            seen.update(group)
        if len(seen) >= MOST_BOXES:
            break
    return chosen
