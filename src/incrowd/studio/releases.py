"""The releases in the folder, as their manifests describe them; their pages; and what is downloaded."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from starlette.exceptions import HTTPException

from incrowd.core.neighbours import holds_release
from incrowd.studio.commands import Places
from incrowd.studio.folder import Folder
from incrowd.studio.jobs import Job, all_jobs

__all__ = [
    "PAGES",
    "Release",
    "all_releases",
    "made_with",
    "new_places",
    "own_release",
    "places_of",
    "read_release",
    "trial_places",
    "zipped",
]

PAGES = {"report": "The release's page", "certificate": "Certificate", "dictionary": "Dictionary"}
BESIDE = {
    ".certificate.html": "What is promised and was checked, to print.",
    ".dictionary.html": "What every column, parameter and number means.",
}
CHUNK = 1 << 16
PART = re.compile(r"records\.parquet/part-[0-9]{5,}\.parquet")


class _Claim(msgspec.Struct):
    """What every promise says."""

    kind: str
    in_words: str


class _Manifest(msgspec.Struct):
    """What pages take for granted of a manifest."""

    format: str
    files: list[str]
    method: str
    claim: _Claim
    parameters: dict[str, Any]


class Release(NamedTuple):
    """A release: its name, where it is, its manifest, when it was written, and the job that made it (None: not the studio's)."""

    name: str
    path: Path
    manifest: dict[str, Any]
    written: float
    job: Job | None

    @property
    def project(self) -> str | None:
        """Whose it is."""
        return self.job.project if self.job else None

    @property
    def files(self) -> list[tuple[str, int, str]]:
        """What is to be published: names in the archive, sizes, and what each is, where that is known."""
        from incrowd.release.files.dictionary import FILES

        return [
            (name, path.stat().st_size, FILES.get(path.name) or BESIDE.get(name.removeprefix(self.name), ""))
            for name, path in self.parts.items()
        ]

    @property
    def parts(self) -> dict[str, Path]:
        """The files that are published, by their names in the archive: those that the manifest lists and a release may have, and no links, which could lead anywhere."""
        from incrowd.release.files.names import RELEASE_FILES

        listed = RELEASE_FILES.intersection(self.manifest["files"])
        own = {path.relative_to(self.path): path for path in sorted(self.path.rglob("*"))}
        found = {f"{self.name}/{name}": path for name, path in own.items() if _is_listed(name, listed)}
        beside = [page_file(self.path, kind) for kind, _ in self.pages if kind != "report"]
        found |= {path.name: path for path in beside}
        return {name: path for name, path in found.items() if _is_own_file(path, self.path.parent)}

    @property
    def pages(self) -> list[tuple[str, str]]:
        """The pages that there are, with their titles."""
        return [(kind, title) for kind, title in PAGES.items() if self.page(kind) is not None]

    def page(self, kind: str) -> Path | None:
        """Return the file of one of its pages; None if there is none, or a link in its place."""
        file = page_file(self.path, kind) if kind in PAGES else None
        return file if file is not None and _is_own_file(file, self.path.parent) else None


def all_releases(folder: Folder) -> list[Release]:
    """Return all releases, the newest first."""
    jobs = {job.release: job for job in all_jobs(folder) if job.kind == "release"}
    found = [_read(place, jobs.get(place.name)) for place in folder.releases.iterdir()]
    return sorted((one for one in found if one is not None), key=lambda one: (-one.written, one.name))


def read_release(folder: Folder, name: str) -> Release | None:
    """Return a release by its name; None if there is none. One that was copied here may be called as it likes."""
    place = next((place for place in folder.releases.iterdir() if place.name == name), None)
    job = next((job for job in all_jobs(folder) if job.kind == "release" and job.release == name), None)
    return None if place is None else _read(place, job)


def own_release(folder: Folder, project: str, wanted: str | None) -> tuple[Release | None, list[Release]]:
    """Return a release of a project, the one that is named or the newest, and all of them; a name that is none is not found."""
    own = [one for one in all_releases(folder) if one.project == project]
    release = next((one for one in own if one.name == wanted), None) if wanted else next(iter(own), None)
    if wanted and release is None:
        raise HTTPException(404)
    return release, own


def made_with(data: str, release: Release) -> list[tuple[str, str]]:
    """Return what a release itself was made with, for the top of a page: the project's choices may have changed since."""
    k = release.manifest["claim"].get("k")
    shared = [("People who share it", f"k = {k}")] if k else []
    return [("Data", data), ("Method", release.manifest["method"]), *shared]


def _read(place: Path, job: Job | None) -> Release | None:
    if (
        place.name.startswith(".")
        or not place.name.isprintable()
        or place.is_symlink()
        or not holds_release(place)
    ):
        return None
    file = place / "manifest.json"
    try:
        text, written = file.read_bytes(), file.stat().st_mtime
        msgspec.json.decode(text, type=_Manifest)
        return Release(place.name, place, msgspec.json.decode(text), written, job)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # it was changed meanwhile
        return None


def _is_listed(name: Path, listed: AbstractSet[str]) -> bool:
    """Tell whether a path in a release is a listed file, or a part of one that a cluster wrote as a directory."""
    return name.parts[0] in listed and (
        len(name.parts) == 1 or PART.fullmatch("/".join(name.parts)) is not None
    )


def _is_own_file(path: Path, above: Path) -> bool:
    """Tell whether a path is a plain file, and none of the directories down to it is a link."""
    links = any(place.is_symlink() for place in (path, *path.parents) if above in place.parents)
    return path.is_file() and not links


def new_places(folder: Folder, wanted: str) -> Places:
    """Return where a new release goes; its private directory is made, so that no other takes the name."""
    while True:
        places = places_of(folder, folder.take_name("private", wanted))
        if not places.out.exists():
            return places


def places_of(folder: Folder, name: str) -> Places:
    """Return where a release and its private map are, or would be."""
    return Places(folder.releases / name, folder.private / name)


def trial_places(folder: Folder) -> Places:
    """Return places that nothing is written to, for checks of a job that has none yet."""
    return Places(folder.releases / "new-release", folder.private / "new-release")


def page_file(place: Path, kind: str) -> Path:
    """Return the file of one of a release's pages."""
    return place / "report.html" if kind == "report" else place.with_name(f"{place.name}.{kind}.html")


def zipped(release: Release) -> Iterator[bytes]:
    """Yield an archive of a release and the pages beside it, piece by piece; nothing private is in it."""
    out = _Pieces()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, path in release.parts.items():
            with (
                path.open("rb") as source,
                archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as entry,
            ):
                while data := source.read(CHUNK):
                    entry.write(data)
                    yield from out.take()
            yield from out.take()
    yield from out.take()


class _Pieces:
    """A file that is only written to, and whose bytes are taken away as they come."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        self._length += len(data)
        return len(data)

    def tell(self) -> int:
        return self._length

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""

    def take(self) -> Iterator[bytes]:
        pieces, self._pieces = self._pieces, []
        yield from pieces
