"""What all screens share: pages from templates, forms, errors beside their fields, and the studio that a request is for."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import jinja2
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from incrowd.errors import BadInputError
from incrowd.report.html import share
from incrowd.report.vega import CONFIGS, Spec
from incrowd.studio.commands import shell_line
from incrowd.studio.dials import CHOICES, Dial, goal_of, is_noisy, said
from incrowd.studio.folder import Folder
from incrowd.studio.guard import POLICY
from incrowd.studio.moved import moved_words
from incrowd.studio.projects import Project, read_project
from incrowd.studio.runner import Runner
from incrowd.studio.screen import Screen
from incrowd.studio.shown import moment, seconds_in_words, size_in_words
from incrowd.studio.versions import versions_of

__all__ = [
    "Form",
    "Studio",
    "asset",
    "chart",
    "error_by_field",
    "fragment",
    "page",
    "posted",
    "project_of",
    "see",
    "studio_of",
    "whole_number",
]

Form = Mapping[str, str]
LONGEST_FORM = 256 * 1024
LONGEST_FIELD = 4096
MOST_FIELDS = 200
MOST_DIGITS = 9
CHART_POLICY = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
ASSETS = {
    "studio.css": ("incrowd.studio", "static/studio.css"),
    "studio.js": ("incrowd.studio", "static/studio.js"),
    "charts.js": ("incrowd.studio", "static/charts.js"),
    "htmx.js": ("incrowd.data", "htmx.min.js"),
    "vega.js": ("incrowd.data", "vega.min.js"),
}


@dataclass(frozen=True)
class Studio:
    """What the screens work with: the folder, and who runs jobs."""

    folder: Folder
    runner: Runner


def studio_of(request: Request) -> Studio:
    """Return the studio that a request is for."""
    studio: Studio = request.app.state.studio
    return studio


def project_of(request: Request) -> Project:
    """Return the project that the address names; without one, the answer is 404."""
    project = read_project(studio_of(request).folder, request.path_params["project"])
    if project is None:
        raise HTTPException(404)
    return project


def page(request: Request, template: str, *, status: int = 200, **shown: Any) -> HTMLResponse:
    """Render a whole page.

    Every template gets `screens`, `here` (the address), `folder`, `versions`, `project` and `screen` (None, unless they are given),
    `charts`: whether the page draws any, for which the library sets styles of its own; and `chosen`, what was chosen before: unless it is
    given, what the project says of the screens before this one.
    """
    from incrowd.studio.screens import SCREENS

    project, screen, charts = (shown.pop(name, None) for name in ("project", "screen", "charts"))
    folder = studio_of(request).folder
    versions = versions_of(folder, project.id if project else None)
    answer = fragment(
        template,
        status=status,
        screens=SCREENS,
        here=request.url.path,
        folder=folder.path,
        versions=versions,
        project=project,
        screen=screen,
        charts=bool(charts),
        **{"chosen": _chosen(project, screen), **shown},
    )
    if charts:
        answer.headers["Content-Security-Policy"] = CHART_POLICY
    return answer


def _chosen(project: Project | None, screen: Screen | None) -> list[tuple[str, str]]:
    """Return what was chosen on the screens before this one, for its top."""
    from incrowd.studio.screens import SCREENS

    if project is None or screen is None or screen.slug == "data":
        return []
    data, choices = ("Data", project.name), project.choices
    slugs = [one.slug for one in SCREENS]
    if screen.slug == "releases" or slugs.index(screen.slug) < slugs.index("choose"):
        return [data]
    data_and_words = [data, *_words_chosen(project)]
    if screen.slug == "choose":
        return data_and_words
    default = "" if project.decided else " (default)"
    what = ("Method", choices["method"]) if choices.get("method") else ("Goal", goal_of(choices) + default)
    k = [] if is_noisy(choices) else [("People who share it", f"k = {choices.get('k') or '5'}{default}")]
    further = [(dial.label, text) for dial, text in said(CHOICES, choices) if _is_further(dial, text)]
    return [*data_and_words, what, *k, *further]


def _is_further(dial: Dial, text: str) -> bool:
    """Tell whether a dial is set to what is not its default, and is shown in no other way."""
    return text != dial.default and dial.name not in ("k", "method", "taxonomy")


def _words_chosen(project: Project) -> list[tuple[str, str]]:
    """Return what was chosen on Words: another taxonomy, and how many words were moved."""
    taxonomy, moved = project.choices.get("taxonomy", ""), len(moved_words(project))
    parts = [Path(taxonomy).name] if taxonomy else []
    parts += [f"{moved:,} moved"] if moved else []
    return [("Words", ", ".join(parts))] if parts else []


def fragment(template: str, *, status: int = 200, **shown: Any) -> HTMLResponse:
    """Render a template as it is: a part of a page."""
    return HTMLResponse(_environment().get_template(template).render(**shown), status)


def chart(spec: Spec) -> Response:
    """Answer with a chart, for an element with ``data-chart``."""
    return JSONResponse({"spec": spec, "configs": CONFIGS})


def see(address: str) -> Response:
    """Send the browser to another page after a form."""
    return RedirectResponse(address, 303)


def posted(handler: Callable[[Request, Form], Response]) -> Callable[[Request], Any]:
    """Make an endpoint of a function that takes the fields of a form."""

    async def endpoint(request: Request) -> Response:
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > LONGEST_FORM:
                raise HTTPException(413)
        return await run_in_threadpool(handler, request, _fields(body))

    return endpoint


def _fields(body: bytes) -> Form:
    """Return the fields of a form; refuse what no command can hold."""
    try:
        pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise HTTPException(413) from None
    for name, text in pairs:
        if len(text) > LONGEST_FIELD or "Cc" in map(unicodedata.category, text):
            raise BadInputError(
                f"{_words(name[:40])} must be one line of up to {LONGEST_FIELD:,} characters that can be seen: go back and change it"
            )
    return dict(pairs)


def whole_number(text: str) -> int | None:
    """Return a text as the whole number that it is; None if it is none, or a very large one."""
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None


def error_by_field(error: BadInputError, names: Iterable[str]) -> dict[str, str]:
    """Return the error under the field that its text names first; under ``""`` if it names none of them."""
    text = str(error)
    spelled = {name: re.search(rf"(?<![\w-])(--)?{re.escape(_words(name))}(?![\w-])", text) for name in names}
    found = {name: match.start() for name, match in spelled.items() if match}
    return {min(found, key=lambda name: found[name]) if found else "": text}


def _words(name: str) -> str:
    return name.replace("_", "-") if name != "text_forms" else "write"


@cache
def asset(name: str) -> tuple[bytes, str, str]:
    """Return a file of the pages, its type and its mark: a change of the file is a change of its address."""
    package, path = ASSETS[name]
    data = files(package).joinpath(path).read_bytes()
    return data, TYPES[name.rpartition(".")[2]], hashlib.sha256(data).hexdigest()[:12]


@cache
def _environment() -> jinja2.Environment:
    loader = jinja2.PackageLoader("incrowd.studio", "templates")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {
        "moment": moment,
        "seconds": seconds_in_words,
        "size": size_in_words,
        "share": share,
        "shell": shell_line,
        "number": lambda value: f"{value:,}",
    }
    environment.globals["asset"] = lambda name: f"/static/{name}?v={asset(name)[2]}"
    return environment
