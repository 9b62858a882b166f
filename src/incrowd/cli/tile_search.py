"""What ``incrowd show DIR --with ITEM`` finds: the tiles of a release that hold some items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from incrowd.core.kinds import text_of
from incrowd.release.files.tile_table import Tile
from incrowd.release.files.tiles import open_tiles
from incrowd.report.console import plain_console
from incrowd.report.visible import visible

__all__ = ["found_as_json", "show_found", "table_of", "tiles_with"]


def tiles_with(directory: Path, wanted: Sequence[str]) -> list[Tile]:
    """Return the tiles that hold all of some items or classes, in any case of letters, the largest first."""
    asked = {item.casefold() for item in wanted}
    found = [
        tile
        for tile in open_tiles(directory)
        if asked <= {text_of(text).casefold() for text, _ in tile.labels}
    ]
    return sorted(found, key=lambda tile: (-tile.people * len(tile.labels), tile.labels))


def show_found(directory: Path, wanted: Sequence[str], top: int) -> None:
    """Show the tiles that hold all of some items, or say what it means that there is none."""
    console, said = plain_console(), " and ".join(map(visible, wanted))
    found = tiles_with(directory, wanted)
    if not found:
        console.print(f"No tile has {said}.", style="bold")
        together = " together" if len(wanted) > 1 else ""
        console.print(
            f"Too few people have it{together}, or only a class above it is published. "
            "To search for several items, give --with several times."
        )
        return
    tiles, have = ("tile", "has") if len(found) == 1 else ("tiles", "have")
    title = f"{len(found):,} {tiles} {have} {said}"
    if len(found) > top:
        title += f"; the {top:,} largest (people times labels)"
    console.print(table_of(title, found[:top]))
    console.print(f"\nWhat is promised, and what was done: incrowd show {directory}", style="dim")


def found_as_json(directory: Path, wanted: Sequence[str], top: int) -> dict[str, Any]:
    """Return the tiles that hold all of some items, and how many there are."""
    found = tiles_with(directory, wanted)
    tiles = [
        {"items": [text for text, _ in tile.in_order], "people": tile.people, "units": tile.units}
        for tile in found[:top]
    ]
    return {"with": list(wanted), "found": len(found), "tiles": tiles}


def table_of(title: str, tiles: Sequence[Tile]) -> Table:
    """Return a table of tiles with their numbers."""
    table = Table(box=None, pad_edge=False, min_width=64, title=Text(title), title_justify="left")
    table.add_column("people", justify="right", style="bold")
    table.add_column("units", justify="right")
    table.add_column("tile")
    for tile in tiles:
        table.add_row(f"{tile.people:,}", f"{tile.units:,}", Text(visible(tile.in_words)))
    return table
