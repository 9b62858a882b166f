"""``incrowd.audit``: a release recounted from its files, and held against originals of any kind."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from incrowd.auditing.audit import Measure
from incrowd.auditing.audit import audit as recount
from incrowd.auditing.owners import Owners
from incrowd.auditing.result import Audit
from incrowd.auditing.tile_holders import TileOriginals
from incrowd.core.memory import machine_memory
from incrowd.core.types import Progress
from incrowd.errors import BadInputError, option
from incrowd.jobs.audit import audit_release
from incrowd.jobs.library import Listener
from incrowd.jobs.moved import given_moves
from incrowd.jobs.spec import IN_MEMORY
from incrowd.logs import Log
from incrowd.logs.frames import read

__all__ = ["audit"]


def audit(
    directory: str | os.PathLike[str],
    *,
    original: object = None,
    private_map: str | os.PathLike[str] | None = None,
    taxonomy: str | os.PathLike[str] | None = None,
    never: str | os.PathLike[str] | None = None,
    moves: str | os.PathLike[str] | Mapping[str, str] | None = None,
    originals: Owners | TileOriginals | None = None,
    measure: Measure | None = None,
    memory: str | int | None = None,
    progress: Progress | None = None,
    **columns: Any,
) -> Audit:
    """Recount a release from its files.

    Parameters
    ----------
    directory
        The release.
    original, private_map
        What it was made from, as :func:`incrowd.read` takes it (a DataFrame, rows, files), and the map that was written with it: each published
        record (or tile) is then held against its owner's, people are counted, and the figures are measured again.
    taxonomy, never, moves
        The taxonomy file, the list of words that were left out and the words that were moved, where their files are no longer where they were.
    originals, measure
        In place of `original`: what a release in this process was made from, ``release.originals``, and ``release.figured``.
    memory, progress
        The most memory for reading the original; and what is called with (done, of all).
    **columns
        `user`, `query`, `time` and so on: columns of the original, as for :func:`incrowd.read`.
    """
    if original is None and private_map is None and moves is None:
        if columns:
            name = option(next(iter(columns)))
            raise BadInputError(f"{name} is about the original: give {option('original')}")
        return recount(Path(directory), originals=originals, measure=measure, progress=progress)
    if originals is not None or measure is not None:
        raise BadInputError(
            f"give {option('original')} with {option('private_map')}, or {option('originals')}, and not both"
        )
    most = str(memory or machine_memory())

    def opened(kinds: Sequence[str]) -> Log:
        return read(original, memory=most, progress=progress, kinds=kinds or None, **columns)

    return audit_release(
        Path(directory),
        original=None if original is None else IN_MEMORY,
        private_map=None if private_map is None else Path(private_map),
        taxonomy=None if taxonomy is None else os.fspath(taxonomy),
        never=None if never is None else Path(never),
        moves=given_moves(moves),
        memory=most,
        listener=Listener(progress),
        opened=opened,
    )
