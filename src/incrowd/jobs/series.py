"""A job as one release of a series: recognised by its data, recorded before it is published, refused if it overlaps another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from incrowd.core.transactions import Transactions
from incrowd.core.types import Words64
from incrowd.errors import BadInputError, option
from incrowd.jobs.data import unlisted_by
from incrowd.jobs.spec import Job
from incrowd.release.files.manifest import Versions
from incrowd.release.series import Entry, Released, Seen, Series
from incrowd.taxonomy import Attached

__all__ = ["check_series_of", "in_series", "seen_of"]

LONG_ROW = 10  # different items: of rows that long, no two were equal by chance in the public sets of baskets
AT_ONCE = 100_000


@contextmanager
def in_series(job: Job, items: str, attached: Attached) -> Iterator[None]:
    """Record a release in the job's series, if it has one: as begun on the way in, as published on the way out.

    If the body fails and nothing is at the release's name that was not there before, it is recorded as withdrawn. If the run is
    killed it stays begun: it may have been published, so what overlaps it is refused.
    """
    if job.options.series is None:
        yield
        return
    series = Series(job.options.series)
    entry = _entry_of(job, items, attached, series)
    out = job.options.out
    number = series.begin(entry, place=out, repeatable=not job.method.is_noisy)  # noise is drawn anew
    before = _identity(out)
    try:
        yield
    except BaseException:
        if _identity(out) == before:
            series.note(number, "withdrawn")
        raise
    series.note(number, "published", Released.at(out))


def check_series_of(job: Job, items: str, attached: Attached) -> None:
    """Refuse a release that overlaps another of its series, and leave the ledger as it is."""
    if job.options.series is not None:
        series = Series(job.options.series, read_only=True)
        series.check(_entry_of(job, items, attached, series), repeatable=not job.method.is_noisy)


def _entry_of(job: Job, items: str, attached: Attached, series: Series) -> Entry:
    """Return what a series records of a release; refuse data by which it cannot be recognised."""
    data, tree = attached.transactions, attached.taxonomy
    if data.activity is None and data.unit == "record" and unlisted_by(job, items, tree.name) == "drop":
        raise BadInputError(
            f"{option('series')} recognises baskets by all of their items: {option('unlisted', 'drop')} removes some"
        )
    key = series.seed.to_bytes(8, "big")
    events = None if job.taken is None else job.taken.inside
    name, digest = job.options.out.absolute().name, _job_digest(job, items, attached, key)
    return Entry(name, digest, seen_of(data, key), data.window, events)


def seen_of(data: Transactions, key: bytes) -> Seen:
    """Return by what data is recognised in a later release of the series, as keyed hashes where it is not times."""
    if data.window is not None:
        return Seen("times", data.window.first, data.window.stop - 1)
    if data.activity is not None:
        return Seen("times", data.activity.first, data.activity.last)
    hashed = _hash_with(key, b"people")
    if data.unit != "record":
        names = data.owners if data.people is None else data.people
        return Seen("people", hashes=_packed(map(hashed, names.unique().to_pylist())))
    words = np.array([*map(_hash_with(key, b"rows"), data.vocabulary.to_pylist())], dtype=np.uint64)
    rows = _row_sums(words[data.items], data)
    return Seen("rows", hashes=_packed(rows[np.diff(data.indptr) >= LONG_ROW].tolist()))


def _row_sums(words: Words64, data: Transactions) -> Words64:
    """Return the sum of each row's words, modulo 2^64: it does not depend on their order."""
    sums: Words64 = np.concatenate((np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)))
    return sums[data.indptr[1:]] - sums[data.indptr[:-1]]


def _hash_with(key: bytes, purpose: bytes) -> Callable[[str], int]:
    """Return a keyed hash of 64 bits."""

    def hashed(text: str) -> int:
        digest = hashlib.blake2b(text.encode(), digest_size=8, key=key, person=purpose).digest()
        return int.from_bytes(digest, "little")

    return hashed


def _packed(hashes: Iterable[int]) -> bytes:
    return np.unique(np.array([*hashes], dtype="<u8")).tobytes()


def _job_digest(job: Job, items: str, attached: Attached, key: bytes) -> str:
    """Return a keyed hash of everything that a release depends on: the same has the same bytes."""
    data, tree = attached.transactions, attached.taxonomy
    hashed = hashlib.blake2b(digest_size=16, key=key, person=b"job")
    how = {
        "method": job.method.name,
        "parameters": dict(job.setting.parameters),
        "k": job.k,
        "seed": job.seed,
        "distinct": job.options.distinct,
        "items": items,
        "sets": job.options.sets,
        "unlisted": unlisted_by(job, items, tree.name),
        "unit": data.unit,
        "taxonomy": tree.name,
        "versions": msgspec.to_builtins(Versions.here()),
    }
    hashed.update(json.dumps(how, sort_keys=True).encode())
    # What no tile depends on may differ: the account is worded for one engine or the other, and days are counted where a page names them.
    activity = data.activity and data.activity._replace(people_by_day=None)
    told = replace(data, account=(), activity=activity)
    for part in (told, tree.parent, tree.labels, tree.made):
        for piece in _pieces(part):
            hashed.update(len(piece).to_bytes(8, "big") + piece)
    return hashed.hexdigest()


def _pieces(part: Any) -> Iterator[bytes]:
    """Yield all that a method is given as bytes, some at a time: arrays, texts, numbers, and objects of these."""
    if isinstance(part, np.ndarray):
        yield np.ascontiguousarray(part).tobytes()
    elif isinstance(part, pa.Array):
        for at in range(0, len(part) or 1, AT_ONCE):
            yield json.dumps(part.slice(at, AT_ONCE).to_pylist()).encode()
    elif is_dataclass(part) or hasattr(part, "_fields"):
        names = getattr(part, "_fields", None) or [field.name for field in fields(part)]
        for name in names:
            yield name.encode()
            yield from _pieces(getattr(part, name))
    else:
        yield repr(part).encode()


def _identity(path: Path) -> tuple[int, int] | None:
    """Tell one directory from another at the same name."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
