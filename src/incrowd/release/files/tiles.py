"""A release of tiles: sets of labels, how many people and units hold each, and nothing that says which are one person's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from incrowd.core.claims import Claim
from incrowd.core.kinds import KINDS, kind_of, parse_kinds, text_of, typed
from incrowd.core.promises import Settings
from incrowd.errors import BadInputError
from incrowd.release.files.heading import NO_HEADING, Heading
from incrowd.release.files.manifest import TILES_FORMAT, Closed, Headed, SpelledClaim, UseFigures, Versions
from incrowd.release.files.names import tile_files_with
from incrowd.release.files.records import Label, shown, write_parquet

__all__ = [
    "Tile",
    "TileCounts",
    "TileManifest",
    "exact_name",
    "kinds_said",
    "read_tiles",
    "tile_manifest",
    "tile_rows",
    "tiles_in",
    "tiles_schema",
    "write_tiles",
]

KIND_ORDER = {kind: place for place, kind in enumerate((None, *KINDS))}
_TEXTS, _FLAGS = pa.list_(pa.string()), pa.list_(pa.bool_())


def tiles_schema(kinds: Sequence[str] = ()) -> pa.Schema:
    """Return the columns of ``tiles.parquet``: words in `items`, and of each further kind the labels and which are the very items."""
    more = [field for kind in kinds for field in ((kind, _TEXTS), (exact_name(kind), _FLAGS))]
    numbers = [("people", pa.int64()), ("units", pa.int64()), ("order", pa.list_(pa.int32()))]
    return pa.schema([("items", _TEXTS), ("exact", _FLAGS), *more, *numbers])


def exact_name(kind: str) -> str:
    """Return the column that says which labels of a kind are the very items."""
    return f"{kind}_exact"


class Tile(NamedTuple):
    """A tile as it is published: its labels in code point order, how many people hold it, and in how many units.

    `order` says in which order the words are shown where that is another: first ``words[order[0]]`` and so on. It is empty for
    code point order. Labels of other kinds than words come after them.
    """

    labels: tuple[Label, ...]
    people: int
    units: int
    order: tuple[int, ...] = ()

    @property
    def words(self) -> list[Label]:
        """The labels that are words, queries or items of baskets, in code point order."""
        return [label for label in self.labels if kind_of(label[0]) is None]

    @property
    def in_order(self) -> list[Label]:
        """The labels in the order in which they are shown."""
        words = self.words
        is_order = sorted(self.order) == list(range(len(words)))  # of a file that is damaged it may be none
        first = [words[place] for place in self.order] if is_order else words
        others = (label for label in self.labels if kind_of(label[0]) is not None)
        return [*first, *sorted(others, key=lambda label: KIND_ORDER[kind_of(label[0])])]

    @property
    def in_words(self) -> str:
        """The labels as people see them, kind by kind: ``hardwood, floors | homedepot.com | 2006-W12``."""
        groups = groupby(self.in_order, key=lambda label: kind_of(label[0]))
        return " | ".join(", ".join(map(shown, some)) for _, some in groups)


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
    kinds = kinds_said(parameters)
    steps = [
        f"Took items of further kinds beside words: {', '.join(KINDS[kind].what for kind in kinds)}."
        if kinds
        else "",
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
    if parameters.get("thresholds"):
        steps.append(
            f"Of some kinds, or two in one tile, more people were needed: {parameters['thresholds']}."
        )
    if parameters["aged"] > 1:
        steps.append(
            f"Counted only accounts that were active on at least {parameters['aged']:,} different days."
        )
    steps.append(f"Counted each person at most {parameters['cap']:,} times in the units of a tile.")
    return [f"{number}. {step}" for number, step in enumerate(filter(None, steps), 1)]


def kinds_said(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the further kinds that a manifest's parameters name."""
    return parse_kinds(parameters.get("kinds"))


def tile_rows(tiles: Sequence[Tile], kinds: Sequence[str] = ()) -> pa.Table:
    """Return tiles as a table, in their order."""
    schema = tiles_schema(kinds)
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    for tile in tiles:
        for kind in (None, *kinds):
            own = [label for label in tile.labels if kind_of(label[0]) == kind] if kinds else tile.labels
            columns[kind or "items"].append([text_of(text) for text, _ in own])
            columns[exact_name(kind) if kind else "exact"].append([exact for _, exact in own])
        for name in ("people", "units", "order"):
            columns[name].append(getattr(tile, name))
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema=schema)


def tiles_in(table: pa.Table) -> list[Tile]:
    """Return the tiles of a table, in its order; the opposite of `tile_rows`."""
    kinds = [name for name in KINDS if name in table.column_names]
    names = [("items", "exact", None), *((kind, exact_name(kind), kind) for kind in kinds)]
    return [_tile_of(row, names) for row in table.to_pylist()]


def _tile_of(row: Mapping[str, Any], names: Sequence[tuple[str, str, str | None]]) -> Tile:
    labels: list[Label] = []
    for texts, exact, kind in names:
        own = [typed(kind, text) for text in row[texts]] if kind else row[texts]
        labels += zip(own, row[exact], strict=True)
    labels = labels if len(names) == 1 else sorted(labels, key=lambda label: kind_of(label[0]) or "")
    return Tile(tuple(labels), row["people"], row["units"], tuple(row["order"]))


def read_tiles(directory: Path) -> list[Tile]:
    """Read the tiles of a release that was written, in their order; its audit is another matter."""
    try:
        tiles = tiles_in(pq.read_table(directory / "tiles.parquet"))
    except (OSError, KeyError, TypeError, ValueError, pa.ArrowException):
        raise BadInputError(
            f"{directory}: tiles.parquet is missing or damaged; see 'incrowd audit'"
        ) from None
    return tiles


def write_tiles(sink: Path | pa.NativeFile, tiles: Sequence[Tile], kinds: Sequence[str] = ()) -> None:
    """Write tiles in their only form."""
    write_parquet(sink, tile_rows(tiles, kinds).combine_chunks().to_batches(), tiles_schema(kinds))
