"""The audit of a release of tiles, in plain Python: people, containment and use, recounted from the written file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from incrowd.auditing.files import check_contents, check_exactly
from incrowd.auditing.result import Audit
from incrowd.auditing.taxonomy import PublishedTree, check_taxonomy, hidden_in
from incrowd.core.promises import Mosaic, Settings, promised, read_settings
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints64
from incrowd.errors import ClaimError
from incrowd.release.files.manifest import TILES_FORMAT, UseFigures, Versions, read_manifest
from incrowd.release.files.names import TILE_FILES
from incrowd.release.files.parts import same_schema
from incrowd.release.files.records import Label, is_canonical
from incrowd.release.files.tiles import (
    TILES_SCHEMA,
    Tile,
    TileCounts,
    TileManifest,
    tile_manifest,
    tile_page,
    write_tiles,
)
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["TileOriginals", "audit_tiles", "nodes_of_tiles"]

DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException)
HOLDERS = "how many people hold each tile, and that nobody holds what is not theirs: that takes the private map and the originals"
NEARLY = 1e-9
Measure = Callable[[Sequence[Tile]], UseFigures | None]


class TileOriginals(NamedTuple):
    """What a release of tiles was made from: row r holds the written tiles ``held[start[r]:start[r + 1]]``."""

    transactions: Transactions
    taxonomy: Taxonomy
    start: Ints64
    held: Ints64


def audit_tiles(
    directory: Path, *, originals: TileOriginals | None = None, measure: Measure | None = None
) -> Audit:
    """Recount a release of tiles from its files, and against what it was made from where that is given.

    Parameters
    ----------
    directory
        The release.
    originals
        What it was made from, and who holds which tile.
    measure
        Measures of what use the tiles are on the originals again.
    """
    manifest: TileManifest = read_manifest(directory, TileManifest)
    result = Audit(manifest.claim.claim)
    try:
        settings = _check_manifest(manifest, result)
        check_exactly(directory, TILE_FILES, result)
        tiles = [] if result.problems else _read_tiles(directory / "tiles.parquet", result)
        if not result.problems:
            _check_release(directory, manifest, settings, tiles, result)
        if originals is None:
            result.unproven.append(HOLDERS)
        elif not result.problems:
            _check_holders(tiles, originals, settings, result)
        if measure is not None and not result.problems:
            with result.checking("the measures of use are what was measured again"):
                result.require(
                    wrong=not _is_measured(manifest.use, measure(tiles)),
                    problem="the manifest's measures of use are not what was measured",
                )
    except DAMAGED as error:
        result.add_problem(f"a file of the release is missing or damaged ({type(error).__name__})")
    return result


def _check_manifest(manifest: TileManifest, result: Audit) -> Settings:
    """Check that the claim is what the method promises with these parameters."""
    if manifest.versions != Versions.here():
        raise ClaimError(
            "the release was written by other versions than these: install those that its manifest names"
        )
    settings = read_settings("mosaic", {**manifest.parameters, "seed": 0})
    with result.checking("the claim is the one that the method makes with these parameters"):
        result.require(
            wrong=promised(settings, distinct="people") != manifest.claim.claim,
            problem="the manifest claims something else than its method promises",
        )
        fits = manifest.use.is_whole if manifest.format == TILES_FORMAT else manifest.use.is_older
        result.require(
            wrong=not (fits and manifest.use.canonical),
            problem="the manifest's measures of use have more digits than may leave, or are not those of its format",
        )
    return settings


def _is_measured(said: UseFigures, again: UseFigures | None) -> bool:
    """Tell whether figures are what was measured again; older releases leave some of them out."""
    if again is None or not said.is_older:
        return said == again
    return said == replace(again, trend_error=said.trend_error, clicks_recall=said.clicks_recall)


def _read_tiles(path: Path, result: Audit) -> list[Tile]:
    """Read the tiles: each once, sorted, in the only form that they have."""
    with pq.ParquetFile(path) as file:
        if not same_schema(file.schema_arrow, TILES_SCHEMA):
            result.add_problem("tiles.parquet has other columns than a release has, or notes in its schema")
            return []
        rows = file.read().to_pylist()
    tiles = [
        Tile(tuple(zip(row["items"], row["exact"], strict=True)), row["people"], row["units"]) for row in rows
    ]
    with result.checking(f"{len(tiles):,} distinct tiles, in order, and nothing else in the file"):
        contents = [tile.labels for tile in tiles]
        in_order = all(first < second for first, second in pairwise(contents))
        within = all(first < second for labels in contents for first, second in pairwise(labels))
        result.require(
            wrong=not (in_order and within), problem="tiles.parquet has tiles or labels out of order or twice"
        )
        result.require(wrong=not all(contents), problem="tiles.parquet has a tile without a label")
        hidden = hidden_in({text for labels in contents for text, _ in labels})
        result.require(wrong=bool(hidden), problem=f"{hidden:,} labels hold characters that cannot be seen")
        result.require(
            wrong=not is_canonical(path, partial(write_tiles, tiles=tiles)),
            problem="tiles.parquet is not written as its rows are: it holds bytes that are no part of them",
        )
    return tiles


def _check_release(
    directory: Path, manifest: TileManifest, settings: Settings, tiles: Sequence[Tile], result: Audit
) -> None:
    """Check all that follows from the files alone."""
    result.records, result.classes = sum(tile.units for tile in tiles), len(tiles)
    result.k_min = result.people_min = min((tile.people for tile in tiles), default=0)
    _check_numbers(tiles, settings, result)
    said = {label for tile in tiles for label in tile.labels}
    tree = check_taxonomy(
        directory / "taxonomy.parquet", said, name=settings.common.taxonomy, texts="none", result=result
    )
    if tree is not None:
        _check_kin(tiles, tree, result)
    with result.checking("manifest and report follow from the tiles"):
        expected = tile_manifest(
            settings, manifest.claim.claim, TileCounts.of(tiles), manifest.use, manifest.format
        )
        files = {"manifest.json": expected.text(), "report.html": tile_page(expected, tiles)}
        check_contents(directory, files, "a release with these tiles and parameters", result)


def _check_numbers(tiles: Sequence[Tile], settings: Settings, result: Audit) -> None:
    """Check people and units, and that no label follows too surely from another."""
    k, own = settings.common.k, settings.own
    assert isinstance(own, Mosaic)  # noqa: S101 - the parameters were read as such
    with result.checking(f"each tile is said to be held by at least {result.k_min:,} people"):
        rare = sum(tile.people < k for tile in tiles)
        result.require(wrong=bool(rare), problem=f"{rare:,} tiles are held by fewer than {k} people")
    if own.counts == "exact":
        with result.checking(f"no tile counts a person more than {own.cap:,} times"):
            wrong = sum(not tile.people <= tile.units <= own.cap * tile.people for tile in tiles)
            result.require(
                wrong=bool(wrong), problem=f"{wrong:,} tiles have fewer units than people, or too many"
            )
        if own.confidence < 1:
            _check_confidence(tiles, own.confidence, result)


def _check_confidence(tiles: Sequence[Tile], confidence: float, result: Audit) -> None:
    """Check that at most a share of a label's holders hold any other label in one tile, as far as the file alone can tell."""
    holders: Counter[Label] = Counter()
    for tile in tiles:
        for label in tile.labels:
            holders[label] += tile.people
    with result.checking(
        f"no tile is held by more than {confidence:.0%} of those who hold one of its labels"
    ):
        sure = sum(
            tile.people > confidence * holders[label] + NEARLY
            for tile in tiles
            for label in tile.labels
            if len(tile.labels) > 1
        )
        result.require(wrong=bool(sure), problem=f"{sure:,} labels are too sure a sign of others")


