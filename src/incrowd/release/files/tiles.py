"""A release of tiles: sets of labels, how many people and units hold each, and nothing that says which are one person's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from incrowd.core.claims import Claim
from incrowd.core.kinds import KINDS, kind_of, parse_kinds, text_of, typed
from incrowd.core.promises import Settings
from incrowd.core.rounding import about
from incrowd.core.window import Window
from incrowd.errors import BadInputError
from incrowd.release.files.heading import NO_HEADING, Heading
from incrowd.release.files.manifest import TILES_FORMAT, Closed, Headed, SpelledClaim, UseFigures, Versions
from incrowd.release.files.names import tile_files_with
from incrowd.release.files.parts import same_schema
from incrowd.release.files.records import Label, shown, write_parquet
from incrowd.release.files.window import SpelledWindow

__all__ = [
    "DAMAGED",
    "Tile",
    "TileCounts",
    "TileManifest",
    "exact_name",
    "kinds_said",
    "least_units",
    "open_tiles",
    "read_tiles",
    "tile_manifest",
    "tile_rows",
    "tiles_schema",
    "write_tiles",
]

DAMAGED = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    pa.ArrowException,
)  # what reading may raise
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
    def has_order(self) -> bool:
        """Whether the order is one of the words, and spelt only where it is not that of code points."""
        plain = list(range(len(self.words)))
        return not self.order or (sorted(self.order) == plain and list(self.order) != plain)

    @property
    def in_order(self) -> list[Label]:
        """The labels in the order in which they are shown; that of code points where the file has an order that is none."""
        words = self.words
        first = [words[place] for place in self.order] if self.order and self.has_order else words
        others = (label for label in self.labels if kind_of(label[0]) is not None)
        return [*first, *sorted(others, key=lambda label: KIND_ORDER[kind_of(label[0])])]

    @property
    def in_words(self) -> str:
        """The labels as people see them, kind by kind: ``hardwood, floors | homedepot.com | 2006-W12``."""
        groups = groupby(self.in_order, key=lambda label: kind_of(label[0]))
        return " | ".join(", ".join(map(shown, some)) for _, some in groups)


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
    kinds = kinds_said(parameters)
    steps = [
        "" if window is None else f"Took only events {window.in_words}.",
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
            f"Counted only accounts that were active on at least {parameters['aged']:,} different days{_before(window)}."
        )
    steps.append(f"Counted each person at most {parameters['cap']:,} times in the units of a tile.")
    return [f"{number}. {step}" for number, step in enumerate(filter(None, steps), 1)]


def kinds_said(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the further kinds that a manifest's parameters name."""
    return parse_kinds(parameters.get("kinds"))


def _before(window: Window | None) -> str:
    return "" if window is None else " before its end"


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


def write_tiles(sink: Path | pa.NativeFile, tiles: Sequence[Tile], kinds: Sequence[str] = ()) -> None:
    """Write tiles in their only form."""
    write_parquet(sink, tile_rows(tiles, kinds).combine_chunks().to_batches(), tiles_schema(kinds))


def read_tiles(path: Path, kinds: Sequence[str] = ()) -> list[Tile] | None:
    """Read the tiles of a file in their order; None where it has other columns than a release with these kinds has.

    This is the only reader. It checks no more than that: whoever has not audited the release opens it by `open_tiles`.
    """
    with pq.ParquetFile(path) as file:
        if not same_schema(file.schema_arrow, tiles_schema(kinds)):
            return None
        table = file.read()
    texts, exact, people, units, order = (
        table[name].to_pylist() for name in ("items", "exact", "people", "units", "order")
    )
    labels = [tuple(zip(*one, strict=True)) for one in zip(texts, exact, strict=True)]
    for kind in sorted(kinds):  # labels are in code point order, and a kind's name comes first in them
        more = zip(labels, table[kind].to_pylist(), table[exact_name(kind)].to_pylist(), strict=True)
        labels = [
            (*before, *((typed(kind, text), flag) for text, flag in zip(own, flags, strict=True)))
            for before, own, flags in more
        ]
    return [
        Tile(some, number, held, tuple(places))
        for some, number, held, places in zip(labels, people, units, order, strict=True)
    ]


def open_tiles(directory: Path) -> list[Tile]:
    """Read the tiles of a release, or say that they are damaged."""
    path = directory / "tiles.parquet"
    try:
        names = pq.read_schema(path).names
        tiles = read_tiles(path, [kind for kind in KINDS if kind in names])
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
