"""A written release audited again, against its originals and private map where they are given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from incrowd.auditing.audit import Figured, audit
from incrowd.auditing.labels import Written
from incrowd.auditing.owners import Originals
from incrowd.auditing.result import Audit
from incrowd.auditing.tile_holders import TileOriginals
from incrowd.auditing.tiles import audit_tiles, nodes_of_tiles
from incrowd.core.claims import Claim
from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.promises import Settings, read_settings
from incrowd.core.ragged import starts_of
from incrowd.core.tiles import Tiles
from incrowd.core.window import Window
from incrowd.errors import BadInputError, option
from incrowd.jobs.clock import ProgressListener
from incrowd.jobs.data import knowledge_of
from incrowd.logs import Inputs, Log, read_form, read_parts
from incrowd.metrics import bound_of, measure_losses, measure_utility
from incrowd.metrics.use import use_of_classes, use_of_tiles
from incrowd.release.describe import figures_of, rounded_withheld
from incrowd.release.files.manifest import (
    LIST_FORMAT,
    TILES_FORMAT,
    Manifest,
    UseFigures,
    format_of,
    read_manifest,
)
from incrowd.release.files.records import Label
from incrowd.release.files.tiles import Tile, TileManifest
from incrowd.release.lengths import lengths_of
from incrowd.release.private_map import PrivateMap, read_map
from incrowd.report.visible import visible
from incrowd.taxonomy import Attached, open_taxonomy

__all__ = ["audit_release"]

EVENTS = ("events", "events_before")
_CONFIRMED = {
    "columns": "columns are",
    "delimiter": "fields are separated",
    "time_format": "times are written",
    "day": "day is",
}


def audit_release(
    directory: Path,
    *,
    original: Inputs | None,
    private_map: Path | None,
    taxonomy: str | None,
    written: Mapping[str, str | None] | None = None,
    memory: str,
    listener: ProgressListener,
) -> Audit:
    """Recount a release, against the originals and the private map where they are given.

    `written` says how the originals are written, by the names of :class:`incrowd.logs.InputForm`; the private map says the rest.
    """
    if private_map is None:
        if original is not None:
            raise BadInputError(
                f"{option('original')} needs {option('private_map')}: it says which record is whose"
            )
        listener.step("audit")
        return audit(directory)
    if format_of(directory) == LIST_FORMAT:
        raise BadInputError(
            f"{directory} is a list and no one's records: audit it without {option('original')} and {option('private_map')}"
        )
    is_tiles = format_of(directory) == TILES_FORMAT
    owned = read_map(private_map)
    manifest = read_manifest(directory, TileManifest if is_tiles else Manifest)
    if is_tiles and original is None:
        raise BadInputError(
            f"{option('private_map')} of a release of tiles needs {option('original')}: it says whose items they are"
        )
    if original is None:
        listener.step("audit")
        result = audit(directory, people=owned.people(manifest.claim.unit) or [])
        result.require(wrong=not owned.is_of(directory), problem="the private map is another release's")
        return result
    said = {name: value for name, value in (written or {}).items() if value is not None}
    attached, events = _read_again(
        original, owned.notes | said, manifest, taxonomy=taxonomy, memory=memory, listener=listener
    )
    listener.step("audit")
    against = _audit_tiles_against if is_tiles else _audit_against
    result = against(directory, attached, owned, listener)
    result.require(
        wrong=events is not None and events != tuple(map(owned.notes.get, EVENTS)),
        problem="the originals have other events in the window, or before it, than were read for the release: give what was read then",
    )
    if not result.problems:
        result.unproven += _unconfirmed(owned.notes, said)
    return result


def _unconfirmed(notes: Mapping[str, str], said: Mapping[str, str]) -> Iterator[str]:
    """Yield what only the private map says of how the originals are written: its author could name any column as the user."""
    for name, what in _CONFIRMED.items():
        if notes.get(name) and name not in said:
            option = f"--{name.replace('_', '-')} {visible(notes[name])}"
            yield f"that the originals' {what} as the private map says: confirm with {option}"


def _read_again(
    original: Inputs,
    notes: Mapping[str, str],
    manifest: Manifest | TileManifest,
    *,
    taxonomy: str | None,
    memory: str,
    listener: ProgressListener,
) -> tuple[Attached, tuple[str, str] | None]:
    """Read the originals as they were read for the release; of a window, count the events in it and before it too."""
    made = read_settings(manifest.method, {"seed": 0, **manifest.parameters}).common
    if made.items is None:
        raise BadInputError("the release was not made from a file: its manifest does not say how to read one")
    source = made.taxonomy if made.taxonomy != "file" else taxonomy or notes.get("taxonomy")
    if source is None:
        raise BadInputError(
            f"the release was made with a taxonomy file: give it with {option('taxonomy', 'FILE')}"
        )
    window = manifest.of_window if isinstance(manifest, TileManifest) else None
    listener.step("read")
    with read_parts(original, read_form(notes), memory=memory, progress=listener.reading) as log:
        transactions = log.transactions(
            unit="user" if made.unit == "record" else made.unit,
            items=made.items,
            bags=not made.sets,
            knowledge=knowledge_of(source) if made.items == "concepts" else None,
            events=manifest.claim.typed_by is not None,
            places=isinstance(manifest, TileManifest),
            window=window,
        )
        events = None if window is None else _events_of(log, window)
    listener.step("taxonomy")
    return open_taxonomy(source, transactions, unlisted=made.unlisted), events


def _events_of(log: Log, window: Window) -> tuple[str, str]:
    """Return how many events a log has in a window and before it, as a private map notes them."""
    inside, until = log.count_within([window, Window(None, window.stop)])
    return str(inside), str(until - inside)


def _audit_against(
    directory: Path, attached: Attached, owned: PrivateMap, listener: ProgressListener
) -> Audit:
    """Audit a release against originals that were read again and a map of owners to rows."""
    owners = attached.transactions.owners.to_pylist()
    row_of_owner = owned.row_of_owner
    row_of = [row_of_owner.get(owner, -1) for owner in owners]
    originals = Originals(attached.transactions, attached.taxonomy, row_of, owned.renamed)
    manifest = read_manifest(directory)
    settings = read_settings(manifest.method, manifest.parameters)
    measure = partial(_measure_again, originals, settings, manifest.claim.claim)
    result = audit(directory, originals=originals, measure=measure, progress=listener.reading)
    result.require(
        wrong=attached.transactions.unit != settings.common.unit,
        problem="the release says of another unit than the originals have that a record is one's",
    )
    strangers = row_of_owner.keys() - set(owners)
    result.require(
        wrong=bool(strangers),
        problem=f"the private map names {len(strangers):,} owners that the originals do not have",
    )
    return result


def _audit_tiles_against(
    directory: Path,
    attached: Attached,
    owned: PrivateMap,
    listener: ProgressListener,  # noqa: ARG001 - it is quick
) -> Audit:
    """Audit a release of tiles against originals that were read again and a map of owners to tiles."""
    data, tree = attached.transactions, attached.taxonomy
    held = owned.rows_of_owner
    owners = data.owners.to_pylist()
    lists = [sorted(held.get(owner, [])) for owner in owners]
    rows = np.array([row for some in lists for row in some], dtype=np.int64)
    start = starts_of(np.array([len(some) for some in lists]))
    originals = TileOriginals(data, tree, start, rows, _seed_of(owned.notes))
    result = audit_tiles(directory, originals=originals, measure=lambda tiles: _use_again(tiles, originals))
    result.require(wrong=not owned.is_of(directory), problem="the private map is another release's")
    strangers = held.keys() - set(owners)
    result.require(
        wrong=bool(strangers),
        problem=f"the private map names {len(strangers):,} owners that the originals do not have",
    )
    return result


def _seed_of(notes: Mapping[str, str]) -> int | None:
    """Return the secret seed that a private map notes, if it does."""
    said = notes.get("seed", "")
    return int(said) if re.fullmatch("[0-9]{1,19}", said) and int(said) < 2**63 else None


def _use_again(tiles: Sequence[Tile], originals: TileOriginals) -> UseFigures | None:
    """Measure of what use written tiles are; None if they name a label that the originals' taxonomy lacks."""
    node_of = nodes_of_tiles(tiles, originals.taxonomy)
    if node_of is None:
        return None
    start = starts_of(np.array([len(tile.labels) for tile in tiles]))
    nodes = np.array([node_of[label] for tile in tiles for label in tile.labels], dtype=np.int32)
    people, units = (np.array([tile[i] for tile in tiles], dtype=np.int64) for i in (1, 2))
    held = originals.held.astype(np.int32)
    made = Tiles(start, nodes, people, units, originals.start, held, withheld=0)
    use = use_of_tiles(originals.transactions, originals.taxonomy, made)
    return UseFigures.of(msgspec.structs.asdict(use))


