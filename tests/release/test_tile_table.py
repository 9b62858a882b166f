"""Tiles in arrays are the tiles that were given, and are written and read as such."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incrowd.core.kinds import typed
from incrowd.core.ragged import pairs_within
from incrowd.release.files.tile_table import Tile, TileTable
from incrowd.release.files.tiles import read_tiles, tile_batches, tile_rows, write_tiles

KINDS = ("url", "week")
TILES = [
    Tile((("a", False), ("b", True), (typed("week", "2006-W12"), True)), 5, 6, (1, 0)),
    Tile((("a", True),), 9, 9),
    Tile((("a", True), (typed("url", "b.com"), False)), 7, 8),
    Tile((("\N{CJK UNIFIED IDEOGRAPH-6C34}", True), ("\N{PILE OF POO}", True)), 5, 5),
]


def test_a_table_gives_the_tiles_that_it_was_made_of():
    table = TileTable.of(TILES)
    assert list(table) == TILES
    assert [table[place] for place in range(-1, 3)] == [TILES[-1], *TILES[:3]]
    assert list(table[1:3]) == TILES[1:3]
    assert list(table.rows(np.array([2, 0]))) == [TILES[2], TILES[0]]
    assert TileTable.of(table) is table
    assert list(TileTable.of([])) == []


def test_contents_compare_as_tiles_do():
    table = TileTable.of(TILES)
    by_bytes = sorted(range(len(TILES)), key=table.contents.to_pylist().__getitem__)
    assert by_bytes == sorted(range(len(TILES)), key=lambda place: TILES[place].labels)


def test_what_is_written_is_read_again(tmp_path):
    write_tiles(tmp_path / "tiles.parquet", TILES, KINDS)
    read = read_tiles(tmp_path / "tiles.parquet", KINDS)
    assert read is not None
    assert list(read) == TILES
    assert read_tiles(tmp_path / "tiles.parquet") is None
    batches = pa.Table.from_batches(tile_batches(TILES, KINDS, at_once=1))
    assert batches.to_pylist() == tile_rows(TILES, KINDS).to_pylist()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("people", [5, None, 7, 5]),
        ("items", [["a", None], ["a"], ["a"], ["x", "y"]]),
        ("items", [["a", "b"], None, ["a"], ["x", "y"]]),
        ("items", [["a"], ["a"], ["a"], ["x", "y"]]),
        ("items", [["a", typed("url", "b")], ["a"], ["a"], ["x", "y"]]),
        ("exact", [[True, None], [True], [True], [True, True]]),
        ("order", [[1, None], [], [], []]),
    ],
)
def test_a_file_in_which_something_is_missing_is_no_release(tmp_path, name, values):
    table = tile_rows(TILES, KINDS)
    place = table.schema.get_field_index(name)
    changed = table.set_column(
        place, table.schema.field(place), pa.array(values, table.schema.field(place).type)
    )
    pq.write_table(changed, tmp_path / "tiles.parquet")
    with pytest.raises(ValueError, match=r"missing|labels"):
        read_tiles(tmp_path / "tiles.parquet", KINDS)


def test_pairs_within_lists():
    lists, first, second = pairs_within(np.array([0, 3, 3, 4, 6]))
    assert [*zip(lists.tolist(), first.tolist(), second.tolist(), strict=True)] == [
        (0, 0, 1),
        (0, 0, 2),
        (0, 1, 2),
        (3, 4, 5),
    ]
