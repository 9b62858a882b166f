"""What a written release publishes of originals that were read again: classes or tiles, as far as its labels are theirs.

It believes the files and checks nothing: attacks are run on releases that keep no promise, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incrowd.attacks.people import Lists
from incrowd.attacks.rates import Figure, Rate
from incrowd.auditing.labels import Finder, alternatives
from incrowd.auditing.tiles import nodes_of_tiles
from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.promises import read_settings
from incrowd.core.ragged import distinct, list_ids, starts_of, take_lists
from incrowd.core.tiles import Tiles
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints, Ints64
from incrowd.errors import BadInputError
from incrowd.release.files.manifest import LIST_FORMAT, TILES_FORMAT, Manifest, format_of, read_manifest
from incrowd.release.files.noisy_list import ListManifest
from incrowd.release.files.parts import part_files, runs_in
from incrowd.release.files.records import Label
from incrowd.release.files.tile_table import TileTable
from incrowd.release.files.tiles import TileManifest, open_tiles
from incrowd.release.private_map import is_map, read_map
from incrowd.taxonomy import Attached, Taxonomy

__all__ = ["Owned", "foreign_labels", "named_in", "published_by_map", "published_in", "tiles_on"]


FOREIGN = "the release has labels that the originals do not have: give what the release was made from"
MOST_MISFITS = 0.05
"""The share of rows with a label that is not theirs above which a map is not believed."""


class Owned(NamedTuple):
    """Which published rows are whose: an owner and a row, line by line; and what made nodes are called in the originals' taxonomy."""

    owner: pa.Array
    row: Ints64
    renamed: Mapping[str, str]


def published_by_map(directory: Path, private_map: Path, attached: Attached) -> Classes | Tiles:
    """Return what a release publishes, given the map that was written with it; refuse another release's."""
    given = read_map(private_map)
    if not given.is_of(directory):
        raise BadInputError(
            f"the private map {private_map} is another release's: give the one that was written with {directory}"
        )
    owner, row = pa.array(given.owner, pa.string()), np.array(given.row, dtype=np.int64)
    published = published_in(directory, attached, Owned(owner, row, given.renamed))
    _check_fit(directory, published, attached)
    return published


def _check_fit(directory: Path, published: Classes | Tiles, attached: Attached) -> None:
    """Refuse data of other people, or a map that gives people what is not theirs: attacks would find nothing, which would look harmless."""
    manifest: Manifest | TileManifest = read_manifest(
        directory, TileManifest if isinstance(published, Tiles) else Manifest
    )
    if manifest.claim.speaks_of != "owner" or manifest.claim.within is not None:
        return  # what is published of people need not be theirs
    if isinstance(published, Tiles):
        row, number = list_ids(published.held_start), published.held
    else:
        row = np.flatnonzero(published.of_row != WITHHELD)
        number = published.of_row[row]
    misfits = foreign_labels(attached, row, Lists(published.start, published.nodes), number)
    if misfits > MOST_MISFITS * len(distinct(row)):
        raise BadInputError(
            f"{misfits:,} owners of the private map have labels that are not of their items: "
            "give the data that the release was made from, and hold it against them with 'incrowd audit'"
        )


def foreign_labels(attached: Attached, row: Ints, sets: Lists, number: Ints) -> int:
    """Count the rows that have a set, row by row, with a label that is none of their items and above none of them."""
    data, tree = attached.transactions, attached.taxonomy
    assert tree.item_leaf is not None  # noqa: S101 - the items are attached
    own = np.sort(list_ids(data.indptr) * tree.leaf_count + tree.item_leaf[data.items])
    start, at = take_lists(sets.start, number.astype(np.int64))
    node, holder = sets.value[at], row[list_ids(start)].astype(np.int64) * tree.leaf_count
    first, last = (np.searchsorted(own, holder + leaf[node]) for leaf in (tree.first_leaf, tree.last_leaf))
    return len(distinct(holder[first == last]))


def named_in(directory: Path, data: Transactions) -> Figure:
    """Return the share of the people with any items whom a private map inside the release names."""
    owners: set[str] = set()
    for path in sorted(directory.rglob("*")):
        if path.is_file() and is_map(path):
            owners |= set(read_map(path).owner)
    filled = np.diff(data.indptr) > 0
    named = np.array(pc.is_in(data.owners, value_set=pa.array(sorted(owners), pa.string())), dtype=np.bool_)
    people, found = distinct(data.person[filled]), distinct(data.person[filled & named])
    return Figure(Rate(float(len(found)), len(people)))


def published_in(directory: Path, attached: Attached, owned: Owned | None) -> Classes | Tiles:
    """Return what a release publishes.

    Parameters
    ----------
    directory
        The release.
    attached
        Its originals, read and attached as for the release.
    owned
        Which rows are whose; a list is no one's.
    """
    form = format_of(directory)
    if form == LIST_FORMAT:
        return _list_in(directory, attached)
    assert owned is not None  # noqa: S101 - the job is refused without a map
    return (_tiles_in if form == TILES_FORMAT else _classes_in)(directory, attached, owned)


def _units(attached: Attached, owned: Owned) -> Ints64:
    """Return the unit of each line of a map."""
    place = pc.index_in(owned.owner, value_set=attached.transactions.owners)
    if place.null_count:
        raise BadInputError(
            f"the private map names {place.null_count:,} owners that the originals do not have: give what the release was made from"
        )
    return np.array(place, dtype=np.int64)


