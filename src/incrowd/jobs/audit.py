"""A written release audited again, against its originals and private map where they are given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from incrowd.auditing.audit import Figured, audit
from incrowd.auditing.history import Chain
from incrowd.auditing.labels import Written
from incrowd.auditing.never import UNKNOWN_LIST, check_never
from incrowd.auditing.owners import Originals
from incrowd.auditing.period import check_period
from incrowd.auditing.result import Audit
from incrowd.auditing.tile_holders import TileOriginals
from incrowd.auditing.tiles import audit_tiles
from incrowd.core.claims import Claim
from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.kinds import parse_kinds
from incrowd.core.promises import Settings, read_settings
from incrowd.core.ragged import starts_of
from incrowd.core.window import Window
from incrowd.errors import BadInputError, option
from incrowd.jobs.clock import ProgressListener
from incrowd.jobs.data import attach_without, knowledge_of
from incrowd.jobs.written import tiles_on
from incrowd.logs import Inputs, Log, read_form, read_parts
from incrowd.logs.kinds import roles_of
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
from incrowd.release.files.tiles import TileManifest, TileTable
from incrowd.release.history import past_of, read_past
from incrowd.release.lengths import lengths_of
from incrowd.release.private_map import PrivateMap, check_same_moves, read_map, read_notes
from incrowd.report.visible import visible
from incrowd.taxonomy import Attached, open_taxonomy
from incrowd.taxonomy.kinds import attach_kinds
from incrowd.taxonomy.moves import Moves, MovesGiven, read_moves
from incrowd.text.never import NeverList, read_never

__all__ = ["audit_release"]

EVENTS = ("events", "events_before")
_CONFIRMED = {
    "columns": "columns are",
    "delimiter": "fields are separated",
    "time_format": "times are written",
    "day": "day is",
    "segment": "words are found",
}


Opened = Callable[[Sequence[str]], Log]


class Evidence(NamedTuple):
    """What a release is held against; see :func:`audit_release`."""

    original: Inputs | None
    private_map: Path | None
    previous: Path | None
    previous_release: Path | None
    taxonomy: str | None
    never: NeverList | None
    moves: Moves | None
    written: Mapping[str, str]
    memory: str
    opened: Opened | None = None


def audit_release(
    directory: Path,
    *,
    original: Inputs | None,
    private_map: Path | None,
    previous: Path | None = None,
    previous_release: Path | None = None,
    taxonomy: str | None,
    never: Path | None = None,
    moves: MovesGiven | None = None,
    written: Mapping[str, str | None] | None = None,
    memory: str,
    listener: ProgressListener,
    opened: Opened | None = None,
) -> Audit:
    """Recount a release, against the originals and the private map where they are given.

    `previous` is the private map of the release that it follows, which is at `previous_release`. `written` says how the originals are written, by the
    names of :class:`incrowd.logs.InputForm`, `never` is the list of words that were left out, and `moves` are those that were moved; the private map says the rest. `opened` gives
    originals that Python holds, given the further kinds of items.
    """
    _check_previous(private_map, previous, previous_release)
    words = None if never is None else read_never(never)
    if original is not None and private_map is not None:
        notes = read_notes(private_map)
        words = words or _noted_list(notes)
        if words is not None and notes.get("never_sha256", words.digest) != words.digest:
            raise BadInputError(f"{option('never')} is another list than the release was made with")
    moved = _moves_of(moves, original, private_map)
    said = {name: value for name, value in (written or {}).items() if value is not None}
    given = Evidence(
        original, private_map, previous, previous_release, taxonomy, words, moved, said, memory, opened
    )
    result = _recounted(directory, given, listener)
    if words is not None:
        check_never(directory, words.found_in, result)
    elif _says_never(directory):
        result.unchecked.append(UNKNOWN_LIST)
    return result


def _noted_list(notes: Mapping[str, str]) -> NeverList | None:
    """Return the list of words that a private map notes, if it notes one."""
    if "never" not in notes:
        return None
    path = Path(notes["never"])
    if not path.is_file():
        raise BadInputError(
            f"the release was made with a list of words that is not where it was: give it with {option('never', 'FILE')}"
        )
    return read_never(path)


def _moves_of(given: MovesGiven | None, original: Inputs | None, private_map: Path | None) -> Moves | None:
    """Return the words that were moved for a release, as they are given or its private map notes them; refuse others."""
    if original is None or private_map is None:
        if given is not None:
            raise BadInputError(
                f"{option('moves')} needs {option('original')}: it says where words of the originals hang"
            )
        return None
    notes = read_notes(private_map)
    if given is None and "moves" not in notes:
        return None
    if given is None and not Path(notes["moves"]).is_file():
        raise BadInputError(
            f"the release was made with moved words, and their file is not where it was: give it with {option('moves', 'FILE')}"
        )
    moves = read_moves(Path(notes["moves"]) if given is None else given)
    check_same_moves(moves.digest, notes)
    return moves


def _says_never(directory: Path) -> bool:
    """Tell whether a release says that a list of words was left out."""
    form = format_of(directory)
    if form == LIST_FORMAT:
        return False
    manifest = read_manifest(directory, TileManifest if form == TILES_FORMAT else Manifest)
    return bool(manifest.parameters.get("never"))


def _recounted(directory: Path, given: Evidence, listener: ProgressListener) -> Audit:
    """Recount a release as far as the originals and the private map allow."""
    if given.private_map is None:
        if given.original is not None:
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
    owned = read_map(given.private_map)
    manifest = read_manifest(directory, TileManifest if is_tiles else Manifest)
    if is_tiles and given.original is None:
        raise BadInputError(
            f"{option('private_map')} of a release of tiles needs {option('original')}: it says whose items they are"
        )
    chain = None if given.previous is None else _chain(manifest, owned, given)
    if given.original is None:
        listener.step("audit")
        return _audit_by_map(directory, owned, manifest.claim.unit, chain)
    attached, events = _read_again(
        given.original, {**owned.notes, **given.written}, manifest, given, listener
    )
    listener.step("audit")
    if is_tiles:
        result = _audit_tiles_against(directory, attached, owned)
    else:
        result = _audit_against(directory, attached, owned, chain, listener)
    result.require(
        wrong=events is not None and events != tuple(map(owned.notes.get, EVENTS)),
        problem="the originals have other events in the window, or before it, than were read for the release: give what was read then",
    )
    check_period(manifest.parameters, attached.transactions.activity, manifest.claim.claim.least, result)
    if not result.problems:
        result.unproven += _unconfirmed(owned.notes, given.written)
        if chain is not None and given.previous_release is None:
            confirm = option("previous_release", "DIR")
            result.unproven.append(f"that the map before is of what was published: confirm with {confirm}")
    return result


def _audit_by_map(directory: Path, owned: PrivateMap, unit: str, chain: Chain | None) -> Audit:
    """Audit a release by what private maps say, which are believed."""
    result = audit(directory, people=owned.people(unit) or [], chain=chain)
    if chain is not None:
        result.unproven.append("that private maps name people as they are: only the originals show it")
    result.require(wrong=not owned.is_of(directory), problem="the private map is another release's")
    return result


def _check_previous(private_map: Path | None, previous: Path | None, previous_release: Path | None) -> None:
    """Refuse half of what is needed to hold a release against the one before."""
    needs = {
        ("previous", "private_map"): previous is not None and private_map is None,
        ("previous_release", "previous"): previous_release is not None and previous is None,
    }
    for (given, needed), is_missing in needs.items():
        if is_missing:
            raise BadInputError(f"{option(given)} needs {option(needed)}: it says which record is whose")


def _chain(manifest: Manifest | TileManifest, owned: PrivateMap, given: Evidence) -> Chain:
    """Return what two private maps say of people; refuse a release that follows none."""
    if manifest.claim.follows is None:
        raise BadInputError(f"the release does not say that it follows another: drop {option('previous')}")
    assert given.previous is not None and given.private_map is not None  # noqa: S101, PT018 - the caller has looked
    past = read_past(given.previous, given.previous_release)
    return Chain(past, owned.row_of_owner, past_of(owned, given.private_map))


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
    given: Evidence,
    listener: ProgressListener,
) -> tuple[Attached, tuple[str, str] | None]:
    """Read the originals as they were read for the release; of a window, count the events in it and before it too."""
    made = read_settings(manifest.method, {"seed": 0, **manifest.parameters}).common
    if made.items is None:
        raise BadInputError("the release was not made from a file: its manifest does not say how to read one")
    source = made.taxonomy if made.taxonomy != "file" else given.taxonomy or notes.get("taxonomy")
    if made.never != (given.never is not None):
        raise BadInputError(
            f"the release was made {'with' if made.never else 'without'} a list of words: "
            + (f"give it with {option('never', 'FILE')}" if made.never else f"drop {option('never')}")
        )
    if made.moved and given.moves is None:
        raise BadInputError(
            f"the release was made with moved words: give them with {option('moves', 'FILE')}"
        )
    if source is None:
        raise BadInputError(
            f"the release was made with a taxonomy file: give it with {option('taxonomy', 'FILE')}"
        )
    kinds = parse_kinds(made.kinds)
    form = replace(read_form(notes), wanted=roles_of(kinds))
    window = manifest.of_window if isinstance(manifest, TileManifest) else None
    listener.step("read")
    if given.opened is None:
        read = read_parts(original, form, memory=given.memory, progress=listener.reading)
    else:
        read = given.opened(kinds)
    with read as log:
        transactions = log.transactions(
            unit="user" if made.unit == "record" else made.unit,
            items=made.items,
            bags=not made.sets,
            knowledge=knowledge_of(source) if made.items == "concepts" else None,
            events=manifest.claim.typed_by is not None,
            places=isinstance(manifest, TileManifest),
            kinds=kinds,
            never=given.never,
            named=made.unlisted == "name",
            window=window,
        )
        events = None if window is None else _events_of(log, window)
    listener.step("taxonomy")
    words = partial(open_taxonomy, source, unlisted=made.unlisted, moves=given.moves)
    place = partial(attach_kinds, kinds=kinds, attach_words=words)
    return attach_without(given.never, transactions, place), events


def _events_of(log: Log, window: Window) -> tuple[str, str]:
    """Return how many events a log has in a window and before it, as a private map notes them."""
    inside, until = log.count_within([window, Window(None, window.stop)])
    return str(inside), str(until - inside)


def _audit_against(
    directory: Path, attached: Attached, owned: PrivateMap, chain: Chain | None, listener: ProgressListener
) -> Audit:
    """Audit a release against originals that were read again and a map of owners to rows."""
    manifest = read_manifest(directory)
    settings = read_settings(manifest.method, manifest.parameters)
    originals, strangers = _originals(attached, owned, follows=settings.common.follows is not None)
    measure = partial(_measure_again, originals, settings, manifest.claim.claim)
    result = audit(directory, originals=originals, measure=measure, chain=chain, progress=listener.reading)
    result.require(
        wrong=attached.transactions.unit != settings.common.unit,
        problem="the release says of another unit than the originals have that a record is one's",
    )
    if chain is not None:
        strangers -= {person for group in chain.past.groups[: chain.past.published] for person in group}
    result.require(
        wrong=bool(strangers) and (chain is not None or settings.common.follows is None),
        problem=f"the private map names {len(strangers):,} owners that the originals do not have",
    )
    return result


def _originals(attached: Attached, owned: PrivateMap, *, follows: bool) -> tuple[Originals, set[str]]:
    """Return what a map says of originals, and the owners whom it names and they do not have.

    In a release that follows others these have left, as have owners of whom nothing is left; their rows are still theirs.
    """
    data, row_of = attached.transactions, dict(owned.row_of_owner)
    has_any = np.diff(data.indptr) > 0
    owners = data.owners.to_pylist()
    rows = [
        row_of.pop(owner, -1) if is_filled or not follows else -1
        for owner, is_filled in zip(owners, has_any.tolist(), strict=True)
    ]
    left = sorted(row_of.values()) if follows else []
    return Originals(data, attached.taxonomy, rows, owned.renamed, left), row_of.keys() - set(owners)


def _audit_tiles_against(
    directory: Path,
    attached: Attached,
    owned: PrivateMap,
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


def _use_again(tiles: TileTable, originals: TileOriginals) -> UseFigures | None:
    """Measure of what use written tiles are; None if they name a label that the originals' taxonomy lacks."""
    made = tiles_on(tiles, originals.taxonomy, originals.start, originals.held)
    if made is None:
        return None
    use = use_of_tiles(originals.transactions, originals.taxonomy, made)
    return UseFigures.of(msgspec.structs.asdict(use))


def _measure_again(
    originals: Originals, settings: Settings, claim: Claim, written: Written, node_of: Mapping[Label, int]
) -> Figured:
    """Measure what the manifest of a release says of its originals."""
    data, tree = originals.transactions, originals.taxonomy
    classes = _classes(originals, written, node_of)
    shown = classes.of_row != WITHHELD
    lengths = lengths_of(data, shown, claim.least, left=len(originals.left))
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
        left=record_of_row[np.array(originals.left, dtype=np.int64)],
    )
