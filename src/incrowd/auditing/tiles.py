"""The audit of a release of tiles, with no kernel of the method: people, containment and use, recounted from the written file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.auditing.files import check_contents, check_exactly, check_text
from incrowd.auditing.labels import check_moved, unknown_moves
from incrowd.auditing.manifest import check_heading
from incrowd.auditing.result import Audit
from incrowd.auditing.taxonomy import PublishedTree, check_taxonomy, hidden_in
from incrowd.auditing.tile_holders import (
    Held,
    TileOriginals,
    count_false,
    count_misordered,
    count_sure,
    held_by_people,
)
from incrowd.core.kinds import MAIN, plain_texts
from incrowd.core.promises import Mosaic, Settings, promised, read_settings
from incrowd.core.ragged import filtered_starts, list_ids, list_sums
from incrowd.core.rounding import ROUNDED_TO, about, keyed_share, rounded_from
from incrowd.core.thresholds import Thresholds, parse_thresholds
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints64
from incrowd.errors import ClaimError
from incrowd.release.files.manifest import UseFigures, Versions, read_manifest
from incrowd.release.files.names import text_forms_of, tile_files_with
from incrowd.release.files.records import Label, is_canonical
from incrowd.release.files.tile_exports import tile_text
from incrowd.release.files.tile_page import tile_page
from incrowd.release.files.tile_table import KIND_NUMBER, TileTable
from incrowd.release.files.tiles import (
    DAMAGED,
    TileCounts,
    TileManifest,
    kinds_said,
    least_units,
    read_tiles,
    tile_manifest,
    write_tiles,
)
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["audit_tiles", "nodes_of_tiles"]

HOLDERS = "how many people hold each tile, that nobody holds what is not theirs, and the order of labels: that takes the private map and the originals"
UNITS = "about how many units there are: that takes the originals"
ROUNDING = (
    "whether numbers were rounded as they must be: that takes the secret seed, which the private map has"
)
DAYS = "on which days people were active: that takes the originals"
AGED = "; nor that only accounts count that were active on as many days as is said"
NEARLY = 1e-9
Measure = Callable[[TileTable], UseFigures | None]


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
        check_exactly(directory, tile_files_with(text_forms_of(manifest.files)), result)
        kinds = kinds_said(manifest.parameters)
        tiles = TileTable.of([])
        if not result.problems:
            tiles = _read_tiles(directory / "tiles.parquet", kinds, result)
        if not result.problems:
            _check_release(directory, manifest, settings, tiles, result)
        if originals is None:
            result.unproven.append(HOLDERS + (AGED if manifest.claim.aged else ""))
            if "first_day" in manifest.parameters:
                result.unproven.append(DAYS)
            result.unchecked.append(UNITS)
            result.unchecked.extend(unknown_moves(settings))
        elif not result.problems:
            _check_units(manifest.counts.units_about, len(originals.transactions), result)
            _check_window(manifest, originals, result)
            _check_holders(tiles, originals, settings, result)
        if originals is not None and measure is None:
            result.unchecked.append("the measures of use: nothing measures them here")
        if measure is not None and not result.problems:
            with result.checking("the measures of use are what was measured again"):
                result.require(
                    wrong=manifest.use != measure(tiles),
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
        result.require(
            wrong=not manifest.use.canonical,
            problem="the manifest's measures of use have more digits than may leave",
        )
    return settings


def _read_tiles(path: Path, kinds: Sequence[str], result: Audit) -> TileTable:
    """Read the tiles: each once, sorted, in the only form that they have."""
    tiles = read_tiles(path, kinds)
    if tiles is None:
        result.add_problem("tiles.parquet has other columns than a release has, or notes in its schema")
        return TileTable.of([])
    with result.checking(f"{len(tiles):,} distinct tiles, in order, and nothing else in the file"):
        result.require(
            wrong=not _are_in_order(tiles), problem="tiles.parquet has tiles or labels out of order or twice"
        )
        result.require(wrong=not tiles.sizes.all(), problem="tiles.parquet has a tile without a label")
        result.require(wrong=not _have_orders(tiles), problem="tiles.parquet has an order that is none")
        hidden = hidden_in(plain_texts(tiles.labels).unique().to_pylist())
        result.require(wrong=bool(hidden), problem=f"{hidden:,} labels hold characters that cannot be seen")
        result.require(
            wrong=not is_canonical(path, partial(write_tiles, tiles=tiles, kinds=kinds)),
            problem="tiles.parquet is not written as its rows are: it holds bytes that are no part of them",
        )
    return tiles


def _are_in_order(tiles: TileTable) -> bool:
    """Tell whether tiles ascend, and labels within each: so that none is there twice."""
    contents = tiles.contents
    tiles_ascend = pc.all(pc.less(contents[:-1], contents[1:])).as_py() is not False
    same_tile = np.diff(tiles.tile_of) == 0
    return tiles_ascend and bool((np.diff(tiles.label)[same_tile] > 0).all())


def _have_orders(tiles: TileTable) -> bool:
    """Tell whether each order has every word of its tile once, and is spelt only where it is not that of code points."""
    sizes, tile = np.diff(tiles.order_start), list_ids(tiles.order_start)
    place = np.arange(len(tile)) - tiles.order_start[tile]
    ascending = tiles.order[np.lexsort((tiles.order, tile))]
    has_all = (sizes == 0) | (sizes == tiles.words_in)
    is_other = (sizes == 0) | (list_sums(tiles.order_start, tiles.order != place) > 0)
    return bool(has_all.all() and (ascending == place).all() and is_other.all())


def _check_release(
    directory: Path, manifest: TileManifest, settings: Settings, tiles: TileTable, result: Audit
) -> None:
    """Check all that follows from the files alone."""
    result.records, result.classes = int(tiles.units.sum()), len(tiles)
    result.k_min = result.people_min = int(tiles.people.min()) if len(tiles) else 0
    _check_numbers(tiles, settings, result)
    _check_least_units(manifest.counts.units_about, tiles, settings, result)
    tree = check_taxonomy(
        directory / "taxonomy.parquet",
        set(tiles.spelled),
        name=settings.common.taxonomy,
        unlisted=settings.common.unlisted,
        moved=settings.common.moved,
        texts="none",
        kinds=kinds_said(manifest.parameters),
        result=result,
    )
    if tree is not None:
        _check_kin(tiles, tree, result)
    with result.checking("manifest and report follow from the tiles"):
        check_heading(manifest, result)
        expected = tile_manifest(
            settings,
            manifest.claim.claim,
            TileCounts.of(tiles, manifest.counts.units_about),
            manifest.use,
            window=manifest.of_window,
            heading=manifest.heading,
            text_forms=text_forms_of(manifest.files),
        )
        files = {"manifest.json": expected.text(), "report.html": tile_page(expected, tiles)}
        check_contents(directory, files, "a release with these tiles and parameters", result)
    for form in text_forms_of(manifest.files):
        with result.checking(f"tiles.{form} says the same"):
            text = tile_text(form, tiles, kinds_said(manifest.parameters))
            check_text(directory / f"tiles.{form}", text, result)


def _check_numbers(tiles: TileTable, settings: Settings, result: Audit) -> None:
    """Check people and units, and that no label follows too surely from another."""
    k, own = settings.common.k, settings.own
    assert isinstance(own, Mosaic)  # noqa: S101 - the parameters were read as such
    with result.checking(f"each tile is said to be held by at least {result.k_min:,} people"):
        # A number that was rounded down stands for up to four people more.
        slack = 0 if own.counts == "exact" else ROUNDED_TO - 1
        _require_k(tiles.people, k, result)
    if own.thresholds:
        with result.checking(
            f"tiles are said to be held by as many people as their kinds need: {own.thresholds}"
        ):
            _require_thresholds(tiles.people + slack, tiles, settings, result)
    if own.counts == "exact":
        with result.checking(f"no tile counts a person more than {own.cap:,} times"):
            wrong = np.count_nonzero((tiles.units < tiles.people) | (tiles.units > own.cap * tiles.people))
            result.require(
                wrong=bool(wrong), problem=f"{wrong:,} tiles have fewer units than people, or too many"
            )
        if own.confidence < 1:
            _check_confidence(tiles, own.confidence, result)
    else:
        with result.checking(f"all numbers are {k:,} or some fives more"):
            uneven = ((tiles.people - k) % ROUNDED_TO != 0) | ((tiles.units - k) % ROUNDED_TO != 0)
            wrong = np.count_nonzero(uneven | (tiles.units < tiles.people))
            result.require(wrong=bool(wrong), problem=f"{wrong:,} tiles have numbers that were not rounded")


def _require_k(people: Ints64, k: int, result: Audit) -> None:
    """Require that every tile has at least k people."""
    rare = np.count_nonzero(people < k)
    result.require(wrong=bool(rare), problem=f"{rare:,} tiles are held by fewer than {k} people")


def _require_thresholds(people: Ints64, tiles: TileTable, settings: Settings, result: Audit) -> None:
    """Require that every tile has as many people as labels of its kinds need."""
    k, own = settings.common.k, settings.own
    assert isinstance(own, Mosaic)  # noqa: S101 - the parameters were read as such
    few = np.count_nonzero(people < _needs(tiles, k, parse_thresholds(own.thresholds)))
    result.require(
        wrong=bool(few), problem=f"{few:,} tiles are held by fewer people than labels of their kinds need"
    )


def _needs(tiles: TileTable, k: int, thresholds: Thresholds) -> Ints64:
    """Return how many people each tile needs, by the kinds of its labels."""
    has = {
        kind or MAIN: list_sums(tiles.start, (tiles.kind == number)[tiles.label]) > 0
        for kind, number in KIND_NUMBER.items()
    }
    needs = np.full(len(tiles), k)
    for kinds, least in thresholds.items():
        has_all = np.logical_and.reduce([has[kind] for kind in kinds])
        needs[has_all] = np.maximum(needs[has_all], least)
    return needs


def _check_least_units(said: int, tiles: TileTable, settings: Settings, result: Audit) -> None:
    """Check that the number of all units does not contradict the tiles; numbers of tiles that are rounded may exceed it."""
    assert isinstance(settings.own, Mosaic)  # noqa: S101 - the parameters were read as such
    if settings.own.counts == "exact":
        with result.checking("no label is in more units than there are"):
            result.require(
                wrong=said < about(least_units(tiles)),
                problem="the manifest says of fewer units than tiles hold",
            )


def _check_units(said: int, units: int, result: Audit) -> None:
    """Compare the number of all units with the originals', rounded as it must be."""
    with result.checking(f"there are about {said:,} units"):
        result.require(wrong=said != about(units), problem="the manifest says of another number of units")


