"""A release of tiles: sets of labels, how many people and units hold each, and nothing that says which are one person's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from incrowd.core.claims import Claim
from incrowd.core.promises import Settings
from incrowd.core.rounding import about
from incrowd.errors import BadInputError
from incrowd.release.files.heading import NO_HEADING, Heading
from incrowd.release.files.manifest import TILES_FORMAT, Closed, Headed, SpelledClaim, UseFigures, Versions
from incrowd.release.files.names import tile_files_with
from incrowd.release.files.parts import same_schema
from incrowd.release.files.records import Label, write_parquet

__all__ = [
    "DAMAGED",
    "TILES_SCHEMA",
    "Tile",
    "TileCounts",
    "TileManifest",
    "least_units",
    "open_tiles",
    "read_tiles",
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
DAMAGED = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    pa.ArrowException,
)  # what reading may raise


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
        """The labels in the order in which they are shown; that of code points where the file has an order that is none."""
        return (
            [self.labels[place] for place in self.order]
            if self.order and self.has_order
            else list(self.labels)
        )

    @property
    def has_order(self) -> bool:
        """Whether the order is one of the labels, and spelt only where it is not that of code points."""
        return not self.order or (sorted(self.order) == self._plain and list(self.order) != self._plain)

    @property
    def _plain(self) -> list[int]:
        return list(range(len(self.labels)))


class TileCounts(Closed, frozen=True, forbid_unknown_fields=True):
    """Distinct tiles, those of more than one label, labels, the fewest people of a tile, and how often tiles are held.

    `units_about` is the number of all units that were read, rounded by :func:`incrowd.core.rounding.about`: nothing in the
    file says it, and estimates of what chance brings together need it.
    """

    tiles: int
    larger_tiles: int
    labels: int
    people_min: int
    held: int
    units_about: int

    @classmethod
    def of(cls, tiles: Sequence[Tile], units: int) -> TileCounts:
        """Count tiles, given the number of all units, exact or rounded already."""
        return cls(
            tiles=len(tiles),
            larger_tiles=sum(len(tile.labels) > 1 for tile in tiles),
            labels=len({label for tile in tiles for label in tile.labels}),
            people_min=min((tile.people for tile in tiles), default=0),
            held=sum(tile.units for tile in tiles),
            units_about=about(units),
        )


class TileManifest(Headed, frozen=True, forbid_unknown_fields=True):
    """What a release of tiles says of itself. The seed is secret: who has it could foretell who was held back from a tile."""

    versions: Versions
    files: list[str]
    method: Literal["mosaic"]
    parameters: dict[str, Any]
    claim: SpelledClaim
    counts: TileCounts
    use: UseFigures
    account: list[str]


def tile_manifest(
    settings: Settings,
    claim: Claim,
    counts: TileCounts,
    use: UseFigures,
    *,
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
    if parameters["aged"] > 1:
        steps.append(
            f"Counted only accounts that were active on at least {parameters['aged']:,} different days."
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
            pa.array([tile.order for tile in tiles], TILES_SCHEMA.field("order").type),
        ],
        schema=TILES_SCHEMA,
    )


def write_tiles(sink: Path | pa.NativeFile, tiles: Sequence[Tile]) -> None:
    """Write tiles in their only form."""
    write_parquet(sink, tile_rows(tiles).combine_chunks().to_batches(), TILES_SCHEMA)


def read_tiles(path: Path) -> list[Tile] | None:
    """Read the tiles of a file in their order; None where it has other columns than a release has.

    This is the only reader. It checks no more than that: whoever has not audited the release opens it by `open_tiles`.
    """
    with pq.ParquetFile(path) as file:
        if not same_schema(file.schema_arrow, TILES_SCHEMA):
            return None
        table = file.read()
    columns = (table[name].to_pylist() for name in TILES_SCHEMA.names)
    return [
        Tile(tuple(zip(items, exact, strict=True)), people, units, tuple(order))
        for items, exact, people, units, order in zip(*columns, strict=True)
    ]


def open_tiles(directory: Path) -> list[Tile]:
    """Read the tiles of a release, or say that they are damaged."""
    try:
        tiles = read_tiles(directory / "tiles.parquet")
        if tiles is not None and all(map(_is_whole, tiles)):
            return tiles
    except DAMAGED:
        pass
    raise BadInputError(f"{directory}: tiles.parquet is missing or damaged; see 'incrowd audit'") from None


def _is_whole(tile: Tile) -> bool:
    """Tell whether a tile has labels, each a text and once, and numbers of people and units."""
    texts = all(isinstance(text, str) and isinstance(exact, bool) for text, exact in tile.labels)
    return texts and 0 < len(set(tile.labels)) == len(tile.labels) and 0 < tile.people <= tile.units


def least_units(tiles: Sequence[Tile]) -> int:
    """Return how many units there are at least: a unit holds a label once, so those of all tiles with a label differ."""
    units: Counter[Label] = Counter()
    for tile in tiles:
        for label in tile.labels:
            units[label] += tile.units
    return max(units.values(), default=0)
