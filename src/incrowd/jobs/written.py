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

from incrowd.auditing.labels import Finder, alternatives
from incrowd.auditing.tiles import nodes_of_tiles
from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.promises import read_settings
from incrowd.core.ragged import starts_of
from incrowd.core.tiles import Tiles
from incrowd.core.types import Ints, Ints64
from incrowd.errors import BadInputError
from incrowd.release.files.manifest import LIST_FORMAT, TILES_FORMAT, Manifest, format_of, read_manifest
from incrowd.release.files.noisy_list import ListManifest
from incrowd.release.files.parts import part_files, runs_in
from incrowd.release.files.records import Label
from incrowd.release.files.tile_table import TileTable
from incrowd.release.files.tiles import open_tiles
from incrowd.release.private_map import PrivateMap
from incrowd.taxonomy import Attached, Taxonomy

__all__ = ["Owned", "owned_by_map", "published_in", "tiles_on"]


class Owned(NamedTuple):
    """Which published rows are whose: an owner and a row, line by line; and what made nodes are called in the originals' taxonomy."""

    owner: pa.Array
    row: Ints64
    renamed: Mapping[str, str]


def owned_by_map(given: PrivateMap) -> Owned:
    """Return what a private map says."""
    return Owned(pa.array(given.owner, pa.string()), np.array(given.row, dtype=np.int64), given.renamed)


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
    unit = _units(attached, owned)
    order = np.lexsort((owned.row, unit))
    start = starts_of(np.bincount(unit, minlength=len(attached.transactions)))
    made = tiles_on(open_tiles(directory), attached.taxonomy, start, owned.row[order])
    if made is None:
        raise BadInputError(
            "the release has labels that the originals do not have: give what the release was made from"
        )
    return made


def _classes_in(directory: Path, attached: Attached, owned: Owned) -> Classes:
    """Return published records, and whose they are."""
    manifest: Manifest = read_manifest(directory)
    texts = read_settings(manifest.method, manifest.parameters).texts
    find = Finder(attached.taxonomy, owned.renamed, texts)
    runs = list(runs_in(part_files(directory / "records.parquet")))
    above = _parents(directory / "taxonomy.parquet") if texts == "queries" else {}
    labels = {label for (own, _), _ in runs for label in own}
    node_of = {label: _nodes_of(label, find, above) for label in labels}
    start, nodes = _nodes([own for (own, _), _ in runs], node_of)
    record_of_row = np.repeat(np.arange(len(runs), dtype=np.int32), [size for _, size in runs])
    if len(owned.row) and not 0 <= owned.row.min() <= owned.row.max() < len(record_of_row):
        raise BadInputError("the private map is another release's: it names rows that this one does not have")
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
