"""A release of tiles: its files, its audit and its private map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.auditing.result import Audit
from incrowd.auditing.taxonomy import write_taxonomy
from incrowd.auditing.tile_holders import TileOriginals
from incrowd.auditing.tiles import audit_tiles
from incrowd.core.claims import Claim
from incrowd.core.ragged import filtered_starts, list_ids, list_sums
from incrowd.core.shown import html_table
from incrowd.core.tabular import Tabular
from incrowd.core.tiles import Tiles
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints32, Ints64, Progress
from incrowd.metrics.use import Use, use_of_tiles
from incrowd.release.describe import Counts, said_of_place
from incrowd.release.files.heading import NO_HEADING, Heading
from incrowd.release.files.manifest import UseFigures
from incrowd.release.files.nodes import PublishedNodes, above, published_nodes, taxonomy_table
from incrowd.release.files.tile_exports import tile_text
from incrowd.release.files.tile_page import tile_page
from incrowd.release.files.tile_table import TileTable, sorted_labels
from incrowd.release.files.tiles import (
    TileCounts,
    TileManifest,
    tile_manifest,
    tile_rows,
    write_tiles,
)
from incrowd.release.private_map import MAP_ROWS_A_GROUP, notes_with, write_map
from incrowd.release.publication import Publication
from incrowd.release.shares import Shares
from incrowd.release.tile_order import agreed_ranks
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["TileRelease"]

SHOWN = 10  # tiles in a notebook


def _orders(start: Ints64, rank: Ints32) -> tuple[Ints64, Ints32]:
    """Return the order of the words of each tile, from their ranks in code point order; none where that is their order.

    Labels without a rank (-1) come last, and are no part of it.
    """
    ranked = rank >= 0
    first, tile = filtered_starts(start, ranked), list_ids(start)[ranked]
    place = np.arange(len(tile)) - first[tile]
    order = place[np.lexsort((rank[ranked], tile))].astype(np.int32)
    is_other = list_sums(first, order != place) > 0
    return filtered_starts(first, is_other[tile]), order[is_other[tile]]


@dataclass(frozen=True, eq=False)
class TileRelease(Publication, Tabular):
    """Tiles, ready to be written. It holds the originals too: keep the object private.

    Parameters
    ----------
    method, parameters
        How it was made; the parameters include k and the seed.
    claim
        What is promised of it.
    transactions, taxonomy, tiles
        What it was made from, and what the method decided.
    """

    method: str
    parameters: Mapping[str, Any]
    claim: Claim
    transactions: Transactions
    taxonomy: Taxonomy
    tiles: Tiles

    @property
    def kinds(self) -> tuple[str, ...]:
        """The further kinds of items, beside words."""
        return self.taxonomy.kinds

    @property
    def notes(self) -> tuple[str, ...]:
        """What the method has to tell of its work."""
        return self.tiles.notes

    @cached_property
    def named(self) -> PublishedNodes:
        """What the published nodes are called."""
        return published_nodes(self.taxonomy, self.tiles.nodes)

    @cached_property
    def _in_order(self) -> tuple[TileTable, Ints32]:
        """The tiles as they are published, sorted by content, and the place of each of the method's tiles among them."""
        made = self._with_labels()
        order = np.array(pc.sort_indices(made.contents), dtype=np.int64)
        places = np.empty(len(made), dtype=np.int32)
        places[order] = np.arange(len(made), dtype=np.int32)
        return made.rows(order), places

    def _with_labels(self) -> TileTable:
        """Return the method's tiles in its order, with their labels sorted and the words' own order where it is another."""
        tiles, place = self.tiles, self.named.places(self.tiles.nodes)
        used, entry = np.unique(place, return_inverse=True)
        labels, exact, number = sorted_labels(self.named.labels.take(pa.array(used)), self.named.exact[used])
        label, tile = number[entry], list_ids(tiles.start)
        by_label = np.lexsort((label, tile))
        rank = agreed_ranks(tiles, self.transactions, self.taxonomy)[by_label]
        order_start, order = _orders(tiles.start, rank)
        return TileTable(
            labels, exact, tiles.start, label[by_label], tiles.people, tiles.units, order_start, order
        )

    @property
    def published(self) -> TileTable:
        """The tiles as they are published, sorted by content."""
        return self._in_order[0]

    @cached_property
    def counts(self) -> Counts:
        """Units in, tiles out, units of which nothing is published; distinct tiles; the fewest units and people of one. Private."""
        tiles = self.tiles
        return Counts(
            records_in=len(self.transactions),
            records_out=int(tiles.units.sum()),
            withheld=int(np.count_nonzero(np.diff(tiles.held_start) == 0)),
            groups=len(tiles),
            k_min=int(tiles.units.min(initial=len(self.transactions))),
            people_min=int(tiles.people.min(initial=len(self.transactions))),
            labels=len(np.unique(tiles.nodes)),
        )

    @cached_property
    def use(self) -> Use:
        """What the release is of use for."""
        return use_of_tiles(self.transactions, self.taxonomy, self.tiles)

    @property
    def use_figures(self) -> UseFigures:
        """The same as a manifest spells it."""
        return UseFigures.of(msgspec.structs.asdict(self.use))

    @cached_property
    def measures(self) -> dict[str, Any]:
        """What was measured on the originals, by name. Private: exact."""
        return {"use": msgspec.to_builtins(self.use)}

    @property
    def account(self) -> tuple[str, ...]:
        """What was done to the data, in order, with exact numbers. For the owner."""
        data, counts = self.transactions, self.counts
        return (
            *data.account,
            f"Placed {len(data.vocabulary):,} distinct items on the taxonomy {self.taxonomy.name}{said_of_place(self.taxonomy)}.",
            f"Cut {counts.records_in:,} units into {counts.groups:,} distinct tiles.",
            f"Withheld {self.tiles.withheld:,} items of units, which too few people have.",
            *self.notes,
        )

    def manifest(self, heading: Heading = NO_HEADING, text_forms: Sequence[str] = ()) -> TileManifest:
        """Return what the release says of itself."""
        counts = TileCounts.of(self.published, len(self.transactions))
        return tile_manifest(
            self.settings,
            self.claim,
            counts,
            self.use_figures,
            window=self.transactions.window,
            heading=heading,
            text_forms=text_forms,
        )

    @property
    def originals(self) -> TileOriginals:
        """What the audit holds the written tiles against."""
        tiles, places = self.tiles, self._in_order[1]
        seed = self.parameters["seed"]
        return TileOriginals(self.transactions, self.taxonomy, tiles.held_start, places[tiles.held], seed)

    @property
    def shares(self) -> Shares:
        """Who holds which tiles. Private."""
        tiles, place = self.tiles, self.named.places(self.tiles.nodes)
        texts = self.named.labels.take(pa.array(place)).to_pylist()
        labels = list(zip(texts, self.named.exact[place].tolist(), strict=True))
        held = tiles.held.astype(np.int64)
        return Shares(tiles.held_start, held, tiles.start, tiles.nodes, labels, [1] * len(labels))

    def table(self) -> pa.Table:
        """Return what is published as an Arrow table."""
        return tile_rows(self.published, self.kinds)

    def owners(self) -> Iterator[tuple[pa.Array, pa.Array]]:
        """Yield the owner of every held tile, and the tile's row, a row group of the map at a time."""
        tiles, places = self.tiles, self._in_order[1]
        for first in range(0, max(len(tiles.held), 1), MAP_ROWS_A_GROUP):
            held = tiles.held[first : first + MAP_ROWS_A_GROUP]
            at = np.arange(first, first + len(held))
            row = np.searchsorted(tiles.held_start, at, side="right") - 1
            yield self.transactions.owners.take(pa.array(row)), pa.array(places[held], pa.int64())

    def _write_files(self, draft: Path, text_forms: Sequence[str], heading: Heading) -> None:
        """Write all files of a release of tiles."""
        manifest = self.manifest(heading, text_forms)
        for form in dict.fromkeys(text_forms):
            with (draft / f"tiles.{form}").open("w", encoding="utf-8", newline="") as out:
                out.writelines(tile_text(form, self.published, self.kinds))
        write_tiles(draft / "tiles.parquet", self.published, self.kinds)
        write_taxonomy(
            draft / "taxonomy.parquet",
            taxonomy_table(self.named, above(self.named, self.tiles.nodes), has_kinds=bool(self.kinds)),
        )
        (draft / "manifest.json").write_text(manifest.text(), encoding="utf-8")
        (draft / "report.html").write_text(tile_page(manifest, self.published), encoding="utf-8")

    def _write_map(self, file: Path, draft: Path, notes: Mapping[str, str]) -> None:
        """Write which owner holds which tiles."""
        write_map(file, self.owners(), notes_with(notes, self.named.renamed, draft))

    def _audit(self, draft: Path, progress: Progress | None) -> Audit:  # noqa: ARG002
        """Recount what was written against the originals."""
        return audit_tiles(draft, originals=self.originals, measure=self.figured)

    def figured(self, *_: object) -> UseFigures:
        """Return what was measured, for the audit to compare with what is written."""
        return self.use_figures

    def __repr__(self) -> str:
        return f"TileRelease({self.method}: {len(self.tiles):,} tiles, each held by at least {self.claim.k} accounts)"

    def _repr_html_(self) -> str:
        most = nlargest(SHOWN, self.published, key=lambda tile: (len(tile.labels) > 1, tile.people))
        rows = ((tile.in_words, tile.people, tile.units) for tile in most)
        title = f"{self.method}: {self.claim.in_words} {len(self.tiles):,} tiles. Held by most, of those with several items first:"
        return html_table(title, rows, ["items", "people", "units"])