def _check_kin(tiles: Sequence[Tile], tree: PublishedTree, result: Audit) -> None:
    """Check that no tile holds a label and one above it."""
    wrong = 0
    for tile in tiles:
        if len(tile.labels) > 1 and not all(exact for _, exact in tile.labels):
            names = {text for text, exact in tile.labels if not exact}
            wrong += any(_above(label, tree) & names for label in tile.labels)
    with result.checking("no tile holds a label and one above it"):
        result.require(wrong=bool(wrong), problem=f"{wrong:,} tiles hold a label and one above it")


def _above(label: Label, tree: PublishedTree) -> set[str]:
    """Return the classes above a label."""
    found: set[str] = set()
    parent = tree.parent[label]
    while parent is not None:
        found.add(parent)
        parent = tree.parent[parent, False]
    return found


def _check_holders(
    tiles: Sequence[Tile], originals: TileOriginals, settings: Settings, result: Audit
) -> None:
    """Hold every tile of every row against what its owner has, and count people."""
    own = settings.own
    assert isinstance(own, Mosaic)  # noqa: S101 - the parameters were read as such
    node_of = nodes_of_tiles(tiles, originals.taxonomy)
    if node_of is None:
        result.add_problem("a published label is not in the originals' taxonomy")
        return
    nodes = [[node_of[label] for label in tile.labels] for tile in tiles]
    times: dict[int, Counter[int]] = defaultdict(Counter)
    false = _count_false(nodes, originals, times)
    with result.checking("each label is an item of its owner or above one, and each item is spoken for once"):
        result.require(wrong=bool(false), problem=f"{false:,} units hold tiles that are not true of them")
    people = [len(times[tile]) for tile in range(len(tiles))]
    result.people_min = min(people, default=0)
    with result.checking(f"each tile is held by at least {result.people_min:,} different people"):
        k = settings.common.k
        rare = sum(number < k for number in people)
        result.require(wrong=bool(rare), problem=f"{rare:,} tiles are held by fewer than {k} people")
    if own.confidence < 1:
        _check_sure(tiles, times, own.confidence, result)
    if own.counts == "exact":
        with result.checking("people and units are as many as are said"):
            wrong = sum(
                tile.people != people[number]
                or tile.units != sum(min(own.cap, many) for many in times[number].values())
                for number, tile in enumerate(tiles)
            )
            result.require(wrong=bool(wrong), problem=f"{wrong:,} tiles have other numbers than were counted")


