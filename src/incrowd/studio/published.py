"""What a release publishes, searched and paged: tiles or records, and what became of a word."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["TOO_LARGE", "Found", "Shown", "fate_of", "search"]

TOO_LARGE = 48 * 1024 * 1024
"""The largest file of tiles or records that is searched in the studio: the command line searches larger ones."""
PAGE = 20


class Shown(NamedTuple):
    """A tile or a record: its labels (a text, and whether it is the very item), how many people or rows share it, and in how many units."""

    labels: tuple[tuple[str, bool], ...]
    people: int
    units: int | None


class Found(NamedTuple):
    """A page of what was found: the shown ones, how many there are in all, and the number of pages."""

    shown: list[Shown]
    number: int
    pages: int


def file_of(release: Path) -> Path:
    """Return the file that holds what is published of people."""
    tiles = release / "tiles.parquet"
    return tiles if tiles.is_file() else release / "records.parquet"


def search(release: Path, word: str, page: int) -> Found:
    """Return the tiles or records with a word in them, or all, those that most people share first."""
    everything = _opened(*_mark(release))
    wanted = " ".join(word.split()).lower()
    found = [one for one in everything if not wanted or any(text.lower() == wanted for text, _ in one.labels)]
    pages = max(1, -(-len(found) // PAGE))
    page = min(max(page, 1), pages)
    return Found(found[PAGE * (page - 1) : PAGE * page], len(found), pages)


def fate_of(release: Path, word: str, above: list[str]) -> dict[str, Any]:
    """Return what became of a word: in how many tiles or records it is itself, and which of the classes above it are published.

    Parameters
    ----------
    release, word
        Where to look, and for what.
    above
        The classes above it in the taxonomy, the nearest first.
    """
    wanted = " ".join(word.split()).lower()
    itself, classes = 0, dict.fromkeys(above, 0)
    for one in _opened(*_mark(release)):
        texts = set(one.labels)
        itself += any(exact and text.lower() == wanted for text, exact in texts)
        for name in classes:
            classes[name] += (name, False) in texts
    return {"itself": itself, "classes": [(name, times) for name, times in classes.items() if times]}


def _mark(release: Path) -> tuple[Path, int]:
    file = file_of(release)
    return release, file.stat().st_mtime_ns


@lru_cache(maxsize=1)
def _opened(release: Path, changed: int) -> list[Shown]:  # noqa: ARG001 - a change of the file is another call
    """Read all tiles or records, those that most people share first."""
    from incrowd.core.kinds import text_of
    from incrowd.release.files.parts import part_files, runs_in
    from incrowd.release.files.tiles import open_tiles

    if file_of(release).name == "tiles.parquet":
        tiles = [
            Shown(tuple((text_of(text), exact) for text, exact in tile.in_order), tile.people, tile.units)
            for tile in open_tiles(release)
        ]
        return sorted(tiles, key=lambda one: (-one.people * len(one.labels), one.labels))
    records = [
        Shown(tuple((text_of(text), exact) for text, exact in labels), size, None)
        for (labels, _), size in runs_in(part_files(release / "records.parquet"))
    ]
    return sorted(records, key=lambda one: (-one.people, one.labels))
