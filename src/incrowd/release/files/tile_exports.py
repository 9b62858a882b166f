"""Tiles as text: JSON lines, CSV, and baskets, as for records. A class never looks like a word that was typed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from incrowd.release.files.exports import csv_lines, safe_cell, token
from incrowd.release.files.records import shown
from incrowd.release.files.tiles import Tile

__all__ = ["tile_text"]


def _jsonl(tiles: Sequence[Tile]) -> Iterator[str]:
    """Give one JSON object per tile."""
    for tile in tiles:
        items, exact = [text for text, _ in tile.labels], [exact for _, exact in tile.labels]
        said = {
            "items": items,
            "exact": exact,
            "people": tile.people,
            "units": tile.units,
            "order": tile.order,
        }
        yield json.dumps(said, ensure_ascii=False) + "\n"


def _csv(tiles: Sequence[Tile]) -> Iterator[str]:
    """Give one line per label of a tile: the tile's number (from 0), label, whether it is the very item, people, units."""
    rows = (
        [
            (number, safe_cell(shown(label)), str(label[1]).lower(), tile.people, tile.units)
            for label in tile.in_order
        ]
        for number, tile in enumerate(tiles)
    )
    return csv_lines(["tile", "item", "exact", "people", "units"], rows)


def _dat(tiles: Sequence[Tile]) -> Iterator[str]:
    """Give one line per tile and unit that counts: tools that count baskets find the published numbers."""
    for tile in tiles:
        yield (" ".join(map(token, tile.in_order)) + "\n") * tile.units


FORMS: Mapping[str, Callable[[Sequence[Tile]], Iterator[str]]] = {"jsonl": _jsonl, "csv": _csv, "dat": _dat}


def tile_text(form: str, tiles: Sequence[Tile]) -> Iterator[str]:
    """Give the tiles in a text form, piece by piece."""
    return FORMS[form](tiles)