def _nodes(
    lists: Sequence[Sequence[Label]], find: Mapping[Label, Sequence[int]]
) -> tuple[Ints64, np.ndarray]:
    """Return the nodes of lists of labels, ascending and distinct in each."""
    nodes = [sorted({node for label in labels for node in find[label]}) for labels in lists]
    start = starts_of(np.array([len(some) for some in nodes], dtype=np.int64))
    return start, np.array([node for some in nodes for node in some], dtype=np.int32)


def tiles_on(tiles: TileTable, tree: Taxonomy, held_start: Ints64, held: Ints) -> Tiles | None:
    """Return written tiles on a taxonomy, given the tiles that each unit holds; None if a label of theirs is not in it."""
    node = nodes_of_tiles(tiles, tree)
    if node is None:
        return None
    nodes, by_unit = node.astype(np.int32), held.astype(np.int32)
    return Tiles(tiles.start, nodes, tiles.people, tiles.units, held_start, by_unit, withheld=0)


def _tiles_in(directory: Path, attached: Attached, owned: Owned) -> Tiles:
    """Return published tiles, and who holds them."""
    unit, tiles = _units(attached, owned), open_tiles(directory)
    _check_rows(owned, len(tiles.people))
    order = np.lexsort((owned.row, unit))
    start = starts_of(np.bincount(unit, minlength=len(attached.transactions)))
    made = tiles_on(tiles, attached.taxonomy, start, owned.row[order])
    if made is None:
        raise BadInputError(FOREIGN)
    return made


def _check_rows(owned: Owned, rows: int) -> None:
    """Refuse a map that names rows which a release does not have, or that leaves out rows: whose these are would not be attacked."""
    if len(owned.row) and not 0 <= owned.row.min() <= owned.row.max() < rows:
        raise BadInputError("the private map is another release's: it names rows that this one does not have")
    lacking = rows - len(distinct(owned.row))
    if lacking:
        raise BadInputError(
            f"the private map does not say whose {lacking:,} of the {rows:,} published rows are: give the whole map that was written with the release"
        )


def _check_each_once(owned: Owned) -> None:
    """Refuse a map that names an owner or a record twice: classes would look larger than they are."""
    if len(distinct(owned.row)) < len(owned.row) or len(pc.unique(owned.owner)) < len(owned.owner):
        raise BadInputError(
            "the private map names an owner or a record twice: give the map that was written with the release"
        )


def _classes_in(directory: Path, attached: Attached, owned: Owned) -> Classes:
    """Return published records, and whose they are."""
    manifest: Manifest = read_manifest(directory)
    texts = read_settings(manifest.method, manifest.parameters).texts
    runs = list(runs_in(part_files(directory / "records.parquet")))
    above = _parents(directory / "taxonomy.parquet") if texts == "queries" else {}
    labels = {label for (own, _), _ in runs for label in own}
    classes = {(parent, False) for parent in above.values()}
    find = Finder(attached.taxonomy, owned.renamed, texts, labels | classes)
    node_of = {label: _nodes_of(label, find, above) for label in labels}
    if texts == "none" and not all(node_of.values()):
        raise BadInputError(FOREIGN)
    start, nodes = _nodes([own for (own, _), _ in runs], node_of)
    record_of_row = np.repeat(np.arange(len(runs), dtype=np.int32), [size for _, size in runs])
    _check_rows(owned, len(record_of_row))
    _check_each_once(owned)
    of_row = np.full(len(attached.transactions), WITHHELD, dtype=np.int32)
    of_row[_units(attached, owned)] = record_of_row[owned.row]
    return Classes(of_row, start, nodes, np.ones(len(nodes), dtype=np.int32))


def _nodes_of(label: Label, find: Finder, above: Mapping[Label, str]) -> tuple[int, ...]:
    """Return the node of a label; those of a bag of alternatives; that above a query. None where the originals have nothing like it."""
    node = find(label)
    if node is None and label in above:
        node = find((above[label], False))
    if node is not None:
        return (node,)
    return tuple(node for name in alternatives(label[0]) if (node := find(name)) is not None)


def _parents(path: Path) -> dict[Label, str]:
    """Return the class above each published label."""
    table = pq.read_table(path, columns=["label", "exact", "parent"])
    rows = zip(*(table[name].to_pylist() for name in ("label", "exact", "parent")), strict=True)
    return {(label, exact): parent for label, exact, parent in rows if parent is not None}


def _list_in(directory: Path, attached: Attached) -> Classes:
    """Return a list: every line is a record of no one's."""
    data, tree = attached.transactions, attached.taxonomy
    listed: ListManifest = read_manifest(directory, ListManifest)
    form = listed.parameters.form
    if len(form.columns) > 1:
        raise BadInputError(f"{directory} is a list of pairs, which attacks do not read: use a list of items")
    query, count = pq.read_table(directory / form.file).columns
    place = pc.index_in(query.combine_chunks(), value_set=data.vocabulary)
    known = np.array(place.is_valid(), dtype=np.bool_)
    nodes = tree.leaves_of(np.array(place.drop_null(), dtype=np.int32))
    copies = np.maximum(np.array(count, dtype=np.int64)[known], 1)
    one = np.ones(len(nodes), dtype=np.int32)
    nobody = np.full(len(data), WITHHELD, dtype=np.int32)
    texts = query.combine_chunks().filter(pa.array(known))
    return Classes(nobody, np.arange(len(nodes) + 1), nodes, one, copies=copies, texts=texts)
