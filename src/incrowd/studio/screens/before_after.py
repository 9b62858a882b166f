"""Before and after: what is published, searched; what became of a word; and originals beside it, for their owner."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from incrowd.errors import IncrowdError
from incrowd.studio.commands import Places
from incrowd.studio.pages import page, project_of, studio_of, whole_number
from incrowd.studio.published import TOO_LARGE, fate_of, file_of, search
from incrowd.studio.releases import Release, made_with, own_release, places_of
from incrowd.studio.screen import Screen
from incrowd.studio.screens.publish import PAGE_POLICY
from incrowd.studio.screens.words import look

__all__ = ["SCREEN"]


def show(request: Request) -> Response:
    """Show what is published, or what of it has a word."""
    folder, project = studio_of(request).folder, project_of(request)
    asked = request.query_params
    release, releases = own_release(folder, project.id, asked.get("release"))
    shown: dict[str, Any] = {"release": release, "found": None, "report": False}
    if release is not None:
        number = whole_number(asked.get("page", "1")) or 1
        places = places_of(folder, release.name)
        shown |= _found(release, places, asked.get("with", "").strip(), number)
        shown["chosen"] = made_with(project.name, release)
        shown["report"] = places.report.is_file()
    return page(request, "before-after.html", project=project, screen=SCREEN, releases=releases, **shown)


def _found(release: Release, places: Places, word: str, number: int) -> dict[str, Any]:
    """Return a page of what is published, and what became of a word."""
    shown: dict[str, Any] = {"word": word, "number": number, "found": None, "fate": None, "why_not": ""}
    file = file_of(release.path)
    if not file.exists():
        shown["why_not"] = (
            "It is a list with noise, which has nothing of single people: its own page shows it."
        )
    elif file.is_dir() or file.stat().st_size > TOO_LARGE:
        shown["why_not"] = (
            f"It is too large to be searched here: use 'incrowd show {release.path} --with WORD'."
        )
    else:
        shown["found"] = search(release.path, word, number)
        shown["is_tiles"] = file.name == "tiles.parquet"
        shown["fate"] = fate_of(release.path, word, _above(release, places, word)) if word else None
        shown["links"] = {
            step: urlencode({"release": release.name, "with": word, "page": number + step})
            for step in (-1, 1)
        }
    return shown


def _above(release: Release, places: Places, word: str) -> list[str]:
    """Return the classes above a word where a release has it, moved or not, the nearest first; none where there is no such word."""
    name = release.manifest["parameters"].get("taxonomy")
    if name != "wordnet":
        return []
    try:
        found = look("wordnet", word, str(places.moves) if places.moves.is_file() else "")
    except IncrowdError:
        return []
    return list(reversed(found["found"][0]["path"]))


def originals(request: Request) -> Response:
    """Show originals beside what is published of them: for the owner alone."""
    folder, project = studio_of(request).folder, project_of(request)
    release, _ = own_release(folder, project.id, request.path_params["release"])
    report = None if release is None else places_of(folder, release.name).report
    if report is None or not report.is_file():
        raise HTTPException(404)
    return FileResponse(report, media_type="text/html", headers={"Content-Security-Policy": PAGE_POLICY})


SCREEN = Screen(
    "before-after",
    "Before and after",
    "Look at what would be published, as others would see it, and at what became of words and people. What looks wrong here is best put right before anybody else has it.",
    (
        Route("/p/{project}/before-after", show),
        Route("/p/{project}/before-after/{release}/originals.html", originals),
    ),
)
