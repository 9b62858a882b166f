"""A release of tiles: sets of labels, how many people and units hold each, and nothing that says which are one person's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from incrowd.core.claims import Claim
from incrowd.core.promises import Settings
from incrowd.core.window import Window
from incrowd.release.files.heading import NO_HEADING, Heading
from incrowd.release.files.manifest import TILES_FORMAT, Closed, Headed, SpelledClaim, UseFigures, Versions
from incrowd.release.files.names import tile_files_with
from incrowd.release.files.records import Label, write_parquet
from incrowd.release.files.window import SpelledWindow

__all__ = [
    "TILES_SCHEMA",
    "Tile",
    "TileCounts",
    "TileManifest",
    "tile_manifest",
    "tile_rows",
    "write_tiles",
]

TILES_SCHEMA = pa.schema(
    [
        ("items", pa.list_(pa.string())),
        ("exact", pa.list_(pa.bool_())),
        ("people", pa.int64()),
        ("units", pa.int64()),
        ("order", pa.list_(pa.int32())),
    ]
)


class Tile(NamedTuple):
    """A tile as it is published: its labels in code point order, how many people hold it, and in how many units.

    `order` says in which order the labels are shown where that is another: first ``labels[order[0]]`` and so on. It is empty for
    code point order.
    """

    labels: tuple[Label, ...]
    people: int
    units: int
    order: tuple[int, ...] = ()

    @property
    def in_order(self) -> list[Label]:
        """The labels in the order in which they are shown."""
        return [self.labels[place] for place in self.order] if self.order else list(self.labels)


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


class TileManifest(Headed, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a release of tiles says of itself. The seed is secret: who has it could foretell who was held back from a tile.

    `window` is there only where a part of the log was asked for.
    """

    versions: Versions
    files: list[str]
    method: Literal["mosaic"]
    parameters: dict[str, Any]
    claim: SpelledClaim
    counts: TileCounts
    use: UseFigures
    account: list[str]
    window: SpelledWindow | None = None

    @property
    def of_window(self) -> Window | None:
        """The window itself; a ValueError if it is none."""
        return None if self.window is None else self.window.window


def tile_manifest(
    settings: Settings,
    claim: Claim,
    counts: TileCounts,
    use: UseFigures,
    *,
    window: Window | None = None,
    heading: Heading = NO_HEADING,
    text_forms: Sequence[str] = (),
) -> TileManifest:
    """Return what a release of tiles says of itself."""
    spelled = {name: value for name, value in settings.spelled.items() if name != "seed"}
    return TileManifest(
        format=TILES_FORMAT,
        title=heading.title,
        date=heading.date,
        versions=Versions.here(),
        files=tile_files_with(text_forms),
        method="mosaic",
        parameters=spelled,
        claim=SpelledClaim.of(claim),
        counts=counts,
        use=use,
        account=_account(spelled, counts, window),
        window=None if window is None else SpelledWindow.of(window),
    )


def _account(parameters: Mapping[str, Any], counts: TileCounts, window: Window | None) -> list[str]:
    """Say what was done, in order, by parameters and published counts alone."""
    k, confidence = parameters["k"], parameters["confidence"]
    steps = [] if window is None else [f"Took only events {window.in_words}."]
    steps += [
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
    if parameters["aged"] > 1:
        steps.append(
            f"Counted only accounts that were active on at least {parameters['aged']:,} different days{_before(window)}."
        )
    steps.append(f"Counted each person at most {parameters['cap']:,} times in the units of a tile.")
    return [f"{number}. {step}" for number, step in enumerate(steps, 1)]


def _before(window: Window | None) -> str:
    return "" if window is None else " before its end"


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
            pa.array([tile.order for tile in tiles], TILES_SCHEMA.field("order").type),
        ],
        schema=TILES_SCHEMA,
    )


def write_tiles(sink: Path | pa.NativeFile, tiles: Sequence[Tile]) -> None:
    """Write tiles in their only form."""
    write_parquet(sink, tile_rows(tiles).combine_chunks().to_batches(), TILES_SCHEMA)
