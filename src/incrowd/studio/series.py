"""The series of a project: the releases that it says it has, each of a time of its own, and what may be published of that."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from incrowd.errors import IncrowdError
from incrowd.studio.commands import shell_line
from incrowd.studio.folder import Folder
from incrowd.studio.projects import Project
from incrowd.studio.releases import trial_places

__all__ = ["Part", "Series", "series_of"]


class Part(NamedTuple):
    """A release of a series: its name, the time that it is of, in words, the fewest people of a tile (None: no tiles), and whether it is whole."""

    name: str
    time: str
    people: int | None
    is_whole: bool


class Series(NamedTuple):
    """A series: its releases in the order in which they were begun, the index that may be published, and how to recount all of it."""

    parts: list[Part]
    index_file: Path
    audit_line: str

    @property
    def names(self) -> set[str]:
        """The names of its releases."""
        return {part.name for part in self.parts}


def series_of(folder: Folder, project: Project) -> Series | None:
    """Return the series of a project; None if there is none, or none that can be read."""
    from incrowd.release.files.series_index import INDEX_NAME, IndexedRelease, read_index

    def part(one: IndexedRelease) -> Part:
        time = "no window" if one.window is None else str(one.window)
        return Part(one.name, time, one.counts.people_min if one.counts else None, one.state == "published")

    place = trial_places(folder).series(project)
    try:
        found = read_index(place)
    except IncrowdError:
        return None
    return Series(
        [part(one) for one in found.releases],
        place / INDEX_NAME,
        shell_line(["audit", "--series", str(place)]),
    )
