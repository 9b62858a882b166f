"""Tiles as text: JSON lines, CSV, and baskets, as for records. A class never looks like a word that was typed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from incrowd.core.kinds import MAIN, kind_of
from incrowd.release.files.exports import csv_lines, safe_cell, token
from incrowd.release.files.records import shown
from incrowd.release.files.tiles import Tile, tile_batches

__all__ = ["tile_text"]


AT_ONCE = 10_000


def _jsonl(tiles: Sequence[Tile], kinds: Sequence[str]) -> Iterator[str]:
    """Give one JSON object per tile, with the columns of ``tiles.parquet``."""
    for batch in tile_batches(tiles, kinds, AT_ONCE):
        for said in batch.to_pylist():
            yield json.dumps(said, ensure_ascii=False) + "\n"


def _csv(tiles: Sequence[Tile], kinds: Sequence[str]) -> Iterator[str]:
    """Give one line per label of a tile: the tile's number (from 0), label, whether it is the very item, people, units; its kind, where there are several."""
    rows = (
        [
            (
                number,
                *((kind_of(label[0]) or MAIN,) if kinds else ()),
                safe_cell(shown(label)),
                str(label[1]).lower(),
                tile.people,
                tile.units,
            )
            for label in tile.in_order
        ]
        for number, tile in enumerate(tiles)
    )
    return csv_lines(["tile", *(("kind",) if kinds else ()), "item", "exact", "people", "units"], rows)


def _dat(tiles: Sequence[Tile], _kinds: Sequence[str]) -> Iterator[str]:
    """Give one line per tile and unit that counts: tools that count baskets find the published numbers."""
    for tile in tiles:
        yield (" ".join(map(token, tile.in_order)) + "\n") * tile.units


FORMS: Mapping[str, Callable[[Sequence[Tile], Sequence[str]], Iterator[str]]] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "dat": _dat,
}


def tile_text(form: str, tiles: Sequence[Tile], kinds: Sequence[str] = ()) -> Iterator[str]:
    """Give tiles, whose labels may be of further kinds, in a text form, piece by piece."""
    return FORMS[form](tiles, kinds)
