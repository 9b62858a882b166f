"""Finds existing releases near a new file, to warn about them.

Two releases of the same people may reveal more together than each alone, and a private file inside a release would be
published with it.
"""

from __future__ import annotations

import os
import stat
from itertools import islice
from pathlib import Path

import msgspec

__all__ = ["holds_release", "releases_near"]

MOST_ENTRIES = 500  # of each directory; the rest is not looked at
LONGEST_MANIFEST = 1 << 20  # bytes; a release's has a few thousand


class _Format(msgspec.Struct):
    """The one field of a manifest that matters here."""

    format: str


def releases_near(out: Path, source: Path) -> list[Path]:
    """Find the releases next to `out` and next to the input, and one at `out` itself.

    A release does not say which log it was made from, so every one counts. Unreadable and hidden entries (unfinished
    releases among them) are skipped, and at most `MOST_ENTRIES` entries of a directory are looked at.

    Parameters
    ----------
    out
        Where a release is about to be written. A release that is there now may have been published, so it counts too.
    source
        The input, a file or a directory.

    Returns
    -------
    list of Path
        Directories in the order of their names, each once.
    """
    places = {place.absolute() for place in (out.absolute().parent, source.absolute().parent, source)}
    candidates = [out, *(entry for place in sorted(places) for entry in _directories(place))]
    found = {_resolved(path): path for path in candidates if holds_release(path)}
    return sorted(found.values(), key=lambda path: (path.name, str(path)))


def holds_release(path: Path) -> bool:
    """Return whether a directory holds an incrowd manifest of any version."""
    try:
        return msgspec.json.decode(_text(path / "manifest.json"), type=_Format).format.startswith("incrowd-")
    except (OSError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return False


def _directories(place: Path) -> list[Path]:
    """List the directories in a directory that are not hidden; none if it cannot be read."""
    try:
        with os.scandir(place) as entries:
            some = list(islice(entries, MOST_ENTRIES))
    except (OSError, ValueError):
        return []
    return [Path(entry.path) for entry in some if not entry.name.startswith(".") and _is_directory(entry)]


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except (OSError, ValueError):
        return False


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a loop of links
        return path


def _text(path: Path) -> bytes:
    """Read a file; nothing if it is no regular file (a pipe would wait for ever) or too long for a manifest."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b""
        read = file.read(LONGEST_MANIFEST + 1)
    return read if len(read) <= LONGEST_MANIFEST else b""
