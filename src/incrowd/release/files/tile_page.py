"""``report.html`` of a release of tiles: for deciding, made from the tiles and the manifest alone. The audit makes it again."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from incrowd.release.files.telling import drawing_of, risk_of, telling_tiles, tiles_of_kinds
from incrowd.release.files.tiles import Tile, TileManifest, TileTable, kinds_said
from incrowd.report.html import page, share
from incrowd.report.summary import summary_of
from incrowd.report.use import purposes

__all__ = ["tile_page"]

MOST_SHOWN = 20
MOST_OF_KINDS = 10
WHOLE_PEOPLE = "No: nothing says which tiles are one person's. For whole people choose a method that publishes records, as flock."


def tile_page(manifest: TileManifest, tiles: Sequence[Tile]) -> str:
    """Return the page of a release of tiles, which are in their order."""
    tiles = TileTable.of(tiles)
    use = msgspec.to_builtins(manifest.use)
    common = tiles.rows(np.argsort(-tiles.people, kind="stable")[:MOST_SHOWN])
    return page(
        "tiles.html",
        manifest=manifest,
        summary=summary_of(manifest.claim),
        purposes=purposes(use, WHOLE_PEOPLE, people_are_served=False, kinds=kinds_said(manifest.parameters)),
        kept=share(manifest.use.kept_exactly),
        risk=risk_of(tiles, manifest.parameters["k"]),
        drawing=drawing_of(tiles),
        telling=[(*_spelled(tile), share(part)) for tile, part in telling_tiles(tiles, MOST_SHOWN)],
        of_kinds=[_spelled(tile) for tile in tiles_of_kinds(tiles, MOST_OF_KINDS)],
        common=[_spelled(tile) for tile in common],
        share=share,
    )


def _spelled(tile: Tile) -> tuple[int, int, str]:
    """Return people, units and labels of a tile as people see them."""
    return tile.people, tile.units, tile.in_words
