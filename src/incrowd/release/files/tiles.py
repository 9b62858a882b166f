"""A release of tiles: sets of labels, how many people and units hold each, and nothing that says which are one person's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from incrowd.core.claims import Claim
from incrowd.core.promises import Settings
from incrowd.release.files.manifest import (
    TILES_FORMAT,
    Closed,
    SpelledClaim,
    UseFigures,
    Versions,
    canonical_text,
)
from incrowd.release.files.names import TILE_FILES
from incrowd.release.files.records import Label, shown, write_parquet
from incrowd.report.html import page

__all__ = [
    "TILES_SCHEMA",
    "Tile",
    "TileCounts",
    "TileManifest",
    "tile_manifest",
    "tile_page",
    "tile_rows",
    "write_tiles",
]

TILES_SCHEMA = pa.schema(
    [
        ("items", pa.list_(pa.string())),
        ("exact", pa.list_(pa.bool_())),
        ("people", pa.int64()),
        ("units", pa.int64()),
    ]
)
MOST_SHOWN = 20
TileFormat = Literal["incrowd-tiles/1", "incrowd-tiles/2"]


class Tile(NamedTuple):
    """A tile as it is published: its labels in order, how many people hold it, and in how many units."""

    labels: tuple[Label, ...]
    people: int
    units: int


class TileCounts(Closed, frozen=True, forbid_unknown_fields=True):
    """Distinct tiles, those of more than one label, labels, the fewest people of a tile, and how often tiles are held."""

    tiles: int
    larger_tiles: int
    labels: int
    people_min: int
    held: int

    @classmethod
    def of(cls, tiles: Sequence[Tile]) -> TileCounts:
        """Count tiles."""
        return cls(
            tiles=len(tiles),
            larger_tiles=sum(len(tile.labels) > 1 for tile in tiles),
            labels=len({label for tile in tiles for label in tile.labels}),
            people_min=min((tile.people for tile in tiles), default=0),
            held=sum(tile.units for tile in tiles),
        )


class TileManifest(Closed, frozen=True, forbid_unknown_fields=True):
    """What a release of tiles says of itself. The seed is secret: who has it could foretell who was held back from a tile."""

    format: TileFormat
    versions: Versions
    files: list[str]
    method: Literal["mosaic"]
    parameters: dict[str, Any]
    claim: SpelledClaim
    counts: TileCounts
    use: UseFigures
    account: list[str]

    def text(self) -> str:
        """Return the manifest as it is written."""
        return canonical_text(self)


def tile_manifest(
    settings: Settings, claim: Claim, counts: TileCounts, use: UseFigures, form: TileFormat = TILES_FORMAT
) -> TileManifest:
    """Return what a release of tiles says of itself."""
    spelled = {name: value for name, value in settings.spelled.items() if name != "seed"}
    return TileManifest(
        format=form,
        versions=Versions.here(),
        files=list(TILE_FILES),
        method="mosaic",
        parameters=spelled,
        claim=SpelledClaim.of(claim),
        counts=counts,
        use=use,
        account=_account(spelled, counts),
    )


def _account(parameters: Mapping[str, Any], counts: TileCounts) -> list[str]:
    """Say what was done, in order, by parameters and published counts alone."""
    k, confidence = parameters["k"], parameters["confidence"]
    steps = [
        f"Published every item that {k:,} people or more have as itself; rarer ones "
        + (
            "as the nearest node above them that as many have." if parameters["generalize"] else "not at all."
        ),
        f"Joined what occurs together into {counts.larger_tiles:,} tiles of more than one label, each of {k:,} people or more.",
    ]
    if confidence < 1:
        steps.append(
            f"At most {confidence:.0%} of the people who hold a label hold any other label in the same tile with it."
        )
    steps.append(f"Counted each person at most {parameters['cap']:,} times in the units of a tile.")
    return [f"{number}. {step}" for number, step in enumerate(steps, 1)]


def tile_rows(tiles: Sequence[Tile]) -> pa.Table:
    """Return tiles as a table, in their order."""
    return pa.table(
        [
            pa.array([[text for text, _ in tile.labels] for tile in tiles], TILES_SCHEMA.field("items").type),
            pa.array(
                [[exact for _, exact in tile.labels] for tile in tiles], TILES_SCHEMA.field("exact").type
            ),
            pa.array([tile.people for tile in tiles], pa.int64()),
            pa.array([tile.units for tile in tiles], pa.int64()),
        ],
        schema=TILES_SCHEMA,
    )


def write_tiles(sink: Path | pa.NativeFile, tiles: Sequence[Tile]) -> None:
    """Write tiles in their only form."""
    write_parquet(sink, tile_rows(tiles).combine_chunks().to_batches(), TILES_SCHEMA)


def tile_page(manifest: TileManifest, tiles: Sequence[Tile]) -> str:
    """Return the page of a release of tiles."""
    larger = [tile for tile in tiles if len(tile.labels) > 1]
    telling = sorted(larger, key=lambda tile: (-len(tile.labels) * tile.people, tile.labels))[:MOST_SHOWN]
    common = sorted(tiles, key=lambda tile: (-tile.people, tile.labels))[:MOST_SHOWN]
    return page("tiles.html", manifest=manifest, telling=_spelled(telling), common=_spelled(common))


def _spelled(tiles: Sequence[Tile]) -> list[tuple[int, int, str]]:
    """Return people, units and labels of tiles as people see them."""
    return [(tile.people, tile.units, ", ".join(map(shown, tile.labels))) for tile in tiles]
