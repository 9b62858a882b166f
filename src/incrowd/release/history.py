"""A release that follows others of the same people: what their private maps say of people, and what its own says for the next."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import msgspec

from incrowd.core.claims import LEAST_K
from incrowd.core.history import Past
from incrowd.core.types import Ints64
from incrowd.errors import BadInputError, option
from incrowd.release.files.manifest import read_manifest
from incrowd.release.files.parts import part_files, runs_in
from incrowd.release.private_map import PrivateMap, read_map

__all__ = ["Following", "past_notes", "past_of", "read_past"]

K, GROUPS, GONE = "k", "groups", "gone"
_NUMBERS = re.compile(r"[1-9][0-9]{0,17}( [1-9][0-9]{0,17})*")


class Following(NamedTuple):
    """What a release that follows others knows of people beside its own rows. Private.

    Parameters
    ----------
    past
        The people of the earlier releases.
    group
        The group of the past of each transaction, and then of each person who is counted without one; below 0 for who is in none.
    left
        The people who are counted and have no record now.
    gone
        Groups of people who were in an earlier release and are not in this one.
    """

    past: Past
    group: Ints64
    left: Sequence[str]
    gone: Sequence[Sequence[str]]


def past_notes(k: int, sizes: Iterable[int], gone: Sequence[Sequence[str]] = ()) -> dict[str, str]:
    """Return what a private map notes for a release that follows.

    Parameters
    ----------
    k
        The smallest k of the release and those that it follows.
    sizes
        How many rows, one after another, are of people who are alike in all of them.
    gone
        Groups of people who are in earlier ones alone.
    """
    named = json.dumps([list(group) for group in gone], ensure_ascii=False)
    return {K: str(k), GROUPS: " ".join(map(str, sizes)), GONE: named}


def read_past(path: Path, release: Path | None = None) -> Past:
    """Read who is alike in a release and those that it follows, from its private map; `release` is where it was published."""
    owned = read_map(path)
    past = past_of(owned, path)
    if release is not None and not _is_published(past, owned, release):
        raise BadInputError(
            f"private map {path} is not of the release in {release}: give the map that was written with it"
        )
    return past


def _is_published(past: Past, owned: PrivateMap, release: Path) -> bool:
    """Tell whether a map is of a release: people of one group have equal records there, and its k is the claim's."""
    claim = read_manifest(release).claim
    if not owned.is_of(release) or past.k != (claim.follows or claim.k):
        return False
    ends = accumulate(size for _, size in runs_in(part_files(release / "records.parquet")))
    return set(ends) <= set(accumulate(map(len, past.groups[: past.published])))


def past_of(owned: PrivateMap, path: Path) -> Past:
    """Return who is alike in a release and those that it follows; refuse a map that does not say it, or contradicts itself."""
    if not {K, GROUPS, GONE} <= owned.notes.keys():
        raise BadInputError(
            f"private map {path} cannot be followed: give the map of a k-anonymous release of users, {option('unit', 'user')}, "
            "by this version of incrowd"
        )
    past = _past_in(owned)
    if past is None:
        raise BadInputError(
            f"private map {path} contradicts itself; give the file that {option('private_map')} wrote, as it was"
        )
    return past


def _past_in(owned: PrivateMap) -> Past | None:
    """Return the groups that a map has; None if a person, a row or a number is not what it must be."""
    k, sizes, gone = owned.notes[K], owned.notes[GROUPS], _gone_in(owned.notes[GONE])
    if gone is None or not _NUMBERS.fullmatch(sizes) or not re.fullmatch("[1-9][0-9]{0,17}", k):
        return None
    owners = [owner for _, owner in sorted(zip(owned.row, owned.owner, strict=True))]
    groups, first = [], 0
    for size in map(int, sizes.split(" ")):
        groups.append(owners[first : first + size])
        first += size
    past = Past([*groups, *gone], len(groups), int(k))
    people = sum(map(len, past.groups))
    whole = first == len(owners) and sorted(owned.row) == list(range(first)) and len(past.group_of) == people
    return past if whole and min(map(len, past.groups)) >= past.k >= LEAST_K else None


def _gone_in(text: str) -> list[list[str]] | None:
    try:
        return msgspec.json.decode(text, type=list[list[str]])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
