"""``index.json`` of a series: its releases, their windows, and hashes of their files. It may be published with them.

Nothing in it is known only to the owner: names, windows and counts are those of the releases.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from incrowd.errors import BadInputError, ClaimError
from incrowd.release.files.manifest import TILES_FORMAT, Closed, canonical_text, format_of, read_manifest
from incrowd.release.files.tiles import TileManifest
from incrowd.release.files.window import SpelledWindow

__all__ = [
    "INDEX_FORMAT",
    "INDEX_NAME",
    "Index",
    "IndexedCounts",
    "IndexedRelease",
    "counts_of",
    "files_of",
    "is_index",
    "read_index",
]

INDEX_NAME = "index.json"
INDEX_FORMAT: Final = "incrowd-series-index/1"
MOST_BYTES = 1 << 26
AT_ONCE = 1 << 20
Name = Annotated[str, msgspec.Meta(pattern=r"^(?!\.{1,2}\Z)[^/\x00]+\Z")]
Hash = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class IndexedCounts(Closed, frozen=True, forbid_unknown_fields=True):
    """Distinct tiles, the fewest people of one, and how often tiles are held, as the release says."""

    tiles: int
    people_min: int
    held: int


class IndexedRelease(Closed, frozen=True, forbid_unknown_fields=True):
    """A release of the series.

    `state` is ``"begun"`` of one whose run did not end: it may be out. `window` is null where none was asked for, `files` (hashes by
    name) and `counts` where they are not known; counts are those of tiles.
    """

    name: Name
    state: Literal["published", "begun"]
    window: SpelledWindow | None
    files: dict[str, Hash] | None
    counts: IndexedCounts | None


class Index(Closed, frozen=True, forbid_unknown_fields=True):
    """All releases of a series, in the order in which they were begun."""

    format: Literal["incrowd-series-index/1"]
    releases: list[IndexedRelease]

    def text(self) -> str:
        """Return the index as it is written."""
        return canonical_text(self)


def read_index(path: Path) -> Index:
    """Read an index, given the file or the directory that holds it."""
    file = path / INDEX_NAME if path.is_dir() else path
    try:
        if not file.is_file() or file.stat().st_size > MOST_BYTES:
            raise FileNotFoundError(file)
        return msgspec.json.decode(file.read_bytes(), type=Index)
    except OSError:
        raise BadInputError(f"{path} is no series: it has no {INDEX_NAME} that can be read") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadInputError(f"{file} is not the index of a series, or a damaged one") from None


def is_index(path: Path) -> bool:
    """Tell whether a file is the index of a series."""
    try:
        read_index(path)
    except BadInputError:
        return False
    return path.is_file()


def files_of(directory: Path) -> dict[str, str]:
    """Return the hash (SHA-256) of every file of a release, by its name."""
    files = sorted(path for path in directory.rglob("*") if not path.is_dir())
    return {path.relative_to(directory).as_posix(): _hash_of(path) for path in files}


def _hash_of(path: Path) -> str:
    """Return the hash of a file; of anything else, one that no file has."""
    if not path.is_file() or path.is_symlink():
        return "0" * 64
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(AT_ONCE):
            hashed.update(part)
    return hashed.hexdigest()


def counts_of(directory: Path) -> IndexedCounts | None:
    """Return the counts of a release of tiles; None of another."""
    try:
        if format_of(directory) != TILES_FORMAT:
            return None
        counts = read_manifest(directory, TileManifest).counts
    except (BadInputError, ClaimError):
        return None
    return IndexedCounts(counts.tiles, counts.people_min, counts.held)