def _check_confidence(tiles: TileTable, confidence: float, result: Audit) -> None:
    """Check that at most a share of a label's holders hold any other label in one tile, as far as the file alone can tell."""
    with result.checking(
        f"no tile is held by more than {confidence:.0%} of those who hold one of its labels"
    ):
        most = confidence * tiles.summed(tiles.people)[tiles.label] + NEARLY
        people, size = (np.repeat(number, tiles.sizes) for number in (tiles.people, tiles.sizes))
        sure = np.count_nonzero((people > most) & (size > 1))
        result.require(wrong=bool(sure), problem=f"{sure:,} labels are too sure a sign of others")


def _check_kin(tiles: TileTable, tree: PublishedTree, result: Audit) -> None:
    """Check that no tile holds a label and one above it."""
    has_class = list_sums(tiles.start, ~tiles.exact[tiles.label]) > 0
    above = {label: _above(label, tree) for label in tiles.spelled}
    wrong = 0
    for tile in tiles.rows(np.flatnonzero(has_class & (tiles.sizes > 1))):
        names = {text for text, exact in tile.labels if not exact}
        wrong += any(not names.isdisjoint(above[label]) for label in tile.labels)
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


def _check_holders(tiles: TileTable, originals: TileOriginals, settings: Settings, result: Audit) -> None:
    """Hold every tile of every row against what its owner has, and count people."""
    own = settings.own
    assert isinstance(own, Mosaic)  # noqa: S101 - the parameters were read as such
    node = nodes_of_tiles(tiles, originals.taxonomy)
    if node is None:
        result.add_problem("a published label is not in the originals' taxonomy")
        return
    check_moved(node[tiles.is_word].tolist(), originals.taxonomy, settings.common.moved, result)
    counts = _rows_that_count(originals.transactions, own.aged)
    if counts is None:
        result.add_problem("the release counts accounts by their days, and the originals have no times")
        return
    nodes = Held(tiles.start, node)
    false = count_false(originals, nodes)
    with result.checking("each label is an item of its owner or above one, and each item is spoken for once"):
        result.require(wrong=bool(false), problem=f"{false:,} units hold tiles that are not true of them")
    with result.checking("words are in code point order, or in the order of all who hold them"):
        words = Held(filtered_starts(tiles.start, tiles.is_word), node[tiles.is_word])
        wrong = count_misordered(originals, words, Held(tiles.order_start, tiles.order.astype(np.int64)))
        result.require(
            wrong=bool(wrong), problem=f"{wrong:,} tiles are in an order that is not their holders'"
        )
    holdings = held_by_people(originals, counts)
    people = np.bincount(holdings.tile, minlength=len(tiles))
    result.people_min = int(people.min()) if len(people) else 0
    active = f" who were active on at least {own.aged:,} days" if own.aged > 1 else ""
    # An exact number is not told where none is published: the lines of an audit may be.
    least = result.people_min if own.counts == "exact" else settings.common.k
    with result.checking(f"each tile is held by at least {least:,} different people{active}"):
        _require_k(people, settings.common.k, result)
    if own.thresholds:
        with result.checking(f"tiles are held by as many people as their kinds need: {own.thresholds}"):
            _require_thresholds(people, tiles, settings, result)
    if own.confidence < 1:
        with result.checking(
            f"at most {own.confidence:.0%} of the people who hold a label hold any other in the same tile"
        ):
            sure = count_sure(nodes, holdings, own.confidence)
            result.require(wrong=bool(sure), problem=f"{sure:,} pairs of labels are held together too often")
    capped = np.minimum(holdings.times, own.cap)
    units = np.bincount(holdings.tile, weights=capped, minlength=len(tiles)).astype(np.int64)
    _check_counted(tiles, (people, units), settings, originals.seed, result)


