"""The private map: which owner got which row. It tells who is who, so it never lies inside a release."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from incrowd.core.atomic import check_free, private_file
from incrowd.core.claims import PARTS
from incrowd.errors import BadInputError, option
from incrowd.release.files.parts import part_files

__all__ = [
    "MAP_ROWS_A_GROUP",
    "MAP_SCHEMA",
    "RECORDS",
    "PrivateMap",
    "check_map",
    "check_same_moves",
    "is_map",
    "notes_with",
    "read_map",
    "read_notes",
    "records_digest",
    "write_map",
]

MAP_SCHEMA = pa.schema([("owner", pa.string()), ("row", pa.int64())])
MAP_ROWS_A_GROUP = 1024**2
RENAMED, RECORDS = "renamed", "records"


class PrivateMap(NamedTuple):
    """Who is who: owners and rows, line by line; notes for reading the originals again; what made nodes are called there."""

    owner: list[str]
    row: list[int]
    notes: dict[str, str]
    renamed: dict[str, str]

    @property
    def row_of_owner(self) -> dict[str, int]:
        """The row of each owner, where each has one."""
        return dict(zip(self.owner, self.row, strict=True))

    @property
    def rows_of_owner(self) -> dict[str, list[int]]:
        """The rows of each owner, where they may have several: the tiles that they hold."""
        rows: dict[str, list[int]] = {}
        for owner, row in zip(self.owner, self.row, strict=True):
            rows.setdefault(owner, []).append(row)
        return rows

    def is_of(self, directory: Path) -> bool:
        """Tell whether the map was written with the release in a directory."""
        return self.notes.get(RECORDS) == records_digest(directory)

    def people(self, unit: str) -> list[str] | None:
        """Return the person behind each row as the map has it: of a session or the like, the user before its number.

        None if the map gives a row no owner, or several.
        """
        rows = sorted((row, owner) for owner, row in self.row_of_owner.items())
        if [row for row, _ in rows] != list(range(len(rows))):
            return None
        return [owner.rpartition("#")[0] if unit in PARTS else owner for _, owner in rows]


def notes_with(notes: Mapping[str, str], renamed: Mapping[str, str], draft: Path) -> dict[str, str]:
    """Return what a map notes besides its rows; the release lies in `draft`."""
    return {**notes, RENAMED: json.dumps(dict(renamed), ensure_ascii=False), RECORDS: records_digest(draft)}


def records_digest(directory: Path) -> str:
    """Return a hash of a release's records, or tiles."""
    digest, tiles = hashlib.sha256(), directory / "tiles.parquet"
    for part in [tiles] if tiles.is_file() else part_files(directory / "records.parquet"):
        digest.update(part.read_bytes())
    return digest.hexdigest()


def write_map(draft: Path, owners: Iterable[tuple[pa.Array, pa.Array]], notes: Mapping[str, str]) -> None:
    """Write a map that only its owner can read: owners and their rows, some at a time."""
    schema = MAP_SCHEMA.with_metadata(dict(notes))
    with pq.ParquetWriter(private_file(draft), schema, compression="zstd") as writer:
        for some in owners:
            writer.write_table(pa.table(list(some), schema=schema), row_group_size=MAP_ROWS_A_GROUP)


def read_map(path: Path) -> PrivateMap:
    """Read a private map."""
    wrong = BadInputError(
        f"private map {path} cannot be read; give the file that {option('private_map')} wrote"
    )
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException):
        raise wrong from None
    if not table.schema.equals(MAP_SCHEMA):
        raise BadInputError(f"private map {path} must have the columns owner and row")
    try:
        notes = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        renamed = json.loads(notes.pop(RENAMED, "{}"))
    except (ValueError, RecursionError):
        raise wrong from None
    if not isinstance(renamed, dict) or not all(isinstance(label, str) for label in renamed.values()):
        raise wrong
    owner, row = (table[name].to_pylist() for name in MAP_SCHEMA.names)
    if None in owner or None in row:
        raise wrong
    return PrivateMap(owner, row, notes, renamed)


def read_notes(path: Path) -> dict[str, str]:
    """Return what a private map notes besides its rows; nothing if it is none, of which `read_map` says more."""
    try:
        metadata = pq.read_schema(path).metadata or {}
        return {key.decode(): value.decode() for key, value in metadata.items()}
    except (OSError, ValueError, pa.ArrowException):
        return {}


def check_same_moves(digest: str | None, notes: Mapping[str, str]) -> None:
    """Refuse other moved words, known by their digest, than a private map notes; a map that was written in Python notes nothing."""
    noted = notes.get("moves_sha256")
    if noted is None and digest is not None and "format" in notes:
        raise BadInputError(f"the release was made without moved words: drop {option('moves')}")
    if noted is not None and digest is None:
        raise BadInputError(
            f"the release was made with moved words: give them with {option('moves', 'FILE')}"
        )
    if noted is not None and noted != digest:
        raise BadInputError(
            f"the moved words have changed since the release was made: give the file as it was with {option('moves', 'FILE')}"
        )


def is_map(path: Path) -> bool:
    """Tell whether a file is a private map."""
    try:
        return bool(pq.read_schema(path).equals(MAP_SCHEMA))
    except (OSError, pa.ArrowException):
        return False


def check_map(path: Path, out: Path, *, force: bool) -> None:
    """Refuse a private map that would be published, or that would replace another file."""
    if path.resolve().is_relative_to(out.resolve()):
        raise BadInputError(f"private map {path} must not lie inside the release; it tells who is who")
    check_free(path, force=force, ours=is_map, what="private map")
