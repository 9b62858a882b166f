"""The files of a release: exactly the listed ones, each a plain file of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from incrowd.release.files.exports import TEXT_FORMS

__all__ = [
    "LIST_TABLES",
    "RELEASE_FILES",
    "REQUIRED",
    "TILE_FILES",
    "files_with",
    "text_forms_of",
    "tile_files_with",
]

REQUIRED = ("manifest.json", "records.parquet", "report.html", "taxonomy.parquet")
LIST_TABLES = ("queries.parquet", "items.parquet", "pairs.parquet", "clicks.parquet", "weeks.parquet")
TILE_FILES = ("manifest.json", "report.html", "taxonomy.parquet", "tiles.parquet")
RELEASE_FILES = frozenset(
    [
        *REQUIRED,
        *LIST_TABLES,
        *TILE_FILES,
        *(f"{stem}.{form}" for stem in ("records", "tiles") for form in TEXT_FORMS),
    ]
)


def files_with(text_forms: Iterable[str]) -> list[str]:
    """Return the files of a release of records, as its manifest lists them."""
    return sorted([*REQUIRED, *(f"records.{form}" for form in set(text_forms))])


def tile_files_with(text_forms: Iterable[str]) -> list[str]:
    """Return the files of a release of tiles, as its manifest lists them."""
    return sorted([*TILE_FILES, *(f"tiles.{form}" for form in set(text_forms))])


def text_forms_of(files: Collection[str]) -> list[str]:
    """Return the text forms among the files of a release of records or tiles."""
    return [form for form in TEXT_FORMS if f"records.{form}" in files or f"tiles.{form}" in files]