def _check_window(manifest: TileManifest, originals: TileOriginals, result: Audit) -> None:
    """Check that the release says of which time it is."""
    result.require(
        wrong=manifest.of_window != originals.transactions.window,
        problem="the release is of another window of time than it says",
    )


def _rows_that_count(data: Transactions, aged: int) -> Bools | None:
    """Tell of each row whether its person counts; None where the originals cannot say so."""
    if aged == 1:
        return np.ones(len(data), dtype=np.bool_)
    return None if data.activity is None else data.activity.days >= aged


def _check_counted(
    tiles: TileTable,
    counted: tuple[Ints64, Ints64],
    settings: Settings,
    seed: int | None,
    result: Audit,
) -> None:
    """Compare the published numbers with those that were counted, rounded as the seed says where they are rounded."""
    assert isinstance(settings.own, Mosaic)  # noqa: S101 - the parameters were read as such
    is_rounded = settings.own.counts == "rounded"
    if is_rounded and seed is None:
        result.unchecked.append(ROUNDING)
        return
    with result.checking("people and units are as many as are said"):
        people, units = counted
        if is_rounded:
            share = [keyed_share(seed or 0, tile.labels) for tile in tiles]
            people, units = (_rounded(settings.common.k, number, share) for number in counted)
        wrong = np.count_nonzero((tiles.people != people) | (tiles.units != units))
        result.require(wrong=bool(wrong), problem=f"{wrong:,} tiles have other numbers than were counted")


def _rounded(k: int, counted: Ints64, share: Sequence[float]) -> Ints64:
    pairs = zip(counted.tolist(), share, strict=True)
    return np.array([rounded_from(k, number, part) for number, part in pairs], dtype=np.int64)


def nodes_of_tiles(tiles: TileTable, tree: Taxonomy) -> Ints64 | None:
    """Return the node of each label of each tile; None if the tree lacks one."""
    texts = tiles.labels.unique()
    nodes = np.flatnonzero(pc.is_in(tree.labels, value_set=texts))  # few of all that the tree has
    labels = zip(tree.labels.take(pa.array(nodes)).to_pylist(), tree.is_leaf[nodes].tolist(), strict=True)
    found = dict(zip(labels, nodes.tolist(), strict=True))
    if not found.keys() >= set(tiles.spelled):
        return None
    return np.array([found[label] for label in tiles.spelled], dtype=np.int64)[tiles.label]
