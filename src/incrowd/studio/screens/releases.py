"""Releases: all that were made in this folder, and two of them beside each other."""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from incrowd.studio.pages import page, project_of, studio_of
from incrowd.studio.releases import Release, all_releases
from incrowd.studio.screen import Screen
from incrowd.studio.series import series_of

__all__ = ["SCREEN"]

UNIT = "What the data were cut into before anything was made of them; session:1800 ends with a pause of 1,800 seconds."
COMPARED = ("parameters", "counts", "use", "losses")
TITLES = {
    "parameters": "How it was made",
    "counts": "What there is",
    "use": "What it is of use for",
    "losses": "What was lost",
}


def show(request: Request) -> Response:
    """Show the releases, and two of them in detail if they are named."""
    project = project_of(request)
    folder = studio_of(request).folder
    releases = all_releases(folder)
    named = [request.query_params.get(place) for place in ("first", "second")]
    two = [next((one for one in releases if one.name == name), None) for name in named]
    chosen = [one for one in two if one is not None]
    return page(
        request,
        "releases.html",
        project=project,
        screen=SCREEN,
        releases=releases,
        pair=chosen,
        series=series_of(folder, project),
        tables=_compared(*chosen) if len(chosen) == len(named) else [],
    )


def index(request: Request) -> Response:
    """Send the index of the project's series, which may be published with its releases."""
    found = series_of(studio_of(request).folder, project_of(request))
    if found is None:
        raise HTTPException(404)
    return FileResponse(found.index_file, media_type="application/json", filename=found.index_file.name)


class Row(NamedTuple):
    """What two manifests say of one thing: its name and meaning ("" where that is not known), what each says, and whether they differ."""

    name: str
    meaning: str
    first: str
    second: str
    differs: bool


def _compared(first: Release, second: Release) -> list[tuple[str, list[Row]]]:
    """Return tables of what two manifests say."""
    head = [
        _row("method", first.manifest["method"], second.manifest["method"]),
        _row("promise", first.manifest["claim"]["kind"], second.manifest["claim"]["kind"]),
    ]
    tables = [("What it is", head)]
    for part in COMPARED:
        one, two = (release.manifest.get(part) or {} for release in (first, second))
        rows = [_row(name, one.get(name), two.get(name)) for name in {**one, **two}]
        if rows:
            tables.append((TITLES[part], rows))
    return tables


def _row(name: str, first: Any, second: Any) -> Row:
    from incrowd.release.files.dictionary import CLAIM, NUMBERS, PARAMETERS

    meanings = {**CLAIM, **NUMBERS, **PARAMETERS}
    meaning = meanings.get(name, "") if name != "unit" else UNIT
    return Row(name.replace("_", " "), meaning, _text(first), _text(second), first != second)


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return f"{value:,}" if isinstance(value, int) else str(value)


SCREEN = Screen(
    "releases",
    "Releases",
    "Everything that was made in this folder, with the choices behind it. Compare two of them before you decide which one to publish.",
    (Route("/p/{project}/releases", show), Route("/p/{project}/releases/index.json", index)),
)
