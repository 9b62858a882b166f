"""A release of tiles: sets of labels, how many people and units hold each, and nothing that says which are one person's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incrowd.core.claims import Claim
from incrowd.core.kinds import KINDS, SEPARATOR, parse_kinds, plain_texts, typed_texts
from incrowd.core.promises import Settings
from incrowd.core.ragged import distinct, filtered_starts, list_ids, starts_of
from incrowd.core.rounding import about
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.core.window import Window
from incrowd.errors import BadInputError
from incrowd.release.files.heading import NO_HEADING, Heading
from incrowd.release.files.manifest import (
    TILES_FORMAT,
    Closed,
    Headed,
    SpelledClaim,
    UseFigures,
    Versions,
    said_of_moves,
)
from incrowd.release.files.names import tile_files_with
from incrowd.release.files.parts import same_schema
from incrowd.release.files.records import ROWS_A_GROUP, write_parquet
from incrowd.release.files.tile_table import KIND_NUMBER, Tile, TileTable, sorted_labels
from incrowd.release.files.window import SpelledWindow

__all__ = [
    "DAMAGED",
    "Tile",
    "TileCounts",
    "TileManifest",
    "TileTable",
    "exact_name",
    "kinds_said",
    "least_units",
    "open_tiles",
    "read_tiles",
    "tile_batches",
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
_TEXTS, _FLAGS = pa.list_(pa.string()), pa.list_(pa.bool_())


def tiles_schema(kinds: Sequence[str] = ()) -> pa.Schema:
    """Return the columns of ``tiles.parquet``: words in `items`, and of each further kind the labels and which are the very items."""
    more = [field for kind in kinds for field in ((kind, _TEXTS), (exact_name(kind), _FLAGS))]
    numbers = [("people", pa.int64()), ("units", pa.int64()), ("order", pa.list_(pa.int32()))]
    return pa.schema([("items", _TEXTS), ("exact", _FLAGS), *more, *numbers])


def exact_name(kind: str) -> str:
    """Return the column that says which labels of a kind are the very items."""
    return f"{kind}_exact"


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
        table = TileTable.of(tiles)
        return cls(
            tiles=len(table),
            larger_tiles=int(np.count_nonzero(table.sizes > 1)),
            labels=int(np.count_nonzero(np.bincount(table.label))),
            people_min=int(table.people.min()) if len(table) else 0,
            held=int(table.units.sum()),
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
    steps.extend(said_of_moves(parameters.get("moved", 0)))
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


def tile_batches(
    tiles: Sequence[Tile], kinds: Sequence[str] = (), at_once: int = ROWS_A_GROUP
) -> Iterator[pa.RecordBatch]:
    """Yield tiles as rows, in their order, some at a time."""
    table, schema = TileTable.of(tiles), tiles_schema(kinds)
    texts, exact, kind_of_label = plain_texts(table.labels), pa.array(table.exact), table.kind
    for first in range(0, len(table), at_once):
        some = table[first : first + at_once]
        columns: dict[str, pa.Array] = {"people": pa.array(some.people), "units": pa.array(some.units)}
        columns["order"] = _lists(some.order_start, pa.array(some.order))
        for kind in (None, *kinds):
            own = (
                kind_of_label[some.label] == KIND_NUMBER[kind]
                if kinds
                else np.ones(len(some.label), np.bool_)
            )
            start, label = filtered_starts(some.start, own), pa.array(some.label[own])
            columns[kind or "items"] = _lists(start, texts.take(label))
            columns[exact_name(kind) if kind else "exact"] = _lists(start, exact.take(label))
        yield pa.record_batch([columns[name] for name in schema.names], schema=schema)


def _lists(start: Ints64, values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(start, pa.int32()), values)


def tile_rows(tiles: Sequence[Tile], kinds: Sequence[str] = ()) -> pa.Table:
    """Return tiles as a table, in their order."""
    return pa.Table.from_batches(tile_batches(tiles, kinds), tiles_schema(kinds)).combine_chunks()


def write_tiles(sink: Path | pa.NativeFile, tiles: Sequence[Tile], kinds: Sequence[str] = ()) -> None:
    """Write tiles in their only form."""
    write_parquet(sink, tile_batches(tiles, kinds), tiles_schema(kinds))


def read_tiles(path: Path, kinds: Sequence[str] = ()) -> TileTable | None:
    """Read the tiles of a file in their order; None where it has other columns than a release with these kinds has.

    This is the only reader. It checks no more than that, and that nothing is missing: whoever has not audited the release opens it by
    `open_tiles`.

    Raises
    ------
    ValueError
        A value is missing, texts and flags are not as many, or a text has the mark of a kind.
    """
    with pq.ParquetFile(path) as file:
        if not same_schema(file.schema_arrow, tiles_schema(kinds)):
            return None
        table = file.read().combine_chunks()
    # Labels are in code point order, and a kind's name comes first in them.
    parts = [_labels_of(table, kind) for kind in (None, *sorted(kinds))]
    texts, exact, label = _numbered(parts)
    tile = np.concatenate([list_ids(part.start) for part in parts])
    in_order = np.argsort(tile, kind="stable")
    order_start, order = _flat(table["order"])
    people, units = (_whole(table[name]) for name in ("people", "units"))
    start = starts_of(np.bincount(tile, minlength=len(table)))
    return TileTable(texts, exact, start, label[in_order], people, units, order_start, _whole(order))


class _Part(NamedTuple):
    """The labels of one kind: their texts, each once; and of every tile the numbers of its texts, and which are the very items."""

    texts: pa.Array
    start: Ints64
    text: Ints64
    exact: Bools


def _labels_of(table: pa.Table, kind: str | None) -> _Part:
    """Return the labels of a kind."""
    start, texts = _flat(table[kind or "items"])
    exact_start, exact = _flat(table[exact_name(kind) if kind else "exact"])
    encoded = texts.dictionary_encode()
    marked = pc.any(pc.match_substring(encoded.dictionary, SEPARATOR)).as_py()
    if marked or not np.array_equal(start, exact_start):
        raise ValueError("labels are not what a release has")
    plain = encoded.dictionary
    return _Part(typed_texts(kind, plain) if kind else plain, start, _whole(encoded.indices), _whole(exact))


def _flat(lists: pa.ChunkedArray) -> tuple[Ints64, pa.Array]:
    """Return where each list begins, and the values of all."""
    one = pa.concat_arrays(lists.chunks) if lists.num_chunks else pa.array([], lists.type)
    values = one.flatten()
    if one.null_count or values.null_count:
        raise ValueError("a value is missing")
    return starts_of(np.diff(np.array(one.offsets))), values


def _whole(values: pa.Array | pa.ChunkedArray) -> Any:
    """Return values as an array; none may be missing."""
    if values.null_count:
        raise ValueError("a value is missing")
    return np.array(values)


def _numbered(parts: Sequence[_Part]) -> tuple[pa.Array, Bools, Ints32]:
    """Return the labels of all kinds, each once and sorted, which are the very items, and the number of each of the parts' labels."""
    firsts = starts_of([len(part.texts) for part in parts])
    text = np.concatenate([part.text + first for part, first in zip(parts, firsts[:-1], strict=True)])
    key = 2 * text + np.concatenate([part.exact for part in parts])
    used = np.flatnonzero(np.bincount(key, minlength=2 * int(firsts[-1])))
    texts = pa.concat_arrays([part.texts for part in parts]).take(pa.array(used // 2))
    texts, exact, number = sorted_labels(texts, used % 2 == 1)
    number_of = np.zeros(2 * int(firsts[-1]), dtype=np.int32)
    number_of[used] = number
    return texts, exact, number_of[key]


def open_tiles(directory: Path) -> TileTable:
    """Read the tiles of a release, or say that they are damaged."""
    path = directory / "tiles.parquet"
    try:
        names = pq.read_schema(path).names
        tiles = read_tiles(path, [kind for kind in KINDS if kind in names])
        if tiles is not None and _are_whole(tiles):
            return tiles
    except DAMAGED:
        pass
    raise BadInputError(f"{directory}: tiles.parquet is missing or damaged; see 'incrowd audit'") from None


def _are_whole(tiles: TileTable) -> bool:
    """Tell whether all tiles have labels, each once, and numbers of people and units."""
    once = len(distinct(tiles.tile_of * len(tiles.labels) + tiles.label)) == len(tiles.label)
    numbers = (tiles.people > 0) & (tiles.people <= tiles.units) & (tiles.sizes > 0)
    return once and bool(numbers.all())


def least_units(tiles: Sequence[Tile]) -> int:
    """Return how many units there are at least: a unit holds a label once, so those of all tiles with a label differ."""
    table = TileTable.of(tiles)
    return int(table.summed(table.units).max(initial=0))