def _measure_again(
    originals: Originals, settings: Settings, claim: Claim, written: Written, node_of: Mapping[Label, int]
) -> Figured:
    """Measure what the manifest of a release says of its originals."""
    data, tree = originals.transactions, originals.taxonomy
    classes = _classes(originals, written, node_of)
    shown = classes.of_row != WITHHELD
    lengths = lengths_of(data, shown, claim.least)
    again = settings.recountable
    figures = figures_of(
        measure_losses(data, tree, classes) if again else None,
        measure_utility(data, tree, classes) if again else None,
        bound_of(data, tree, classes, claim) if again else None,
        use_of_classes(data, tree, classes) if again else None,
        lengths,
    )
    silent = len(np.unique(data.person[~shown]))
    return Figured(msgspec.to_builtins(figures), rounded_withheld(classes.withheld, silent, claim.least))


def _classes(originals: Originals, written: Written, node_of: Mapping[Label, int]) -> Classes:
    """Return the written records as classes of the originals' rows."""
    nodes: list[int] = []
    counts: list[int] = []
    start = [0]
    for labels, times in written.records:
        bag = sorted(zip((node_of[label] for label in labels), times, strict=True))
        nodes += [node for node, _ in bag]
        counts += [count for _, count in bag]
        start.append(len(nodes))
    record_of_row = np.append(np.array(written.record_of_row, dtype=np.int32), WITHHELD)
    return Classes(
        record_of_row[np.array(originals.row_of, dtype=np.int64)],  # row -1 is the last entry: withheld
        np.array(start, dtype=np.int64),
        np.array(nodes, dtype=np.int32),
        np.array(counts, dtype=np.int32),
    )