def _check_sure(
    tiles: Sequence[Tile], times: Mapping[int, Counter[int]], confidence: float, result: Audit
) -> None:
    """Count the people who hold each label, and each two labels in one tile."""
    holders: dict[Label, set[int]] = defaultdict(set)
    together: dict[tuple[Label, Label], set[int]] = defaultdict(set)
    for number, tile in enumerate(tiles):
        for label in tile.labels:
            holders[label].update(times[number])
        for pair in combinations(tile.labels, 2):
            together[pair].update(times[number])
    with result.checking(
        f"at most {confidence:.0%} of the people who hold a label hold any other in the same tile"
    ):
        sure = sum(
            len(people) > confidence * min(len(holders[first]), len(holders[second])) + NEARLY
            for (first, second), people in together.items()
        )
        result.require(wrong=bool(sure), problem=f"{sure:,} pairs of labels are held together too often")


def nodes_of_tiles(tiles: Sequence[Tile], tree: Taxonomy) -> Mapping[Label, int] | None:
    """Return the node of each published label."""
    found = {
        label: node
        for node, label in enumerate(zip(tree.labels.to_pylist(), tree.is_leaf.tolist(), strict=True))
    }
    said = {label for tile in tiles for label in tile.labels}
    return {label: found[label] for label in said} if said <= found.keys() else None


def _count_false(
    nodes: Sequence[Sequence[int]], originals: TileOriginals, times: dict[int, Counter[int]]
) -> int:
    """Count the rows whose tiles are not true of them; note how often each person holds each tile."""
    data, tree = originals.transactions, originals.taxonomy
    leaves = tree.leaves_of(data.items).tolist()
    bounds, held, person = data.indptr.tolist(), originals.held.tolist(), data.person.tolist()
    end = tree.end.tolist()
    false = 0
    for row, (first, stop) in enumerate(pairwise(originals.start.tolist())):
        own = held[first:stop]
        for tile in own:
            times[tile][person[row]] += 1
        labels = [node for tile in own for node in nodes[tile]]
        false += not _is_true(labels, leaves[bounds[row] : bounds[row + 1]], end)
    return false


def _is_true(labels: Sequence[int], leaves: Sequence[int], end: Sequence[int]) -> bool:
    """Tell whether labels can each be given an item below them, no item twice.

    The stretches of leaves below labels are nested or apart, so it is enough to serve the deepest labels first.
    """
    left = set(leaves)
    for label in sorted(labels, key=lambda node: (end[node] - node, node)):
        below = next((leaf for leaf in left if label <= leaf < end[label]), None)
        if below is None:
            return False
        left.remove(below)
    return True
